/* Functions of networks that take several passes over memory otherwise: erf and what is made of it, x times a sigmoid, and rows
 * without their mean and with the deviation 1, with their gradients, and the gradient of a softmax's rows. Results may differ from the
 * Python kernels' in the last bits. */

/* A quotient of polynomials, right to some units in the last place; beyond 4 it is 1. */
static inline float error_function(float x) {
    float y = x < -4.0f ? -4.0f : x > 4.0f ? 4.0f : x, z = y * y;
    float over = -2.72614225801306e-10f;
    over = fused(over, z, 2.77068142495902e-08f);
    over = fused(over, z, -2.10102402082508e-06f);
    over = fused(over, z, -5.69250639462346e-05f);
    over = fused(over, z, -7.34990630326855e-04f);
    over = fused(over, z, -2.95459980854025e-03f);
    over = fused(over, z, -1.60960333262415e-02f);
    float under = -1.45660718464996e-05f;
    under = fused(under, z, -2.13374052778905e-04f);
    under = fused(under, z, -1.68282697438203e-03f);
    under = fused(under, z, -7.37332916720468e-03f);
    under = fused(under, z, -1.42647390514189e-02f);
    return y * over / under;
}

/* 1 / (1 + e⁻ˣ) */
static inline float logistic(float x) {
    float small = power(x < 0 ? x : -x);
    return (x < 0 ? small : 1.0f) / (1.0f + small);
}

#define SMOOTH(name, expression)                                                                                                   \
    UNARY(name##_each, float, float, expression)                                                                                     \
    static PyObject *k_##name(const Call *call) {                                                                                  \
        PyArrayObject *x = typed_at(call, 0, NPY_FLOAT32);                                                                         \
        if (!x || left_to_python(call, 8 * PyArray_SIZE(x))) return NULL;                                                        \
        PyArrayObject *out = result_at(call, 1, NPY_FLOAT32, PyArray_NDIM(x), PyArray_DIMS(x));                                    \
        if (!out) return NULL;                                                                                                     \
        int64_t size = PyArray_SIZE(x);                                                                                            \
        Walk w = {.columns = size, .rows = 1, .operand = {PyArray_DATA(x)}, .out = PyArray_DATA(out)};                             \
        work_through(call, name##_each, &w, size, PIECE / 8, 8 * size);                                                              \
        return (PyObject *)out;                                                                                                    \
    }

SMOOTH(erf, error_function(a))
SMOOTH(gelu, 0.5f * a * (1.0f + error_function(a * 0.70710678118654752f)))
SMOOTH(gelu_tanh, a *logistic(1.59576912160573071f * (a + 0.044715f * a * a * a)))
SMOOTH(swish, a *logistic(a))

/* ---- rows */

enum { SOME_LANES = 16, FLOAT_SUM = 1 << 12 };
typedef float SomeLanes __attribute__((vector_size(SOME_LANES * sizeof(float)), aligned(sizeof(float))));

INLINED double sum_of_lanes(const SomeLanes *lanes) {
    float some[SOME_LANES];
    memcpy(some, lanes, sizeof(some));
    for (int width = SOME_LANES / 2; width; width /= 2)
        for (int k = 0; k < width; k++) some[k] += some[k + width];
    return some[0];
}

static float mean_of_row(const float *x, int64_t width) {
    double total = 0;
    for (int64_t first = 0; first < width; first += FLOAT_SUM) {
        int64_t i = first, end = first + FLOAT_SUM < width ? first + FLOAT_SUM : width;
        SomeLanes sums = {0};
        for (; i + SOME_LANES <= end; i += SOME_LANES) sums += *(const SomeLanes *)(x + i);
        total += sum_of_lanes(&sums);
        for (; i < end; i++) total += x[i];
    }
    return (float)(total / (double)width);
}

/* The sums of the squares of x - mean, c, and with a scale of s = dy scale and s c. */
INLINED void sums_of_row(const float *x, const float *dy, const float *scale, float mean, int64_t width, double *into) {
    into[0] = into[1] = into[2] = 0;
    for (int64_t first = 0; first < width; first += FLOAT_SUM) {
        int64_t i = first, end = first + FLOAT_SUM < width ? first + FLOAT_SUM : width;
        SomeLanes sums[3] = {{0}};
        for (; i + SOME_LANES <= end; i += SOME_LANES) {
            SomeLanes c = *(const SomeLanes *)(x + i) - mean;
            sums[0] += c * c;
            if (scale) {
                SomeLanes s = *(const SomeLanes *)(dy + i) * *(const SomeLanes *)(scale + i);
                sums[1] += s;
                sums[2] += s * c;
            }
        }
        for (int k = 0; k < (scale ? 3 : 1); k++) into[k] += sum_of_lanes(&sums[k]);
        for (; i < end; i++) {
            float c = x[i] - mean, s = scale ? dy[i] * scale[i] : 0;
            into[0] += c * c;
            into[1] += s;
            into[2] += s * c;
        }
    }
}

typedef struct {
    const float *x, *scale, *offset;
    float *out;
    int64_t width;
    float epsilon;
} Standard;

static void standard_rows(int64_t begin, int64_t count, const void *given) {
    const Standard *s = given;
    for (int64_t row = begin; row < begin + count; row++) {
        const float *x = s->x + row * s->width, *scale = s->scale, *offset = s->offset;
        float *out = s->out + row * s->width, mean = offset ? mean_of_row(x, s->width) : 0;
        double sums[3];
        sums_of_row(x, NULL, NULL, mean, s->width, sums);
        float inverse = 1.0f / sqrtf((float)(sums[0] / (double)s->width) + s->epsilon);
        if (offset) {
            _Pragma("GCC ivdep") for (int64_t i = 0; i < s->width; i++) out[i] = (x[i] - mean) * inverse * scale[i] + offset[i];
        } else {
            _Pragma("GCC ivdep") for (int64_t i = 0; i < s->width; i++) out[i] = x[i] * inverse * scale[i];
        }
    }
}

/* standardized(x, scale, offset or None, epsilon, out or None): rows by their deviation; with an offset without their mean, else by
 * the root of their mean square. */
static PyObject *k_standardized(const Call *call) {
    PyArrayObject *x = typed_at(call, 0, NPY_FLOAT32), *scale = typed_at(call, 1, NPY_FLOAT32), *offset = typed_at(call, 2, NPY_FLOAT32);
    int rank = x ? PyArray_NDIM(x) : 0;
    if (call->count < 4 || !rank || !PyArray_SIZE(x) || !PyFloat_CheckExact(call->args[3])) return NULL;
    if (!offset && call->args[2] != Py_None) return NULL;
    int64_t width = PyArray_DIM(x, rank - 1), rows = PyArray_SIZE(x) / width;
    if (!scale || PyArray_NDIM(scale) != 1 || PyArray_DIM(scale, 0) != width) return NULL;
    if (offset && (PyArray_NDIM(offset) != 1 || PyArray_DIM(offset, 0) != width)) return NULL;
    if (left_to_python(call, 4 * PyArray_SIZE(x))) return NULL;
    PyArrayObject *out = result_at(call, 4, NPY_FLOAT32, rank, PyArray_DIMS(x));
    if (!out) return NULL;
    Standard s = {PyArray_DATA(x), PyArray_DATA(scale), offset ? PyArray_DATA(offset) : NULL, PyArray_DATA(out), width,
                  (float)PyFloat_AsDouble(call->args[3])};
    work_through(call, standard_rows, &s, rows, (1 << 13) / width + 1, 4 * PyArray_SIZE(x));
    return (PyObject *)out;
}

/* ---- gradients of rows without their mean and with the deviation 1
 *
 * With c the row without its mean, r the inverse deviation and s = dy scale, the gradient of a row is r (s - mean(s) - c r² mean(s c)),
 * and that of the scale is the sum of dy c r over rows. */

typedef struct {
    const float *dy, *x, *scale;
    float *out;
    int64_t rows, width, piece; /* of a piece: rows */
    int rank;                   /* of what the rows of dy are numbered by, where these do not follow each other; else 0 */
    int64_t sizes[DEEPEST], steps[DEEPEST];
    float epsilon;
} Slopes;

/* A row of dy: slopes that are the same for several rows, as behind a mean of them, are there once. */
static inline const float *slopes_in(const Slopes *g, int64_t row) {
    if (!g->rank) return g->dy + row * g->width;
    const float *dy = g->dy;
    for (int i = g->rank - 1; i >= 0; row /= g->sizes[i], i--) dy += row % g->sizes[i] * g->steps[i];
    return dy;
}

static void slopes_of_rows(int64_t begin, int64_t count, const void *given) {
    const Slopes *g = given;
    float share = 1.0f / (float)g->width;
    for (int64_t row = begin; row < begin + count; row++) {
        const float *x = g->x + row * g->width, *dy = slopes_in(g, row), *scale = g->scale;
        float *out = g->out + row * g->width, mean = mean_of_row(x, g->width);
        double sums[3];
        sums_of_row(x, dy, scale, mean, g->width, sums);
        float inverse = 1.0f / sqrtf((float)sums[0] * share + g->epsilon);
        float shift = (float)sums[1] * share, slant = (float)sums[2] * share * inverse * inverse;
        _Pragma("GCC ivdep") for (int64_t i = 0; i < g->width; i++) out[i] = (dy[i] * scale[i] - shift - (x[i] - mean) * slant) * inverse;
    }
}

/* The gradient of the scale by pieces of the rows, each with sums of its own. */
static void slopes_of_scale(int64_t begin, int64_t count, const void *given) {
    const Slopes *g = given;
    for (int64_t piece = begin; piece < begin + count; piece++) {
        float *out = g->out + piece * g->width;
        memset(out, 0, (size_t)g->width * sizeof(float));
        int64_t end = (piece + 1) * g->piece < g->rows ? (piece + 1) * g->piece : g->rows;
        for (int64_t row = piece * g->piece; row < end; row++) {
            const float *x = g->x + row * g->width, *dy = slopes_in(g, row);
            float mean = mean_of_row(x, g->width);
            double sums[3];
            sums_of_row(x, dy, NULL, mean, g->width, sums);
            float inverse = 1.0f / sqrtf((float)sums[0] / (float)g->width + g->epsilon);
            _Pragma("GCC ivdep") for (int64_t i = 0; i < g->width; i++) out[i] += dy[i] * ((x[i] - mean) * inverse);
        }
    }
}

/* An array of float32 whose rows may lie anywhere, each in order. */
static PyArrayObject *rows_at(const Call *call, Py_ssize_t index) {
    PyArrayObject *x = typed_at(call, index, NPY_FLOAT32);
    if (x || index >= call->count || Py_TYPE(call->args[index]) != &PyArray_Type) return x;
    x = (PyArrayObject *)call->args[index];
    int rank = PyArray_NDIM(x);
    if (PyArray_TYPE(x) != NPY_FLOAT32 || !rank || !PyArray_ISALIGNED(x) || !PyArray_ISNOTSWAPPED(x)) return NULL;
    if (PyArray_DIM(x, rank - 1) > 1 && PyArray_STRIDE(x, rank - 1) != sizeof(float)) return NULL;
    for (int i = 0; i < rank; i++)
        if (PyArray_STRIDE(x, i) < 0 || PyArray_STRIDE(x, i) % (int64_t)sizeof(float)) return NULL;
    return x;
}

static bool slopes_at(const Call *call, Slopes *g, int epsilon) {
    PyArrayObject *dy = rows_at(call, 0), *x = typed_at(call, 1, NPY_FLOAT32);
    int rank = x ? PyArray_NDIM(x) : 0;
    if (call->count <= epsilon || !dy || rank < 2 || rank > DEEPEST || !PyArray_SIZE(x) || !same_shape(dy, x)) return false;
    if (!PyFloat_CheckExact(call->args[epsilon])) return false;
    g->width = PyArray_DIM(x, rank - 1);
    g->rows = PyArray_SIZE(x) / g->width;
    g->rank = PyArray_IS_C_CONTIGUOUS(dy) ? 0 : rank - 1;
    for (int i = 0; i < g->rank; i++) g->sizes[i] = PyArray_DIM(x, i), g->steps[i] = PyArray_STRIDE(dy, i) / (int64_t)sizeof(float);
    g->dy = PyArray_DATA(dy);
    g->x = PyArray_DATA(x);
    g->epsilon = (float)PyFloat_AsDouble(call->args[epsilon]);
    return true;
}

/* layer_norm_grad(dy, x, scale, epsilon, out or None): the gradient for x. */
static PyObject *k_layer_norm_grad(const Call *call) {
    Slopes g = {0};
    PyArrayObject *scale = typed_at(call, 2, NPY_FLOAT32), *x;
    if (!slopes_at(call, &g, 3) || !scale || PyArray_NDIM(scale) != 1 || PyArray_DIM(scale, 0) != g.width) return NULL;
    if (left_to_python(call, 8 * g.rows * g.width)) return NULL;
    x = array_at(call, 1);
    PyArrayObject *out = result_at(call, 4, NPY_FLOAT32, PyArray_NDIM(x), PyArray_DIMS(x));
    if (!out) return NULL;
    bool mixed = g.rank && share_memory(out, (PyArrayObject *)call->args[0]);
    if (mixed || share_memory(out, scale)) return Py_DECREF((PyObject *)out), NULL;
    g.scale = PyArray_DATA(scale);
    g.out = PyArray_DATA(out);
    work_through(call, slopes_of_rows, &g, g.rows, (1 << 13) / g.width + 1, 8 * g.rows * g.width);
    return (PyObject *)out;
}

/* layer_norm_scale_grad(dy, x, epsilon): the gradient for the scale. */
static PyObject *k_layer_norm_scale_grad(const Call *call) {
    Slopes g = {0};
    if (!slopes_at(call, &g, 2) || left_to_python(call, 4 * g.rows * g.width)) return NULL;
    npy_intp sizes[1] = {g.width};
    PyArrayObject *made = fresh(NPY_FLOAT32, 1, sizes);
    if (!made) return NULL;
    g.piece = 2 * SUM_PIECE / g.width + 8;
    int64_t pieces = (g.rows + g.piece - 1) / g.piece;
    g.out = pieces > 1 ? PyMem_Malloc(pieces * g.width * sizeof(float)) : PyArray_DATA(made);
    if (!g.out) return Py_DECREF((PyObject *)made), PyErr_NoMemory();
    work_through(call, slopes_of_scale, &g, pieces, 1, 4 * g.rows * g.width);
    if (pieces > 1) {
        add_rows_f4(g.out, PyArray_DATA(made), pieces, g.width, true);
        PyMem_Free(g.out);
    }
    return (PyObject *)made;
}

/* ---- the gradient of a softmax's rows, times a number: (dy - sum(dy y)) y scale */

typedef struct {
    const float *dy, *y;
    float *out;
    int64_t width;
    float scale;
} Shares;

static void slopes_of_shares(int64_t begin, int64_t count, const void *given) {
    const Shares *g = given;
    for (int64_t row = begin; row < begin + count; row++) {
        const float *dy = g->dy + row * g->width, *y = g->y + row * g->width;
        float *out = g->out + row * g->width;
        double total = 0;
        for (int64_t first = 0; first < g->width; first += FLOAT_SUM) {
            int64_t i = first, end = first + FLOAT_SUM < g->width ? first + FLOAT_SUM : g->width;
            SomeLanes sums = {0};
            for (; i + SOME_LANES <= end; i += SOME_LANES) sums += *(const SomeLanes *)(dy + i) * *(const SomeLanes *)(y + i);
            total += sum_of_lanes(&sums);
            for (; i < end; i++) total += dy[i] * y[i];
        }
        float sum = (float)total;
        _Pragma("GCC ivdep") for (int64_t i = 0; i < g->width; i++) out[i] = (dy[i] - sum) * y[i] * g->scale;
    }
}

/* softmax_grad(dy, y, scale, out or None) */
static PyObject *k_softmax_grad(const Call *call) {
    PyArrayObject *dy = typed_at(call, 0, NPY_FLOAT32), *y = typed_at(call, 1, NPY_FLOAT32);
    int rank = y ? PyArray_NDIM(y) : 0;
    if (call->count < 3 || !dy || !rank || !PyArray_SIZE(y) || !same_shape(dy, y) || !PyFloat_CheckExact(call->args[2])) return NULL;
    int64_t size = PyArray_SIZE(y), width = PyArray_DIM(y, rank - 1);
    if (left_to_python(call, 4 * size)) return NULL;
    PyArrayObject *out = result_at(call, 3, NPY_FLOAT32, rank, PyArray_DIMS(y));
    if (!out) return NULL;
    Shares g = {PyArray_DATA(dy), PyArray_DATA(y), PyArray_DATA(out), width, (float)PyFloat_AsDouble(call->args[2])};
    work_through(call, slopes_of_shares, &g, size / width, (1 << 13) / width + 1, 4 * size);
    return (PyObject *)out;
}
