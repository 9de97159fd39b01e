/* The parts of strings. */

typedef struct {
    int64_t row, begin, end;
} Piece;

typedef struct {
    Piece *pieces;
    int64_t count, room, longest; /* `longest`: the pieces of the row that has most */
} Pieces;

static bool add_piece(Pieces *all, int64_t row, int64_t begin, int64_t end) {
    if (all->count == all->room) {
        int64_t room = all->room ? 2 * all->room : 256;
        Piece *larger = realloc(all->pieces, (size_t)room * sizeof(Piece));
        if (!larger) return PyErr_NoMemory(), false;
        all->pieces = larger;
        all->room = room;
    }
    all->pieces[all->count++] = (Piece){row, begin, end};
    return true;
}

typedef struct {
    bool separates[256], skips, whole; /* whether empty parts are left out; whether an empty string has a part, an empty one */
    const uint8_t *text;               /* the text between parts; NULL where any of the bytes `separates` is */
    int64_t gap, most;                 /* the bytes of what is between parts; how often a string is cut, -1: as often as it can be */
    bool letters;                      /* each byte is a part */
} Splitting;

/* Where the part that begins there ends. */
static inline int64_t end_of_part(const Splitting *s, const uint8_t *data, int64_t size, int64_t begin) {
    int64_t end = begin;
    if (!s->text) {
        while (end < size && !s->separates[data[end]]) end++;
        return end;
    }
    for (int64_t last = size - s->gap; end <= last; end++) {
        const uint8_t *first = memchr(data + end, s->text[0], (size_t)(last - end + 1));
        if (!first) return size;
        end = first - data;
        if (!memcmp(first, s->text, (size_t)s->gap)) return end;
    }
    return size;
}

static bool split_row(const Splitting *s, const uint8_t *data, int64_t size, int64_t row, Pieces *all) {
    if (s->letters) {
        for (int64_t i = 0; i < size; i++)
            if (!add_piece(all, row, i, i + 1)) return false;
        return true;
    }
    if (!size && !s->whole) return true;
    int64_t cuts = 0;
    for (int64_t begin = 0; begin <= size;) {
        if (s->skips)
            while (begin < size && s->separates[data[begin]]) begin++;
        if (s->skips && begin == size) break;
        int64_t end = s->most >= 0 && cuts++ == s->most ? size : end_of_part(s, data, size, begin);
        if (!add_piece(all, row, begin, end)) return false;
        begin = end + s->gap;
    }
    return true;
}

/* Arrays of the places, of the parts and of the shape of the matrix that they fill, for parts of these strings. */
static PyObject *matrix_of_pieces(PyArrayObject *x, const Pieces *all) {
    npy_intp sizes[2] = {all->count, 2}, two = 2;
    PyArrayObject *places = fresh(NPY_INT64, 2, sizes), *values = fresh(NPY_OBJECT, 1, sizes), *shape = fresh(NPY_INT64, 1, &two);
    PyObject *triple = places && values && shape ? PyTuple_New(3) : NULL;
    if (!triple) {
        Py_XDECREF((PyObject *)places);
        Py_XDECREF((PyObject *)values);
        Py_XDECREF((PyObject *)shape);
        return NULL;
    }
    PyTuple_SetItem(triple, 0, (PyObject *)places);
    PyTuple_SetItem(triple, 1, (PyObject *)values);
    PyTuple_SetItem(triple, 2, (PyObject *)shape);
    int64_t *place = PyArray_DATA(places), row = -1, column = 0, size;
    PyObject **value = PyArray_DATA(values);
    const uint8_t *data = NULL;
    for (int64_t i = 0; i < all->count; i++) {
        const Piece *piece = all->pieces + i;
        if (piece->row != row) {
            row = piece->row;
            column = 0;
            if (!bytes_at(x, row, &data, &size)) return Py_DECREF(triple), NULL;
        }
        PyObject *part = PyBytes_FromStringAndSize((const char *)data + piece->begin, piece->end - piece->begin), *old = value[i];
        if (!part) return Py_DECREF(triple), NULL;
        value[i] = part;
        Py_XDECREF(old);
        place[2 * i] = row;
        place[2 * i + 1] = column++;
    }
    ((int64_t *)PyArray_DATA(shape))[0] = PyArray_SIZE(x);
    ((int64_t *)PyArray_DATA(shape))[1] = all->longest;
    return triple;
}

/* split(strings, separator, whether it is a text as a whole, leaves out what is empty, whether an empty string has a part, cuts):
 * the places of the parts, the parts, and the shape of the matrix that they fill. Without a separator each byte is a part. */
static PyObject *k_split(const Call *call) {
    PyArrayObject *x = typed_at(call, 0, NPY_OBJECT);
    if (!x || PyArray_NDIM(x) != 1 || call->count != 6 || !PyBytes_CheckExact(call->args[1])) return NULL;
    Splitting s = {.skips = call->args[3] == Py_True, .whole = call->args[4] == Py_True, .gap = 1};
    if (!whole_at(call, 5, &s.most)) return NULL;
    const uint8_t *separator = (const uint8_t *)PyBytes_AsString(call->args[1]), *data;
    int64_t bytes = PyBytes_Size(call->args[1]), size;
    s.letters = !bytes;
    for (int64_t i = 0; i < bytes; i++) s.separates[separator[i]] = true;
    if (call->args[2] == Py_True && bytes > 1) s.text = separator, s.gap = bytes;
    if (s.text && s.skips) return NULL;
    Pieces all = {NULL, 0, 0, 0};
    bool strings = true;
    for (int64_t row = 0; strings && row < PyArray_SIZE(x); row++) {
        int64_t before = all.count;
        strings = bytes_at(x, row, &data, &size) && split_row(&s, data, size, row, &all);
        if (all.count - before > all.longest) all.longest = all.count - before;
    }
    PyObject *triple = strings ? matrix_of_pieces(x, &all) : NULL;
    free(all.pieces);
    return triple;
}
