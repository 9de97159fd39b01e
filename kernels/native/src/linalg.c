/* Linear algebra of batches of small matrices, whose sides are at most `SIDE_MOST`: factors, solutions, determinants, inverses,
 * eigenvalues. LAPACK takes longer to begin than such a matrix takes.
 *
 * A matrix that has no such factor, or whose numbers do not stay finite, leaves the whole call to the reference, which says what is wrong
 * or gives NaN where it has to be. Threads take matrices in turns; the result of each is the same on any number of them.
 */

enum { SIDE_MOST = 64 };

#define JOINED_NAMES(name, type) name##_##type
#define JOIN_NAMES(name, type) JOINED_NAMES(name, type)
#define OF(name) JOIN_NAMES(name, TYPE)

#if defined(__AVX512F__)
#define LANE_BYTES 64
#elif defined(__FMA__)
#define LANE_BYTES 32
#else
#define LANE_BYTES 16
#endif

#define TYPE f4
#define NUMBER float
#define SQRT sqrtf
#define ABS fabsf
#define LEAST_NORMAL 1.17549435e-38f
#define SMALLEST_PART 3e-8
#define EIGEN_MOST 1e18
#if defined(__AVX512F__)
#define LESS(a, b, c) ((OF(Row))_mm512_fnmadd_ps(_mm512_set1_ps(a), (__m512)(b), (__m512)(c)))
#elif defined(__FMA__)
#define LESS(a, b, c) ((OF(Row))_mm256_fnmadd_ps(_mm256_set1_ps(a), (__m256)(b), (__m256)(c)))
#else
#define LESS(a, b, c) ((c) - (a) * (b))
#endif
#include "matrices.h"
#undef TYPE
#undef NUMBER
#undef SQRT
#undef ABS
#undef LEAST_NORMAL
#undef SMALLEST_PART
#undef EIGEN_MOST
#undef LESS

#define TYPE f8
#define NUMBER double
#define SQRT sqrt
#define ABS fabs
#define LEAST_NORMAL 2.2250738585072014e-308
#define SMALLEST_PART 1.2e-16
#define EIGEN_MOST 1e100
#if defined(__AVX512F__)
#define LESS(a, b, c) ((OF(Row))_mm512_fnmadd_pd(_mm512_set1_pd(a), (__m512d)(b), (__m512d)(c)))
#elif defined(__FMA__)
#define LESS(a, b, c) ((OF(Row))_mm256_fnmadd_pd(_mm256_set1_pd(a), (__m256d)(b), (__m256d)(c)))
#else
#define LESS(a, b, c) ((c) - (a) * (b))
#endif
#include "matrices.h"

typedef struct {
    enum { CHOLESKY, TRIANGULAR, SOLVED, DETERMINANT, QR, EIGH } what;
    bool wide, lower, turned;
    const char *x, *right;
    char *out, *second;
    int64_t rows, columns, others; /* of a matrix; and columns of the right-hand side, or of Q */
    bool *failed;
} Matrices;

/* The place of the matrix with this number, in an array whose matrices have so many elements; NULL where there is none. */
#define PLACE(array, elements) ((array) ? (void *)((array) + number * (elements) * (p->wide ? 8 : 4)) : NULL)
#define BY_TYPE(name, ...) (p->wide ? name##_f8(__VA_ARGS__) : name##_f4(__VA_ARGS__))

static bool one_matrix(const Matrices *p, int64_t number) {
    int64_t n = p->rows, size = n * p->columns;
    const void *x = PLACE(p->x, size), *right = PLACE(p->right, n * p->others);
    switch (p->what) {
    case CHOLESKY: return BY_TYPE(cholesky, x, n, PLACE(p->out, size));
    case TRIANGULAR: return BY_TYPE(triangular, x, right, n, p->others, p->lower, p->turned, PLACE(p->out, n * p->others));
    case SOLVED: return BY_TYPE(solved, x, right, n, p->others, p->turned, PLACE(p->out, n * p->others));
    case DETERMINANT: return BY_TYPE(determinant, x, n, PLACE(p->out, 1), PLACE(p->second, 1));
    case QR: return BY_TYPE(qr, x, n, p->columns, p->others, PLACE(p->out, n * p->others), PLACE(p->second, p->others * p->columns));
    case EIGH: return BY_TYPE(eigh, x, n, PLACE(p->out, n), PLACE(p->second, size));
    }
    return false;
}

static void some_matrices(int64_t begin, int64_t count, const void *given) {
    const Matrices *p = given;
    for (int64_t i = begin; i < begin + count; i++) {
        if (__atomic_load_n(p->failed, __ATOMIC_RELAXED)) return;
        if (!one_matrix(p, i)) __atomic_store_n(p->failed, true, __ATOMIC_RELAXED);
    }
}

/* The matrices of an argument, if they are small and floats. */
static PyArrayObject *small_at(const Call *call, Py_ssize_t index, Matrices *p, bool square) {
    PyArrayObject *x = array_at(call, index);
    int rank = x ? PyArray_NDIM(x) : 0;
    if (rank < 2 || rank > DEEPEST || !PyArray_SIZE(x) || (PyArray_TYPE(x) != NPY_FLOAT32 && PyArray_TYPE(x) != NPY_FLOAT64)) return NULL;
    p->rows = PyArray_DIM(x, rank - 2);
    p->columns = PyArray_DIM(x, rank - 1);
    if (p->rows > SIDE_MOST || p->columns > SIDE_MOST || (square && p->rows != p->columns)) return NULL;
    p->wide = PyArray_TYPE(x) == NPY_FLOAT64;
    p->x = PyArray_DATA(x);
    return x;
}

/* A result of the batch of `x` with `rank` more dimensions. */
static PyArrayObject *batch_of(PyArrayObject *x, int rank, int64_t rows, int64_t columns) {
    npy_intp sizes[DEEPEST];
    int batch = PyArray_NDIM(x) - 2;
    for (int i = 0; i < batch; i++) sizes[i] = PyArray_DIM(x, i);
    sizes[batch] = rows;
    if (rank == 2) sizes[batch + 1] = columns;
    return fresh(PyArray_TYPE(x), batch + rank, sizes);
}

/* Computes all matrices; `hard` says how much longer than its elements one takes, in eighths of its side. Gives whether the results stand. */
static bool computed(const Call *call, PyArrayObject *x, Matrices *p, int64_t hard) {
    int64_t size = p->rows * p->columns, count = PyArray_SIZE(x) / size, each = size * (4 + p->rows * hard / 64) + 64;
    bool failed = false;
    p->failed = &failed;
    work_through(call, some_matrices, p, count, HELD / each + 1, count * each);
    return !failed;
}

/* Whether a call is left to Python: the measure of `computed`, which has to see it before a result is made. */
static bool left_matrices(const Call *call, PyArrayObject *x) { return left_to_python(call, 8 * PyArray_SIZE(x)); }

static PyObject *given_if(bool stands, PyArrayObject *out) {
    if (stands) return (PyObject *)out;
    Py_DECREF((PyObject *)out);
    return NULL;
}

/* cholesky(x): the lower factors. */
static PyObject *k_cholesky(const Call *call) {
    Matrices p = {.what = CHOLESKY};
    PyArrayObject *x = small_at(call, 0, &p, true);
    if (!x || left_matrices(call, x)) return NULL;
    PyArrayObject *out = batch_of(x, 2, p.rows, p.rows);
    if (!out) return NULL;
    p.out = PyArray_DATA(out);
    return given_if(computed(call, x, &p, 3), out);
}

/* Reads the matrices and their right-hand sides, which have the same batch. */
static PyArrayObject *sides_at(const Call *call, Matrices *p) {
    PyArrayObject *x = small_at(call, 0, p, true), *right = x ? typed_at(call, 1, PyArray_TYPE(x)) : NULL;
    int rank = x ? PyArray_NDIM(x) : 0;
    if (!right || PyArray_NDIM(right) != rank || !PyArray_SIZE(right)) return NULL;
    for (int i = 0; i < rank - 1; i++)
        if (PyArray_DIM(right, i) != PyArray_DIM(x, i)) return NULL;
    p->right = PyArray_DATA(right);
    p->others = PyArray_DIM(right, rank - 1);
    return x;
}

/* triangular(matrix, right, lower, adjoint) */
static PyObject *k_triangular(const Call *call) {
    Matrices p = {.what = TRIANGULAR};
    PyArrayObject *x = sides_at(call, &p);
    if (!x || call->count != 4 || left_matrices(call, x)) return NULL;
    p.lower = call->args[2] == Py_True, p.turned = call->args[3] == Py_True;
    PyArrayObject *out = batch_of(x, 2, p.rows, p.others);
    if (!out) return NULL;
    p.out = PyArray_DATA(out);
    return given_if(computed(call, x, &p, 3), out);
}

/* solve(matrix, right or None for the inverse, adjoint) */
static PyObject *k_solve(const Call *call) {
    Matrices p = {.what = SOLVED};
    bool inverts = call->count == 3 && call->args[1] == Py_None;
    PyArrayObject *x = inverts ? small_at(call, 0, &p, true) : sides_at(call, &p);
    if (!x || call->count != 3 || left_matrices(call, x)) return NULL;
    if (inverts) p.others = p.rows;
    if (p.others > SIDE_MOST) return NULL;
    p.turned = call->args[2] == Py_True;
    PyArrayObject *out = batch_of(x, 2, p.rows, p.others);
    if (!out) return NULL;
    p.out = PyArray_DATA(out);
    return given_if(computed(call, x, &p, 6), out);
}

static PyObject *both_if(bool stands, PyArrayObject *out, PyArrayObject *second) {
    if (stands) return pair(out, second);
    Py_DECREF((PyObject *)out);
    Py_DECREF((PyObject *)second);
    return NULL;
}

/* determinant(x, logarithms): the determinants; or their signs, and the logarithms of their absolute values. */
static PyObject *k_determinant(const Call *call) {
    Matrices p = {.what = DETERMINANT};
    PyArrayObject *x = small_at(call, 0, &p, true);
    if (!x || call->count != 2 || left_matrices(call, x)) return NULL;
    bool logarithms = call->args[1] == Py_True;
    PyArrayObject *out = batch_of(x, 0, 0, 0), *second = logarithms ? batch_of(x, 0, 0, 0) : NULL;
    if (!out || (logarithms && !second)) return pair(out, NULL);
    p.out = PyArray_DATA(out);
    if (!second) return given_if(computed(call, x, &p, 4), out);
    p.second = PyArray_DATA(second);
    return both_if(computed(call, x, &p, 4), out, second);
}

/* qr(x, full): the factors Q and R. */
static PyObject *k_qr(const Call *call) {
    Matrices p = {.what = QR};
    PyArrayObject *x = small_at(call, 0, &p, false);
    if (!x || call->count != 2 || left_matrices(call, x)) return NULL;
    p.others = call->args[1] == Py_True || p.rows < p.columns ? p.rows : p.columns;
    PyArrayObject *q = batch_of(x, 2, p.rows, p.others), *r = batch_of(x, 2, p.others, p.columns);
    if (!q || !r) return pair(q, r);
    p.out = PyArray_DATA(q), p.second = PyArray_DATA(r);
    return both_if(computed(call, x, &p, 10), q, r);
}

/* eigh(x, vectors): the eigenvalues and the vectors as columns; or the eigenvalues alone. */
static PyObject *k_eigh(const Call *call) {
    Matrices p = {.what = EIGH};
    PyArrayObject *x = small_at(call, 0, &p, true);
    if (!x || call->count != 2 || left_matrices(call, x)) return NULL;
    bool vectors = call->args[1] == Py_True;
    PyArrayObject *values = batch_of(x, 1, p.rows, 0), *columns = vectors ? batch_of(x, 2, p.rows, p.rows) : NULL;
    if (!values || (vectors && !columns)) return pair(values, NULL);
    p.out = PyArray_DATA(values);
    if (!columns) return given_if(computed(call, x, &p, 10), values);
    p.second = PyArray_DATA(columns);
    return both_if(computed(call, x, &p, 11), values, columns);
}
