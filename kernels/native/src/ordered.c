/* Copies in C's order of tensors of 32-bit numbers whose elements lie in another one, such as images with their channels first that are
 * wanted with channels last.
 *
 * Dimensions that lie side by side in both are one. Of the others, two count: the last one of the copy, and the one along which elements
 * lie side by side in the source. Blocks of these two are turned.
 */

enum { ORDERED_LEAST = 1 << 9 };

typedef struct {
    int rank;
    int64_t sizes[DEEPEST], steps[DEEPEST], lines[DEEPEST]; /* of dimensions: elements from one to the next, in the source and in the copy */
    int fast;                                               /* the dimension whose elements lie side by side in the source */
    const float *x;
    float *out;
} Ordered;

/* Columns of the source become rows of a few elements. */
INLINED void narrow_rows(const float *x, int64_t step, float *out, int64_t line, int64_t rows, const int64_t columns) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) out[r * line + c] = x[r + c * step];
}

static void turned_plane(const float *x, int64_t step, float *out, int64_t line, int64_t rows, int64_t columns) {
    if (columns == 1) narrow_rows(x, step, out, line, rows, 1);
    else if (columns == 2) narrow_rows(x, step, out, line, rows, 2);
    else if (columns == 3 && line == 3) narrow_rows(x, step, out, 3, rows, 3);
    else if (columns == 3) narrow_rows(x, step, out, line, rows, 3);
    else if (columns == 4) narrow_rows(x, step, out, line, rows, 4);
    else
        for (int64_t c = 0; c < columns; c += LANE) {
            int64_t wide = columns - c < LANE ? columns - c : LANE, r = 0;
            for (; wide == LANE && r + LANE <= rows; r += LANE) turn_block(x + r + c * step, step, out + r * line + c, line);
            for (; r < rows; r++)
                for (int64_t k = 0; k < wide; k++) out[r * line + c + k] = x[r + (c + k) * step];
        }
}

static void ordered_planes(int64_t begin, int64_t count, const void *given) {
    const Ordered *o = given;
    int last = o->rank - 1;
    for (int64_t i = begin; i < begin + count; i++) {
        int64_t rest = i, from = 0, to = 0;
        for (int d = last - 1; d >= 0; d--) {
            if (d == o->fast) continue;
            from += rest % o->sizes[d] * o->steps[d];
            to += rest % o->sizes[d] * o->lines[d];
            rest /= o->sizes[d];
        }
        turned_plane(o->x + from, o->steps[last], o->out + to, o->lines[o->fast], o->sizes[o->fast], o->sizes[last]);
    }
}

/* ordered(x): the copy. */
static PyObject *k_ordered(const Call *call) {
    if (call->count != 1 || Py_TYPE(call->args[0]) != &PyArray_Type) return NULL;
    PyArrayObject *x = (PyArrayObject *)call->args[0];
    int rank = PyArray_NDIM(x);
    int64_t size = PyArray_SIZE(x);
    if (PyArray_ITEMSIZE(x) != 4 || !PyArray_ISNUMBER(x) || !PyArray_ISNOTSWAPPED(x) || !PyArray_ISALIGNED(x)) return NULL;
    if (rank < 2 || rank > DEEPEST || size < ORDERED_LEAST) return NULL;
    Ordered o = {.fast = -1, .x = PyArray_DATA(x)};
    for (int i = 0; i < rank; i++) {
        int64_t own = PyArray_DIM(x, i), step = PyArray_STRIDE(x, i) / 4;
        if (own == 1) continue;
        if (PyArray_STRIDE(x, i) % 4 || step < 1) return NULL;
        if (o.rank && o.steps[o.rank - 1] == own * step)
            o.sizes[o.rank - 1] *= own, o.steps[o.rank - 1] = step;
        else
            o.sizes[o.rank] = own, o.steps[o.rank++] = step;
    }
    int64_t line = 1;
    for (int i = o.rank - 1; i >= 0; i--) {
        o.lines[i] = line;
        line *= o.sizes[i];
        if (o.steps[i] == 1) o.fast = i;
    }
    if (o.rank < 2 || o.fast < 0 || o.fast == o.rank - 1 || left_to_governor(call, size)) return NULL;
    PyArrayObject *out = fresh(PyArray_TYPE(x), rank, PyArray_DIMS(x));
    if (!out) return NULL;
    o.out = PyArray_DATA(out);
    int64_t plane = o.sizes[o.fast] * o.sizes[o.rank - 1];
    work_through(call, ordered_planes, &o, size / plane, (1 << 14) / plane + 1, size);
    return (PyObject *)out;
}
