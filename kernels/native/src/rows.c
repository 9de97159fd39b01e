/* Rows by their numbers, slices, one-hot vectors, the largest of each row, and arrays one after the other.
 *
 * All give the same bits as the Python kernels, which tell what is wrong with numbers.
 */

enum { AHEAD = 8, LINES = 4, FEW_ELEMENTS = 2000, MOST_KEPT = 32, COPY_PIECE = 1 << 14 };
static const int64_t LARGEST = 1 << 24;

/* ---- gather(rows, numbers, out or nothing, axis or nothing) */

typedef struct {
    const char *rows;
    const void *numbers;
    char *out;
    int64_t bytes;         /* of a row */
    int64_t count, plane; /* the numbers; and the bytes of all rows among which they choose. There may be several such planes. */
    bool wide;
} Gather;

static void gather_some(const Gather *g, const char *rows, char *out, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        /* Rows lie anywhere: a later one is asked for while this one is copied. */
        const char *later = rows + number(g->numbers, g->wide, i + AHEAD < end ? i + AHEAD : end - 1) * g->bytes;
        for (int64_t line = 0; line < LINES && line * 64 < g->bytes; line++) __builtin_prefetch(later + line * 64);
        memcpy(out + i * g->bytes, rows + number(g->numbers, g->wide, i) * g->bytes, g->bytes);
    }
}

#define GATHER_ONE(name, T)                                                                                                        \
    static void name(const Gather *g, const char *rows, char *out, int64_t begin, int64_t end) {                                   \
        for (int64_t i = begin; i < end; i++) ((T *)out)[i] = ((const T *)rows)[number(g->numbers, g->wide, i)];                   \
    }
GATHER_ONE(gather_4, uint32_t)
GATHER_ONE(gather_8, uint64_t)

static void gather_rows(int64_t begin, int64_t count, const void *given) {
    const Gather *g = given;
    for (int64_t i = begin, end = begin + count; i < end;) {
        int64_t plane = i / g->count, from = i - plane * g->count, upto = end - plane * g->count;
        if (upto > g->count) upto = g->count;
        const char *rows = g->rows + plane * g->plane;
        char *out = g->out + plane * g->count * g->bytes;
        (g->bytes == 4 ? gather_4 : g->bytes == 8 ? gather_8 : gather_some)(g, rows, out, from, upto);
        i += upto - from;
    }
}

static bool all_below(const void *numbers, bool wide, int64_t count, int64_t length) {
    uint64_t bad = 0;
    if (!wide && length > INT32_MAX) length = (int64_t)INT32_MAX + 1; /* more are negative numbers */
    if (wide)
        for (int64_t i = 0; i < count; i++) bad |= ((const uint64_t *)numbers)[i] >= (uint64_t)length;
    else
        for (int64_t i = 0; i < count; i++) bad |= (int64_t)((const uint32_t *)numbers)[i] >= length;
    return !bad;
}

static PyObject *k_gather(const Call *call) {
    PyArrayObject *rows = array_at(call, 0), *numbers = indices_at(call, 1);
    if (!rows || !numbers || !PyArray_ISNUMBER(rows)) return NULL;
    int rank = PyArray_NDIM(rows), deep = PyArray_NDIM(numbers);
    int64_t axis = 0;
    if (!rank || !deep || rank + deep > DEEPEST || (call->count > 3 && !whole_at(call, 3, &axis))) return NULL;
    axis = axis < 0 ? axis + rank : axis;
    if (axis < 0 || axis >= rank) return NULL;
    npy_intp sizes[DEEPEST];
    int64_t width = PyArray_ITEMSIZE(rows), count = PyArray_SIZE(numbers), planes = 1;
    for (int i = 0; i < axis; i++) planes *= sizes[i] = PyArray_DIM(rows, i);
    for (int i = 0; i < deep; i++) sizes[axis + i] = PyArray_DIM(numbers, i);
    for (int i = (int)axis + 1; i < rank; i++) width *= sizes[deep + i - 1] = PyArray_DIM(rows, i);
    int64_t work = planes * count * width / PyArray_ITEMSIZE(rows), length = PyArray_DIM(rows, (int)axis);
    Gather g = {PyArray_BYTES(rows), PyArray_DATA(numbers), NULL, width, count, length * width, is_wide(numbers)};
    if (left_to_python(call, work) || !all_below(g.numbers, g.wide, count, length)) return NULL;
    PyArrayObject *made = result_at(call, 2, PyArray_TYPE(rows), rank + deep - 1, sizes);
    if (!made) return NULL;
    if (call->count > 2 && share_memory(made, rows)) {
        Py_DECREF((PyObject *)made);
        return NULL;
    }
    g.out = PyArray_BYTES(made);
    work_through(call, gather_rows, &g, planes * count, 4 * COPY_PIECE / (width + 1) + 1, work);
    return (PyObject *)made;
}

/* ---- one_hot(numbers, depth, on, off, out or nothing), along the last dimension */

static PyObject *k_one_hot(const Call *call) {
    PyArrayObject *numbers = indices_at(call, 0), *on = array_at(call, 2), *off = array_at(call, 3);
    int64_t depth;
    if (!numbers || !on || !off || !whole_at(call, 1, &depth) || PyArray_TYPE(on) != PyArray_TYPE(off)) return NULL;
    if (PyArray_NDIM(on) || PyArray_NDIM(off) || !(PyArray_ISNUMBER(on) || PyArray_ISBOOL(on))) return NULL;
    int rank = PyArray_NDIM(numbers);
    int64_t count = PyArray_SIZE(numbers), size = PyArray_ITEMSIZE(on);
    if (depth < 1 || depth > LARGEST || rank >= DEEPEST || (size != 1 && size != 4 && size != 8)) return NULL;
    npy_intp sizes[DEEPEST];
    for (int i = 0; i < rank; i++) sizes[i] = PyArray_DIM(numbers, i);
    sizes[rank] = depth;
    PyArrayObject *made = result_at(call, 4, PyArray_TYPE(on), rank + 1, sizes);
    if (!made) return NULL;
#define FILL(T)                                                                                                                    \
    {                                                                                                                              \
        T *out = PyArray_DATA(made), yes = *(const T *)PyArray_DATA(on), no = *(const T *)PyArray_DATA(off);                       \
        for (int64_t i = 0; i < count * depth; i++) out[i] = no;                                                                   \
        for (int64_t i = 0; i < count; i++) {                                                                                      \
            int64_t one = number(PyArray_DATA(numbers), is_wide(numbers), i);                                                      \
            if ((uint64_t)one < (uint64_t)depth) out[i * depth + one] = yes;                                                       \
        }                                                                                                                          \
    }
    if (size == 4) FILL(uint32_t) else if (size == 8) FILL(uint64_t) else FILL(uint8_t)
#undef FILL
    return (PyObject *)made;
}

/* ---- argmax(x, axis), and top_k(x, k), the last dimension's */

static bool last_rows(PyArrayObject *x, int64_t *rows, int64_t *width) {
    int rank = x ? PyArray_NDIM(x) : 0;
    if (!rank || rank > DEEPEST || (PyArray_TYPE(x) != NPY_FLOAT32 && PyArray_TYPE(x) != NPY_FLOAT64)) return false;
    *width = PyArray_DIM(x, rank - 1);
    if (!*width) return false;
    *rows = PyArray_SIZE(x) / *width;
    return true;
}

/* The places of the largest along a dimension, one after the other in rows of `inner` elements, which are compared side by side; and the
 * same where none are behind it, of elements that are as many lanes apart. A NaN is the largest of none. `I` is as wide as `T`. */
#define HIGHEST(name, T, I)                                                                                                        \
    static void name(int64_t begin, int64_t count, const void *given) {                                                            \
        const Highest *p = given;                                                                                                  \
        for (int64_t plane = begin; plane < begin + count; plane++)                                                                \
            for (int64_t from = 0; from < p->inner; from += HIGHEST_SIDE) {                                                        \
                int64_t some = p->inner - from < HIGHEST_SIDE ? p->inner - from : HIGHEST_SIDE;                                    \
                const T *x = (const T *)p->x + plane * p->size * p->inner + from;                                                  \
                T best[HIGHEST_SIDE];                                                                                              \
                I places[HIGHEST_SIDE] = {0};                                                                                      \
                for (int64_t k = 0; k < some; k++) best[k] = x[k] == x[k] ? x[k] : (T)-INFINITY;                                   \
                for (I i = 1; i < p->size; i++) {                                                                                  \
                    x += p->inner;                                                                                                 \
                    for (int64_t k = 0; k < some; k++) {                                                                           \
                        places[k] = x[k] > best[k] ? i : places[k];                                                                \
                        best[k] = x[k] > best[k] ? x[k] : best[k];                                                                 \
                    }                                                                                                              \
                }                                                                                                                  \
                for (int64_t k = 0; k < some; k++) p->out[plane * p->inner + from + k] = places[k];                                \
            }                                                                                                                      \
    }                                                                                                                              \
    static void name##_along(int64_t begin, int64_t count, const void *given) {                                                    \
        const Highest *p = given;                                                                                                  \
        for (int64_t row = begin; row < begin + count; row++) {                                                                    \
            const T *x = (const T *)p->x + row * p->size;                                                                          \
            T most = x[0] == x[0] ? x[0] : (T)-INFINITY, best[HIGHEST_SIDE];                                                       \
            int64_t at = 0, i = 1;                                                                                                 \
            if (p->size >= 2 * HIGHEST_SIDE) {                                                                                     \
                I places[HIGHEST_SIDE];                                                                                            \
                for (int k = 0; k < HIGHEST_SIDE; k++) places[k] = 0, best[k] = most;                                              \
                for (i = 0; i + HIGHEST_SIDE <= p->size; i += HIGHEST_SIDE)                                                        \
                    for (int k = 0; k < HIGHEST_SIDE; k++) {                                                                       \
                        places[k] = x[i + k] > best[k] ? (I)i : places[k];                                                         \
                        best[k] = x[i + k] > best[k] ? x[i + k] : best[k];                                                         \
                    }                                                                                                              \
                for (int k = 0; k < HIGHEST_SIDE; k++) {                                                                           \
                    int64_t place = best[k] > x[0] || x[0] != x[0] ? places[k] + k : 0;                                            \
                    if (best[k] > most || (best[k] == most && place < at)) most = best[k], at = place;                             \
                }                                                                                                                  \
            }                                                                                                                      \
            for (; i < p->size; i++)                                                                                               \
                if (x[i] > most) most = x[i], at = i;                                                                              \
            p->out[row] = at;                                                                                                      \
        }                                                                                                                          \
    }

enum { HIGHEST_SIDE = 32 };

typedef struct {
    const void *x;
    int64_t *out, size, inner;
} Highest;

HIGHEST(highest_f4, float, int32_t)
HIGHEST(highest_f8, double, int64_t)

static PyObject *k_argmax(const Call *call) {
    PyArrayObject *x = array_at(call, 0);
    int64_t rows, width, axis;
    if (!last_rows(x, &rows, &width) || !PyArray_SIZE(x) || !whole_at(call, 1, &axis)) return NULL;
    int rank = PyArray_NDIM(x);
    if (rank < 2 || axis < -rank || axis >= rank || PyArray_SIZE(x) > INT32_MAX) return NULL;
    if (axis < 0) axis += rank;
    if (left_to_python(call, rows * width)) return NULL;
    npy_intp sizes[DEEPEST];
    Highest p = {.x = PyArray_DATA(x), .size = PyArray_DIM(x, axis), .inner = 1};
    for (int d = 0; d < rank; d++) {
        if (d != axis) sizes[d - (d > axis)] = PyArray_DIM(x, d);
        if (d > axis) p.inner *= PyArray_DIM(x, d);
    }
    PyArrayObject *made = fresh(NPY_INT64, rank - 1, sizes);
    if (!made) return NULL;
    p.out = PyArray_DATA(made);
    bool doubles = PyArray_TYPE(x) == NPY_FLOAT64;
    Part part = p.inner == 1 ? (doubles ? highest_f8_along : highest_f4_along) : doubles ? highest_f8 : highest_f4;
    int64_t planes = PyArray_SIZE(x) / (p.size * p.inner);
    work_through(call, part, &p, planes, HELD / (p.size * p.inner) + 1, rows * width);
    return (PyObject *)made;
}

/* The k largest of a row in order; of equal ones the first goes before. */
#define TOP(name, T)                                                                                                               \
    static void name(const T *x, int64_t width, int64_t kept, T *best, int32_t *where) {                                           \
        int64_t held = 0;                                                                                                          \
        for (int64_t i = 0; i < width; i++) {                                                                                      \
            if (held == kept && !(x[i] > best[kept - 1])) continue;                                                                \
            int64_t at = held == kept ? kept - 1 : held;                                                                           \
            for (; at > 0 && best[at - 1] < x[i]; at--) best[at] = best[at - 1], where[at] = where[at - 1];                        \
            best[at] = x[i];                                                                                                       \
            where[at] = (int32_t)i;                                                                                                \
            held += held < kept;                                                                                                   \
        }                                                                                                                          \
    }                                                                                                                              \
    static bool name##_has_nan(const T *x, int64_t count) {                                                                        \
        bool found = false;                                                                                                        \
        for (int64_t i = 0; i < count; i++) found |= x[i] != x[i];                                                                 \
        return found;                                                                                                              \
    }
TOP(top_f4, float)
TOP(top_f8, double)

static PyObject *k_top_k(const Call *call) {
    PyArrayObject *x = array_at(call, 0);
    int64_t rows, width, kept;
    if (!last_rows(x, &rows, &width) || !whole_at(call, 1, &kept) || kept < 1 || kept > width || kept > MOST_KEPT) return NULL;
    bool single = PyArray_TYPE(x) == NPY_FLOAT32;
    if (single ? top_f4_has_nan(PyArray_DATA(x), rows * width) : top_f8_has_nan(PyArray_DATA(x), rows * width)) return NULL;
    npy_intp sizes[DEEPEST];
    int rank = PyArray_NDIM(x);
    for (int i = 0; i < rank; i++) sizes[i] = i < rank - 1 ? PyArray_DIM(x, i) : kept;
    PyArrayObject *values = fresh(PyArray_TYPE(x), rank, sizes), *places = fresh(NPY_INT32, rank, sizes);
    PyObject *both = pair(values, places);
    if (!both) return NULL;
    for (int64_t row = 0; row < rows; row++) {
        int32_t *where = (int32_t *)PyArray_DATA(places) + row * kept;
        if (single)
            top_f4((const float *)PyArray_DATA(x) + row * width, width, kept, (float *)PyArray_DATA(values) + row * kept, where);
        else
            top_f8((const double *)PyArray_DATA(x) + row * width, width, kept, (double *)PyArray_DATA(values) + row * kept, where);
    }
    return both;
}

/* ---- slices with steps: slice(x, begin, end, steps, begin_mask, end_mask). They are copies in C's order. */

static int64_t bound(const void *numbers, bool wide, int axis, int64_t mask, int64_t size, int64_t masked) {
    int64_t given = number(numbers, wide, axis);
    if (mask >> axis & 1) return masked;
    if (given < 0) given += size;
    return given < 0 ? 0 : given > size ? size : given;
}

static PyObject *k_slice(const Call *call) {
    PyArrayObject *x = array_at(call, 0), *index[3];
    int64_t masks[2];
    if (!x || !PyArray_ISNUMBER(x) || PyArray_SIZE(x) >= FEW_ELEMENTS || call->count != 6) return NULL;
    int rank = PyArray_NDIM(x);
    int64_t item = PyArray_ITEMSIZE(x);
    if (!rank || rank > DEEPEST || item > 8 || !whole_at(call, 4, &masks[0]) || !whole_at(call, 5, &masks[1])) return NULL;
    for (int k = 0; k < 3; k++) {
        index[k] = indices_at(call, k + 1);
        if (!index[k] || PyArray_NDIM(index[k]) != 1 || PyArray_DIM(index[k], 0) != rank) return NULL;
    }
    npy_intp sizes[DEEPEST];
    int64_t first[DEEPEST], step[DEEPEST], pitch[DEEPEST], below = item, rows = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
        int64_t size = PyArray_DIM(x, axis);
        step[axis] = number(PyArray_DATA(index[2]), is_wide(index[2]), axis);
        if (step[axis] < 1 || step[axis] > FEW_ELEMENTS) return NULL;
        first[axis] = bound(PyArray_DATA(index[0]), is_wide(index[0]), axis, masks[0], size, 0);
        int64_t end = bound(PyArray_DATA(index[1]), is_wide(index[1]), axis, masks[1], size, size);
        sizes[axis] = end > first[axis] ? (end - first[axis] + step[axis] - 1) / step[axis] : 0;
        pitch[axis] = below;
        below *= size;
        if (axis < rank - 1) rows *= sizes[axis];
    }
    PyArrayObject *made = fresh(PyArray_TYPE(x), rank, sizes);
    if (!made) return NULL;
    int64_t width = sizes[rank - 1], jump = step[rank - 1] * item;
    char *out = PyArray_BYTES(made);
    for (int64_t row = 0; width && row < rows; row++) {
        int64_t rest = row;
        const char *line = PyArray_BYTES(x) + first[rank - 1] * item;
        for (int axis = rank - 2; axis >= 0; axis--) {
            line += (first[axis] + rest % sizes[axis] * step[axis]) * pitch[axis];
            rest /= sizes[axis];
        }
        if (jump == item) {
            memcpy(out, line, width * item);
            out += width * item;
        } else
            for (int64_t i = 0; i < width; i++, out += item) memcpy(out, line + i * jump, item);
    }
    return (PyObject *)made;
}

/* ---- join(arrays, axis, out): arrays one after the other */

enum { MOST_JOINED = 64, MOST_SINGLE = 128 };

typedef struct {
    int64_t count, width; /* bytes of a row of the result */
    const char *from[MOST_JOINED];
    int64_t size[MOST_JOINED], before[MOST_JOINED];
    char *out;
} Join;

/* Copies a stretch. The lengths of one to eight numbers are known to the compiler, which needs no call for them. */
static inline void copy_stretch(char *to, const char *from, int64_t size) {
    switch (size) {
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    case 16: memcpy(to, from, 16); break;
    case 32: memcpy(to, from, 32); break;
    default: memcpy(to, from, (size_t)size);
    }
}

static void join_stretches(int64_t begin, int64_t count, const void *given) {
    const Join *j = given;
    int64_t row = begin / j->count, k = begin % j->count;
    for (int64_t stretch = 0; stretch < count; stretch++) {
        copy_stretch(j->out + row * j->width + j->before[k], j->from[k] + row * j->size[k], j->size[k]);
        if (++k == j->count) {
            k = 0;
            row++;
        }
    }
}

static PyObject *k_join(const Call *call) {
    PyArrayObject *out = array_at(call, 2);
    int64_t axis;
    if (!out || !PyList_CheckExact(call->args[0]) || !whole_at(call, 1, &axis) || !PyArray_ISWRITEABLE(out)) return NULL;
    int rank = PyArray_NDIM(out);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || !PyArray_SIZE(out)) return NULL;
    if (!(PyArray_ISNUMBER(out) || PyArray_ISBOOL(out))) return NULL;
    Join j = {.count = PyList_Size(call->args[0]), .out = PyArray_BYTES(out)};
    if (j.count < 1 || j.count > MOST_JOINED) return NULL;
    int64_t rows = 1, along = 0;
    for (int i = 0; i < axis; i++) rows *= PyArray_DIM(out, i);
    for (int64_t k = 0; k < j.count; k++) {
        PyArrayObject *one = as_array(PyList_GetItem(call->args[0], k));
        if (!one || PyArray_NDIM(one) != rank || PyArray_TYPE(one) != PyArray_TYPE(out) || share_memory(one, out)) return NULL;
        for (int i = 0; i < rank; i++)
            if (i != axis && PyArray_DIM(one, i) != PyArray_DIM(out, i)) return NULL;
        j.from[k] = PyArray_BYTES(one);
        j.size[k] = PyArray_NBYTES(one) / rows;
        j.before[k] = j.width;
        j.width += j.size[k];
        along += PyArray_DIM(one, axis);
    }
    if (along != PyArray_DIM(out, axis)) return NULL;
    if (rows > MOST_SINGLE && j.width == j.count * PyArray_ITEMSIZE(out)) return NULL; /* numpy copies single elements with steps */
    int64_t bytes = PyArray_NBYTES(out), stretches = rows * j.count;
    if (left_to_python(call, bytes / 4)) return NULL;
    work_through(call, join_stretches, &j, stretches, (1 << 17) * stretches / bytes + 1, bytes / 4);
    Py_INCREF((PyObject *)out);
    return (PyObject *)out;
}
