/* Rows that are added to others by their numbers, and what that needs: distinct numbers.
 *
 * Rows of equal numbers are added one after the other, in their order, on any number of threads: a thread has some of the rows that
 * are added to, and takes all that belongs to them. numpy's kernels add those of one number up first, so results may differ from
 * theirs in the last bits.
 */

enum { AS_REDUCEAT = 8, SCATTER_PARTS = 16 };

typedef struct {
    void *rows;
    const void *numbers, *updates;
    int64_t height, width, count; /* of the rows; of updates */
    int64_t step;                 /* from one update to the next: `width`, or 0 where all are one number */
    bool wide;
    int how; /* 0: adds, 1: subtracts, 2: replaces */
} Scatter;

#define SCATTER(name, T)                                                                                                           \
    static void name(int64_t begin, int64_t count, const void *given) {                                                            \
        const Scatter *s = given;                                                                                                  \
        int64_t from = s->height * begin / SCATTER_PARTS, to = s->height * (begin + count) / SCATTER_PARTS;                        \
        for (int64_t i = 0; i < s->count; i++) {                                                                                   \
            int64_t at = number(s->numbers, s->wide, i);                                                                           \
            if (at < from || at >= to) continue;                                                                                   \
            T *restrict row = (T *)s->rows + at * s->width;                                                                        \
            const T *update = (const T *)s->updates + i * s->step;                                                                 \
            if (!s->step) {                                                                                                        \
                for (int64_t k = 0; k < s->width; k++)                                                                             \
                    row[k] = s->how == 0 ? row[k] + *update : s->how == 1 ? row[k] - *update : *update;                            \
            } else if (s->how == 0)                                                                                                \
                for (int64_t k = 0; k < s->width; k++) row[k] += update[k];                                                        \
            else if (s->how == 1)                                                                                                  \
                for (int64_t k = 0; k < s->width; k++) row[k] -= update[k];                                                        \
            else                                                                                                                   \
                memcpy(row, update, s->width * sizeof(T));                                                                         \
        }                                                                                                                          \
    }
SCATTER(scatter_f4, float)
SCATTER(scatter_f8, double)
SCATTER(scatter_i4, uint32_t)
SCATTER(scatter_i8, uint64_t)

/* How many parts a thread takes at a time. It reads all numbers for each of these pieces, so there are few. */
static int64_t scatter_piece(const Call *call) {
    int64_t piece = SCATTER_PARTS / 2 / (call->threads < 1 ? 1 : call->threads);
    return piece < 1 ? 1 : piece;
}

/* scatter(rows, numbers, updates): changes `rows`, an array, in place, and gives it. */
static PyObject *scattered(const Call *call, int how) {
    static const Loops loops = {scatter_f4, scatter_f8, scatter_i4, scatter_i8};
    PyArrayObject *rows = array_at(call, 0), *numbers = indices_at(call, 1), *updates = array_at(call, 2);
    if (!rows || !numbers || !updates || !PyArray_NDIM(rows) || !PyArray_ISWRITEABLE(rows)) return NULL;
    if (PyArray_TYPE(updates) != PyArray_TYPE(rows) || share_memory(rows, updates)) return NULL;
    Part part = loop_for(&loops, PyArray_TYPE(rows));
    Scatter s = {.rows = PyArray_DATA(rows), .numbers = PyArray_DATA(numbers), .updates = PyArray_DATA(updates), .how = how};
    s.height = PyArray_DIM(rows, 0);
    s.width = s.height ? PyArray_SIZE(rows) / s.height : 1;
    s.count = PyArray_SIZE(numbers);
    s.wide = is_wide(numbers);
    s.step = PyArray_NDIM(updates) ? s.width : 0;
    if (!part || (s.step && PyArray_SIZE(updates) != s.count * s.width)) return NULL;
    if (left_to_python(call, s.count * s.width) || !all_below(s.numbers, s.wide, s.count, s.height)) return NULL;
    Call taken = *call;
    if (s.width < 8) taken.threads = 1;
    work_through(&taken, part, &s, SCATTER_PARTS, scatter_piece(&taken), s.count * s.width);
    Py_INCREF((PyObject *)rows);
    return (PyObject *)rows;
}

static PyObject *k_scatter_add(const Call *call) { return scattered(call, 0); }
static PyObject *k_scatter_sub(const Call *call) { return scattered(call, 1); }
static PyObject *k_scatter_update(const Call *call) { return scattered(call, 2); }

/* unsorted_segment_sum(data, ids, count, out or nothing): ids below zero are left out. */
#define UNSORTED(name, T)                                                                                                          \
    static void name(int64_t begin, int64_t count, const void *given) {                                                            \
        const Scatter *s = given;                                                                                                  \
        int64_t from = s->height * begin / SCATTER_PARTS, to = s->height * (begin + count) / SCATTER_PARTS;                        \
        memset((T *)s->rows + from * s->width, 0, (to - from) * s->width * sizeof(T));                                             \
    }
UNSORTED(zeros_4, uint32_t)
UNSORTED(zeros_8, uint64_t)

static PyObject *k_unsorted_segment_sum(const Call *call) {
    static const Loops loops = {scatter_f4, scatter_f8, scatter_i4, scatter_i8}, zeros = {zeros_4, zeros_8, zeros_4, zeros_8};
    PyArrayObject *data = array_at(call, 0), *ids = indices_at(call, 1);
    int64_t height;
    if (!data || !ids || !whole_at(call, 2, &height) || height < 0 || height > LARGEST) return NULL;
    int deep = PyArray_NDIM(ids), rank = PyArray_NDIM(data);
    Part part = loop_for(&loops, PyArray_TYPE(data));
    if (!part || !deep || rank < deep || rank - deep + 1 > DEEPEST) return NULL;
    for (int i = 0; i < deep; i++)
        if (PyArray_DIM(data, i) != PyArray_DIM(ids, i)) return NULL;
    npy_intp sizes[DEEPEST] = {height};
    Scatter s = {.numbers = PyArray_DATA(ids), .updates = PyArray_DATA(data), .height = height, .width = 1};
    for (int i = deep; i < rank; i++) s.width *= sizes[i - deep + 1] = PyArray_DIM(data, i);
    s.step = s.width;
    s.count = PyArray_SIZE(ids);
    s.wide = is_wide(ids);
    if (!s.width || left_to_python(call, (s.count + height) * s.width)) return NULL;
    for (int64_t i = 0; i < s.count; i++)
        if (number(s.numbers, s.wide, i) >= height) return NULL;
    PyArrayObject *made = result_at(call, 3, PyArray_TYPE(data), rank - deep + 1, sizes);
    if (!made) return NULL;
    s.rows = PyArray_DATA(made);
    Call taken = *call;
    if (s.width < 8) taken.threads = 1;
    int64_t piece = scatter_piece(&taken);
    work_through(&taken, loop_for(&zeros, PyArray_TYPE(data)), &s, SCATTER_PARTS, piece, height * s.width);
    work_through(&taken, part, &s, SCATTER_PARTS, piece, s.count * s.width);
    return (PyObject *)made;
}

/* ---- distinct numbers, in the order in which they first appear */

/* For each number which of the distinct ones it is; gives how many there are, or -1 without memory. A table of open addresses. */
static int64_t distinct(const void *numbers, bool wide, int64_t count, int64_t *first, int64_t *which) {
    int bits = 4;
    while ((int64_t)1 << bits < 2 * count) bits++;
    int64_t mask = ((int64_t)1 << bits) - 1, found = 0;
    int64_t *table = calloc(mask + 1, sizeof(int64_t)); /* 1 + the distinct number's place in `first` */
    if (!table) return -1;
    for (int64_t i = 0; i < count; i++) {
        int64_t one = number(numbers, wide, i);
        int64_t at = (int64_t)(((uint64_t)one * 0x9E3779B97F4A7C15u) >> (64 - bits));
        while (table[at] && number(numbers, wide, first[table[at] - 1]) != one) at = (at + 1) & mask;
        if (!table[at]) {
            first[found] = i;
            table[at] = ++found;
        }
        which[i] = table[at] - 1;
    }
    free(table);
    return found;
}

typedef struct {
    const void *numbers;
    bool wide;
    int64_t count, *first, *which, found;
} Distinct;

static void find_distinct(int64_t begin, int64_t count, const void *given) {
    Distinct *d = *(Distinct *const *)given;
    d->found = distinct(d->numbers, d->wide, d->count, d->first, d->which);
}

static bool distinct_of(const Call *call, PyArrayObject *numbers, Distinct *d) {
    d->numbers = PyArray_DATA(numbers);
    d->wide = is_wide(numbers);
    d->count = PyArray_SIZE(numbers);
    d->first = PyMem_Malloc((2 * d->count + 1) * sizeof(int64_t));
    if (!d->first) return PyErr_NoMemory(), false;
    d->which = d->first + d->count;
    d->found = 0;
    work_through(call, find_distinct, &d, 1, 1, 10 * d->count);
    if (d->found >= 0) return true;
    PyMem_Free(d->first);
    return PyErr_NoMemory(), false;
}

/* unique(x, wide): the distinct numbers, for each element which one it is, and how often each is there; as 64-bit numbers if `wide`. */
static PyObject *k_unique(const Call *call) {
    PyArrayObject *x = indices_at(call, 0);
    if (has_arguments(call, 2) && !x) return unique_strings(call);
    if (!x || PyArray_NDIM(x) != 1 || !has_arguments(call, 2)) return NULL;
    int kind = call->args[1] == Py_True ? NPY_INT64 : NPY_INT32;
    Distinct d;
    if (!distinct_of(call, x, &d)) return NULL;
    npy_intp found = d.found, count = d.count;
    PyArrayObject *values = fresh(PyArray_TYPE(x), 1, &found), *which = fresh(kind, 1, &count);
    PyArrayObject *counts = (PyArrayObject *)PyArray_ZEROS(1, &found, kind, 0);
    PyObject *all = values && which && counts ? PyTuple_New(3) : NULL;
    if (all) {
        for (int64_t i = 0; i < d.found; i++) {
            if (d.wide)
                ((int64_t *)PyArray_DATA(values))[i] = number(d.numbers, true, d.first[i]);
            else
                ((int32_t *)PyArray_DATA(values))[i] = (int32_t)number(d.numbers, false, d.first[i]);
        }
        for (int64_t i = 0; i < d.count; i++) {
            if (kind == NPY_INT64) {
                ((int64_t *)PyArray_DATA(which))[i] = d.which[i];
                ((int64_t *)PyArray_DATA(counts))[d.which[i]]++;
            } else {
                ((int32_t *)PyArray_DATA(which))[i] = (int32_t)d.which[i];
                ((int32_t *)PyArray_DATA(counts))[d.which[i]]++;
            }
        }
        PyTuple_SetItem(all, 0, (PyObject *)values);
        PyTuple_SetItem(all, 1, (PyObject *)which);
        PyTuple_SetItem(all, 2, (PyObject *)counts);
    } else {
        Py_XDECREF((PyObject *)values);
        Py_XDECREF((PyObject *)which);
        Py_XDECREF((PyObject *)counts);
    }
    PyMem_Free(d.first);
    return all;
}

/* sum_duplicates(numbers, rows): each number once, and the sum of its rows. */
static PyObject *k_sum_duplicates(const Call *call) {
    static const Loops loops = {scatter_f4, scatter_f8, scatter_i4, scatter_i8};
    PyArrayObject *numbers = indices_at(call, 0), *rows = array_at(call, 1);
    if (!numbers || !rows || PyArray_NDIM(numbers) != 1 || !PyArray_NDIM(rows) || PyArray_NDIM(rows) > DEEPEST) return NULL;
    Part part = loop_for(&loops, PyArray_TYPE(rows));
    int64_t count = PyArray_SIZE(numbers);
    if (!part || !count || PyArray_DIM(rows, 0) != count) return NULL;
    Distinct d;
    if (!distinct_of(call, numbers, &d)) return NULL;
    if (d.found == count) {
        PyMem_Free(d.first);
        Py_INCREF((PyObject *)numbers);
        Py_INCREF((PyObject *)rows);
        return pair(numbers, rows);
    }
    npy_intp sizes[DEEPEST], found = d.found;
    for (int i = 0; i < PyArray_NDIM(rows); i++) sizes[i] = i ? PyArray_DIM(rows, i) : found;
    PyArrayObject *once = fresh(PyArray_TYPE(numbers), 1, &found);
    PyArrayObject *sums = (PyArrayObject *)PyArray_ZEROS(PyArray_NDIM(rows), sizes, PyArray_TYPE(rows), 0);
    PyObject *both = pair(once, sums);
    if (both) {
        for (int64_t i = 0; i < d.found; i++) {
            int64_t one = number(d.numbers, d.wide, d.first[i]);
            if (d.wide)
                ((int64_t *)PyArray_DATA(once))[i] = one;
            else
                ((int32_t *)PyArray_DATA(once))[i] = (int32_t)one;
        }
        Scatter s = {.rows = PyArray_DATA(sums), .numbers = d.which, .updates = PyArray_DATA(rows), .height = d.found};
        s.width = s.step = PyArray_SIZE(rows) / count;
        s.count = count;
        s.wide = true;
        Call alone = *call;
        alone.threads = 1;
        work_through(&alone, part, &s, SCATTER_PARTS, SCATTER_PARTS, count * s.width);
    }
    PyMem_Free(d.first);
    return both;
}

/* ---- extremes of rows by their numbers. NaN stays, as in numpy. */

#define EXTREME_ROWS(name, T, least, most)                                                                                             \
    static void name(int64_t begin, int64_t count, const void *given) {                                                            \
        const Scatter *s = given;                                                                                                  \
        int64_t from = s->height * begin / SCATTER_PARTS, to = s->height * (begin + count) / SCATTER_PARTS;                        \
        for (int64_t i = from * s->width; i < to * s->width; i++) ((T *)s->rows)[i] = s->how ? most : least;                       \
        for (int64_t i = 0; i < s->count; i++) {                                                                                   \
            int64_t at = number(s->numbers, s->wide, i);                                                                           \
            if (at < from || at >= to) continue;                                                                                   \
            T *restrict row = (T *)s->rows + at * s->width;                                                                        \
            const T *restrict update = (const T *)s->updates + i * s->width;                                                       \
            const T *a = s->how ? update : row, *b = s->how ? row : update; /* the new element is taken where a < b, or it is NaN */ \
            for (int64_t k = 0; k < s->width; k++) row[k] = (a[k] < b[k]) | (update[k] != update[k]) ? update[k] : row[k];         \
        }                                                                                                                          \
    }
EXTREME_ROWS(extremes_f4, float, -__FLT_MAX__, __FLT_MAX__)
EXTREME_ROWS(extremes_f8, double, -__DBL_MAX__, __DBL_MAX__)
EXTREME_ROWS(extremes_i4, int32_t, INT32_MIN, INT32_MAX)
EXTREME_ROWS(extremes_i8, int64_t, INT64_MIN, INT64_MAX)

/* unsorted_segment_extreme(data, ids, count, smallest): ids below zero are left out. */
static PyObject *k_unsorted_segment_extreme(const Call *call) {
    static const Loops loops = {extremes_f4, extremes_f8, extremes_i4, extremes_i8};
    PyArrayObject *data = array_at(call, 0), *ids = indices_at(call, 1);
    int64_t height;
    if (!data || !ids || call->count != 4 || !whole_at(call, 2, &height) || height < 0 || height > LARGEST) return NULL;
    int deep = PyArray_NDIM(ids), rank = PyArray_NDIM(data);
    Part part = loop_for(&loops, PyArray_TYPE(data));
    if (!part || !deep || rank < deep || rank - deep + 1 > DEEPEST) return NULL;
    for (int i = 0; i < deep; i++)
        if (PyArray_DIM(data, i) != PyArray_DIM(ids, i)) return NULL;
    npy_intp sizes[DEEPEST] = {height};
    Scatter s = {.numbers = PyArray_DATA(ids), .updates = PyArray_DATA(data), .height = height, .width = 1};
    for (int i = deep; i < rank; i++) s.width *= sizes[i - deep + 1] = PyArray_DIM(data, i);
    s.count = PyArray_SIZE(ids);
    s.wide = is_wide(ids);
    s.how = call->args[3] == Py_True;
    if (!s.width || left_to_python(call, (s.count + height) * s.width)) return NULL;
    for (int64_t i = 0; i < s.count; i++)
        if (number(s.numbers, s.wide, i) >= height) return NULL;
    PyArrayObject *made = fresh(PyArray_TYPE(data), rank - deep + 1, sizes);
    if (!made) return NULL;
    s.rows = PyArray_DATA(made);
    Call taken = *call;
    if (s.width < 8) taken.threads = 1;
    work_through(&taken, part, &s, SCATTER_PARTS, scatter_piece(&taken), (s.count + height) * s.width);
    return (PyObject *)made;
}

/* ---- products of a sparse matrix and a dense one */

typedef struct {
    const int64_t *places; /* [count, 2] */
    const void *values, *dense;
    void *out;
    int64_t count, height, width;
    bool turned; /* the first of each place is a column */
} Sparse_Product;

/* Rows lie anywhere: those of a later element are asked for while earlier ones are multiplied. */
enum { MOST_AHEAD = 64 * LINES };

#define SPARSE_PRODUCT(name, T)                                                                                                    \
    static void name(int64_t begin, int64_t count, const void *given) {                                                            \
        const Sparse_Product *s = given;                                                                                           \
        const int64_t width = s->width, from = s->height * begin / SCATTER_PARTS, to = s->height * (begin + count) / SCATTER_PARTS; \
        const int64_t bytes = width * (int64_t)sizeof(T), lines = bytes < MOST_AHEAD ? bytes : MOST_AHEAD;                         \
        memset((T *)s->out + from * width, 0, (size_t)((to - from) * width) * sizeof(T));                                          \
        for (int64_t i = 0; i < s->count; i++) {                                                                                   \
            int64_t at = s->places[2 * i + s->turned], other = s->places[2 * i + !s->turned];                                      \
            if (i + AHEAD < s->count) {                                                                                            \
                const char *next = (const char *)((const T *)s->dense + s->places[2 * (i + AHEAD) + !s->turned] * width);          \
                const char *into = (const char *)((const T *)s->out + s->places[2 * (i + AHEAD) + s->turned] * width);             \
                for (int64_t line = 0; line < lines; line += 64) __builtin_prefetch(next + line);                                  \
                for (int64_t line = 0; line < lines; line += 64) __builtin_prefetch(into + line, 1);                               \
            }                                                                                                                      \
            if (at < from || at >= to) continue;                                                                                   \
            T *restrict row = (T *)s->out + at * width;                                                                            \
            const T value = ((const T *)s->values)[i], *dense = (const T *)s->dense + other * width;                               \
            for (int64_t k = 0; k < width; k++) row[k] += value * dense[k];                                                        \
        }                                                                                                                          \
    }
SPARSE_PRODUCT(sparse_product_f4, float)
SPARSE_PRODUCT(sparse_product_f8, double)

/* sparse_product(places, values, shape, dense, adjoint): the matrix, or its transpose, times the dense one. */
static PyObject *k_sparse_product(const Call *call) {
    PyArrayObject *places = typed_at(call, 0, NPY_INT64), *values = array_at(call, 1), *shape = typed_at(call, 2, NPY_INT64);
    PyArrayObject *dense = values ? typed_at(call, 3, PyArray_TYPE(values)) : NULL;
    if (!places || !shape || !dense || call->count != 5 || PyArray_NDIM(places) != 2 || PyArray_DIM(places, 1) != 2) return NULL;
    if (PyArray_NDIM(values) != 1 || PyArray_NDIM(shape) != 1 || PyArray_DIM(shape, 0) != 2 || PyArray_NDIM(dense) != 2) return NULL;
    bool doubles = PyArray_TYPE(values) == NPY_FLOAT64;
    if ((!doubles && PyArray_TYPE(values) != NPY_FLOAT32) || PyArray_DIM(values, 0) != PyArray_DIM(places, 0)) return NULL;
    const int64_t *sizes = PyArray_DATA(shape);
    Sparse_Product s = {PyArray_DATA(places), PyArray_DATA(values), PyArray_DATA(dense), NULL, PyArray_DIM(places, 0)};
    s.turned = call->args[4] == Py_True;
    s.height = sizes[s.turned];
    s.width = PyArray_DIM(dense, 1);
    if (s.height < 0 || s.height > LARGEST || PyArray_DIM(dense, 0) != sizes[!s.turned] || !s.width) return NULL;
    if (s.height * s.width > LARGEST || left_to_python(call, (s.count + s.height) * s.width)) return NULL;
    for (int64_t i = 0; i < 2 * s.count; i++)
        if (s.places[i] < 0 || s.places[i] >= sizes[i & 1]) return NULL;
    npy_intp made_sizes[2] = {s.height, s.width};
    PyArrayObject *made = fresh(PyArray_TYPE(values), 2, made_sizes);
    if (!made) return NULL;
    s.out = PyArray_DATA(made);
    Call taken = *call;
    if (s.width < 8) taken.threads = 1;
    work_through(&taken, doubles ? sparse_product_f8 : sparse_product_f4, &s, SCATTER_PARTS, scatter_piece(&taken), (s.count + s.height) * s.width);
    return (PyObject *)made;
}
