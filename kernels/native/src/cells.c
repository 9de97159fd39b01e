/* Sparse tensors: elements and their places, which are rows of numbers of 64 bits. In order means as in the dense tensor. */

typedef struct {
    const int64_t *places; /* [count, rank] */
    const char *values;
    int64_t count, rank, item;
    int type;
    PyArrayObject *place_array, *value_array;
} Cells;

/* The elements of a sparse tensor, whose places and values these arguments are; `values` below zero: places alone. */
static bool cells_at(const Call *call, Py_ssize_t places, Py_ssize_t values, Cells *cells) {
    cells->place_array = typed_at(call, places, NPY_INT64);
    cells->value_array = values < 0 ? NULL : array_at(call, values);
    if (!cells->place_array || PyArray_NDIM(cells->place_array) != 2) return false;
    cells->places = PyArray_DATA(cells->place_array);
    cells->count = PyArray_DIM(cells->place_array, 0);
    cells->rank = PyArray_DIM(cells->place_array, 1);
    if (!cells->rank || cells->rank > DEEPEST) return false;
    if (values < 0) return true;
    if (!cells->value_array || PyArray_NDIM(cells->value_array) != 1 || PyArray_DIM(cells->value_array, 0) != cells->count) return false;
    cells->values = PyArray_DATA(cells->value_array);
    cells->type = PyArray_TYPE(cells->value_array);
    cells->item = PyArray_ITEMSIZE(cells->value_array);
    return cells->type <= NPY_CLONGDOUBLE || cells->type == NPY_OBJECT || cells->type == NPY_HALF;
}

/* The sizes of a dense tensor of this rank. */
static const int64_t *sizes_at(const Call *call, Py_ssize_t index, int64_t rank) {
    PyArrayObject *shape = typed_at(call, index, NPY_INT64);
    return shape && PyArray_NDIM(shape) == 1 && PyArray_DIM(shape, 0) == rank ? PyArray_DATA(shape) : NULL;
}

static inline int compare_places(const int64_t *x, const int64_t *y, int64_t rank) {
    for (int64_t i = 0; i < rank; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

static bool all_inside(const int64_t *places, int64_t count, int64_t rank, const int64_t *sizes) {
    bool inside = true;
    for (int64_t k = 0; k < rank; k++) inside &= sizes[k] >= 0;
    for (int64_t i = 0; i < count && inside; i++)
        for (int64_t k = 0; k < rank; k++) inside &= (uint64_t)places[i * rank + k] < (uint64_t)sizes[k];
    return inside;
}

/* Whether places ascend; `strictly`: none is there twice. */
static bool in_order(const int64_t *places, int64_t count, int64_t rank, bool strictly) {
    for (int64_t i = 1; i < count; i++)
        if (compare_places(places + (i - 1) * rank, places + i * rank, rank) > -(int)strictly) return false;
    return true;
}

/* A result's element from a source's. */
static inline void move_value(int type, int64_t item, char *into, int64_t at, const char *from, int64_t source) {
    if (type == NPY_OBJECT) put_object((PyObject **)into + at, ((PyObject *const *)from)[source]);
    else if (item == 4) memcpy(into + 4 * at, from + 4 * source, 4);
    else if (item == 8) memcpy(into + 8 * at, from + 8 * source, 8);
    else memcpy(into + item * at, from + item * source, (size_t)item);
}

/* Fresh places and values; what is left over may be cut off by `shortened`. */
static PyObject *fresh_cells(int64_t count, int64_t rank, int type) {
    npy_intp sizes[2] = {count, rank};
    return pair(fresh(NPY_INT64, 2, sizes), fresh(type, 1, sizes));
}

static PyArrayObject *part_of(PyObject *cells, Py_ssize_t index) { return (PyArrayObject *)PyTuple_GetItem(cells, index); }
static int64_t *places_of(PyObject *cells) { return PyArray_DATA(part_of(cells, 0)); }
static char *values_of(PyObject *cells) { return PyArray_DATA(part_of(cells, 1)); }

/* Copies of the first `count` of the elements; takes `cells`. */
static PyObject *shortened(PyObject *cells, int64_t count) {
    PyArrayObject *places = part_of(cells, 0), *values = part_of(cells, 1);
    if (PyArray_DIM(places, 0) == count) return cells;
    int64_t rank = PyArray_DIM(places, 1), item = PyArray_ITEMSIZE(values);
    PyObject *fewer = fresh_cells(count, rank, PyArray_TYPE(values));
    if (fewer) {
        memcpy(places_of(fewer), PyArray_DATA(places), (size_t)(count * rank) * sizeof(int64_t));
        for (int64_t i = 0; i < count && PyArray_TYPE(values) == NPY_OBJECT; i++)
            move_value(NPY_OBJECT, item, values_of(fewer), i, PyArray_DATA(values), i);
        if (PyArray_TYPE(values) != NPY_OBJECT) memcpy(values_of(fewer), PyArray_DATA(values), (size_t)(count * item));
    }
    Py_DECREF(cells);
    return fewer;
}

/* A triple of a pair, which it takes, and an array. */
static PyObject *with_third(PyObject *both, PyArrayObject *third) {
    PyObject *triple = both && third ? PyTuple_New(3) : NULL;
    for (Py_ssize_t i = 0; triple && i < 2; i++) {
        PyObject *part = PyTuple_GetItem(both, i);
        Py_INCREF(part);
        PyTuple_SetItem(triple, i, part);
    }
    if (triple) PyTuple_SetItem(triple, 2, (PyObject *)third);
    else Py_XDECREF((PyObject *)third);
    Py_XDECREF(both);
    return triple;
}

static PyArrayObject *vector_of(const int64_t *numbers, int64_t count) {
    npy_intp size = count;
    PyArrayObject *vector = fresh(NPY_INT64, 1, &size);
    if (vector) memcpy(PyArray_DATA(vector), numbers, (size_t)count * sizeof(int64_t));
    return vector;
}

/* ---- order */

typedef struct {
    uint64_t key;
    int64_t at;
} Keyed;

enum { DIGIT = 11, DIGITS = 1 << DIGIT, FEW = 48 };

/* Sorts by keys below 2^bits, digit by digit from the last; equal keys keep their order. `other` has the same room; gives the one that
 * holds the result. A digit that all keys share is skipped. */
static Keyed *sort_keyed(Keyed *keyed, Keyed *other, int64_t count, int bits) {
    if (count <= FEW) {
        for (int64_t i = 1; i < count; i++) {
            Keyed moved = keyed[i];
            int64_t k = i;
            for (; k && keyed[k - 1].key > moved.key; k--) keyed[k] = keyed[k - 1];
            keyed[k] = moved;
        }
        return keyed;
    }
    for (int shift = 0; shift < bits; shift += DIGIT) {
        int64_t begins[DIGITS + 1] = {0};
        for (int64_t i = 0; i < count; i++) begins[(keyed[i].key >> shift & (DIGITS - 1)) + 1]++;
        if (begins[(keyed[0].key >> shift & (DIGITS - 1)) + 1] == count) continue;
        for (int64_t i = 0; i < DIGITS; i++) begins[i + 1] += begins[i];
        for (int64_t i = 0; i < count; i++) other[begins[keyed[i].key >> shift & (DIGITS - 1)]++] = keyed[i];
        Keyed *swapped = keyed;
        keyed = other;
        other = swapped;
    }
    return keyed;
}

typedef struct {
    const int64_t *places;
    int64_t count, rank, *order;
    int bits;
    const int64_t *sizes;
    bool sorted, failed;
} Ordering;

static void find_order(int64_t begin, int64_t count, const void *given) {
    (void)begin, (void)count;
    Ordering *o = *(Ordering *const *)given;
    Keyed *keyed = malloc(2 * ((size_t)o->count + 1) * sizeof(Keyed));
    o->failed = !keyed;
    if (!keyed) return;
    for (int64_t i = 0; i < o->count; i++) {
        uint64_t key = 0;
        for (int64_t k = 0; k < o->rank; k++) key = key * (uint64_t)o->sizes[k] + (uint64_t)o->places[i * o->rank + k];
        keyed[i] = (Keyed){key, i};
    }
    Keyed *sorted = sort_keyed(keyed, keyed + o->count, o->count, o->bits);
    for (int64_t i = 0; i < o->count; i++) o->order[i] = sorted[i].at;
    free(keyed);
}

/* The order in which places ascend, a fresh vector, or Py_None where they are in order. NULL where their numbers are too large, or below
 * zero. */
static PyObject *order_of_places(const Call *call, const int64_t *places, int64_t count, int64_t rank) {
    if (in_order(places, count, rank, false)) {
        Py_INCREF(Py_None);
        return Py_None;
    }
    int64_t sizes[DEEPEST], product = 1;
    for (int64_t k = 0; k < rank; k++) sizes[k] = 1;
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < rank; k++) {
            int64_t at = places[i * rank + k];
            if (at < 0 || at == INT64_MAX) return NULL;
            if (at >= sizes[k]) sizes[k] = at + 1;
        }
    for (int64_t k = 0; k < rank; k++)
        if (__builtin_mul_overflow(product, sizes[k], &product)) return NULL;
    npy_intp length = count;
    PyArrayObject *order = fresh(NPY_INT64, 1, &length);
    if (!order) return NULL;
    Ordering o = {places, count, rank, PyArray_DATA(order), 0, sizes, false, false}, *at = &o;
    while (o.bits < 63 && (uint64_t)product >> o.bits) o.bits++;
    work_through(call, find_order, &at, 1, 1, 20 * count);
    if (!o.failed) return (PyObject *)order;
    Py_DECREF((PyObject *)order);
    return PyErr_NoMemory();
}

/* The elements in order: the same arrays where they are, else fresh ones. */
static PyObject *ordered_cells(const Call *call, const Cells *x) {
    PyObject *order = order_of_places(call, x->places, x->count, x->rank);
    if (!order) return NULL;
    if (order == Py_None) {
        Py_DECREF(order);
        Py_INCREF((PyObject *)x->place_array);
        Py_INCREF((PyObject *)x->value_array);
        return pair(x->place_array, x->value_array);
    }
    PyObject *cells = fresh_cells(x->count, x->rank, x->type);
    const int64_t *from = PyArray_DATA((PyArrayObject *)order);
    for (int64_t i = 0; cells && i < x->count; i++) {
        memcpy(places_of(cells) + i * x->rank, x->places + from[i] * x->rank, (size_t)x->rank * sizeof(int64_t));
        move_value(x->type, x->item, values_of(cells), i, x->values, from[i]);
    }
    Py_DECREF(order);
    return cells;
}

/* cells_ordered(places, values): the elements in order; equal places keep theirs. */
static PyObject *k_cells_ordered(const Call *call) {
    Cells x;
    return call->count == 2 && cells_at(call, 0, 1, &x) ? ordered_cells(call, &x) : NULL;
}

/* cells_joined(axis, count, places ..., values ..., shapes ...): the elements of sparse tensors side by side, in order, and the shape. */
static PyObject *k_cells_joined(const Call *call) {
    int64_t axis, count, rank, total = 0, whole[DEEPEST];
    if (!whole_at(call, 0, &axis) || !whole_at(call, 1, &count) || count < 1 || call->count != 2 + 3 * count) return NULL;
    Cells first, x;
    if (!cells_at(call, 2, 2 + count, &first)) return NULL;
    rank = first.rank;
    if (axis < 0 || axis >= rank) return NULL;
    for (int64_t part = 0; part < count; part++) {
        const int64_t *sizes = sizes_at(call, 2 + 2 * count + part, rank);
        if (!cells_at(call, 2 + part, 2 + count + part, &x) || !sizes || x.rank != rank || x.type != first.type) return NULL;
        if (!part) memcpy(whole, sizes, (size_t)rank * sizeof(int64_t));
        for (int64_t k = 0; k < rank; k++)
            if (k != axis && sizes[k] != whole[k]) return NULL;
        if (part && __builtin_add_overflow(whole[axis], sizes[axis], whole + axis)) return NULL;
        total += x.count;
    }
    PyObject *cells = fresh_cells(total, rank, first.type);
    int64_t at = 0, before = 0;
    for (int64_t part = 0; cells && part < count; part++) {
        cells_at(call, 2 + part, 2 + count + part, &x);
        int64_t *places = places_of(cells) + at * rank;
        memcpy(places, x.places, (size_t)(x.count * rank) * sizeof(int64_t));
        for (int64_t i = 0; before && i < x.count; i++) places[i * rank + axis] = (int64_t)((uint64_t)places[i * rank + axis] + (uint64_t)before);
        if (x.type != NPY_OBJECT) memcpy(values_of(cells) + at * x.item, x.values, (size_t)(x.count * x.item));
        for (int64_t i = 0; x.type == NPY_OBJECT && i < x.count; i++) move_value(x.type, x.item, values_of(cells), at + i, x.values, i);
        at += x.count;
        before += sizes_at(call, 2 + 2 * count + part, rank)[axis];
    }
    if (!cells) return NULL;
    Cells joined = {places_of(cells), values_of(cells), total, rank, first.item, first.type, part_of(cells, 0), part_of(cells, 1)};
    PyObject *ordered = ordered_cells(call, &joined);
    Py_DECREF(cells);
    return ordered ? with_third(ordered, vector_of(whole, rank)) : NULL;
}

/* ---- parts */

/* cells_sliced(places, values, shape, begins, sizes): the elements within a part, and its shape. */
static PyObject *k_cells_sliced(const Call *call) {
    Cells x;
    if (call->count != 5 || !cells_at(call, 0, 1, &x)) return NULL;
    const int64_t *whole = sizes_at(call, 2, x.rank), *begins = sizes_at(call, 3, x.rank), *most = sizes_at(call, 4, x.rank);
    if (!whole || !begins || !most) return NULL;
    int64_t sizes[DEEPEST], kept = 0;
    for (int64_t k = 0; k < x.rank; k++) {
        if (most[k] < 0 || whole[k] < 0 || begins[k] < 0) return NULL;
        sizes[k] = begins[k] > whole[k] ? 0 : whole[k] - begins[k];
        if (sizes[k] > most[k]) sizes[k] = most[k];
    }
    PyObject *cells = fresh_cells(x.count, x.rank, x.type);
    if (!cells) return NULL;
    int64_t *places = places_of(cells);
    for (int64_t i = 0; i < x.count; i++) {
        bool inside = true;
        for (int64_t k = 0; k < x.rank; k++) {
            uint64_t at = (uint64_t)x.places[i * x.rank + k] - (uint64_t)begins[k];
            inside &= at < (uint64_t)sizes[k];
            places[kept * x.rank + k] = (int64_t)at;
        }
        if (inside) move_value(x.type, x.item, values_of(cells), kept++, x.values, i);
    }
    cells = shortened(cells, kept);
    return cells ? with_third(cells, vector_of(sizes, x.rank)) : NULL;
}

/* cells_filled(places, values, shape, value): the elements, with one more at the beginning of each empty row; which rows are empty;
 * where each element went. For rows in order. */
static PyObject *k_cells_filled(const Call *call) {
    Cells x;
    PyArrayObject *value = array_at(call, 3);
    if (call->count != 4 || !cells_at(call, 0, 1, &x) || !value || PyArray_NDIM(value) || PyArray_TYPE(value) != x.type) return NULL;
    const int64_t *sizes = sizes_at(call, 2, x.rank);
    if (!sizes || sizes[0] < 0 || sizes[0] > LARGEST) return NULL;
    int64_t rows = sizes[0], empty = 0, last = -1;
    for (int64_t i = 0; i < x.count; i++) {
        int64_t row = x.places[i * x.rank];
        if (row < 0 || row < last || row >= rows) return NULL;
        if (row > last + 1) empty += row - last - 1;
        last = row;
    }
    empty += rows - 1 - last;
    npy_intp row_count = rows, count = x.count;
    PyObject *cells = fresh_cells(x.count + empty, x.rank, x.type);
    PyArrayObject *which = fresh(NPY_BOOL, 1, &row_count), *moved = fresh(NPY_INT64, 1, &count);
    PyObject *all = cells && which && moved ? PyTuple_New(4) : NULL;
    if (!all) {
        Py_XDECREF(cells);
        Py_XDECREF((PyObject *)which);
        Py_XDECREF((PyObject *)moved);
        return NULL;
    }
    int64_t *places = places_of(cells), at = 0, i = 0;
    for (int64_t row = 0; row < rows; row++) {
        bool is_empty = i == x.count || x.places[i * x.rank] != row;
        ((bool *)PyArray_DATA(which))[row] = is_empty;
        if (is_empty) {
            for (int64_t k = 0; k < x.rank; k++) places[at * x.rank + k] = k ? 0 : row;
            move_value(x.type, x.item, values_of(cells), at++, PyArray_DATA(value), 0);
        }
        for (; i < x.count && x.places[i * x.rank] == row; i++) {
            memcpy(places + at * x.rank, x.places + i * x.rank, (size_t)x.rank * sizeof(int64_t));
            ((int64_t *)PyArray_DATA(moved))[i] = at;
            move_value(x.type, x.item, values_of(cells), at++, x.values, i);
        }
    }
    for (Py_ssize_t k = 0; k < 2; k++) {
        PyObject *part = PyTuple_GetItem(cells, k);
        Py_INCREF(part);
        PyTuple_SetItem(all, k, part);
    }
    Py_DECREF(cells);
    PyTuple_SetItem(all, 2, (PyObject *)which);
    PyTuple_SetItem(all, 3, (PyObject *)moved);
    return all;
}

/* cells_reshaped(places, shape, other shape): the places of the same elements in a tensor of another shape and the same size. */
static PyObject *k_cells_reshaped(const Call *call) {
    Cells x;
    PyArrayObject *target = typed_at(call, 2, NPY_INT64);
    if (call->count != 3 || !cells_at(call, 0, -1, &x) || !target || PyArray_NDIM(target) != 1) return NULL;
    const int64_t *sizes = sizes_at(call, 1, x.rank), *into = PyArray_DATA(target);
    npy_intp shape[2] = {x.count, PyArray_DIM(target, 0)};
    int64_t rank = shape[1], product = 1;
    if (!sizes || !rank || rank > DEEPEST || !all_inside(x.places, x.count, x.rank, sizes)) return NULL;
    for (int64_t k = 0; k < x.rank; k++)
        if (sizes[k] < 0 || __builtin_mul_overflow(product, sizes[k], &product)) return NULL;
    for (int64_t k = 0; k < rank; k++)
        if (into[k] < 1) return NULL;
    PyArrayObject *out = fresh(NPY_INT64, 2, shape);
    int64_t *places = out ? PyArray_DATA(out) : NULL;
    for (int64_t i = 0; out && i < x.count; i++) {
        uint64_t at = 0;
        for (int64_t k = 0; k < x.rank; k++) at = at * (uint64_t)sizes[k] + (uint64_t)x.places[i * x.rank + k];
        for (int64_t k = rank - 1; k >= 0; k--) {
            uint64_t size = (uint64_t)into[k], next = (at | size) >> 32 ? at / size : (uint32_t)at / (uint32_t)size;
            places[i * rank + k] = (int64_t)(at - next * size);
            at = next;
        }
    }
    return (PyObject *)out;
}
