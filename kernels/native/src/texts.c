/* Strings of strings: letters, joints, ends, lengths, other letters of the same bytes. */

/* as_strings(objects): an array of its own of bytes, or of text, which is encoded. */
static PyObject *k_as_strings(const Call *call) {
    PyArrayObject *x = typed_at(call, 0, NPY_OBJECT);
    if (!x || !PyArray_NDIM(x) || call->count != 1) return NULL;
    PyArrayObject *out = fresh(NPY_OBJECT, PyArray_NDIM(x), PyArray_DIMS(x));
    PyObject **made = out ? PyArray_DATA(out) : NULL, **from = PyArray_DATA(x);
    for (int64_t i = 0, count = PyArray_SIZE(x); out && i < count; i++) {
        PyObject *one = from[i], *old = made[i], *string = NULL;
        if (one && (PyBytes_CheckExact(one) || PyBytes_Check(one))) Py_INCREF(string = one);
        else if (one && PyUnicode_Check(one)) string = PyUnicode_AsUTF8String(one);
        if (!string) {
            PyErr_Clear(); /* Python says what is wrong with it */
            Py_DECREF((PyObject *)out);
            return NULL;
        }
        made[i] = string;
        Py_XDECREF(old);
    }
    return (PyObject *)out;
}

/* lowered(strings, upper, packs): letters of ASCII in lower case, or in upper case. */
static PyObject *k_lowered(const Call *call) {
    Strings x;
    Writer out;
    if (!has_arguments(call, 2) || !strings_at(call, 0, &x) || !begin_strings(&out, packs_at(call, 2), x.rank, x.sizes, x.room)) return NULL;
    uint8_t least = call->args[1] == Py_True ? 'a' : 'A';
    bool good = true;
    const uint8_t *data;
    for (int64_t i = 0, size; good && i < x.count; i++) {
        char *room = bytes_at(&x, i, &data, &size) ? room_for(&out, i, size) : NULL;
        good = room;
        for (int64_t k = 0; good && k < size; k++) room[k] = (char)(data[k] ^ ((uint8_t)(data[k] - least) < 26 ? 32 : 0));
    }
    return end_strings(&out, good);
}

enum { MOST_GLUED = 16 };

/* glued(separator, packs, *strings): arrays of one shape, element by element behind each other. */
static PyObject *k_glued(const Call *call) {
    Py_ssize_t parts = call->count - 2;
    if (parts < 1 || parts > MOST_GLUED || !PyBytes_CheckExact(call->args[0])) return NULL;
    Strings x[MOST_GLUED];
    const char *between = PyBytes_AsString(call->args[0]);
    int64_t gap = PyBytes_Size(call->args[0]), sizes[MOST_GLUED], bytes = 0;
    for (Py_ssize_t k = 0; k < parts; k++) {
        if (!strings_at(call, k + 2, x + k) || !same_sizes(x[0].rank, x[0].sizes, x[k].rank, x[k].sizes)) return NULL;
        bytes += x[k].room;
    }
    const uint8_t *data[MOST_GLUED];
    Writer out;
    if (!begin_strings(&out, packed_type && call->args[1] == Py_True, x[0].rank, x[0].sizes, bytes + gap * (parts - 1) * x[0].count)) return NULL;
    bool good = true;
    for (int64_t i = 0; good && i < x[0].count; i++) {
        int64_t total = gap * (parts - 1);
        for (Py_ssize_t k = 0; good && k < parts; k++) {
            good = bytes_at(x + k, i, data + k, sizes + k);
            if (good) total += sizes[k];
        }
        char *room = good ? room_for(&out, i, total) : NULL;
        good = room;
        for (Py_ssize_t k = 0; good && k < parts; k++) {
            if (k) copy_bytes(room, (const uint8_t *)between, gap), room += gap;
            copy_bytes(room, data[k], sizes[k]), room += sizes[k];
        }
    }
    return end_strings(&out, good);
}

/* lengths(strings): how many bytes each has. */
static PyObject *k_lengths(const Call *call) {
    Strings x;
    if (call->count != 1 || !strings_at(call, 0, &x)) return NULL;
    PyArrayObject *out = fresh(NPY_INT32, x.rank, x.sizes);
    int32_t *made = out ? PyArray_DATA(out) : NULL;
    int64_t size;
    const uint8_t *data;
    for (int64_t i = 0; out && i < x.count; i++) {
        if (!bytes_at(&x, i, &data, &size) || size > INT32_MAX) {
            Py_DECREF((PyObject *)out);
            return NULL;
        }
        made[i] = (int32_t)size;
    }
    return (PyObject *)out;
}

/* letter_counts(strings): how many characters of UTF-8 each has: all bytes but the second and later ones of a character. */
static PyObject *k_letter_counts(const Call *call) {
    Strings x;
    if (call->count != 1 || !strings_at(call, 0, &x)) return NULL;
    PyArrayObject *out = fresh(NPY_INT32, x.rank, x.sizes);
    int32_t *counts = out ? PyArray_DATA(out) : NULL;
    int64_t size;
    const uint8_t *data;
    for (int64_t i = 0; out && i < x.count; i++) {
        if (!bytes_at(&x, i, &data, &size) || size > INT32_MAX) {
            Py_DECREF((PyObject *)out);
            return NULL;
        }
        counts[i] = 0;
        for (int64_t k = 0; k < size; k++) counts[i] += (data[k] & 0xC0) != 0x80;
    }
    return (PyObject *)out;
}

/* stripped(strings, packs): without white space at both ends. */
static PyObject *k_stripped(const Call *call) {
    Strings x;
    Writer out;
    if (!has_arguments(call, 1) || !strings_at(call, 0, &x) || !begin_parts(&out, packs_at(call, 1), &x, x.rank, x.sizes, 0)) return NULL;
    const uint8_t *data;
    bool good = true;
    for (int64_t i = 0, size; good && i < x.count; i++) {
        good = bytes_at(&x, i, &data, &size);
        int64_t begin = 0, end = good ? size : 0;
        while (begin < end && is_white(data[begin])) begin++;
        while (begin < end && is_white(data[end - 1])) end--;
        good = good && put_part(&out, i, &x, i, data, size, begin, end);
    }
    return end_strings(&out, good);
}

/* cut(strings, begins, sizes, packs): some bytes of each; begins and sizes are for all, or for each. A beginning outside is left to
 * Python. */
static PyObject *k_cut(const Call *call) {
    Strings x;
    PyArrayObject *begins = indices_at(call, 1), *sizes = indices_at(call, 2);
    if (!has_arguments(call, 3) || !strings_at(call, 0, &x) || !begins || !sizes || !same_shape(begins, sizes)) return NULL;
    bool each = PyArray_NDIM(begins), good = true;
    if (each && !same_sizes(x.rank, x.sizes, PyArray_NDIM(begins), PyArray_DIMS(begins))) return NULL;
    Writer out;
    if (!begin_parts(&out, packs_at(call, 3), &x, x.rank, x.sizes, 0)) return NULL;
    const uint8_t *data;
    for (int64_t i = 0, size; good && i < x.count; i++) {
        int64_t begin = number(PyArray_DATA(begins), is_wide(begins), each ? i : 0), count = number(PyArray_DATA(sizes), is_wide(sizes), each ? i : 0);
        good = bytes_at(&x, i, &data, &size) && begin >= -size && begin <= size;
        if (good && begin < 0) begin += size;
        good = good && put_part(&out, i, &x, i, data, size, begin, count < 0 || count > size - begin ? size : begin + count);
    }
    return end_strings(&out, good);
}

/* Joins `count` strings, of which the first is that at `first` and each other `step` further, with a text between. */
static bool put_joined(Writer *out, int64_t place, const Strings *x, int64_t first, int64_t step, int64_t count, const char *between, int64_t gap) {
    int64_t total = count > 1 ? gap * (count - 1) : 0, size;
    const uint8_t *data;
    for (int64_t k = 0; k < count; k++) {
        if (!bytes_at(x, first + k * step, &data, &size)) return false;
        total += size;
    }
    char *room = room_for(out, place, total);
    if (!room) return false;
    for (int64_t k = 0; k < count; k++) {
        if (k) copy_bytes(room, (const uint8_t *)between, gap), room += gap;
        if (!bytes_at(x, first + k * step, &data, &size)) return false;
        copy_bytes(room, data, size);
        room += size;
    }
    return true;
}

/* joined_along(strings, axis, separator, packs): the strings along an axis as a string. */
static PyObject *k_joined_along(const Call *call) {
    Strings x;
    int64_t axis, inner = 1;
    if (!has_arguments(call, 3) || !strings_at(call, 0, &x) || x.rank > DEEPEST || !whole_at(call, 1, &axis)) return NULL;
    if (axis < 0 || axis >= x.rank || !PyBytes_CheckExact(call->args[2])) return NULL;
    npy_intp sizes[DEEPEST];
    int rank = 0;
    for (int i = 0; i < x.rank; i++) {
        if (i != axis) sizes[rank++] = x.sizes[i];
        if (i > axis) inner *= x.sizes[i];
    }
    const char *between = PyBytes_AsString(call->args[2]);
    int64_t count = x.sizes[axis], gap = PyBytes_Size(call->args[2]), results = 1;
    for (int i = 0; i < rank; i++) results *= sizes[i];
    Writer out;
    if (!begin_strings(&out, packs_at(call, 3), rank, sizes, x.room + gap * x.count)) return NULL;
    bool good = true;
    for (int64_t i = 0; good && i < results; i++) good = put_joined(&out, i, &x, i / inner * inner * count + i % inner, inner, count, between, gap);
    return end_strings(&out, good);
}

/* segments_joined(strings, ids, count, separator, packs): a string for each number of a segment. */
static PyObject *k_segments_joined(const Call *call) {
    Strings x;
    PyArrayObject *ids = indices_at(call, 1);
    int64_t height;
    if (!has_arguments(call, 4) || !strings_at(call, 0, &x) || x.rank != 1 || !ids || !whole_at(call, 2, &height)) return NULL;
    if (!same_sizes(1, x.sizes, PyArray_NDIM(ids), PyArray_DIMS(ids)) || height < 0 || height > LARGEST || !PyBytes_CheckExact(call->args[3])) return NULL;
    int64_t gap = PyBytes_Size(call->args[3]), size, all = 0;
    const char *between = PyBytes_AsString(call->args[3]);
    const uint8_t *data;
    int64_t *totals = PyMem_Calloc((size_t)height + 1, sizeof(int64_t));
    char **ends = PyMem_Calloc((size_t)height + 1, sizeof(char *)); /* where the next string of a segment is written */
    npy_intp length = height;
    bool good = totals && ends;
    for (int64_t i = 0; good && i < x.count; i++) {
        int64_t id = number(PyArray_DATA(ids), is_wide(ids), i);
        good = id >= 0 && id < height && bytes_at(&x, i, &data, &size);
        if (!good) break;
        int64_t more = (totals[id] ? gap : 1) + size; /* one more than there are, where there is something */
        totals[id] += more;
        all += more;
    }
    Writer out = {0};
    good = good && begin_strings(&out, packs_at(call, 4), 1, &length, all); /* so the data stay where they are */
    for (int64_t id = 0; good && id < height; id++) good = (ends[id] = room_for(&out, id, totals[id] ? totals[id] - 1 : 0));
    for (int64_t i = 0; good && i < x.count && (good = bytes_at(&x, i, &data, &size)); i++) {
        int64_t id = number(PyArray_DATA(ids), is_wide(ids), i);
        if (totals[id] < 0) memcpy(ends[id], between, (size_t)gap), ends[id] += gap;
        memcpy(ends[id], data, (size_t)size);
        ends[id] += size;
        totals[id] = -1;
    }
    PyMem_Free(totals);
    PyMem_Free(ends);
    return end_strings(&out, good);
}

/* classes_replaced(strings, members, whether a run is a match, rewrite, once, packs): characters of ASCII of a class, or runs of them, as
 * the rewrite. `members` has a byte for each character of ASCII. A string of other characters is left to Python. */
static PyObject *k_classes_replaced(const Call *call) {
    Strings x;
    if (!has_arguments(call, 5) || !strings_at(call, 0, &x) || !PyBytes_CheckExact(call->args[1]) || !PyBytes_CheckExact(call->args[3])) return NULL;
    if (PyBytes_Size(call->args[1]) != 128) return NULL;
    uint8_t members[256] = {0};
    memcpy(members, PyBytes_AsString(call->args[1]), 128);
    memset(members + 128, 2, 128);
    bool runs = call->args[2] == Py_True, once = call->args[4] == Py_True, good = true;
    const char *rewrite = PyBytes_AsString(call->args[3]);
    int64_t width = PyBytes_Size(call->args[3]), size = 0;
    const uint8_t *data = NULL;
    Writer out;
    if (!begin_strings(&out, packs_at(call, 5), x.rank, x.sizes, x.room)) return NULL;
    for (int64_t i = 0; good && i < x.count; i++) {
        good = bytes_at(&x, i, &data, &size);
        int64_t matches = 0, gone = 0;
        uint8_t seen = 0;
        for (int64_t k = 0; good && k < size; k++) seen |= members[data[k]];
        good = good && !(seen & 2);
        for (int64_t k = 0; good && seen && k < size && !(once && matches);) {
            int64_t begin = k++;
            if (!members[data[begin]]) continue;
            while (runs && k < size && members[data[k]]) k++;
            matches++;
            gone += k - begin;
        }
        if (good && !matches) {
            good = put_part(&out, i, &x, i, data, size, 0, size);
            continue;
        }
        char *room = good ? room_for(&out, i, size - gone + matches * width) : NULL;
        good = room;
        for (int64_t k = 0; good && k < size;) {
            if (!members[data[k]] || (once && !matches)) {
                *room++ = (char)data[k++];
                continue;
            }
            for (k++; runs && k < size && members[data[k]];) k++;
            memcpy(room, rewrite, (size_t)width);
            room += width;
            matches--;
        }
    }
    return end_strings(&out, good);
}
