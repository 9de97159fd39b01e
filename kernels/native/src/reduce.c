/* Sums, means and extremes over dimensions that lie side by side, and cumulative sums.
 *
 * Sums of fewer than 1024 elements are numpy's bit for bit: along rows pairwise, with eight partial sums for up to 128 numbers;
 * along columns in order. Others are added in lanes within pieces, and over pieces in float64. A piece is the same whoever adds it
 * up, so a sum does not depend on threads; it may differ from numpy's in the last bits.
 */

enum { SMALL_SUM = 1024, SUM_PIECE = 1 << 14, LANES = 64, DEEP = 64, ROWS_AT_ONCE = 4, NARROW = 16, SUM_COLUMNS = 1 << 16 };

/* An array as `before` groups of `along` rows of `after` elements, of which the rows become one. */
typedef struct {
    int64_t before, along, after;
    npy_intp sizes[DEEPEST];
    int rank;
} Plan;

static bool plan_of(PyArrayObject *x, PyArrayObject *axes, bool keep, Plan *plan) {
    int rank = PyArray_NDIM(x);
    int64_t count = PyArray_SIZE(axes), first = 0;
    if (count < 1 || rank < 1 || rank > DEEPEST || PyArray_NDIM(axes) > 1) return false;
    for (int64_t i = 0; i < count; i++) {
        int64_t axis = number(PyArray_DATA(axes), is_wide(axes), i);
        if (axis < 0) axis += rank;
        if (axis < 0 || axis >= rank || (i && axis != first + i)) return false;
        if (!i) first = axis;
    }
    plan->before = plan->along = plan->after = 1;
    plan->rank = 0;
    for (int i = 0; i < rank; i++) {
        bool reduced = i >= first && i < first + count;
        int64_t size = PyArray_DIM(x, i);
        *(i < first ? &plan->before : reduced ? &plan->along : &plan->after) *= size;
        if (!reduced || keep) plan->sizes[plan->rank++] = reduced ? 1 : size;
    }
    return true;
}

typedef struct {
    const void *x;
    void *out;
    int64_t before, along, after, pieces;
    bool few;
    void *partial;
} Reduction;

#define SUMS(T, kind)                                                                                                              \
    static T pairwise_##kind(const T *x, int64_t n) {                                                                              \
        if (n < 8) {                                                                                                               \
            T total = (T)-0.0;                                                                                                     \
            for (int64_t i = 0; i < n; i++) total += x[i];                                                                         \
            return total;                                                                                                          \
        }                                                                                                                          \
        if (n > 128) {                                                                                                             \
            int64_t half = n / 2;                                                                                                  \
            half -= half % 8;                                                                                                      \
            return pairwise_##kind(x, half) + pairwise_##kind(x + half, n - half);                                                 \
        }                                                                                                                          \
        T r[8];                                                                                                                    \
        int64_t whole = n - n % 8;                                                                                                 \
        for (int k = 0; k < 8; k++) r[k] = x[k];                                                                                   \
        for (int64_t i = 8; i < whole; i += 8)                                                                                     \
            for (int k = 0; k < 8; k++) r[k] += x[i + k];                                                                          \
        T total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));                                               \
        for (int64_t i = whole; i < n; i++) total += x[i];                                                                         \
        return total;                                                                                                              \
    }                                                                                                                              \
    /* In lanes, each of which adds up some numbers before its sum goes to the others'. */                                        \
    static double lanes_##kind(const T *x, int64_t n) {                                                                            \
        double total = 0;                                                                                                          \
        int64_t i = 0;                                                                                                             \
        while (i + LANES <= n) {                                                                                                   \
            T sums[LANES] = {0};                                                                                                   \
            int64_t end = i + LANES * DEEP < n ? i + LANES * DEEP : n;                                                             \
            for (; i + LANES <= end; i += LANES)                                                                                   \
                for (int k = 0; k < LANES; k++) sums[k] += x[i + k];                                                               \
            for (int width = LANES / 2; width; width /= 2)                                                                         \
                for (int k = 0; k < width; k++) sums[k] += sums[k + width];                                                        \
            total += sums[0];                                                                                                      \
        }                                                                                                                          \
        T rest[8] = {0};                                                                                                           \
        for (; i + 8 <= n; i += 8)                                                                                                 \
            for (int k = 0; k < 8; k++) rest[k] += x[i + k];                                                                       \
        for (; i < n; i++) rest[0] += x[i];                                                                                        \
        return total + (double)(((rest[0] + rest[1]) + (rest[2] + rest[3])) + ((rest[4] + rest[5]) + (rest[6] + rest[7])));        \
    }                                                                                                                              \
    static void row_sums_##kind(int64_t begin, int64_t count, const void *given) {                                                 \
        const Reduction *r = given;                                                                                                \
        for (int64_t row = begin; row < begin + count; row++) {                                                                    \
            const T *x = (const T *)r->x + row * r->along;                                                                         \
            if (r->few || r->along < LANES) {                                                                                      \
                ((T *)r->out)[row] = pairwise_##kind(x, r->along) + 0;                                                             \
                continue;                                                                                                          \
            }                                                                                                                      \
            double total = 0;                                                                                                      \
            for (int64_t i = 0; i < r->along; i += SUM_PIECE)                                                                      \
                total += lanes_##kind(x + i, r->along - i < SUM_PIECE ? r->along - i : SUM_PIECE);                                 \
            ((T *)r->out)[row] = (T)total;                                                                                         \
        }                                                                                                                          \
    }                                                                                                                              \
    /* Pieces of one long row. */                                                                                                  \
    static void piece_sums_##kind(int64_t begin, int64_t count, const void *given) {                                               \
        const Reduction *r = given;                                                                                                \
        for (int64_t piece = begin; piece < begin + count; piece++) {                                                              \
            int64_t start = piece * SUM_PIECE, left = r->along - start;                                                            \
            ((double *)r->partial)[piece] = lanes_##kind((const T *)r->x + start, left < SUM_PIECE ? left : SUM_PIECE);            \
        }                                                                                                                          \
    }                                                                                                                              \
    static void add_rows_##kind(const T *x, T *restrict into, int64_t rows, int64_t columns, bool in_order) {                      \
        if (!in_order && columns <= NARROW && rows * columns >= NARROW * LANES) { /* several rows are one, whose parts are added */ \
            T wide[LANES];                                                                                                         \
            int64_t times = LANES / columns, whole = rows / times;                                                                 \
            add_rows_##kind(x, wide, whole, times * columns, false);                                                               \
            memcpy(into, wide, columns * sizeof(T));                                                                               \
            for (int64_t i = columns; i < times * columns; i++) into[i % columns] += wide[i];                                      \
            for (int64_t i = whole * times * columns; i < rows * columns; i++) into[i % columns] += x[i];                          \
            return;                                                                                                                \
        }                                                                                                                          \
        for (int64_t i = 0; i < columns; i++) into[i] = x[i] + 0;                                                                  \
        int64_t row = 1;                                                                                                           \
        for (; !in_order && row + ROWS_AT_ONCE <= rows; row += ROWS_AT_ONCE) {                                                     \
            const T *a = x + row * columns, *b = a + columns, *c = b + columns, *d = c + columns;                                  \
            for (int64_t i = 0; i < columns; i++) into[i] += (a[i] + b[i]) + (c[i] + d[i]);                                        \
        }                                                                                                                          \
        for (; row < rows; row++) {                                                                                                \
            const T *a = x + row * columns;                                                                                        \
            for (int64_t i = 0; i < columns; i++) into[i] += a[i];                                                                 \
        }                                                                                                                          \
    }                                                                                                                              \
    static void column_sums_##kind(int64_t begin, int64_t count, const void *given) {                                              \
        const Reduction *r = given;                                                                                                \
        for (int64_t group = begin; group < begin + count; group++)                                                                \
            add_rows_##kind((const T *)r->x + group * r->along * r->after, (T *)r->out + group * r->after, r->along, r->after,     \
                            r->few);                                                                                               \
    }                                                                                                                              \
    /* Pieces of the rows of one large matrix. */                                                                                  \
    static void piece_column_sums_##kind(int64_t begin, int64_t count, const void *given) {                                        \
        const Reduction *r = given;                                                                                                \
        int64_t high = (r->along + r->pieces - 1) / r->pieces;                                                                     \
        for (int64_t piece = begin; piece < begin + count; piece++) {                                                              \
            int64_t start = piece * high, left = r->along - start;                                                                 \
            add_rows_##kind((const T *)r->x + start * r->after, (T *)r->partial + piece * r->after, left < high ? left : high,     \
                            r->after, false);                                                                                      \
        }                                                                                                                          \
    }                                                                                                                              \
    static bool sum_##kind(const Call *call, const Reduction *given, bool mean) {                                                  \
        Reduction r = *given;                                                                                                      \
        int64_t size = r.before * r.along * r.after, pieces = (r.along + SUM_PIECE - 1) / SUM_PIECE;                               \
        T *out = r.out;                                                                                                            \
        if (r.after == 1 && r.before == 1 && pieces > 1) {                                                                         \
            double *partial = PyMem_Malloc(pieces * sizeof(double)), total = 0;                                                    \
            if (!partial) return PyErr_NoMemory(), false;                                                                          \
            r.partial = partial;                                                                                                   \
            work_through(call, piece_sums_##kind, &r, pieces, 1, size);                                                            \
            for (int64_t i = 0; i < pieces; i++) total += partial[i];                                                              \
            PyMem_Free(partial);                                                                                                   \
            out[0] = (T)total;                                                                                                     \
        } else if (r.after == 1) {                                                                                                 \
            work_through(call, row_sums_##kind, &r, r.before, SUM_PIECE / r.along + 1, size);                                      \
        } else if (r.before == 1 && size >= SUM_COLUMNS && r.along >= 16) {                                                        \
            int64_t high = 2 * SUM_PIECE / r.after + 8;                                                                            \
            r.pieces = (r.along + high - 1) / high;                                                                                \
            high = (r.along + r.pieces - 1) / r.pieces;                                                                            \
            r.pieces = (r.along + high - 1) / high;                                                                                \
            T *partial = PyMem_Malloc(r.pieces * r.after * sizeof(T));                                                             \
            if (!partial) return PyErr_NoMemory(), false;                                                                          \
            r.partial = partial;                                                                                                   \
            work_through(call, piece_column_sums_##kind, &r, r.pieces, 1, size);                                                   \
            add_rows_##kind(partial, out, r.pieces, r.after, true);                                                                \
            PyMem_Free(partial);                                                                                                   \
        } else {                                                                                                                   \
            work_through(call, column_sums_##kind, &r, r.before, SUM_PIECE / (r.along * r.after) + 1, size);                       \
        }                                                                                                                          \
        if (mean)                                                                                                                  \
            for (int64_t i = 0; i < r.before * r.after; i++) out[i] /= (T)r.along;                                                 \
        return true;                                                                                                               \
    }

SUMS(float, f4)
SUMS(double, f8)

/* An array as it is, or numpy's scalar for one of rank 0. */
static PyObject *scalar_or_array(PyArrayObject *made) { return PyArray_Return(made); }

typedef bool (*Way)(const Call *call, const Reduction *given, bool mean);
typedef struct {
    Way f4, f8, i4;
} Ways;

static inline Way way_for(const Ways *ways, int type) {
    switch (type) {
        case NPY_FLOAT32: return ways->f4;
        case NPY_FLOAT64: return ways->f8;
        case NPY_INT32: return ways->i4;
        default: return NULL;
    }
}

/* What a plan makes of x, in the array with this number where it is there. */
static PyObject *reduced_by(const Call *call, PyArrayObject *x, const Plan *plan, Way way, bool mean, int into) {
    int64_t size = plan->before * plan->along * plan->after;
    if (plan->along < 1 || left_to_python(call, size)) return NULL;
    PyArrayObject *made = result_at(call, into, PyArray_TYPE(x), plan->rank, plan->sizes);
    if (!made) return NULL;
    Reduction r = {PyArray_DATA(x), PyArray_DATA(made), plan->before, plan->along, plan->after, 0, size < SMALL_SUM, NULL};
    if (share_memory(x, made) || (size && !way(call, &r, mean))) {
        Py_DECREF((PyObject *)made);
        return NULL;
    }
    return call->count > into && call->args[into] != Py_None ? (PyObject *)made : scalar_or_array(made);
}

/* sum(x, axes, keeps_dimensions, out or nothing), and so on. */
static PyObject *reduced(const Call *call, const Ways *ways, bool mean) {
    PyArrayObject *x = array_at(call, 0), *axes = indices_at(call, 1);
    Plan plan;
    Way way = x ? way_for(ways, PyArray_TYPE(x)) : NULL;
    if (!way || !axes || call->count < 3 || call->count > 4) return NULL;
    if (!PyBool_Check(call->args[2]) || !plan_of(x, axes, call->args[2] == Py_True, &plan)) return NULL;
    return reduced_by(call, x, &plan, way, mean, 3);
}

static PyObject *k_sum(const Call *call) {
    static const Ways ways = {.f4 = sum_f4, .f8 = sum_f8};
    return reduced(call, &ways, false);
}

/* bias_add_grad(dy): the sums of its last dimension's columns. */
static PyObject *k_bias_add_grad(const Call *call) {
    static const Ways ways = {.f4 = sum_f4, .f8 = sum_f8};
    PyArrayObject *dy = array_at(call, 0);
    Way way = dy ? way_for(&ways, PyArray_TYPE(dy)) : NULL;
    int rank = dy ? PyArray_NDIM(dy) : 0;
    if (!way || rank < 2 || call->count != 1 || !PyArray_SIZE(dy)) return NULL;
    int64_t columns = PyArray_DIM(dy, rank - 1);
    Plan plan = {1, PyArray_SIZE(dy) / columns, columns, {columns}, 1};
    return reduced_by(call, dy, &plan, way, false, 1);
}

static PyObject *k_mean(const Call *call) {
    static const Ways ways = {.f4 = sum_f4, .f8 = sum_f8};
    return reduced(call, &ways, true);
}

/* ---- extremes: a NaN stays. To take an element twice changes nothing, so the last vector of a row may reach back into the one before. */

#define LARGER(a, b) ((a) > (b) || (a) != (a) ? (a) : (b)) /* of rows of a softmax as well */

#define EXTREMES(name, T, Bits, beats)                                                                                             \
    typedef T name##_vector __attribute__((vector_size(sizeof(Lane)), aligned(sizeof(T))));                                        \
    typedef Bits name##_bits __attribute__((vector_size(sizeof(Lane)), aligned(sizeof(T))));                                       \
    INLINED name##_vector name##_each(name##_vector a, name##_vector b) {                                                          \
        name##_bits first = (name##_bits)(a beats b) | (name##_bits)(a != a);                                                      \
        return (name##_vector)(((name##_bits)a & first) | ((name##_bits)b & ~first));                                              \
    }                                                                                                                              \
    /* A maximum is one instruction, and a NaN is seldom: neither is a branch that is guessed wrong. */                            \
    INLINED T name##_chained(T a, T b) { return a != a ? a : a beats b ? a : b; }                                                  \
    static T name##_of_row(const T *x, int64_t n) {                                                                                \
        enum { WIDTH = sizeof(Lane) / sizeof(T), WIDE = 4 * WIDTH };                                                               \
        T best;                                                                                                                    \
        if (n < WIDTH) {                                                                                                           \
            best = x[0];                                                                                                           \
            for (int64_t i = 1; i < n; i++) best = name##_chained(best, x[i]);                                                     \
            return best;                                                                                                           \
        }                                                                                                                          \
        name##_vector one = *(const name##_vector *)x;                                                                             \
        if (n >= WIDE) {                                                                                                           \
            name##_vector some[4];                                                                                                 \
            _Pragma("GCC unroll 4") for (int k = 0; k < 4; k++) some[k] = *(const name##_vector *)(x + k * WIDTH);                 \
            for (int64_t i = WIDE; i < n; i += WIDE) {                                                                             \
                const T *from = x + (i + WIDE <= n ? i : n - WIDE);                                                                \
                _Pragma("GCC unroll 4") for (int k = 0; k < 4; k++)                                                                \
                    some[k] = name##_each(some[k], *(const name##_vector *)(from + k * WIDTH));                                    \
            }                                                                                                                      \
            one = name##_each(name##_each(some[0], some[2]), name##_each(some[1], some[3]));                                       \
        } else                                                                                                                     \
            for (int64_t i = WIDTH; i < n; i += WIDTH)                                                                             \
                one = name##_each(one, *(const name##_vector *)(x + (i + WIDTH <= n ? i : n - WIDTH)));                            \
        best = one[0];                                                                                                             \
        for (int k = 1; k < WIDTH; k++) best = name##_chained(best, one[k]);                                                       \
        return best;                                                                                                               \
    }                                                                                                                              \
    static void name##_rows(int64_t begin, int64_t count, const void *given) {                                                     \
        const Reduction *r = given;                                                                                                \
        const T *x = r->x;                                                                                                         \
        T *out = r->out, best[NARROW];                                                                                             \
        int64_t row = begin, end = begin + count, n = r->along;                                                                    \
        for (; n < NARROW && row + NARROW <= end; row += NARROW) { /* short ones side by side */                                   \
            const T *some = x + row * n;                                                                                           \
            for (int k = 0; k < NARROW; k++) best[k] = some[k * n];                                                                \
            for (int64_t i = 1; i < n; i++)                                                                                        \
                for (int k = 0; k < NARROW; k++) best[k] = name##_chained(best[k], some[k * n + i]);                               \
            memcpy(out + row, best, sizeof(best));                                                                                 \
        }                                                                                                                          \
        for (; row < end; row++) out[row] = name##_of_row(x + row * n, n);                                                         \
    }                                                                                                                              \
    /* Pieces of one long row. */                                                                                                  \
    static void name##_pieces(int64_t begin, int64_t count, const void *given) {                                                   \
        const Reduction *r = given;                                                                                                \
        for (int64_t piece = begin; piece < begin + count; piece++) {                                                              \
            int64_t start = piece * SUM_PIECE, left = r->along - start;                                                            \
            ((T *)r->partial)[piece] = name##_of_row((const T *)r->x + start, left < SUM_PIECE ? left : SUM_PIECE);                \
        }                                                                                                                          \
    }                                                                                                                              \
    static void name##_of_columns(const T *x, int64_t pitch, T *restrict into, int64_t rows, int64_t columns) {                    \
        if (pitch == columns && columns <= NARROW && rows * columns >= NARROW * LANES) { /* several rows are one */                \
            T wide[LANES];                                                                                                         \
            int64_t times = LANES / columns, whole = rows / times, done = whole * times * columns;                                 \
            name##_of_columns(x, times * columns, wide, whole, times * columns);                                                   \
            memcpy(into, wide, columns * sizeof(T));                                                                               \
            for (int64_t i = columns; i < times * columns; i++) into[i % columns] = name##_chained(into[i % columns], wide[i]);    \
            for (int64_t i = done; i < rows * columns; i++) into[i % columns] = name##_chained(into[i % columns], x[i]);           \
            return;                                                                                                                \
        }                                                                                                                          \
        memcpy(into, x, columns * sizeof(T));                                                                                      \
        int64_t row = 1;                                                                                                           \
        for (; row + 2 <= rows; row += 2) {                                                                                        \
            const T *a = x + row * pitch, *b = a + pitch;                                                                          \
            for (int64_t i = 0; i < columns; i++) {                                                                                \
                T one = into[i] beats a[i] || into[i] != into[i] ? into[i] : a[i];                                                 \
                into[i] = one beats b[i] || one != one ? one : b[i];                                                               \
            }                                                                                                                      \
        }                                                                                                                          \
        for (; row < rows; row++) {                                                                                                \
            const T *a = x + row * pitch;                                                                                          \
            for (int64_t i = 0; i < columns; i++) into[i] = into[i] beats a[i] || into[i] != into[i] ? into[i] : a[i];             \
        }                                                                                                                          \
    }                                                                                                                              \
    static void name##_columns(int64_t begin, int64_t count, const void *given) {                                                  \
        const Reduction *r = given;                                                                                                \
        for (int64_t group = begin; group < begin + count; group++)                                                                \
            name##_of_columns((const T *)r->x + group * r->along * r->after, r->after, (T *)r->out + group * r->after, r->along,   \
                              r->after);                                                                                           \
    }                                                                                                                              \
    /* Some columns of one matrix. */                                                                                              \
    static void name##_some_columns(int64_t begin, int64_t count, const void *given) {                                             \
        const Reduction *r = given;                                                                                                \
        name##_of_columns((const T *)r->x + begin, r->after, (T *)r->out + begin, r->along, count);                                \
    }                                                                                                                              \
    static bool name(const Call *call, const Reduction *given, bool mean) {                                                        \
        Reduction r = *given;                                                                                                      \
        int64_t size = r.before * r.along * r.after, pieces = (r.along + SUM_PIECE - 1) / SUM_PIECE;                               \
        if (r.after == 1 && r.before == 1 && pieces > 1) {                                                                         \
            T *partial = r.partial = PyMem_Malloc(pieces * sizeof(T));                                                             \
            if (!partial) return PyErr_NoMemory(), false;                                                                          \
            work_through(call, name##_pieces, &r, pieces, 1, size);                                                                \
            *(T *)r.out = name##_of_row(partial, pieces);                                                                          \
            PyMem_Free(partial);                                                                                                   \
        } else if (r.after == 1)                                                                                                   \
            work_through(call, name##_rows, &r, r.before, SUM_PIECE / r.along + 1, size);                                          \
        else if (r.before == 1)                                                                                                    \
            work_through(call, name##_some_columns, &r, r.after, SUM_PIECE / r.along + LANES, size);                               \
        else                                                                                                                       \
            work_through(call, name##_columns, &r, r.before, SUM_PIECE / (r.along * r.after) + 1, size);                           \
        return true;                                                                                                               \
    }
EXTREMES(largest_f4, float, int32_t, >)
EXTREMES(largest_f8, double, int64_t, >)
EXTREMES(largest_i4, int32_t, int32_t, >)
EXTREMES(smallest_f4, float, int32_t, <)
EXTREMES(smallest_f8, double, int64_t, <)
EXTREMES(smallest_i4, int32_t, int32_t, <)

static PyObject *k_max(const Call *call) {
    static const Ways ways = {largest_f4, largest_f8, largest_i4};
    return reduced(call, &ways, false);
}

static PyObject *k_min(const Call *call) {
    static const Ways ways = {smallest_f4, smallest_f8, smallest_i4};
    return reduced(call, &ways, false);
}

/* ---- cumsum(x, axis, exclusive, reverse, out or nothing): numpy's bits, since each element is added to the sum of those before */

enum { SCANS_AT_ONCE = 8 };

typedef struct {
    const void *x;
    void *out;
    int64_t before, along, after;
    int64_t late;    /* 1 where a sum leaves out its own element */
    bool backwards;
} Scan;

/* Sums along rows wait for each addition, so several rows are added up side by side. */
#define SCANS(T, kind)                                                                                                             \
    INLINED void scan_rows_##kind(const Scan *s, int64_t row, const int some) {                                                    \
        int64_t step = s->backwards ? -1 : 1, first = row * s->along + (s->backwards ? s->along - 1 : 0);                          \
        const T *x = (const T *)s->x + first;                                                                                      \
        T *out = (T *)s->out + first, sums[SCANS_AT_ONCE];                                                                         \
        for (int k = 0; k < some; k++) sums[k] = x[k * s->along];                                                                  \
        if (s->late)                                                                                                               \
            for (int k = 0; k < some; k++) out[k * s->along] = 0;                                                                  \
        if (s->along > s->late)                                                                                                    \
            for (int k = 0; k < some; k++) out[k * s->along + s->late * step] = sums[k];                                           \
        for (int64_t i = 1; i + s->late < s->along; i++)                                                                           \
            for (int k = 0; k < some; k++)                                                                                         \
                out[k * s->along + (i + s->late) * step] = sums[k] += x[k * s->along + i * step];                                  \
    }                                                                                                                              \
    INLINED void scan_matrix_##kind(const Scan *s, int64_t group) {                                                                \
        int64_t size = s->along * s->after, step = s->backwards ? -s->after : s->after;                                            \
        int64_t first = group * size + (s->backwards ? size - s->after : 0);                                                       \
        const T *x = (const T *)s->x + first;                                                                                      \
        T *out = (T *)s->out + first;                                                                                              \
        if (s->late) memset(out, 0, s->after * sizeof(T));                                                                         \
        if (s->along > s->late) memcpy(out + s->late * step, x, s->after * sizeof(T));                                             \
        for (int64_t i = 1; i + s->late < s->along; i++) {                                                                         \
            const T *line = x + i * step;                                                                                          \
            T *into = out + (i + s->late) * step, *sums = into - step;                                                             \
            _Pragma("GCC ivdep") for (int64_t j = 0; j < s->after; j++) into[j] = sums[j] + line[j];                               \
        }                                                                                                                          \
    }                                                                                                                              \
    static void scan_##kind(int64_t begin, int64_t count, const void *given) {                                                     \
        const Scan *s = given;                                                                                                     \
        int64_t group = begin, end = begin + count;                                                                                \
        for (; s->after == 1 && group + SCANS_AT_ONCE <= end; group += SCANS_AT_ONCE) scan_rows_##kind(s, group, SCANS_AT_ONCE);   \
        for (; s->after == 1 && group < end; group++) scan_rows_##kind(s, group, 1);                                               \
        for (; group < end; group++) scan_matrix_##kind(s, group);                                                                 \
    }

SCANS(float, f4)
SCANS(double, f8)
SCANS(uint32_t, i4)
SCANS(uint64_t, i8)

static PyObject *k_cumsum(const Call *call) {
    static const struct { int type; Part part; } parts[] = {
        {NPY_FLOAT32, scan_f4}, {NPY_FLOAT64, scan_f8}, {NPY_INT32, scan_i4}, {NPY_INT64, scan_i8}};
    PyArrayObject *x = array_at(call, 0);
    int64_t axis, rank = x ? PyArray_NDIM(x) : 0;
    if (!rank || !whole_at(call, 1, &axis) || call->count < 4 || !PyBool_Check(call->args[2]) || !PyBool_Check(call->args[3])) return NULL;
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || !PyArray_SIZE(x)) return NULL;
    Part part = NULL;
    for (int i = 0; i < 4; i++)
        if (parts[i].type == PyArray_TYPE(x)) part = parts[i].part;
    Scan s = {.x = PyArray_DATA(x), .before = 1, .along = PyArray_DIM(x, axis), .after = 1, .late = call->args[2] == Py_True,
              .backwards = call->args[3] == Py_True};
    for (int64_t i = 0; i < rank; i++) *(i < axis ? &s.before : &s.after) *= i == axis ? 1 : PyArray_DIM(x, i);
    int64_t size = PyArray_SIZE(x);
    if (!part || (s.before > 1 && left_to_python(call, size))) return NULL;
    PyArrayObject *made = result_at(call, 4, PyArray_TYPE(x), (int)rank, PyArray_DIMS(x));
    if (!made) return NULL;
    if (share_memory(made, x)) {
        Py_DECREF((PyObject *)made);
        return NULL;
    }
    s.out = PyArray_DATA(made);
    int64_t piece = SUM_PIECE / (s.along * s.after) + 1;
    work_through(call, part, &s, s.before, piece < SCANS_AT_ONCE ? SCANS_AT_ONCE : piece, size);
    return (PyObject *)made;
}
