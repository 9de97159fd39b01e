/* Small products of matrices, with a bias and an activation, or subtracted from a variable. A library's product costs more before
 * it begins than such a one takes.
 *
 * Each element is a sum in the order of the inner dimension, of products that are added without being rounded where the processor
 * can. It does not depend on what else is computed in the call.
 */

enum { PRODUCT_ROWS = 4, PRODUCT_WIDE = 2, PACKED_MOST = 1 << 14 };

#if defined(__AVX512F__)
typedef float Lane __attribute__((vector_size(64), aligned(4)));
static inline Lane added(float a, Lane b, Lane c) { return (Lane)_mm512_fmadd_ps(_mm512_set1_ps(a), (__m512)b, (__m512)c); }
#elif defined(__FMA__)
typedef float Lane __attribute__((vector_size(32), aligned(4)));
static inline Lane added(float a, Lane b, Lane c) { return (Lane)_mm256_fmadd_ps(_mm256_set1_ps(a), (__m256)b, (__m256)c); }
#else
typedef float Lane __attribute__((vector_size(16), aligned(4)));
static inline Lane added(float a, Lane b, Lane c) { return a * b + c; }
#endif

enum { LANE = sizeof(Lane) / sizeof(float) };

typedef struct {
    const float *a, *b;
    float *c;
    int64_t m, n, k;
    int64_t a_row, a_inner; /* from one element of `a` to that of the next row, and to the next that is multiplied */
    int64_t b_row, c_row;   /* from one row of `b` to the next, and of `c` */
    const float *bias;
    bool relu, steps;
    float alpha;
} Product;

/* What becomes of `count` sums in a row of the result. */
static inline void finished(const Product *p, const float *sums, int64_t row, int64_t column, int64_t count) {
    float *c = p->c + row * p->c_row + column;
    if (p->steps) {
        for (int64_t i = 0; i < count; i++) c[i] -= sums[i] * p->alpha;
    } else if (p->bias) {
        const float *bias = p->bias + column;
        if (p->relu)
            for (int64_t i = 0; i < count; i++) {
                float y = sums[i] + bias[i];
                c[i] = y > 0 || y != y ? y : 0;
            }
        else
            for (int64_t i = 0; i < count; i++) c[i] = sums[i] + bias[i];
    } else
        memcpy(c, sums, (size_t)count * sizeof(float));
}

/* `rows` rows of the result and `wide` lanes of columns, whose sums stay in registers. */
static inline __attribute__((always_inline)) void tile(const Product *p, int64_t row, int64_t column, int rows, int wide) {
    Lane sums[PRODUCT_ROWS][PRODUCT_WIDE] = {{{0}}};
    const float *a = p->a + row * p->a_row, *b = p->b + column;
    for (int64_t k = 0; k < p->k; k++, a += p->a_inner, b += p->b_row)
        for (int w = 0; w < wide; w++) {
            Lane lane = *(const Lane *)(b + w * LANE);
            for (int r = 0; r < rows; r++) sums[r][w] = added(a[r * p->a_row], lane, sums[r][w]);
        }
    int64_t count = p->n - column < wide * LANE ? p->n - column : wide * LANE;
    for (int r = 0; r < rows; r++) finished(p, (const float *)sums[r], row + r, column, count);
}

static void multiplied(const Product *p) {
    int64_t column = 0;
    for (; column + LANE < p->n; column += PRODUCT_WIDE * LANE) {
        int64_t row = 0;
        for (; row + PRODUCT_ROWS <= p->m; row += PRODUCT_ROWS) tile(p, row, column, PRODUCT_ROWS, PRODUCT_WIDE);
        for (; row < p->m; row++) tile(p, row, column, 1, PRODUCT_WIDE);
    }
    if (column < p->n) {
        int64_t row = 0;
        for (; row + PRODUCT_ROWS <= p->m; row += PRODUCT_ROWS) tile(p, row, column, PRODUCT_ROWS, 1);
        for (; row < p->m; row++) tile(p, row, column, 1, 1);
    }
}

/* A number of any kind: Python's, numpy's, or an array of rank 0. */
static bool float_at(const Call *call, Py_ssize_t index, float *into) {
    PyArrayObject *array = typed_at(call, index, NPY_FLOAT32);
    if (array && !PyArray_NDIM(array)) {
        *into = *(const float *)PyArray_DATA(array);
        return true;
    }
    if (index >= call->count || PyArray_Check(call->args[index])) return false;
    double found = PyFloat_AsDouble(call->args[index]);
    if (found == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    *into = (float)found;
    return true;
}

/* Reads the matrices at `index`, and whether each is turned. */
static bool matrices_at(const Call *call, Py_ssize_t index, Product *p) {
    PyArrayObject *a = typed_at(call, index, NPY_FLOAT32), *b = typed_at(call, index + 1, NPY_FLOAT32);
    if (!a || !b || PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2 || index + 4 > call->count) return false;
    bool turned_a = call->args[index + 2] == Py_True, turned_b = call->args[index + 3] == Py_True;
    p->m = PyArray_DIM(a, turned_a), p->k = PyArray_DIM(a, !turned_a), p->n = PyArray_DIM(b, !turned_b);
    p->a = PyArray_DATA(a), p->b = PyArray_DATA(b);
    p->a_row = turned_a ? 1 : p->k, p->a_inner = turned_a ? p->m : 1;
    p->b_row = turned_b ? 0 : p->n;
    p->c_row = p->n;
    return PyArray_DIM(b, turned_b) == p->k && p->m && p->n && p->k;
}

/* Computes it, from a copy of `b` where that does not have its rows in order and as whole lanes. False where it is too large. */
static bool computed(Product *p) {
    int64_t padded = (p->n + LANE - 1) / LANE * LANE;
    if (p->b_row && (p->n % (PRODUCT_WIDE * LANE) == 0 || p->n == LANE)) {
        multiplied(p);
        return true;
    }
    padded = padded > LANE ? (padded + PRODUCT_WIDE * LANE - 1) / (PRODUCT_WIDE * LANE) * (PRODUCT_WIDE * LANE) : LANE;
    if (padded * p->k > PACKED_MOST) return false;
    float packed[PACKED_MOST];
    if (p->b_row)
        for (int64_t k = 0; k < p->k; k++) memcpy(packed + k * padded, p->b + k * p->n, (size_t)p->n * sizeof(float));
    else
        for (int64_t n = 0; n < p->n; n++)
            for (int64_t k = 0; k < p->k; k++) packed[k * padded + n] = p->b[n * p->k + k];
    for (int64_t k = 0; k < p->k; k++)
        for (int64_t n = p->n; n < padded; n++) packed[k * padded + n] = 0;
    p->b = packed;
    p->b_row = padded;
    multiplied(p);
    return true;
}

/* product(a, b, a turned, b turned, bias=None, relu=False, out=None). */
static PyObject *k_product(const Call *call) {
    Product p = {0};
    if (!matrices_at(call, 0, &p)) return NULL;
    if (call->count > 4 && call->args[4] != Py_None) {
        PyArrayObject *bias = typed_at(call, 4, NPY_FLOAT32);
        if (!bias || PyArray_NDIM(bias) != 1 || PyArray_DIM(bias, 0) != p.n) return NULL;
        p.bias = PyArray_DATA(bias);
        p.relu = call->count > 5 && call->args[5] == Py_True;
    }
    npy_intp sizes[2] = {p.m, p.n};
    PyArrayObject *out = result_at(call, 6, NPY_FLOAT32, 2, sizes);
    if (!out) return NULL;
    p.c = PyArray_DATA(out);
    for (Py_ssize_t i = 0; i < 5 && call->count > 6 && i < call->count; i++)
        if (PyArray_Check(call->args[i]) && share_memory((PyArrayObject *)call->args[i], out)) {
            Py_DECREF((PyObject *)out);
            return NULL;
        }
    if (computed(&p)) return (PyObject *)out;
    Py_DECREF((PyObject *)out);
    return NULL;
}

/* descend(buffer, alpha, a, b, a turned, b turned): buffer -= alpha · a b, in place. Gives True. */
static PyObject *k_descend(const Call *call) {
    Product p = {.steps = true};
    PyArrayObject *buffer = typed_at(call, 0, NPY_FLOAT32);
    if (!buffer || call->count != 6 || !PyArray_ISWRITEABLE(buffer) || PyArray_NDIM(buffer) != 2) return NULL;
    if (!float_at(call, 1, &p.alpha) || !matrices_at(call, 2, &p)) return NULL;
    if (PyArray_DIM(buffer, 0) != p.m || PyArray_DIM(buffer, 1) != p.n) return NULL;
    for (Py_ssize_t i = 2; i < 4; i++)
        if (share_memory((PyArrayObject *)call->args[i], buffer)) return NULL;
    p.c = PyArray_DATA(buffer);
    if (!computed(&p)) return NULL;
    Py_RETURN_TRUE;
}
