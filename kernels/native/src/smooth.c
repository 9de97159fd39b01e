/* Functions of networks that take several passes over memory otherwise: erf and what is made of it, x times a sigmoid, and rows
 * without their mean and with the deviation 1. Results may differ from the Python kernels' in the last bits. */

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
        if (!x || left_to_governor(call, 8 * PyArray_SIZE(x))) return NULL;                                                        \
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
        float *out = s->out + row * s->width, mean = 0;
        if (offset) mean = (float)lanes_f4(x, s->width) / (float)s->width;
        for (int64_t i = 0; i < s->width; i++) out[i] = (x[i] - mean) * (x[i] - mean);
        float inverse = 1.0f / sqrtf((float)lanes_f4(out, s->width) / (float)s->width + s->epsilon);
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
    if (left_to_governor(call, 4 * PyArray_SIZE(x))) return NULL;
    PyArrayObject *out = result_at(call, 4, NPY_FLOAT32, rank, PyArray_DIMS(x));
    if (!out) return NULL;
    Standard s = {PyArray_DATA(x), PyArray_DATA(scale), offset ? PyArray_DATA(offset) : NULL, PyArray_DATA(out), width,
                  (float)PyFloat_AsDouble(call->args[3])};
    work_through(call, standard_rows, &s, rows, (1 << 13) / width + 1, 4 * PyArray_SIZE(x));
    return (PyObject *)out;
}
