/* Elementwise kernels, of tensors of one shape, or of shapes that are broadcast.
 *
 * The operations and their order are those of numpy's kernels, so the results are the same bits. (The one exception is the inverse
 * root of many numbers into a buffer, which is within a unit in the last place.) A maximum is as numpy's vectors have it: a NaN wins, and of two
 * zeros the second does.
 */

enum { PIECE = 1 << 15, BLOCK = 512, MANY_ROOTS = 1 << 14, FEW_COLUMNS = 16, MANY_COLUMNS = 64, WORTH_WIDENING = 1 << 10 };

/* What a loop works on. Each operand moves by its `step` (0 for a number) from column to column, by `pitch` from row to row, and where
 * `high` rows are a plane, by `plane` from plane to plane. */
typedef struct {
    int64_t columns, rows, high;
    const char *operand[3];
    int64_t step[3], pitch[3], plane[3];
    char *out;
} Walk;

/* Where the rows of the operands begin. To divide for each of them takes longer than a short row. */
typedef struct {
    int64_t at[2], low; /* `low`: the row's number in its plane */
} Cursor;

static inline Cursor row_at(const Walk *w, int64_t row) {
    int64_t plane = w->high ? row / w->high : 0, low = row - plane * w->high;
    return (Cursor){{plane * w->plane[0] + low * w->pitch[0], plane * w->plane[1] + low * w->pitch[1]}, low};
}

static inline void next_row(const Walk *w, Cursor *rows) {
    bool ends = ++rows->low == w->high;
    for (int k = 0; k < 2; k++) rows->at[k] += ends ? w->plane[k] - (w->high - 1) * w->pitch[k] : w->pitch[k];
    if (ends) rows->low = 0;
}

#define OPERAND(w, k, T) ((const T *)(w)->operand[k] + rows.at[k])

/* A loop is divided over columns where there is one row, else over rows. */
#define EACH_ROW(w)                                                                                                                \
    int64_t from = (w)->rows == 1 ? begin : 0, to = (w)->rows == 1 ? begin + count : (w)->columns;                                 \
    int64_t r = (w)->rows == 1 ? 0 : begin, last = (w)->rows == 1 ? 1 : begin + count;                                             \
    for (Cursor rows = row_at(w, r); r < last; r++, next_row(w, &rows))

#define LOOP(...)                                                                                                                  \
    _Pragma("GCC ivdep") for (int64_t i = from; i < to; i++) { __VA_ARGS__; }

#define UNARY(name, T, R, expression)                                                                                              \
    static void name(int64_t begin, int64_t count, const void *given) {                                                            \
        const Walk *w = given;                                                                                                     \
        EACH_ROW(w) {                                                                                                              \
            const T *x = OPERAND(w, 0, T);                                                                                      \
            R *out = (R *)w->out + r * w->columns;                                                                                 \
            LOOP(T a = x[i]; out[i] = (R)(expression))                                                                             \
        }                                                                                                                          \
    }

#define BINARY(name, T, expression)                                                                                                \
    static void name(int64_t begin, int64_t count, const void *given) {                                                            \
        const Walk *w = given;                                                                                                     \
        EACH_ROW(w) {                                                                                                              \
            const T *x = OPERAND(w, 0, T), *y = OPERAND(w, 1, T);                                                            \
            T *out = (T *)w->out + r * w->columns;                                                                                 \
            if (!w->step[0]) {                                                                                                     \
                const T a = x[0];                                                                                                  \
                LOOP(T b = y[i]; out[i] = (T)(expression))                                                                         \
            } else if (!w->step[1]) {                                                                                              \
                const T b = y[0];                                                                                                  \
                LOOP(T a = x[i]; out[i] = (T)(expression))                                                                         \
            } else                                                                                                                 \
                LOOP(T a = x[i], b = y[i]; out[i] = (T)(expression))                                                               \
        }                                                                                                                          \
    }

/* Whole numbers wrap around, which signed ones of C may not. */
#define REAL_AND_WHOLE(make, name, real, whole)                                                                                    \
    make(name##_f4, float, real) make(name##_f8, double, real) make(name##_i4, int32_t, whole) make(name##_i8, int64_t, whole)
#define REAL(make, name, expression) make(name##_f4, float, expression) make(name##_f8, double, expression)
#define UNARY_SAME(name, T, expression) UNARY(name, T, T, expression)
#define WIDE(x) ((uint64_t)(x))

REAL_AND_WHOLE(BINARY, add, a + b, WIDE(a) + WIDE(b))
REAL_AND_WHOLE(BINARY, sub, a - b, WIDE(a) - WIDE(b))
REAL_AND_WHOLE(BINARY, mul, a *b, WIDE(a) * WIDE(b))
REAL(BINARY, divide, a / b)
REAL_AND_WHOLE(BINARY, maximum, a > b || a != a ? a : b, a > b ? a : b)
REAL_AND_WHOLE(BINARY, minimum, a < b || a != a ? a : b, a < b ? a : b)
REAL(BINARY, relu_grad, a *(b > 0 ? 1 : 0))
REAL(BINARY, tanh_grad, b *(1 - a * a))
REAL(BINARY, sigmoid_grad, (1 - a) * a * b)
REAL_AND_WHOLE(UNARY_SAME, negative, -a, -WIDE(a))
REAL_AND_WHOLE(UNARY_SAME, square, a *a, WIDE(a) * WIDE(a))
REAL_AND_WHOLE(UNARY_SAME, relu, a > 0 || a != a ? a : 0, a > 0 ? a : 0)
UNARY_SAME(square_root_f4, float, sqrtf(a))
UNARY_SAME(square_root_f8, double, sqrt(a))
UNARY_SAME(inverse_root_f4, float, 1 / sqrtf(a))
UNARY_SAME(inverse_root_f8, double, 1 / sqrt(a))

/* 1 / √x by the processor's estimate e and one step that makes it exact to a unit in the last place: with u = 1 - x e² it is
 * e + e u (1/2 + 3/8 u). A root and a division take five times as long. Of zeros, infinities and NaNs the estimate is the result. */
#ifdef __AVX512F__
static inline __m512 estimated(__m512 x) {
    __m512 e = _mm512_rsqrt14_ps(x);
    __m512 u = _mm512_fnmadd_ps(_mm512_mul_ps(x, e), e, _mm512_set1_ps(1));
    __m512 p = _mm512_fmadd_ps(u, _mm512_set1_ps(0.375f), _mm512_set1_ps(0.5f));
    __m512 root = _mm512_fmadd_ps(_mm512_mul_ps(e, u), p, e);
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(u, u, _CMP_UNORD_Q), root, e);
}

static void estimated_root_f4(int64_t begin, int64_t count, const void *given) {
    const Walk *w = given;
    const float *x = (const float *)w->operand[0] + begin;
    float *out = (float *)w->out + begin;
    int64_t i = 0;
    for (; i + 16 <= count; i += 16) _mm512_storeu_ps(out + i, estimated(_mm512_loadu_ps(x + i)));
    __mmask16 rest = (__mmask16)((1u << (count - i)) - 1);
    _mm512_mask_storeu_ps(out + i, rest, estimated(_mm512_mask_loadu_ps(_mm512_set1_ps(1), rest, x + i)));
}
#else
#define estimated_root_f4 inverse_root_f4
#endif

/* Functions whose inner loops are numpy's. */
#define OF_NUMPY(name, T, which, kind)                                                                                             \
    static void name(int64_t begin, int64_t count, const void *given) {                                                            \
        const Walk *w = given;                                                                                                     \
        EACH_ROW(w)                                                                                                                \
        numpy_call(&numpy_loops[which][kind], OPERAND(w, 0, T) + from, (T *)w->out + r * w->columns + from, to - from, sizeof(T)); \
    }

OF_NUMPY(exp_f4, float, NUMPY_EXP, 0)
OF_NUMPY(exp_f8, double, NUMPY_EXP, 1)
OF_NUMPY(log_f4, float, NUMPY_LOG, 0)
OF_NUMPY(log_f8, double, NUMPY_LOG, 1)
OF_NUMPY(tanh_f4, float, NUMPY_TANH, 0)
OF_NUMPY(tanh_f8, double, NUMPY_TANH, 1)

#define SIGMOID(name, T, kind)                                                                                                     \
    static void name(int64_t begin, int64_t count, const void *given) {                                                            \
        const Walk *w = given;                                                                                                     \
        T powers[BLOCK];                                                                                                           \
        EACH_ROW(w) {                                                                                                              \
            const T *x = OPERAND(w, 0, T);                                                                                         \
            T *out = (T *)w->out + r * w->columns;                                                                                 \
            for (int64_t done = from; done < to; done += BLOCK) {                                                                  \
                int64_t some = to - done < BLOCK ? to - done : BLOCK;                                                              \
                for (int64_t i = 0; i < some; i++) powers[i] = -x[done + i];                                                       \
                numpy_call(&numpy_loops[NUMPY_EXP][kind], powers, powers, some, sizeof(T));                                        \
                for (int64_t i = 0; i < some; i++) out[done + i] = 1 / (powers[i] + 1);                                            \
            }                                                                                                                      \
        }                                                                                                                          \
    }

SIGMOID(sigmoid_f4, float, 0)
SIGMOID(sigmoid_f8, double, 1)

/* A choice moves bits, whatever they mean. */
#define SELECT(name, T)                                                                                                            \
    static void name(int64_t begin, int64_t count, const void *given) {                                                            \
        const Walk *w = given;                                                                                                     \
        const npy_bool *where = (const npy_bool *)w->operand[0];                                                                   \
        const T *x = (const T *)w->operand[1], *y = (const T *)w->operand[2];                                                      \
        T *out = (T *)w->out;                                                                                                      \
        _Pragma("GCC ivdep") for (int64_t i = begin; i < begin + count; i++) out[i] = where[i] ? x[i] : y[i];                      \
    }

SELECT(select_1, uint8_t)
SELECT(select_4, uint32_t)
SELECT(select_8, uint64_t)

#define CASTS_FROM(from, T)                                                                                                        \
    UNARY(cast_##from##_f4, T, float, a) UNARY(cast_##from##_f8, T, double, a) UNARY(cast_##from##_i4, T, int32_t, a)              \
    UNARY(cast_##from##_i8, T, int64_t, a) UNARY(cast_##from##_b1, T, npy_bool, a != 0)

CASTS_FROM(f4, float)
CASTS_FROM(f8, double)
CASTS_FROM(i4, int32_t)
CASTS_FROM(i8, int64_t)
CASTS_FROM(b1, npy_bool)

/* ---- the kernels */

/* The loop for each element type. */
typedef struct {
    Part f4, f8, i4, i8;
} Loops;

static inline Part loop_for(const Loops *loops, int type) {
    switch (type) {
        case NPY_FLOAT32: return loops->f4;
        case NPY_FLOAT64: return loops->f8;
        case NPY_INT32: return loops->i4;
        case NPY_INT64: return loops->i8;
        default: return NULL;
    }
}

/* An array of any strides, if it is one. */
static inline PyArrayObject *strided(PyObject *given) {
    if (Py_TYPE(given) != &PyArray_Type) return NULL;
    PyArrayObject *array = (PyArrayObject *)given;
    return PyArray_ISALIGNED(array) && PyArray_ISNOTSWAPPED(array) ? array : NULL;
}

static inline PyArrayObject *strided_at(const Call *call, Py_ssize_t index) {
    return index < call->count ? strided(call->args[index]) : NULL;
}

/* Whether an array that does not lie in order may have an element in memory of another one, which does. */
static bool tangled(PyArrayObject *x, PyArrayObject *out) {
    if (PyArray_IS_C_CONTIGUOUS(x)) return false;
    const char *low = PyArray_BYTES(x), *high = low + PyArray_ITEMSIZE(x);
    for (int i = 0; i < PyArray_NDIM(x); i++) {
        int64_t span = PyArray_STRIDE(x, i) * (PyArray_DIM(x, i) - 1);
        *(span < 0 ? &low : &high) += span;
    }
    return low < PyArray_BYTES(out) + PyArray_NBYTES(out) && PyArray_BYTES(out) < high;
}

/* The step of an operand, in elements, along the dimension with this number from the end; 0 where it has one element there. */
static inline int64_t step_of(PyArrayObject *x, int dimension) {
    int place = PyArray_NDIM(x) - dimension;
    return place < 0 || PyArray_DIM(x, place) == 1 ? 0 : PyArray_STRIDE(x, place) / PyArray_ITEMSIZE(x);
}

/* Fills `sizes` with the result's, and says how to walk to them: dimensions along which both operands go on as they do along the one
 * within are one with it. False where the operands do not fit, where there are more than three dimensions then, and where neighbours
 * within a row are not neighbours in memory. */
static bool broadcast(PyArrayObject *x, PyArrayObject *y, Walk *w, int *rank, npy_intp *sizes) {
    enum { MOST = 3 };
    PyArrayObject *operands[2] = {x, y};
    int ranks[2] = {PyArray_NDIM(x), PyArray_NDIM(y)}, found = 0;
    int64_t counts[MOST] = {1, 1, 1}, strides[2][MOST] = {{0}};
    *rank = ranks[0] > ranks[1] ? ranks[0] : ranks[1];
    if (*rank > DEEPEST) return false;
    for (int i = 1; i <= *rank; i++) {
        int64_t a = i <= ranks[0] ? PyArray_DIM(x, ranks[0] - i) : 1, b = i <= ranks[1] ? PyArray_DIM(y, ranks[1] - i) : 1;
        if (a != b && a != 1 && b != 1) return false;
        int64_t size = sizes[*rank - i] = a == 1 ? b : a, steps[2] = {step_of(x, i), step_of(y, i)};
        if (size == 1) continue;
        int last = found - 1;
        if (found && steps[0] == strides[0][last] * counts[last] && steps[1] == strides[1][last] * counts[last]) {
            counts[last] *= size;
            continue;
        }
        if (found == MOST || (!found && (steps[0] | steps[1]) != 1)) return false;
        counts[found] = size;
        for (int k = 0; k < 2; k++) strides[k][found] = steps[k];
        found++;
    }
    if (!found) strides[0][0] = strides[1][0] = 1;
    *w = (Walk){.columns = counts[0], .rows = counts[1] * counts[2], .high = found == MOST ? counts[1] : 0};
    for (int k = 0; k < 2; k++) {
        w->operand[k] = PyArray_DATA(operands[k]);
        w->step[k] = strides[k][0];
        w->pitch[k] = strides[k][1];
        w->plane[k] = strides[k][2];
    }
    return true;
}

static PyObject *compute(const Call *call, Part part, Walk *w, int rank, const npy_intp *sizes, int type, Py_ssize_t into) {
    int64_t size = w->rows * w->columns;
    if (!part || left_to_python(call, size)) return NULL;
    PyArrayObject *out = result_at(call, into, type, rank, sizes);
    if (!out) return NULL;
    w->out = PyArray_DATA(out);
    if (w->rows == 1)
        work_through(call, part, w, w->columns, PIECE, size);
    else if (size)
        work_through(call, part, w, w->rows, PIECE / w->columns, size);
    return (PyObject *)out;
}

/* A loop over few columns costs more before it begins than it does. Where the rows of one operand repeat, it gets a copy in which each
 * of them stands several times, so that several rows are one. The copy is the caller's to free; NULL where there is none. */
static char *widen(Walk *w, int64_t item) {
    int64_t repeated = w->high ? w->high : w->rows, times = MANY_COLUMNS / (w->columns ? w->columns : 1);
    int k = w->pitch[0] ? 1 : 0;
    if (w->columns > FEW_COLUMNS || w->rows * w->columns < WORTH_WIDENING || !w->step[0] || !w->step[1]) return NULL;
    if (w->pitch[k] || w->pitch[1 - k] != w->columns) return NULL;
    while (times > 1 && repeated % times) times--;
    int64_t count = w->plane[k] ? w->rows / w->high : 1, size = w->columns * item, wide = size * times;
    char *copy = times > 3 ? PyMem_Malloc(count * wide) : NULL;
    if (!copy) return NULL;
    for (int64_t row = 0; row < count; row++) {
        char *into = copy + row * wide;
        memcpy(into, w->operand[k] + row * w->plane[k] * item, size);
        for (int64_t done = size; done < wide; done *= 2) memcpy(into + done, into, done < wide - done ? done : wide - done);
    }
    w->operand[k] = copy;
    w->columns *= times;
    w->rows /= times;
    w->high /= times;
    w->pitch[1 - k] = w->columns;
    if (w->plane[k]) w->plane[k] = w->columns;
    return copy;
}

/* An operand whose elements lie in another order, beside one in order of the same shape, if there is any. It is copied into the result
 * strip by strip, and each strip is computed there. */
static PyObject *with_turned(const Call *call, Part part, PyArrayObject *turned, PyArrayObject *other, int place) {
    Ordered o;
    if (!part || !order_of(turned, &o) || left_to_python(call, o.size)) return NULL;
    PyArrayObject *out = result_at(call, other ? 2 : 1, PyArray_TYPE(turned), PyArray_NDIM(turned), PyArray_DIMS(turned));
    if (!out) return NULL;
    if (tangled(turned, out) || (other && share_memory(other, out))) {
        Py_DECREF((PyObject *)out);
        return NULL;
    }
    Walk w = {.rows = 1, .columns = o.size, .step = {1, 1}, .out = PyArray_DATA(out)};
    w.operand[place] = PyArray_DATA(out);
    if (other) w.operand[1 - place] = PyArray_DATA(other);
    copy_ordered(call, &o, out, part, &w);
    return (PyObject *)out;
}

static PyObject *binary(const Call *call, const Loops *loops) {
    PyArrayObject *x = strided_at(call, 0), *y = strided_at(call, 1), *into = array_at(call, 2);
    if (!x || !y || PyArray_TYPE(x) != PyArray_TYPE(y) || (into && (tangled(x, into) || tangled(y, into)))) return NULL;
    npy_intp sizes[DEEPEST];
    int rank;
    Walk w;
    Part part = loop_for(loops, PyArray_TYPE(x));
    if (!part) return NULL;
    if (!broadcast(x, y, &w, &rank, sizes)) {
        bool second = PyArray_IS_C_CONTIGUOUS(x);
        PyArrayObject *other = second ? x : y;
        return same_shape(x, y) && PyArray_IS_C_CONTIGUOUS(other) ? with_turned(call, part, second ? y : x, other, second) : NULL;
    }
    if (!rank || left_to_python(call, w.rows * w.columns)) return NULL;
    char *copy = widen(&w, PyArray_ITEMSIZE(x));
    PyObject *found = compute(call, part, &w, rank, sizes, PyArray_TYPE(x), 2);
    PyMem_Free(copy);
    return found;
}

static PyObject *unary_of(const Call *call, PyArrayObject *x, Part part, int type) {
    if (!PyArray_NDIM(x)) return NULL;
    Walk w = {.rows = 1, .columns = PyArray_SIZE(x), .operand = {PyArray_DATA(x)}, .step = {1}};
    return compute(call, part, &w, PyArray_NDIM(x), PyArray_DIMS(x), type, 1);
}

/* An array that does not lie in order is turned, or walked through as an operand. */
static PyObject *unary(const Call *call, const Loops *loops) {
    PyArrayObject *x = strided_at(call, 0), *into = array_at(call, 1);
    if (!x) return NULL;
    Part part = loop_for(loops, PyArray_TYPE(x));
    if (PyArray_IS_C_CONTIGUOUS(x)) return unary_of(call, x, part, PyArray_TYPE(x));
    PyObject *found = with_turned(call, part, x, NULL, 0);
    npy_intp sizes[DEEPEST];
    int rank;
    Walk w;
    if (found || PyErr_Occurred() || (into && tangled(x, into)) || !broadcast(x, x, &w, &rank, sizes)) return found;
    return compute(call, part, &w, rank, sizes, PyArray_TYPE(x), 1);
}

#define KERNEL(name, how, ...)                                                                                                     \
    static PyObject *name(const Call *call) {                                                                                      \
        static const Loops loops = {__VA_ARGS__};                                                                                  \
        return how(call, &loops);                                                                                                  \
    }
#define FOUR(name) name##_f4, name##_f8, name##_i4, name##_i8
#define TWO(name) name##_f4, name##_f8

KERNEL(k_add, binary, FOUR(add))
KERNEL(k_sub, binary, FOUR(sub))
KERNEL(k_mul, binary, FOUR(mul))
KERNEL(k_divide, binary, TWO(divide))
KERNEL(k_maximum, binary, FOUR(maximum))
KERNEL(k_minimum, binary, FOUR(minimum))
KERNEL(k_negative, unary, FOUR(negative))
KERNEL(k_square, unary, FOUR(square))
KERNEL(k_relu, unary, FOUR(relu))
KERNEL(k_sqrt, unary, TWO(square_root))
KERNEL(k_rsqrt_bits, unary, TWO(inverse_root))
KERNEL(k_rsqrt_many, unary, estimated_root_f4, inverse_root_f8)
KERNEL(k_exp, unary, TWO(exp))
KERNEL(k_log, unary, TWO(log))
KERNEL(k_tanh, unary, TWO(tanh))
KERNEL(k_sigmoid, unary, TWO(sigmoid))

/* Roots of many numbers, into a buffer, may differ from numpy's in the last bit; others are numpy's to the bit. */
static PyObject *k_rsqrt(const Call *call) {
    PyArrayObject *x = array_at(call, 0);
    return call->count > 1 && x && PyArray_SIZE(x) >= MANY_ROOTS ? k_rsqrt_many(call) : k_rsqrt_bits(call);
}

/* A bias is a row for two dimensions or more. */
static PyObject *k_bias_add(const Call *call) {
    PyArrayObject *value = array_at(call, 0), *bias = array_at(call, 1);
    int rank = value ? PyArray_NDIM(value) : 0;
    bool fits = rank > 1 && bias && PyArray_NDIM(bias) == 1 && PyArray_DIM(bias, 0) == PyArray_DIM(value, rank - 1);
    return fits ? k_add(call) : NULL;
}

/* The operands of gradients have one shape. */
static PyObject *gradient(const Call *call, const Loops *loops) {
    PyArrayObject *x = strided_at(call, 0), *y = strided_at(call, 1);
    return x && y && same_shape(x, y) ? binary(call, loops) : NULL;
}

KERNEL(k_relu_grad, gradient, TWO(relu_grad))
KERNEL(k_tanh_grad, gradient, TWO(tanh_grad))
KERNEL(k_sigmoid_grad, gradient, TWO(sigmoid_grad))

static PyObject *k_select(const Call *call) {
    PyArrayObject *where = typed_at(call, 0, NPY_BOOL), *x = array_at(call, 1), *y = array_at(call, 2);
    if (!where || !x || !y || PyArray_TYPE(x) != PyArray_TYPE(y) || !PyArray_ISNUMBER(x)) return NULL;
    if (!PyArray_NDIM(x) || !same_shape(where, x) || !same_shape(x, y)) return NULL;
    int64_t size = PyArray_ITEMSIZE(x);
    Part part = size == 4 ? select_4 : size == 8 ? select_8 : size == 1 ? select_1 : NULL;
    Walk w = {.rows = 1, .columns = PyArray_SIZE(x)};
    w.operand[0] = PyArray_DATA(where);
    w.operand[1] = PyArray_DATA(x);
    w.operand[2] = PyArray_DATA(y);
    return compute(call, part, &w, PyArray_NDIM(x), PyArray_DIMS(x), PyArray_TYPE(x), 3);
}

#define CAST_TO(to, type)                                                                                                          \
    static PyObject *k_cast_##to(const Call *call) {                                                                               \
        PyArrayObject *x = array_at(call, 0);                                                                                      \
        if (!x) return NULL;                                                                                                       \
        static const Loops loops = {cast_f4_##to, cast_f8_##to, cast_i4_##to, cast_i8_##to};                                       \
        Part part = PyArray_TYPE(x) == NPY_BOOL ? cast_b1_##to : loop_for(&loops, PyArray_TYPE(x));                                \
        return unary_of(call, x, part, type);                                                                                      \
    }

CAST_TO(f4, NPY_FLOAT32)
CAST_TO(f8, NPY_FLOAT64)
CAST_TO(i4, NPY_INT32)
CAST_TO(i8, NPY_INT64)
CAST_TO(b1, NPY_BOOL)

/* ---- sums of a list of tensors, left to right */

enum { MOST_TERMS = 64 };

typedef struct {
    int64_t count;
    const void *terms[MOST_TERMS];
    void *out;
} Terms;

#define ADD_N(name, T, U)                                                                                                          \
    static void name(int64_t begin, int64_t count, const void *given) {                                                            \
        const Terms *t = given;                                                                                                    \
        U sums[BLOCK]; /* the result may be one of the terms */                                                                    \
        for (int64_t done = begin; done < begin + count; done += BLOCK) {                                                          \
            int64_t some = begin + count - done < BLOCK ? begin + count - done : BLOCK;                                            \
            const T *one = (const T *)t->terms[0] + done;                                                                          \
            for (int64_t i = 0; i < some; i++) sums[i] = (U)one[i];                                                                \
            for (int64_t k = 1; k < t->count; k++) {                                                                               \
                const T *other = (const T *)t->terms[k] + done;                                                                    \
                for (int64_t i = 0; i < some; i++) sums[i] += (U)other[i];                                                         \
            }                                                                                                                      \
            memcpy((T *)t->out + done, sums, some * sizeof(T));                                                                    \
        }                                                                                                                          \
    }

ADD_N(add_n_f4, float, float)
ADD_N(add_n_f8, double, double)
ADD_N(add_n_i4, int32_t, uint32_t)
ADD_N(add_n_i8, int64_t, uint64_t)

/* Terms that do not all lie in order: one after the other is added to the result. */
static PyObject *add_walking(const Call *call, Part add) {
    PyObject *list = call->args[0];
    int64_t count = PyList_Size(list);
    npy_intp sizes[DEEPEST];
    int rank;
    Walk w;
    PyArrayObject *first = strided(PyList_GetItem(list, 0)), *out;
    if (!add || count < 2 || !first || PyArray_NDIM(first) < 1 || PyArray_NDIM(first) > DEEPEST) return NULL;
    for (int64_t k = 1; k < count; k++) {
        PyArrayObject *one = strided(PyList_GetItem(list, k));
        if (!one || PyArray_TYPE(one) != PyArray_TYPE(first) || !same_shape(one, first)) return NULL;
    }
    int64_t size = PyArray_SIZE(first);
    if (!size || left_to_python(call, size)) return NULL;
    out = result_at(call, 1, PyArray_TYPE(first), PyArray_NDIM(first), PyArray_DIMS(first));
    bool fits = out != NULL;
    for (int64_t k = 0; fits && k < count; k++) {
        PyArrayObject *one = (PyArrayObject *)PyList_GetItem(list, k);
        fits = !tangled(one, out) && (k < 2 || !share_memory(one, out)) && broadcast(k > 1 ? out : first, one, &w, &rank, sizes);
    }
    if (!fits) {
        Py_XDECREF((PyObject *)out);
        return NULL;
    }
    for (int64_t k = 1; k < count; k++) {
        broadcast(k > 1 ? out : first, (PyArrayObject *)PyList_GetItem(list, k), &w, &rank, sizes);
        w.out = PyArray_DATA(out);
        work_through(call, add, &w, w.rows == 1 ? w.columns : w.rows, w.rows == 1 ? PIECE : PIECE / w.columns, size);
    }
    return (PyObject *)out;
}

static PyObject *k_add_n(const Call *call) {
    static const Loops loops = {FOUR(add_n)};
    if (call->count < 1 || !PyList_CheckExact(call->args[0])) return NULL;
    Terms t = {.count = PyList_Size(call->args[0])};
    if (t.count < 1 || t.count > MOST_TERMS) return NULL;
    PyArrayObject *first = NULL;
    for (int64_t k = 0; k < t.count; k++) {
        PyArrayObject *one = as_array(PyList_GetItem(call->args[0], k));
        if (!one) {
            static const Loops adds = {FOUR(add)};
            PyArrayObject *any = strided(PyList_GetItem(call->args[0], 0));
            return any ? add_walking(call, loop_for(&adds, PyArray_TYPE(any))) : NULL;
        }
        if (!one || (first && (PyArray_TYPE(one) != PyArray_TYPE(first) || !same_shape(one, first)))) return NULL;
        if (!first) first = one;
        t.terms[k] = PyArray_DATA(one);
    }
    Part part = loop_for(&loops, PyArray_TYPE(first));
    int64_t size = PyArray_SIZE(first);
    if (!part || !PyArray_NDIM(first) || left_to_python(call, size)) return NULL;
    PyArrayObject *out = result_at(call, 1, PyArray_TYPE(first), PyArray_NDIM(first), PyArray_DIMS(first));
    if (!out) return NULL;
    t.out = PyArray_DATA(out);
    work_through(call, part, &t, size, PIECE, size * t.count);
    return (PyObject *)out;
}
