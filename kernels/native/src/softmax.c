/* Softmax and cross entropies, row by row, so that each row stays in the cache; softmax along another dimension by columns.
 *
 * Few classes (up to 64) and small matrices: with numpy's own exponential and logarithm and in the order of the Python kernels, so the
 * results are the same bits. Long rows of many: exponentials of float32 are a polynomial, right to one or two units in the last
 * place, denormal results too, and sums are in lanes, so results may differ from numpy's in the last bits.
 */

enum { FEW_CLASSES = 64, ENTROPY_BLOCK = 512, COLUMNS = 64 };

/* e to the power of x, where x <= 0, or NaN: 2ⁿ eʳ with n = x / log 2 rounded, and a polynomial of r, the rest. The coefficients
 * are those of Cephes. */
static inline float fused(float a, float b, float c) {
#ifdef __FMA__
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

static inline float power(float x) {
    const float rounds = 12582912.0f; /* 1.5 · 2²³: a sum with it has no fraction */
    x = x < -105.0f ? -105.0f : x;    /* a NaN stays */
    union { float number; int32_t bits; } shifted = {fused(x, 1.44269504088896341f, rounds)}, scale;
    int32_t n = shifted.bits - 0x4B400000;
    float whole = shifted.number - rounds;
    float rest = fused(whole, 2.12194440e-4f, fused(whole, -0.693359375f, x));
    float total = 1.9875691500e-4f;
    total = fused(total, rest, 1.3981999507e-3f);
    total = fused(total, rest, 8.3334519073e-3f);
    total = fused(total, rest, 4.1665795894e-2f);
    total = fused(total, rest, 1.6666665459e-1f);
    total = fused(total, rest, 5.0000001201e-1f);
    total = fused(total, rest * rest, rest + 1.0f);
    int32_t half = n >> 1; /* denormal results are scaled in two steps, of which only the second one rounds */
    scale.bits = (half + 127) << 23;
    total *= scale.number;
    scale.bits = (n - half + 127) << 23;
    return total * scale.number;
}

static inline void powers_f4(const float *x, float least, float *out, int64_t count) {
    for (int64_t i = 0; i < count; i++) out[i] = power(x[i] - least);
}

static inline void powers_f8(const double *x, double least, double *out, int64_t count) {
    for (int64_t i = 0; i < count; i++) out[i] = x[i] - least;
    numpy_call(&numpy_loops[NUMPY_EXP][1], out, out, count, sizeof(double));
}

typedef struct {
    const void *x, *labels;
    void *out, *loss;
    int64_t rows, width;
    bool wide; /* labels of 64 bits */
    bool bits; /* the bits of numpy's kernel */
} Rows;

#define SOFTMAX(T, kind, index)                                                                                                    \
    static void softmax_##kind(int64_t begin, int64_t count, const void *given) {                                                  \
        const Rows *r = given;                                                                                                     \
        for (int64_t row = begin; row < begin + count; row++) {                                                                    \
            const T *x = (const T *)r->x + row * r->width;                                                                         \
            T *out = (T *)r->out + row * r->width, largest = largest_##kind##_of_row(x, r->width), total;                          \
            int64_t label = r->labels ? number(r->labels, r->wide, row) : 0;                                                       \
            T shifted = x[label] - largest;                                                                                        \
            if (r->bits) {                                                                                                         \
                for (int64_t i = 0; i < r->width; i++) out[i] = x[i] - largest;                                                    \
                numpy_call(&numpy_loops[NUMPY_EXP][index], out, out, r->width, sizeof(T));                                         \
                total = pairwise_##kind(out, r->width);                                                                            \
                for (int64_t i = 0; i < r->width; i++) out[i] /= total;                                                            \
            } else {                                                                                                               \
                powers_##kind(x, largest, out, r->width);                                                                          \
                total = (T)lanes_##kind(out, r->width);                                                                            \
                T part = 1 / total;                                                                                                \
                for (int64_t i = 0; i < r->width; i++) out[i] *= part;                                                             \
            }                                                                                                                      \
            if (r->labels) {                                                                                                       \
                out[label] -= 1;                                                                                                   \
                T log[1] = {total};                                                                                                \
                numpy_call(&numpy_loops[NUMPY_LOG][index], log, log, 1, sizeof(T));                                                \
                ((T *)r->loss)[row] = log[0] - shifted;                                                                            \
            }                                                                                                                      \
        }                                                                                                                          \
    }                                                                                                                              \
    /* The cross entropy of a few classes, some rows at a time: calls of numpy's functions cost less for many numbers. */          \
    static void entropy_##kind(int64_t begin, int64_t count, const void *given) {                                                  \
        const Rows *r = given;                                                                                                     \
        int64_t high = ENTROPY_BLOCK / r->width;                                                                                   \
        T totals[ENTROPY_BLOCK];                                                                                                   \
        for (int64_t first = begin; first < begin + count; first += high) {                                                        \
            int64_t rows = begin + count - first < high ? begin + count - first : high;                                            \
            const T *x = (const T *)r->x + first * r->width;                                                                       \
            T *out = (T *)r->out + first * r->width, *loss = (T *)r->loss + first;                                                 \
            for (int64_t k = 0; k < rows; k++) {                                                                                   \
                const T *line = x + k * r->width;                                                                                  \
                T best = line[0];                                                                                                  \
                for (int64_t i = 1; i < r->width; i++) best = LARGER(best, line[i]);                                               \
                for (int64_t i = 0; i < r->width; i++) out[k * r->width + i] = line[i] - best;                                     \
                loss[k] = out[k * r->width + number(r->labels, r->wide, first + k)];                                               \
            }                                                                                                                      \
            numpy_call(&numpy_loops[NUMPY_EXP][index], out, out, rows * r->width, sizeof(T));                                      \
            for (int64_t k = 0; k < rows; k++) {                                                                                   \
                T *line = out + k * r->width, total = line[0];                                                                     \
                for (int64_t i = 1; i < r->width; i++) total += line[i];                                                           \
                if (r->rows == 1) total = pairwise_##kind(line, r->width); /* as numpy adds what lies in a row */                  \
                for (int64_t i = 0; i < r->width; i++) line[i] /= total;                                                           \
                line[number(r->labels, r->wide, first + k)] -= 1;                                                                  \
                totals[k] = total;                                                                                                 \
            }                                                                                                                      \
            numpy_call(&numpy_loops[NUMPY_LOG][index], totals, totals, rows, sizeof(T));                                           \
            for (int64_t k = 0; k < rows; k++) loss[k] = totals[k] - loss[k];                                                      \
        }                                                                                                                          \
    }

SOFTMAX(float, f4, 0)
SOFTMAX(double, f8, 1)

static bool rows_of(PyArrayObject *x, Rows *r) {
    int rank = x ? PyArray_NDIM(x) : 0;
    if (!rank || (PyArray_TYPE(x) != NPY_FLOAT32 && PyArray_TYPE(x) != NPY_FLOAT64) || !PyArray_SIZE(x)) return false;
    r->width = PyArray_DIM(x, rank - 1);
    r->rows = PyArray_SIZE(x) / r->width;
    r->x = PyArray_DATA(x);
    return true;
}

/* ---- along another dimension: columns of planes, some side by side */

typedef struct {
    const float *x;
    float *out;
    int64_t along, columns, blocks; /* rows and columns of a plane; blocks of columns */
} Planes;

INLINED void softmax_columns(const float *x, float *out, int64_t along, int64_t step, const int64_t some) {
    float largest[COLUMNS], totals[COLUMNS] = {0};
    memcpy(largest, x, some * sizeof(float));
    for (int64_t i = 1; i < along; i++)
        for (int64_t k = 0; k < some; k++) largest[k] = LARGER(largest[k], x[i * step + k]);
    for (int64_t i = 0; i < along; i++)
        for (int64_t k = 0; k < some; k++) {
            float found = power(x[i * step + k] - largest[k]);
            out[i * step + k] = found;
            totals[k] += found;
        }
    for (int64_t k = 0; k < some; k++) totals[k] = 1 / totals[k];
    for (int64_t i = 0; i < along; i++)
        for (int64_t k = 0; k < some; k++) out[i * step + k] *= totals[k];
}

static void softmax_planes(int64_t begin, int64_t count, const void *given) {
    const Planes *p = given;
    for (int64_t i = begin; i < begin + count; i++) {
        int64_t first = i % p->blocks * COLUMNS, at = i / p->blocks * p->along * p->columns + first, rest = p->columns - first;
        if (rest >= COLUMNS)
            softmax_columns(p->x + at, p->out + at, p->along, p->columns, COLUMNS);
        else
            softmax_columns(p->x + at, p->out + at, p->along, p->columns, rest);
    }
}

/* softmax(logits, out or nothing, axis or nothing): along the last dimension, or for many numbers of float32 along another one. */
static PyObject *k_softmax(const Call *call) {
    PyArrayObject *x = array_at(call, 0);
    Rows r = {0};
    int64_t axis = -1;
    if ((call->count > 2 && !whole_at(call, 2, &axis)) || !rows_of(x, &r)) return NULL;
    int rank = PyArray_NDIM(x);
    int64_t size = r.rows * r.width;
    r.bits = size < SMALL_SUM;
    axis = axis < 0 ? axis + rank : axis;
    bool last = axis == rank - 1;
    if (axis < 0 || axis >= rank || (!last && (r.bits || PyArray_TYPE(x) != NPY_FLOAT32))) return NULL;
    if (left_to_python(call, 4 * size)) return NULL;
    if (!last) {
        Planes p = {r.x, NULL, PyArray_DIM(x, (int)axis), 1, 0};
        for (int i = (int)axis + 1; i < rank; i++) p.columns *= PyArray_DIM(x, i);
        PyArrayObject *out = result_at(call, 1, NPY_FLOAT32, rank, PyArray_DIMS(x));
        if (!out) return NULL;
        p.out = PyArray_DATA(out), p.blocks = (p.columns + COLUMNS - 1) / COLUMNS;
        work_through(call, softmax_planes, &p, size / (p.along * p.columns) * p.blocks, (1 << 13) / (p.along * COLUMNS) + 1, 8 * size);
        return (PyObject *)out;
    }
    PyArrayObject *out = result_at(call, 1, PyArray_TYPE(x), PyArray_NDIM(x), PyArray_DIMS(x));
    if (!out) return NULL;
    r.out = PyArray_DATA(out);
    work_through(call, PyArray_TYPE(x) == NPY_FLOAT32 ? softmax_f4 : softmax_f8, &r, r.rows, (1 << 13) / r.width + 1, 8 * size);
    return (PyObject *)out;
}

/* cross_entropy(logits, labels): the loss of each row, and its derivative. */
static PyObject *k_cross_entropy(const Call *call) {
    PyArrayObject *x = array_at(call, 0), *labels = indices_at(call, 1);
    Rows r = {0};
    if (!rows_of(x, &r) || !labels || PyArray_NDIM(x) != 2 || PyArray_NDIM(labels) != 1) return NULL;
    if (PyArray_DIM(labels, 0) != r.rows) return NULL;
    int64_t size = r.rows * r.width;
    if (left_to_python(call, 4 * size)) return NULL;
    r.labels = PyArray_DATA(labels);
    r.wide = is_wide(labels);
    r.bits = size < SMALL_SUM;
    for (int64_t i = 0; i < r.rows; i++)
        if ((uint64_t)number(r.labels, r.wide, i) >= (uint64_t)r.width) return NULL;
    PyArrayObject *loss = fresh(PyArray_TYPE(x), 1, PyArray_DIMS(x)), *slopes = fresh(PyArray_TYPE(x), 2, PyArray_DIMS(x));
    PyObject *both = pair(loss, slopes);
    if (!both) return NULL;
    r.loss = PyArray_DATA(loss);
    r.out = PyArray_DATA(slopes);
    bool single = PyArray_TYPE(x) == NPY_FLOAT32;
    Part few = single ? entropy_f4 : entropy_f8, many = single ? softmax_f4 : softmax_f8;
    work_through(call, r.width <= FEW_CLASSES ? few : many, &r, r.rows, (1 << 13) / r.width + 1, 8 * size);
    return both;
}
