/* Products of matrices, with a bias or a matrix that is added, and an activation, or subtracted from a variable. A library's product
 * costs more before it begins than a small one takes, and copies what a few rows are multiplied with.
 *
 * The columns of the result are taken a panel at a time. A panel of the second matrix is read where it lies, or copied where its rows
 * are columns in memory, or are no whole lanes; sums stay in registers. Each element is a sum in the order of the inner dimension, of
 * products that are added without being rounded where the processor can. It does not depend on what else is computed in the call,
 * nor on threads.
 */

enum { PRODUCT_WIDE = 2, PACKED_MOST = 1 << 15, CHUNKS = 8, CHUNK_LEAST = 64, PRODUCTS_OF_ONE = 8 /* as long as one element of other kernels takes */ };

#if defined(__AVX512F__)
#define LANE 16
enum { PRODUCT_ROWS = 8 };
typedef float Lane __attribute__((vector_size(64), aligned(4)));
static inline Lane added(float a, Lane b, Lane c) { return (Lane)_mm512_fmadd_ps(_mm512_set1_ps(a), (__m512)b, (__m512)c); }
#elif defined(__FMA__)
#define LANE 8
enum { PRODUCT_ROWS = 6 };
typedef float Lane __attribute__((vector_size(32), aligned(4)));
static inline Lane added(float a, Lane b, Lane c) { return (Lane)_mm256_fmadd_ps(_mm256_set1_ps(a), (__m256)b, (__m256)c); }
#else
#define LANE 4
enum { PRODUCT_ROWS = 4 };
typedef float Lane __attribute__((vector_size(16), aligned(4)));
static inline Lane added(float a, Lane b, Lane c) { return a * b + c; }
#endif
typedef int32_t LaneBits __attribute__((vector_size(sizeof(Lane)), aligned(4)));

enum { PANEL = PRODUCT_WIDE * LANE };

typedef struct {
    const float *a, *b;
    float *c;
    int64_t m, n, k;
    int64_t deep; /* the rows of a chunk: panels are divided where there are few */
    int64_t a_row, a_inner; /* from one element of `a` to that of the next row, and to the next that is multiplied */
    int64_t b_row, c_row;   /* from one row of `b` to the next, and of `c` */
    bool turned;            /* the rows of `b` are columns of the product */
    const float *plus;      /* added to each row, or row by row */
    int64_t plus_row;
    const float *bias; /* added to each row, before a `plus` */
    bool relu, steps;
    float alpha;
} Product;

/* What becomes of the sums of whole lanes in a row of the result. */
INLINED void finish_lanes(const Product *p, const Lane *sums, int64_t row, int64_t column, const int wide) {
    float *c = p->c + row * p->c_row + column;
    for (int w = 0; w < wide; w++) {
        Lane y = sums[w];
        if (p->bias) y = y + *(const Lane *)(p->bias + column + w * LANE);
        if (p->steps)
            y = *(Lane *)(c + w * LANE) - y * p->alpha;
        else if (p->plus)
            y = y + *(const Lane *)(p->plus + row * p->plus_row + column + w * LANE);
        if (p->relu) y = (Lane)((LaneBits)y & ((LaneBits)(y > 0.0f) | (LaneBits)(y != y)));
        *(Lane *)(c + w * LANE) = y;
    }
}

static void finish_some(const Product *p, const float *sums, int64_t row, int64_t column, int64_t count) {
    float *c = p->c + row * p->c_row + column;
    for (int64_t i = 0; i < count; i++) {
        float y = p->bias ? sums[i] + p->bias[column + i] : sums[i];
        y = p->steps ? c[i] - y * p->alpha : p->plus ? y + p->plus[row * p->plus_row + column + i] : y;
        c[i] = !p->relu || y > 0 || y != y ? y : 0;
    }
}

/* `rows` rows of the result and `wide` lanes of columns, whose sums stay in registers. */
INLINED void tile(const Product *p, const float *b, int64_t b_row, int64_t row, int64_t column, const int rows, const int wide) {
    Lane sums[PRODUCT_ROWS][PRODUCT_WIDE] = {{{0}}};
    const float *a = p->a + row * p->a_row;
    for (int64_t k = 0; k < p->k; k++, a += p->a_inner, b += b_row) {
        Lane lanes[PRODUCT_WIDE];
        for (int w = 0; w < wide; w++) lanes[w] = *(const Lane *)(b + w * LANE);
        _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++)
            for (int w = 0; w < wide; w++) sums[r][w] = added(a[r * p->a_row], lanes[w], sums[r][w]);
    }
    bool whole = column + wide * LANE <= p->n;
    _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++)
        if (whole)
            finish_lanes(p, sums[r], row + r, column, wide);
        else {
            float some[PANEL];
            for (int w = 0; w < wide; w++) *(Lane *)(some + w * LANE) = sums[r][w];
            finish_some(p, some, row + r, column, p->n - column);
        }
}

INLINED void tiles(const Product *p, const float *b, int64_t b_row, int64_t row, int64_t end, int64_t column, const int wide) {
    for (; row + PRODUCT_ROWS <= end; row += PRODUCT_ROWS) tile(p, b, b_row, row, column, PRODUCT_ROWS, wide);
    for (; row + 4 <= end; row += 4) tile(p, b, b_row, row, column, 4, wide);
    if (row + 2 <= end) {
        tile(p, b, b_row, row, column, 2, wide);
        row += 2;
    }
    if (row < end) tile(p, b, b_row, row, column, 1, wide);
}

/* All of it, where the rows of `b` are whole lanes in memory. */
static void multiplied(const Product *p) {
    for (int64_t column = 0; column < p->n; column += PANEL)
        if (column + LANE < p->n)
            tiles(p, p->b + column, p->b_row, 0, p->m, column, PRODUCT_WIDE);
        else
            tiles(p, p->b + column, p->b_row, 0, p->m, column, 1);
}

/* ---- copies of panels */

#if defined(__clang__) || __GNUC__ >= 12
/* A block of as many rows as a lane is long, turned: stage by stage, blocks of twice the size exchange their corners. */
#define STAYS_AT(i, s) ((i) & (s) ? LANE + (i) - (s) : (i))
#define MOVES_TO(i, s) ((i) & (s) ? LANE + (i) : (i) + (s))
#if LANE == 16
#define PLACES(of, s)                                                                                                              \
    of(0, s), of(1, s), of(2, s), of(3, s), of(4, s), of(5, s), of(6, s), of(7, s), of(8, s), of(9, s), of(10, s), of(11, s),      \
        of(12, s), of(13, s), of(14, s), of(15, s)
#elif LANE == 8
#define PLACES(of, s) of(0, s), of(1, s), of(2, s), of(3, s), of(4, s), of(5, s), of(6, s), of(7, s)
#else
#define PLACES(of, s) of(0, s), of(1, s), of(2, s), of(3, s)
#endif
#define EXCHANGED(s)                                                                                                               \
    _Pragma("GCC unroll 16") for (int i = 0; i < LANE; i++) if (!(i & (s))) {                                                      \
        Lane one = rows[i], other = rows[i + (s)];                                                                                 \
        rows[i] = __builtin_shufflevector(one, other, PLACES(STAYS_AT, s));                                                        \
        rows[i + (s)] = __builtin_shufflevector(one, other, PLACES(MOVES_TO, s));                                                  \
    }
static void turn_block(const float *from, int64_t step, float *into, int64_t line) {
    Lane rows[LANE];
    _Pragma("GCC unroll 16") for (int i = 0; i < LANE; i++) rows[i] = *(const Lane *)(from + i * step);
    EXCHANGED(1)
    EXCHANGED(2)
#if LANE > 4
    EXCHANGED(4)
#endif
#if LANE > 8
    EXCHANGED(8)
#endif
    _Pragma("GCC unroll 16") for (int i = 0; i < LANE; i++) *(Lane *)(into + i * line) = rows[i];
}
#else
static void turn_block(const float *from, int64_t step, float *into, int64_t line) {
    for (int i = 0; i < LANE; i++)
        for (int j = 0; j < LANE; j++) into[j * line + i] = from[i * step + j];
}
#endif

/* Fills `packed` with `count` columns from `column` on, and with zeros up to a whole panel. */
static void pack(const Product *p, int64_t column, int64_t count, float *packed) {
    if (count < PANEL) memset(packed, 0, (size_t)(p->k * PANEL) * sizeof(float));
    if (!p->turned) {
        for (int64_t k = 0; k < p->k; k++) memcpy(packed + k * PANEL, p->b + k * p->n + column, (size_t)count * sizeof(float));
        return;
    }
    int64_t i = 0;
    for (; i + LANE <= count; i += LANE) {
        const float *b = p->b + (column + i) * p->k;
        int64_t k = 0;
        for (; k + LANE <= p->k; k += LANE) turn_block(b + k, p->k, packed + k * PANEL + i, PANEL);
        for (; k < p->k; k++)
            for (int j = 0; j < LANE; j++) packed[k * PANEL + i + j] = b[j * p->k + k];
    }
    for (; i < count; i++)
        for (int64_t k = 0; k < p->k; k++) packed[k * PANEL + i] = p->b[(column + i) * p->k + k];
}

static inline int64_t chunks_of(const Product *p) { return (p->m + p->deep - 1) / p->deep; }

static void product_chunks(int64_t begin, int64_t count, const void *given) {
    const Product *p = given;
    int64_t chunks = chunks_of(p), held = -1;
    float packed[PACKED_MOST];
    for (int64_t at = begin; at < begin + count; at++) {
        int64_t panel = at / chunks, row = at % chunks * p->deep, column = panel * PANEL;
        int64_t columns = p->n - column < PANEL ? p->n - column : PANEL;
        bool copies = p->turned || columns % LANE;
        if (copies && panel != held) {
            pack(p, column, columns, packed);
            held = panel;
        }
        const float *b = copies ? packed : p->b + column;
        int64_t b_row = copies ? PANEL : p->b_row, end = row + p->deep < p->m ? row + p->deep : p->m;
        if (columns > LANE)
            tiles(p, b, b_row, row, end, column, PRODUCT_WIDE);
        else
            tiles(p, b, b_row, row, end, column, 1);
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
    p->b_row = p->c_row = p->n;
    p->turned = turned_b;
    return PyArray_DIM(b, turned_b) == p->k && p->m && p->n && p->k;
}

/* Whether panels may be copied, where that is needed. */
static bool fits(const Product *p) { return p->k * PANEL <= PACKED_MOST || (!p->turned && p->n % LANE == 0); }

static int64_t product_work(const Product *p) { return p->m * p->n * p->k / PRODUCTS_OF_ONE; }

static void compute_product(const Call *call, Product *p) {
    int64_t panels = (p->n + PANEL - 1) / PANEL, chunks = (CHUNKS + panels - 1) / panels;
    p->deep = (p->m + chunks * PRODUCT_ROWS - 1) / (chunks * PRODUCT_ROWS) * PRODUCT_ROWS;
    if (p->deep < CHUNK_LEAST) p->deep = CHUNK_LEAST;
    work_through(call, product_chunks, p, panels * chunks_of(p), 1, product_work(p));
}

/* product(a, b, a turned, b turned, plus=None, relu=False, out=None, bias=None): `plus` is a row or a matrix, which may be `out`; `bias`
 * is a row. */
static PyObject *k_product(const Call *call) {
    Product p = {0};
    if (!matrices_at(call, 0, &p) || !fits(&p) || left_to_python(call, product_work(&p))) return NULL;
    npy_intp sizes[2] = {p.m, p.n};
    PyArrayObject *plus = NULL, *bias = NULL;
    if (call->count > 7 && call->args[7] != Py_None) {
        bias = typed_at(call, 7, NPY_FLOAT32);
        if (!bias || PyArray_NDIM(bias) != 1 || PyArray_DIM(bias, 0) != p.n) return NULL;
        p.bias = PyArray_DATA(bias);
    }
    if (call->count > 4 && call->args[4] != Py_None) {
        plus = typed_at(call, 4, NPY_FLOAT32);
        int rank = plus ? PyArray_NDIM(plus) : 0;
        if (rank < 1 || rank > 2 || PyArray_DIM(plus, rank - 1) != p.n || (rank == 2 && PyArray_DIM(plus, 0) != p.m)) return NULL;
        p.plus = PyArray_DATA(plus);
        p.plus_row = rank == 2 ? p.n : 0;
    }
    p.relu = call->count > 5 && call->args[5] == Py_True;
    PyArrayObject *out = result_at(call, 6, NPY_FLOAT32, 2, sizes);
    if (!out) return NULL;
    p.c = PyArray_DATA(out);
    bool apart = !share_memory((PyArrayObject *)call->args[0], out) && !share_memory((PyArrayObject *)call->args[1], out);
    if (plus && !(p.plus == p.c && p.plus_row)) apart = apart && !share_memory(plus, out);
    if (bias) apart = apart && !share_memory(bias, out);
    if (!apart) {
        Py_DECREF((PyObject *)out);
        return NULL;
    }
    compute_product(call, &p);
    return (PyObject *)out;
}

/* descend(buffer, alpha, a, b, a turned, b turned): buffer -= alpha · a b, in place. Gives True. */
static PyObject *k_descend(const Call *call) {
    Product p = {.steps = true};
    PyArrayObject *buffer = typed_at(call, 0, NPY_FLOAT32);
    if (!buffer || call->count != 6 || !PyArray_ISWRITEABLE(buffer) || PyArray_NDIM(buffer) != 2) return NULL;
    if (!float_at(call, 1, &p.alpha) || !matrices_at(call, 2, &p) || !fits(&p)) return NULL;
    if (PyArray_DIM(buffer, 0) != p.m || PyArray_DIM(buffer, 1) != p.n || left_to_python(call, product_work(&p))) return NULL;
    for (Py_ssize_t i = 2; i < 4; i++)
        if (share_memory((PyArrayObject *)call->args[i], buffer)) return NULL;
    p.c = PyArray_DATA(buffer);
    compute_product(call, &p);
    Py_RETURN_TRUE;
}
