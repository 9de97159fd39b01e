/* The parts of strings. */

typedef struct {
    bool separates[256], skips, whole; /* whether empty parts are left out; whether an empty string has a part, an empty one */
    const uint8_t *text;               /* the text between parts; NULL where any of the bytes `separates` is */
    int64_t gap, most;                 /* the bytes of what is between parts; how often a string is cut, -1: as often as it can be */
    bool letters;                      /* each byte is a part */
    int single;                        /* the byte that is between parts, and cuts as often as it is there; else -1 */
} Splitting;

/* A string, and how far it has been cut. */
typedef struct {
    const uint8_t *data;
    int64_t size, at, cuts;
} Cutting;

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

/* The next part of a string; false where there is none. */
static inline bool next_part(const Splitting *s, Cutting *c, int64_t *begin, int64_t *end) {
    if (s->skips)
        while (c->at < c->size && s->separates[c->data[c->at]]) c->at++;
    if (c->at > c->size || (c->at == c->size && (s->skips || s->letters || (!c->size && !s->whole)))) return false;
    *begin = c->at;
    if (s->letters) *end = c->at + 1;
    else *end = s->most >= 0 && c->cuts++ == s->most ? c->size : end_of_part(s, c->data, c->size, c->at);
    c->at = s->letters ? *end : *end + s->gap;
    return true;
}

/* How many parts a string has. */
static int64_t count_parts(const Splitting *s, const uint8_t *data, int64_t size) {
    if (s->letters) return size;
    int64_t count = 0, begin, end;
    if (s->single >= 0 && size) {
        uint8_t single = (uint8_t)s->single;
        if (s->skips)
            for (int64_t i = 1; i < size; i++) count += (data[i] != single) & (data[i - 1] == single);
        else
            for (int64_t i = 0; i < size; i++) count += data[i] == single;
        return count + (!s->skips || data[0] != single);
    }
    for (Cutting c = {data, size, 0, 0}; next_part(s, &c, &begin, &end);) count++;
    return count;
}

/* Arrays of the places, of the parts and of the shape of the matrix that they fill: `count` parts, at most `longest` of a string. */
static PyObject *matrix_of_parts(const Splitting *s, const Strings *x, int64_t count, int64_t longest, int64_t bytes, bool packs) {
    npy_intp sizes[2] = {count, 2}, two = 2;
    Writer values;
    if (!begin_parts(&values, packs, x, 1, sizes, bytes)) return NULL;
    PyArrayObject *places = fresh(NPY_INT64, 2, sizes), *shape = places ? fresh(NPY_INT64, 1, &two) : NULL;
    bool good = shape;
    int64_t *place = good ? PyArray_DATA(places) : NULL, begin, end, written = 0;
    for (int64_t row = 0; good && row < x->count; row++) {
        Cutting c = {NULL, 0, 0, 0};
        good = bytes_at(x, row, &c.data, &c.size);
        int64_t home = good && packs ? home_of(&values, x, row, c.data, c.size) : 0;
        good = good && home >= 0;
        for (int64_t column = 0; good && next_part(s, &c, &begin, &end); column++) {
            if (packs) values.places[2 * written] = home + begin, values.places[2 * written + 1] = end - begin;
            else good = put_bytes(&values, written, c.data + begin, end - begin);
            place[2 * written] = row;
            place[2 * written++ + 1] = column;
        }
    }
    PyObject *parts = end_strings(&values, good), *triple = parts ? PyTuple_New(3) : NULL;
    if (!triple) {
        Py_XDECREF(parts);
        Py_XDECREF((PyObject *)places);
        Py_XDECREF((PyObject *)shape);
        return NULL;
    }
    ((int64_t *)PyArray_DATA(shape))[0] = x->count;
    ((int64_t *)PyArray_DATA(shape))[1] = longest;
    PyTuple_SetItem(triple, 0, (PyObject *)places);
    PyTuple_SetItem(triple, 1, parts);
    PyTuple_SetItem(triple, 2, (PyObject *)shape);
    return triple;
}

/* split(strings, separator, whether it is a text as a whole, leaves out what is empty, whether an empty string has a part, cuts):
 * the places of the parts, the parts, and the shape of the matrix that they fill. Without a separator each byte is a part. A seventh
 * argument says whether the parts are packed. */
static PyObject *k_split(const Call *call) {
    Strings x;
    if (!strings_at(call, 0, &x) || x.rank != 1 || !has_arguments(call, 6) || !PyBytes_CheckExact(call->args[1])) return NULL;
    Splitting s = {.skips = call->args[3] == Py_True, .whole = call->args[4] == Py_True, .gap = 1};
    if (!whole_at(call, 5, &s.most)) return NULL;
    const uint8_t *separator = (const uint8_t *)PyBytes_AsString(call->args[1]), *data;
    int64_t bytes = PyBytes_Size(call->args[1]), size;
    s.letters = !bytes;
    for (int64_t i = 0; i < bytes; i++) s.separates[separator[i]] = true;
    if (call->args[2] == Py_True && bytes > 1) s.text = separator, s.gap = bytes;
    if (s.text && s.skips) return NULL;
    s.single = bytes == 1 && s.most < 0 ? separator[0] : -1;
    int64_t count = 0, longest = 0, total = 0;
    for (int64_t row = 0; row < x.count; row++) {
        if (!bytes_at(&x, row, &data, &size)) return NULL;
        int64_t parts = size || s.whole ? count_parts(&s, data, size) : 0;
        count += parts;
        total += size;
        if (parts > longest) longest = parts;
    }
    return matrix_of_parts(&s, &x, count, longest, total, packs_at(call, 6));
}
