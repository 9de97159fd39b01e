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

/* lowered(strings, upper): letters of ASCII in lower case, or in upper case. */
static PyObject *k_lowered(const Call *call) {
    PyArrayObject *x = typed_at(call, 0, NPY_OBJECT);
    if (!x || !PyArray_NDIM(x) || call->count != 2) return NULL;
    uint8_t least = call->args[1] == Py_True ? 'a' : 'A';
    PyArrayObject *out = fresh(NPY_OBJECT, PyArray_NDIM(x), PyArray_DIMS(x));
    PyObject **made = out ? PyArray_DATA(out) : NULL;
    int64_t size;
    const uint8_t *data;
    for (int64_t i = 0; out && i < PyArray_SIZE(x); i++) {
        char *room = bytes_at(x, i, &data, &size) ? room_for(made + i, size) : NULL;
        if (!room) {
            Py_DECREF((PyObject *)out);
            return NULL;
        }
        for (int64_t k = 0; k < size; k++) room[k] = (char)(data[k] ^ ((uint8_t)(data[k] - least) < 26 ? 32 : 0));
    }
    return (PyObject *)out;
}

enum { MOST_GLUED = 16 };

/* glued(separator, *strings): arrays of one shape, element by element behind each other. */
static PyObject *k_glued(const Call *call) {
    Py_ssize_t parts = call->count - 1;
    if (parts < 1 || parts > MOST_GLUED || !PyBytes_CheckExact(call->args[0])) return NULL;
    PyArrayObject *arrays[MOST_GLUED];
    for (Py_ssize_t k = 0; k < parts; k++) {
        arrays[k] = typed_at(call, k + 1, NPY_OBJECT);
        if (!arrays[k] || !PyArray_NDIM(arrays[k]) || !same_shape(arrays[0], arrays[k])) return NULL;
    }
    const char *between = PyBytes_AsString(call->args[0]);
    int64_t gap = PyBytes_Size(call->args[0]), sizes[MOST_GLUED];
    const uint8_t *data[MOST_GLUED];
    PyArrayObject *out = fresh(NPY_OBJECT, PyArray_NDIM(arrays[0]), PyArray_DIMS(arrays[0]));
    PyObject **made = out ? PyArray_DATA(out) : NULL;
    for (int64_t i = 0; out && i < PyArray_SIZE(out); i++) {
        int64_t total = gap * (parts - 1);
        bool strings = true;
        for (Py_ssize_t k = 0; strings && k < parts; k++) {
            strings = bytes_at(arrays[k], i, data + k, sizes + k);
            if (strings) total += sizes[k];
        }
        char *room = strings ? room_for(made + i, total) : NULL;
        if (!room) {
            Py_DECREF((PyObject *)out);
            return NULL;
        }
        for (Py_ssize_t k = 0; k < parts; k++) {
            if (k) memcpy(room, between, (size_t)gap), room += gap;
            memcpy(room, data[k], (size_t)sizes[k]), room += sizes[k];
        }
    }
    return (PyObject *)out;
}

/* lengths(strings): how many bytes each has. */
static PyObject *k_lengths(const Call *call) {
    PyArrayObject *x = typed_at(call, 0, NPY_OBJECT);
    if (!x || !PyArray_NDIM(x) || call->count != 1) return NULL;
    PyArrayObject *out = fresh(NPY_INT32, PyArray_NDIM(x), PyArray_DIMS(x));
    int32_t *made = out ? PyArray_DATA(out) : NULL;
    int64_t size;
    const uint8_t *data;
    for (int64_t i = 0; out && i < PyArray_SIZE(x); i++) {
        if (!bytes_at(x, i, &data, &size) || size > INT32_MAX) {
            Py_DECREF((PyObject *)out);
            return NULL;
        }
        made[i] = (int32_t)size;
    }
    return (PyObject *)out;
}

/* letter_counts(strings): how many characters of UTF-8 each has: all bytes but the second and later ones of a character. */
static PyObject *k_letter_counts(const Call *call) {
    PyArrayObject *x = typed_at(call, 0, NPY_OBJECT);
    if (!x || !PyArray_NDIM(x) || call->count != 1) return NULL;
    PyArrayObject *out = fresh(NPY_INT32, PyArray_NDIM(x), PyArray_DIMS(x));
    int32_t *counts = out ? PyArray_DATA(out) : NULL;
    int64_t size;
    const uint8_t *data;
    for (int64_t i = 0; out && i < PyArray_SIZE(x); i++) {
        if (!bytes_at(x, i, &data, &size) || size > INT32_MAX) {
            Py_DECREF((PyObject *)out);
            return NULL;
        }
        counts[i] = 0;
        for (int64_t k = 0; k < size; k++) counts[i] += (data[k] & 0xC0) != 0x80;
    }
    return (PyObject *)out;
}

/* A part of a string as a string of its own; the string itself where it is all of it. */
static bool put_part(PyObject **place, PyObject *whole, const uint8_t *data, int64_t size, int64_t begin, int64_t end) {
    if (!begin && end == size && PyBytes_CheckExact(whole)) return put_object(place, whole);
    PyObject *part = PyBytes_FromStringAndSize((const char *)data + begin, end - begin), *old = *place;
    if (!part) return false;
    *place = part;
    Py_XDECREF(old);
    return true;
}

/* stripped(strings): without white space at both ends. */
static PyObject *k_stripped(const Call *call) {
    PyArrayObject *x = typed_at(call, 0, NPY_OBJECT);
    if (!x || !PyArray_NDIM(x) || call->count != 1) return NULL;
    PyArrayObject *out = fresh(NPY_OBJECT, PyArray_NDIM(x), PyArray_DIMS(x));
    PyObject **place = out ? PyArray_DATA(out) : NULL, **from = PyArray_DATA(x);
    const uint8_t *data;
    for (int64_t i = 0, size; out && i < PyArray_SIZE(x); i++) {
        bool strings = bytes_at(x, i, &data, &size);
        int64_t begin = 0, end = strings ? size : 0;
        while (begin < end && is_white(data[begin])) begin++;
        while (begin < end && is_white(data[end - 1])) end--;
        if (!strings || !put_part(place + i, from[i], data, size, begin, end)) {
            Py_DECREF((PyObject *)out);
            return NULL;
        }
    }
    return (PyObject *)out;
}

/* cut(strings, begins, sizes): some bytes of each; begins and sizes are for all, or for each. A beginning outside is left to Python. */
static PyObject *k_cut(const Call *call) {
    PyArrayObject *x = typed_at(call, 0, NPY_OBJECT), *begins = indices_at(call, 1), *sizes = indices_at(call, 2);
    if (!x || !PyArray_NDIM(x) || call->count != 3 || !begins || !sizes || !same_shape(begins, sizes)) return NULL;
    bool each = PyArray_NDIM(begins);
    if (each && !same_shape(x, begins)) return NULL;
    PyArrayObject *out = fresh(NPY_OBJECT, PyArray_NDIM(x), PyArray_DIMS(x));
    PyObject **place = out ? PyArray_DATA(out) : NULL, **from = PyArray_DATA(x);
    const uint8_t *data;
    for (int64_t i = 0, size; out && i < PyArray_SIZE(x); i++) {
        int64_t begin = number(PyArray_DATA(begins), is_wide(begins), each ? i : 0), count = number(PyArray_DATA(sizes), is_wide(sizes), each ? i : 0);
        bool inside = bytes_at(x, i, &data, &size) && begin >= -size && begin <= size;
        if (inside && begin < 0) begin += size;
        if (!inside || !put_part(place + i, from[i], data, size, begin, count < 0 || count > size - begin ? size : begin + count)) {
            Py_DECREF((PyObject *)out);
            return NULL;
        }
    }
    return (PyObject *)out;
}

/* Joins `count` strings, of which the first is that at `first` and each other `step` further, with a text between. */
static bool put_joined(PyObject **place, PyArrayObject *x, int64_t first, int64_t step, int64_t count, PyObject *text) {
    const char *between = PyBytes_AsString(text);
    int64_t gap = PyBytes_Size(text), total = count > 1 ? gap * (count - 1) : 0, size;
    const uint8_t *data;
    for (int64_t k = 0; k < count; k++) {
        if (!bytes_at(x, first + k * step, &data, &size)) return false;
        total += size;
    }
    char *room = room_for(place, total);
    if (!room) return false;
    for (int64_t k = 0; k < count; k++) {
        if (k) memcpy(room, between, (size_t)gap), room += gap;
        if (!bytes_at(x, first + k * step, &data, &size)) return false;
        memcpy(room, data, (size_t)size);
        room += size;
    }
    return true;
}

/* joined_along(strings, axis, separator): the strings along an axis as a string. */
static PyObject *k_joined_along(const Call *call) {
    PyArrayObject *x = typed_at(call, 0, NPY_OBJECT);
    int64_t axis, inner = 1;
    if (!x || !PyArray_NDIM(x) || PyArray_NDIM(x) > DEEPEST || call->count != 3 || !whole_at(call, 1, &axis)) return NULL;
    if (axis < 0 || axis >= PyArray_NDIM(x) || !PyBytes_CheckExact(call->args[2])) return NULL;
    npy_intp sizes[DEEPEST];
    int rank = 0;
    for (int i = 0; i < PyArray_NDIM(x); i++) {
        if (i != axis) sizes[rank++] = PyArray_DIM(x, i);
        if (i > axis) inner *= PyArray_DIM(x, i);
    }
    int64_t count = PyArray_DIM(x, (int)axis);
    PyArrayObject *out = fresh(NPY_OBJECT, rank, sizes);
    PyObject **place = out ? PyArray_DATA(out) : NULL;
    for (int64_t i = 0; out && i < PyArray_SIZE(out); i++)
        if (!put_joined(place + i, x, i / inner * inner * count + i % inner, inner, count, call->args[2])) {
            Py_DECREF((PyObject *)out);
            return NULL;
        }
    return (PyObject *)out;
}

/* segments_joined(strings, ids, count, separator): a string for each number of a segment. */
static PyObject *k_segments_joined(const Call *call) {
    PyArrayObject *x = typed_at(call, 0, NPY_OBJECT), *ids = indices_at(call, 1);
    int64_t height;
    if (!x || PyArray_NDIM(x) != 1 || !ids || !same_shape(x, ids) || call->count != 4 || !whole_at(call, 2, &height)) return NULL;
    if (height < 0 || height > LARGEST || !PyBytes_CheckExact(call->args[3])) return NULL;
    int64_t count = PyArray_SIZE(x), gap = PyBytes_Size(call->args[3]), size;
    const char *between = PyBytes_AsString(call->args[3]);
    const uint8_t *data;
    int64_t *totals = PyMem_Calloc((size_t)height + 1, sizeof(int64_t));
    char **ends = PyMem_Calloc((size_t)height + 1, sizeof(char *)); /* where the next string of a segment is written */
    npy_intp length = height;
    PyArrayObject *out = totals && ends ? fresh(NPY_OBJECT, 1, &length) : NULL;
    bool strings = out;
    for (int64_t i = 0; strings && i < count; i++) {
        int64_t id = number(PyArray_DATA(ids), is_wide(ids), i);
        strings = id >= 0 && id < height && bytes_at(x, i, &data, &size);
        if (strings) totals[id] += (totals[id] ? gap : 1) + size; /* one more than there are, where there is something */
    }
    for (int64_t id = 0; strings && id < height; id++)
        strings = (ends[id] = room_for((PyObject **)PyArray_DATA(out) + id, totals[id] ? totals[id] - 1 : 0));
    for (int64_t i = 0; strings && i < count && (strings = bytes_at(x, i, &data, &size)); i++) {
        int64_t id = number(PyArray_DATA(ids), is_wide(ids), i);
        if (totals[id] < 0) memcpy(ends[id], between, (size_t)gap), ends[id] += gap;
        memcpy(ends[id], data, (size_t)size);
        ends[id] += size;
        totals[id] = -1;
    }
    PyMem_Free(totals);
    PyMem_Free(ends);
    if (!strings) Py_CLEAR(out);
    return (PyObject *)out;
}

/* classes_replaced(strings, members, whether a run is a match, rewrite, once): characters of ASCII of a class, or runs of them, as the
 * rewrite. `members` has a byte for each character of ASCII. A string of other characters is left to Python. */
static PyObject *k_classes_replaced(const Call *call) {
    PyArrayObject *x = typed_at(call, 0, NPY_OBJECT);
    if (!x || !PyArray_NDIM(x) || call->count != 5 || !PyBytes_CheckExact(call->args[1]) || !PyBytes_CheckExact(call->args[3])) return NULL;
    if (PyBytes_Size(call->args[1]) != 128) return NULL;
    uint8_t members[256] = {0};
    memcpy(members, PyBytes_AsString(call->args[1]), 128);
    memset(members + 128, 2, 128);
    bool runs = call->args[2] == Py_True, once = call->args[4] == Py_True;
    const char *rewrite = PyBytes_AsString(call->args[3]);
    int64_t width = PyBytes_Size(call->args[3]), size = 0;
    const uint8_t *data = NULL;
    PyArrayObject *out = fresh(NPY_OBJECT, PyArray_NDIM(x), PyArray_DIMS(x));
    PyObject **place = out ? PyArray_DATA(out) : NULL, **from = PyArray_DATA(x);
    for (int64_t i = 0; out && i < PyArray_SIZE(x); i++) {
        bool strings = bytes_at(x, i, &data, &size);
        int64_t matches = 0, gone = 0;
        uint8_t seen = 0;
        for (int64_t k = 0; strings && k < size; k++) seen |= members[data[k]];
        strings = strings && !(seen & 2);
        for (int64_t k = 0; seen && k < size && !(once && matches);) {
            int64_t begin = k++;
            if (!members[data[begin]]) continue;
            while (runs && k < size && members[data[k]]) k++;
            matches++;
            gone += k - begin;
        }
        if (strings && !matches && PyBytes_CheckExact(from[i])) {
            put_object(place + i, from[i]);
            continue;
        }
        char *room = strings ? room_for(place + i, size - gone + matches * width) : NULL;
        if (!room) {
            Py_DECREF((PyObject *)out);
            return NULL;
        }
        for (int64_t k = 0; k < size;) {
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
    return (PyObject *)out;
}
