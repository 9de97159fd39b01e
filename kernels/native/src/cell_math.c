/* The arithmetic of sparse tensors. Elements that are not in order, and places outside, are left to Python. */

enum { CELLS_ADD, CELLS_MAX, CELLS_MIN };

typedef struct {
    Cells x, y;
    int how;
    double least; /* sums that are smaller are left out */
    int64_t *places, count;
    char *values;
} Merge;

/* Two lists of places in order, as one. An element that one of them does not have is 0 there. */
#define MERGED(name, T, absolute)                                                                                             \
    static void name(int64_t begin, int64_t parts, const void *given) {                                                           \
        (void)begin, (void)parts;                                                                                                 \
        Merge *m = *(Merge *const *)given;                                                                                        \
        const int64_t rank = m->x.rank;                                                                                           \
        const T *a = (const T *)m->x.values, *b = (const T *)m->y.values, least = (T)m->least;                                    \
        int64_t i = 0, k = 0, count = 0;                                                                                          \
        while (i < m->x.count || k < m->y.count) {                                                                                \
            int side = i == m->x.count ? 1 : k == m->y.count ? -1 : compare_places(m->x.places + i * rank, m->y.places + k * rank, rank); \
            const int64_t *place = side <= 0 ? m->x.places + i * rank : m->y.places + k * rank;                                    \
            T left = side <= 0 ? a[i++] : 0, right = side >= 0 ? b[k++] : 0, value;                                               \
            if (m->how == CELLS_ADD) {                                                                                            \
                value = side < 0 ? (T)0 + left : side > 0 ? (T)0 + right : (T)((T)((T)0 + left) + right);                         \
                if (!(absolute(value) >= least)) continue;                                                                        \
            } else if (m->how == CELLS_MAX) value = left >= right || left != left ? left : right;                                  \
            else value = left <= right || left != left ? left : right;                                                             \
            memcpy(m->places + count * rank, place, (size_t)rank * sizeof(int64_t));                                              \
            ((T *)m->values)[count++] = value;                                                                                    \
        }                                                                                                                         \
        m->count = count;                                                                                                         \
    }
MERGED(merged_f4, float, fabsf)
MERGED(merged_f8, double, fabs)

/* cells_merged(places, values, places, values, shape, how, least): their sum without what is smaller than `least`, or their maximum
 * or minimum. */
static PyObject *k_cells_merged(const Call *call) {
    Merge m, *at = &m;
    int64_t how;
    if (call->count != 7 || !cells_at(call, 0, 1, &m.x) || !cells_at(call, 2, 3, &m.y) || m.x.rank != m.y.rank || m.x.type != m.y.type) return NULL;
    const int64_t *sizes = sizes_at(call, 4, m.x.rank);
    if ((m.x.type != NPY_FLOAT32 && m.x.type != NPY_FLOAT64) || !sizes || !whole_at(call, 5, &how) || !PyFloat_CheckExact(call->args[6])) return NULL;
    m.how = (int)how;
    m.least = PyFloat_AsDouble(call->args[6]);
    const Cells *sides[2] = {&m.x, &m.y};
    for (int i = 0; i < 2; i++)
        if (!all_inside(sides[i]->places, sides[i]->count, m.x.rank, sizes) || !in_order(sides[i]->places, sides[i]->count, m.x.rank, true)) return NULL;
    PyObject *cells = fresh_cells(m.x.count + m.y.count, m.x.rank, m.x.type);
    if (!cells) return NULL;
    m.places = places_of(cells);
    m.values = values_of(cells);
    work_through(call, m.x.type == NPY_FLOAT32 ? merged_f4 : merged_f8, &at, 1, 1, 8 * (m.x.count + m.y.count));
    return shortened(cells, m.count);
}

/* cells_sum_grad(gradient, places, places, places of the sum): the gradients of both; 0 for what the sum does not have. */
static PyObject *k_cells_sum_grad(const Call *call) {
    Cells sides[2], sum;
    if (call->count != 4 || !cells_at(call, 1, -1, sides) || !cells_at(call, 2, -1, sides + 1) || !cells_at(call, 3, 0, &sum)) return NULL;
    if (sides[0].rank != sum.rank || sides[1].rank != sum.rank || (sum.item != 4 && sum.item != 8) || sum.type == NPY_OBJECT) return NULL;
    if (!in_order(sum.places, sum.count, sum.rank, true)) return NULL;
    PyObject *both = PyTuple_New(2);
    for (int side = 0; both && side < 2; side++) {
        npy_intp count = sides[side].count;
        if (!in_order(sides[side].places, count, sum.rank, false)) return Py_DECREF(both), NULL;
        PyArrayObject *slopes = (PyArrayObject *)PyArray_ZEROS(1, &count, sum.type, 0);
        if (!slopes) return Py_DECREF(both), NULL;
        PyTuple_SetItem(both, side, (PyObject *)slopes);
        for (int64_t i = 0, k = 0; i < count; i++) {
            int relation = 1;
            while (k < sum.count && (relation = compare_places(sum.places + k * sum.rank, sides[side].places + i * sum.rank, sum.rank)) < 0) k++;
            if (k < sum.count && !relation) move_value(sum.type, sum.item, PyArray_DATA(slopes), i, sum.values, k);
        }
    }
    return both;
}

/* ---- dense tensors */

/* The number of a place in a dense tensor, whose dimensions have these steps. */
static inline int64_t number_of_place(const int64_t *place, const int64_t *steps, int64_t rank) {
    int64_t at = 0;
    for (int64_t k = 0; k < rank; k++) at += place[k] * steps[k];
    return at;
}

/* The steps of dimensions of these sizes; gives the number of elements, -1 where they are too many or a size is below zero. */
static int64_t steps_of(const int64_t *sizes, int64_t rank, int64_t *steps) {
    int64_t total = 1;
    for (int64_t k = rank - 1; k >= 0; k--) {
        steps[k] = total;
        if (sizes[k] < 0 || __builtin_mul_overflow(total, sizes[k], &total) || total > (int64_t)1 << 40) return -1;
    }
    return total;
}

/* cells_dense(places, shape, values, standard, ascending, out): a dense tensor that has the standard elsewhere; `ascending`: places have to be
 * in order and different. */
static PyObject *k_cells_dense(const Call *call) {
    Cells x;
    PyArrayObject *standard = array_at(call, 3);
    if (call->count != 6 || !cells_at(call, 0, 2, &x) || !standard || PyArray_NDIM(standard) || PyArray_TYPE(standard) != x.type) return NULL;
    const int64_t *sizes = sizes_at(call, 1, x.rank);
    int64_t steps[DEEPEST], total = sizes ? steps_of(sizes, x.rank, steps) : -1;
    if (total < 0 || !all_inside(x.places, x.count, x.rank, sizes)) return NULL;
    if (call->args[4] == Py_True && !in_order(x.places, x.count, x.rank, true)) return NULL;
    PyArrayObject *out = result_at(call, 5, x.type, (int)x.rank, (const npy_intp *)sizes);
    if (!out) return NULL;
    char *dense = PyArray_DATA(out);
    const char *value = PyArray_DATA(standard);
    bool zero = x.type != NPY_OBJECT;
    for (int64_t i = 0; zero && i < x.item; i++) zero = !value[i];
    if (zero) memset(dense, 0, (size_t)(total * x.item));
    else
        for (int64_t i = 0; i < total; i++) move_value(x.type, x.item, dense, i, value, 0);
    for (int64_t i = 0; i < x.count; i++) move_value(x.type, x.item, dense, number_of_place(x.places + i * x.rank, steps, x.rank), x.values, i);
    return (PyObject *)out;
}

/* cells_added(places, values, dense): their sum. */
static PyObject *k_cells_added(const Call *call) {
    Cells x;
    PyArrayObject *dense = array_at(call, 2);
    if (call->count != 3 || !cells_at(call, 0, 1, &x) || !dense || PyArray_TYPE(dense) != x.type || PyArray_NDIM(dense) != x.rank) return NULL;
    int64_t sizes[DEEPEST], steps[DEEPEST];
    for (int64_t k = 0; k < x.rank; k++) sizes[k] = PyArray_DIM(dense, (int)k);
    if ((x.type != NPY_FLOAT32 && x.type != NPY_FLOAT64) || steps_of(sizes, x.rank, steps) < 0 || !all_inside(x.places, x.count, x.rank, sizes)) return NULL;
    PyArrayObject *out = fresh(x.type, (int)x.rank, (const npy_intp *)sizes);
    if (!out) return NULL;
    memcpy(PyArray_DATA(out), PyArray_DATA(dense), (size_t)PyArray_NBYTES(dense));
    for (int64_t i = 0; i < x.count; i++) {
        int64_t at = number_of_place(x.places + i * x.rank, steps, x.rank);
        if (x.type == NPY_FLOAT32) ((float *)PyArray_DATA(out))[at] += ((const float *)x.values)[i];
        else ((double *)PyArray_DATA(out))[at] += ((const double *)x.values)[i];
    }
    return (PyObject *)out;
}

/* cells_met(places, values, shape, dense, divides): each element times, or by, that of a dense tensor which is spread to the shape. */
static PyObject *k_cells_met(const Call *call) {
    Cells x;
    PyArrayObject *dense = array_at(call, 3);
    if (call->count != 5 || !cells_at(call, 0, 1, &x) || !dense || PyArray_TYPE(dense) != x.type || PyArray_NDIM(dense) > x.rank) return NULL;
    const int64_t *sizes = sizes_at(call, 2, x.rank);
    if ((x.type != NPY_FLOAT32 && x.type != NPY_FLOAT64) || !sizes || !all_inside(x.places, x.count, x.rank, sizes)) return NULL;
    int64_t steps[DEEPEST] = {0}, step = 1, shift = x.rank - PyArray_NDIM(dense);
    for (int64_t k = x.rank - 1; k >= shift; k--) {
        int64_t size = PyArray_DIM(dense, (int)(k - shift));
        if (size != 1 && size != sizes[k]) return NULL;
        steps[k] = size == 1 ? 0 : step;
        step *= size;
    }
    bool divides = call->args[4] == Py_True;
    npy_intp count = x.count;
    PyArrayObject *out = fresh(x.type, 1, &count);
    if (!out) return NULL;
    if (x.type == NPY_FLOAT32) {
        const float *a = (const float *)x.values, *b = PyArray_DATA(dense);
        float *c = PyArray_DATA(out);
        for (int64_t i = 0; i < count; i++) {
            float other = b[number_of_place(x.places + i * x.rank, steps, x.rank)];
            c[i] = divides ? a[i] / other : a[i] * other;
        }
    } else {
        const double *a = (const double *)x.values, *b = PyArray_DATA(dense);
        double *c = PyArray_DATA(out);
        for (int64_t i = 0; i < count; i++) {
            double other = b[number_of_place(x.places + i * x.rank, steps, x.rank)];
            c[i] = divides ? a[i] / other : a[i] * other;
        }
    }
    return (PyObject *)out;
}

/* ---- reductions */

#define REDUCED(T)                                                                                        \
    for (int64_t i = 0; i < x.count; i++) {                                                               \
        int64_t at = number_of_place(x.places + i * x.rank, steps, x.rank);                               \
        T value = ((const T *)x.values)[i], *into = (T *)PyArray_DATA(out) + at;                          \
        if (!begun[at]) *into = value, begun[at] = true;                                                  \
        else if (!largest) *into += value;                                                                \
        else if (value > *into || value != value) *into = value;                                          \
    }

/* cells_reduced(places, values, shape, axes, keeps, largest): the sum, or the largest, of the elements along axes, as a dense tensor, 0 where
 * there are none. */
static PyObject *k_cells_reduced(const Call *call) {
    Cells x;
    PyArrayObject *axes = indices_at(call, 3);
    if (call->count != 6 || !cells_at(call, 0, 1, &x) || !axes || PyArray_NDIM(axes) > 1) return NULL;
    const int64_t *sizes = sizes_at(call, 2, x.rank);
    if ((x.type != NPY_FLOAT32 && x.type != NPY_FLOAT64) || !sizes || !all_inside(x.places, x.count, x.rank, sizes)) return NULL;
    bool gone[DEEPEST] = {false}, keeps = call->args[4] == Py_True, largest = call->args[5] == Py_True;
    for (int64_t i = 0; i < PyArray_SIZE(axes); i++) {
        int64_t axis = number(PyArray_DATA(axes), is_wide(axes), i);
        if (axis < -x.rank || axis >= x.rank) return NULL;
        gone[axis < 0 ? axis + x.rank : axis] = true;
    }
    npy_intp shape[DEEPEST];
    int64_t steps[DEEPEST] = {0}, total = 1;
    int rank = 0;
    for (int64_t k = 0; k < x.rank; k++)
        if (!gone[k] || keeps) shape[rank++] = gone[k] ? 1 : sizes[k];
    for (int64_t k = x.rank - 1; k >= 0; k--) {
        if (gone[k]) continue;
        steps[k] = total;
        if (sizes[k] < 0 || __builtin_mul_overflow(total, sizes[k], &total) || total > (int64_t)1 << 40) return NULL;
    }
    bool *begun = PyMem_Calloc((size_t)total + 1, 1);
    PyArrayObject *out = begun ? (PyArrayObject *)PyArray_ZEROS(rank, shape, x.type, 0) : NULL;
    double *sums = out && !largest && x.type == NPY_FLOAT32 ? PyMem_Calloc((size_t)total + 1, sizeof(double)) : NULL;
    if (sums) { /* a sum of floats would lose many small terms */
        for (int64_t i = 0; i < x.count; i++) {
            int64_t at = number_of_place(x.places + i * x.rank, steps, x.rank);
            double value = ((const float *)x.values)[i];
            sums[at] = begun[at] ? sums[at] + value : value;
            begun[at] = true;
        }
        for (int64_t at = 0; at < total; at++)
            if (begun[at]) ((float *)PyArray_DATA(out))[at] = (float)sums[at];
    } else if (out) {
        if (x.type != NPY_FLOAT32) REDUCED(double)
        else if (largest) REDUCED(float)
        else Py_CLEAR(out); /* no memory: left to Python */
    }
    PyMem_Free(sums);
    PyMem_Free(begun);
    return (PyObject *)out;
}

/* cells_softmax(places, values, shape): the softmax of the elements of each row along the last dimension. Rows are in order. */
#define CELLS_SOFTMAX(name, T, kind)                                                                       \
    static void name(const Cells *x, T *out) {                                                             \
        const T *values = (const T *)x->values;                                                            \
        for (int64_t begin = 0, end; begin < x->count; begin = end) {                                      \
            T largest = values[begin], sum = 0;                                                            \
            for (end = begin + 1; end < x->count && !compare_places(x->places + begin * x->rank, x->places + end * x->rank, x->rank - 1); end++) \
                if (values[end] > largest || values[end] != values[end]) largest = values[end];            \
            for (int64_t i = begin; i < end; i++) out[i] = values[i] - largest;                            \
            numpy_call(&numpy_loops[NUMPY_EXP][kind], out + begin, out + begin, end - begin, sizeof(T));   \
            for (int64_t i = begin; i < end; i++) sum += out[i];                                           \
            for (int64_t i = begin; i < end; i++) out[i] /= sum;                                           \
        }                                                                                                  \
    }
CELLS_SOFTMAX(softmax_cells_f4, float, 0)
CELLS_SOFTMAX(softmax_cells_f8, double, 1)

static PyObject *k_cells_softmax(const Call *call) {
    Cells x;
    if (call->count != 3 || !cells_at(call, 0, 1, &x) || x.rank < 2 || (x.type != NPY_FLOAT32 && x.type != NPY_FLOAT64)) return NULL;
    const int64_t *sizes = sizes_at(call, 2, x.rank);
    if (!sizes || !all_inside(x.places, x.count, x.rank, sizes) || !in_order(x.places, x.count, x.rank, false)) return NULL;
    npy_intp count = x.count;
    PyArrayObject *out = fresh(x.type, 1, &count);
    if (!out) return NULL;
    if (x.type == NPY_FLOAT32) softmax_cells_f4(&x, PyArray_DATA(out));
    else softmax_cells_f8(&x, PyArray_DATA(out));
    return (PyObject *)out;
}
