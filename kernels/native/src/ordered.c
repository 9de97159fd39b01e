/* Copies in C's order of tensors whose elements, of four or eight bytes, lie in another one, such as transposed matrices, and images with
 * their channels first that are wanted with channels last.
 *
 * Dimensions that lie side by side in both are one. Of the others, two count: the last one of the copy, its columns, and the one along
 * which elements lie side by side in the source, its rows. They are turned strip by strip of some rows, and block by block in each, so that
 * the cache has the lines of both. A loop may follow that computes with the copy in place: it takes each strip while the cache has it.
 */

enum { ORDERED_LEAST = 1 << 9, STRIP = 64, STRIP_LEAST = 1 << 15, STRIPS_TOGETHER = 1 << 15, SIDE = 8 };

typedef struct {
    int rank;
    int64_t sizes[DEEPEST], steps[DEEPEST], lines[DEEPEST]; /* of dimensions: elements from one to the next, in the source and in the copy */
    int fast;                                               /* the dimension whose elements lie side by side in the source */
    int64_t size, item, high;                               /* elements, the bytes of one, and the rows of a strip */
    const void *x;
    void *out;
    Part after; /* the loop that follows, and what it is given; or NULL */
    const void *given;
} Ordered;

/* Columns of the source become rows of a few elements. */
INLINED void narrow_rows(const float *x, int64_t step, float *out, int64_t line, int64_t rows, const int64_t columns) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) out[r * line + c] = x[r + c * step];
}

/* Rows of a few elements become as many rows of the copy. */
INLINED void few_rows(const float *x, int64_t step, float *out, int64_t line, const int64_t rows, int64_t columns) {
    for (int64_t c = 0; c < columns; c++)
        for (int64_t r = 0; r < rows; r++) out[r * line + c] = x[r + c * step];
}

static void turned_4(const float *x, int64_t step, float *out, int64_t line, int64_t rows, int64_t columns) {
    if (columns == 1) narrow_rows(x, step, out, line, rows, 1);
    else if (columns == 2) narrow_rows(x, step, out, line, rows, 2);
    else if (columns == 3 && line == 3) narrow_rows(x, step, out, 3, rows, 3);
    else if (columns == 3) narrow_rows(x, step, out, line, rows, 3);
    else if (columns == 4) narrow_rows(x, step, out, line, rows, 4);
    else if (rows == 2 && step == 2) few_rows(x, 2, out, line, 2, columns);
    else if (rows == 3 && step == 3) few_rows(x, 3, out, line, 3, columns);
    else if (rows == 4 && step == 4) few_rows(x, 4, out, line, 4, columns);
    else
        for (int64_t c = 0; c < columns; c += LANE) {
            int64_t wide = columns - c < LANE ? columns - c : LANE, r = 0;
            for (; wide == LANE && r + LANE <= rows; r += LANE) turn_block(x + r + c * step, step, out + r * line + c, line);
            for (; r < rows; r++)
                for (int64_t k = 0; k < wide; k++) out[r * line + c + k] = x[r + (c + k) * step];
        }
}

static void turned_8(const uint64_t *x, int64_t step, uint64_t *out, int64_t line, int64_t rows, int64_t columns) {
    for (int64_t c = 0; c < columns; c += SIDE) {
        int64_t wide = columns - c < SIDE ? columns - c : SIDE, r = 0;
        for (; wide == SIDE && r < rows; r++)
            for (int k = 0; k < SIDE; k++) out[r * line + c + k] = x[r + (c + k) * step];
        for (; r < rows; r++)
            for (int64_t k = 0; k < wide; k++) out[r * line + c + k] = x[r + (c + k) * step];
    }
}

static void ordered_strips(int64_t begin, int64_t count, const void *given) {
    const Ordered *o = given;
    int last = o->rank - 1;
    int64_t rows = o->sizes[o->fast], columns = o->sizes[last], step = o->steps[last], line = o->lines[o->fast];
    int64_t strips = (rows + o->high - 1) / o->high;
    for (int64_t i = begin; i < begin + count; i++) {
        int64_t rest = i / strips, row = i % strips * o->high, from = row, to = row * line;
        for (int d = last - 1; d >= 0; d--) {
            if (d == o->fast) continue;
            from += rest % o->sizes[d] * o->steps[d];
            to += rest % o->sizes[d] * o->lines[d];
            rest /= o->sizes[d];
        }
        int64_t some = rows - row < o->high ? rows - row : o->high;
        if (o->item == 4)
            turned_4((const float *)o->x + from, step, (float *)o->out + to, line, some, columns);
        else
            turned_8((const uint64_t *)o->x + from, step, (uint64_t *)o->out + to, line, some, columns);
        if (o->after && line == columns)
            o->after(to, some * columns, o->given);
        else if (o->after)
            for (int64_t r = 0; r < some; r++) o->after(to + r * line, columns, o->given);
    }
}

/* Says how the elements of an array lie; false where they lie in order along the last dimension, or in no such way. */
static bool order_of(PyArrayObject *x, Ordered *o) {
    int rank = PyArray_NDIM(x);
    int64_t item = PyArray_ITEMSIZE(x);
    *o = (Ordered){.fast = -1, .size = PyArray_SIZE(x), .item = item, .x = PyArray_DATA(x)};
    if ((item != 4 && item != 8) || !PyArray_ISNUMBER(x) || !PyArray_ISNOTSWAPPED(x) || !PyArray_ISALIGNED(x)) return false;
    if (rank < 2 || rank > DEEPEST || !o->size) return false;
    for (int i = 0; i < rank; i++) {
        int64_t own = PyArray_DIM(x, i), step = PyArray_STRIDE(x, i) / item;
        if (own == 1) continue;
        if (PyArray_STRIDE(x, i) % item || step < 1) return false;
        if (o->rank && o->steps[o->rank - 1] == own * step)
            o->sizes[o->rank - 1] *= own, o->steps[o->rank - 1] = step;
        else
            o->sizes[o->rank] = own, o->steps[o->rank++] = step;
    }
    int64_t line = 1;
    for (int i = o->rank - 1; i >= 0; i--) {
        o->lines[i] = line;
        line *= o->sizes[i];
        if (o->steps[i] == 1) o->fast = i;
    }
    return o->rank > 1 && o->fast >= 0 && o->fast != o->rank - 1;
}

/* Fills `out`, which lies in order, and lets the loop `after` go over it. */
static void copy_ordered(const Call *call, Ordered *o, PyArrayObject *out, Part after, const void *given) {
    int64_t rows = o->sizes[o->fast], columns = o->sizes[o->rank - 1];
    o->out = PyArray_DATA(out);
    o->after = after;
    o->given = given;
    o->high = STRIP_LEAST / columns / LANE * LANE;
    if (o->high < STRIP) o->high = STRIP;
    int64_t strips = (rows + o->high - 1) / o->high, planes = o->size / (rows * columns);
    work_through(call, ordered_strips, o, planes * strips, STRIPS_TOGETHER / (o->high * columns) + 1, o->size);
}

/* ordered(x): the copy. */
static PyObject *k_ordered(const Call *call) {
    if (call->count != 1 || Py_TYPE(call->args[0]) != &PyArray_Type) return NULL;
    PyArrayObject *x = (PyArrayObject *)call->args[0];
    Ordered o;
    if (!order_of(x, &o) || o.size < ORDERED_LEAST || left_to_python(call, o.size)) return NULL;
    PyArrayObject *out = fresh(PyArray_TYPE(x), PyArray_NDIM(x), PyArray_DIMS(x));
    if (!out) return NULL;
    copy_ordered(call, &o, out, NULL, NULL);
    return (PyObject *)out;
}
