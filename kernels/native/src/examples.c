/* Features of serialized Examples: an Example has one field, Features, which is a map from names to lists.
 *
 * Messages of the structure in which writers put them are read: each field in its order, packed lists, each name once. For all others
 * the answer is None, and Python reads them. Strings are packed from the start, and become objects in the end where objects are wanted.
 */
#include "packed.h"

#include "records.h"

enum { FIRST = 1 << 3 | 2, SECOND = 2 << 3 | 2, BYTES_LIST = 1, FLOAT_LIST = 2, INT64_LIST = 3 };

typedef struct {
    const unsigned char *at, *end;
} Span;

/* One wanted feature of all messages. */
typedef struct {
    const char *name;
    Py_ssize_t size;
    int kind;
    int64_t *lengths;
    char *values; /* floats of four bytes, integers of eight, places of strings of sixteen */
    size_t count, room;
    char *bytes; /* those of strings */
    size_t used, bytes_room;
} Feature;

static bool varint(Span *from, uint64_t *value) {
    *value = 0;
    for (int shift = 0; shift < 64 && from->at < from->end; shift += 7) {
        unsigned char byte = *from->at++;
        if (shift == 63 && byte > 1) return false;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

/* The content of the next field, which has this key. */
static bool field(Span *from, int key, Span *content) {
    uint64_t size;
    if (from->at >= from->end || *from->at++ != key || !varint(from, &size) || size > (uint64_t)(from->end - from->at)) return false;
    content->at = from->at;
    content->end = from->at += size;
    return true;
}

static bool reserve(Feature *feature, size_t more, size_t size) {
    size_t needed = feature->count + more;
    if (needed <= feature->room) return true;
    size_t room = needed * 2;
    char *larger = realloc(feature->values, room * size);
    if (!larger) return false;
    feature->values = larger;
    feature->room = room;
    return true;
}

static bool reserve_text(Feature *feature, size_t more) {
    if (more <= feature->bytes_room - feature->used) return true;
    size_t room = (feature->used + more) * 2;
    char *larger = realloc(feature->bytes, room);
    if (!larger) return false;
    feature->bytes = larger;
    feature->bytes_room = room;
    return true;
}

static bool read_strings(Feature *feature, Span list, int64_t *count) {
    Span content;
    while (list.at < list.end) {
        if (!field(&list, FIRST, &content)) return false;
        size_t size = (size_t)(content.end - content.at);
        if (!reserve(feature, 1, 16) || !reserve_text(feature, size)) return false;
        int64_t *place = (int64_t *)feature->values + 2 * feature->count++;
        place[0] = (int64_t)feature->used;
        place[1] = (int64_t)size;
        copy_bytes(feature->bytes + feature->used, content.at, (int64_t)size);
        feature->used += size;
        ++*count;
    }
    return true;
}

static bool read_numbers(Feature *feature, Span list, int64_t *count) {
    Span packed;
    if (list.at == list.end) return true;
    if (!field(&list, FIRST, &packed) || list.at != list.end) return false;
    size_t bytes = (size_t)(packed.end - packed.at);
    if (feature->kind == FLOAT_LIST) {
        if (bytes % 4 || !reserve(feature, bytes / 4, 4)) return false;
        memcpy(feature->values + 4 * feature->count, packed.at, bytes);
        *count = (int64_t)(bytes / 4);
    } else {
        if (!reserve(feature, bytes, 8)) return false;
        uint64_t *into = (uint64_t *)feature->values + feature->count;
        while (packed.at < packed.end)
            if (!varint(&packed, into + (*count)++)) return false;
    }
    feature->count += (size_t)*count;
    return true;
}

static bool read_feature(Feature *feature, Span value, Py_ssize_t message) {
    Span list;
    int64_t *length = feature->lengths + message, count = 0;
    if (*length != -2) return false; /* the name was there already */
    *length = -1;
    if (value.at == value.end) return true;
    if (!field(&value, feature->kind << 3 | 2, &list) || value.at != value.end) return false;
    if (!(feature->kind == BYTES_LIST ? read_strings(feature, list, &count) : read_numbers(feature, list, &count))) return false;
    *length = count;
    return true;
}

static bool read_message(Span message, Feature *features, Py_ssize_t wanted, Py_ssize_t number) {
    Span map, entry, name, value;
    for (Py_ssize_t i = 0; i < wanted; i++) features[i].lengths[number] = -2;
    if (message.at < message.end) {
        if (!field(&message, FIRST, &map) || message.at != message.end) return false;
        while (map.at < map.end) {
            if (!field(&map, FIRST, &entry) || !field(&entry, FIRST, &name) || !field(&entry, SECOND, &value) || entry.at != entry.end)
                return false;
            for (Py_ssize_t i = 0; i < wanted; i++)
                if (features[i].size == name.end - name.at && !memcmp(features[i].name, name.at, (size_t)features[i].size)) {
                    if (!read_feature(features + i, value, number)) return false;
                    break;
                }
        }
    }
    for (Py_ssize_t i = 0; i < wanted; i++)
        if (features[i].lengths[number] == -2) features[i].lengths[number] = -1;
    return true;
}

static bool read_messages(PyObject *messages, Feature *features, Py_ssize_t wanted) {
    Py_ssize_t count = PyList_Size(messages);
    for (Py_ssize_t number = 0; number < count; number++) {
        char *data;
        Py_ssize_t size;
        PyObject *message = PyList_GetItem(messages, number);
        if (!message || PyBytes_AsStringAndSize(message, &data, &size)) return false;
        Span span = {(unsigned char *)data, (unsigned char *)data + size};
        if (!read_message(span, features, wanted, number)) return false;
    }
    return true;
}

static PyObject *array_of(int type, size_t count, const void *from, size_t size) {
    npy_intp length = (npy_intp)count;
    PyArrayObject *made = fresh(type, 1, &length);
    if (made && count) memcpy(PyArray_DATA(made), from, count * size);
    return (PyObject *)made;
}

/* The strings of a feature, packed or as objects. */
static PyObject *array_of_strings(const Feature *feature, bool packs) {
    npy_intp length = (npy_intp)feature->count;
    const int64_t *places = (const int64_t *)feature->values;
    Writer out;
    if (!begin_strings(&out, packs, 1, &length, (int64_t)feature->used)) return NULL;
    bool good = true;
    if (packs) {
        if (feature->used) memcpy(out.bytes, feature->bytes, feature->used);
        if (length) memcpy(out.places, places, 16 * feature->count);
        out.used = (int64_t)feature->used;
    } else
        for (npy_intp i = 0; good && i < length; i++)
            good = put_bytes(&out, i, (const uint8_t *)feature->bytes + places[2 * i], places[2 * i + 1]);
    return end_strings(&out, good);
}

static PyObject *column(Feature *feature, Py_ssize_t messages, bool packs) {
    PyObject *values, *lengths = array_of(NPY_INT64, (size_t)messages, feature->lengths, 8);
    if (feature->kind == BYTES_LIST)
        values = array_of_strings(feature, packs);
    else
        values = feature->kind == FLOAT_LIST ? array_of(NPY_FLOAT32, feature->count, feature->values, 4)
                                             : array_of(NPY_INT64, feature->count, feature->values, 8);
    PyObject *both = lengths && values ? PyTuple_New(2) : NULL;
    if (!both) {
        Py_XDECREF(lengths);
        Py_XDECREF(values);
        return NULL;
    }
    PyTuple_SetItem(both, 0, lengths);
    PyTuple_SetItem(both, 1, values);
    return both;
}

PyObject *example_columns(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 4 || !PyList_Check(args[0]) || !PyList_Check(args[1]) || !PyList_Check(args[2]) || !PyList_Check(args[3]) ||
        PyList_Size(args[1]) != PyList_Size(args[2]) || PyList_Size(args[1]) != PyList_Size(args[3]))
        return PyErr_Format(PyExc_TypeError, "example_columns(messages, names, kinds, packed): lists");
    Py_ssize_t messages = PyList_Size(args[0]), wanted = PyList_Size(args[1]);
    Feature *features = calloc((size_t)wanted + 1, sizeof(Feature));
    PyObject *found = NULL;
    bool good = features != NULL;
    for (Py_ssize_t i = 0; good && i < wanted; i++) {
        char *name;
        PyObject *given = PyList_GetItem(args[1], i);
        good = given && !PyBytes_AsStringAndSize(given, &name, &features[i].size);
        if (!good) break;
        features[i].name = name;
        features[i].kind = (int)PyLong_AsLong(PyList_GetItem(args[2], i));
        features[i].lengths = malloc(((size_t)messages + 1) * sizeof(int64_t));
        good = features[i].lengths && !PyErr_Occurred();
    }
    if (good && read_messages(args[0], features, wanted)) {
        found = PyList_New(wanted);
        for (Py_ssize_t i = 0; found && i < wanted; i++) {
            PyObject *made = column(features + i, messages, packed_type && PyList_GetItem(args[3], i) == Py_True);
            if (!made || PyList_SetItem(found, i, made)) Py_CLEAR(found);
        }
    }
    for (Py_ssize_t i = 0; features && i < wanted; i++) {
        free(features[i].lengths);
        free(features[i].values);
        free(features[i].bytes);
    }
    free(features);
    if (found || PyErr_Occurred()) return found;
    Py_RETURN_NONE;
}
