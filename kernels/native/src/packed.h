/* Strings as kernels take and give them: an array of Python's bytes, or packed ones (`actorflow.base.packed_strings`). Arrays of
 * objects need the interpreter, so it is kept in all that is of strings: `strings.c`, `split.c`, `csv.c`, `spelling.c`, `texts.c` and
 * `distinct.c`.
 *
 * A packed tensor is an object with two attributes: `places`, for each string where it begins and how many bytes it has, and `data`, the
 * bytes of all. A place outside of the data is met by its reader, which leaves the call to Python then. */

#ifndef ACTORFLOW_PACKED_H
#define ACTORFLOW_PACKED_H

#include "call.h"

/* The class of packed strings (module.c); NULL before it is known. */
extern PyObject *packed_type;

typedef struct {
    PyArrayObject *array;   /* of objects, or of the places */
    PyObject **objects;     /* NULL where they are packed */
    const int64_t *places;
    PyArrayObject *data;
    const uint8_t *bytes;
    int64_t room, count;
    int rank;
    const npy_intp *sizes;
} Strings;

/* An attribute of an object that keeps it. NULL without an exception where there is none. */
static inline PyObject *kept_attribute(PyObject *object, const char *name) {
    PyObject *value = PyObject_GetAttrString(object, name);
    if (!value) PyErr_Clear();
    Py_XDECREF(value);
    return value;
}

/* Strings of rank 1 or more; false where the object is something else. */
static inline bool strings_of(PyObject *given, Strings *x) {
    PyArrayObject *array = as_array(given);
    *x = (Strings){.array = array};
    if (array && PyArray_TYPE(array) == NPY_OBJECT) {
        x->objects = PyArray_DATA(array);
        x->rank = PyArray_NDIM(array);
        x->sizes = PyArray_DIMS(array);
        x->count = PyArray_SIZE(array);
        return x->rank > 0;
    }
    if (array || !packed_type || (PyObject *)Py_TYPE(given) != packed_type) return false;
    PyObject *places = kept_attribute(given, "places"), *data = kept_attribute(given, "data");
    x->array = places ? as_array(places) : NULL;
    x->data = data ? as_array(data) : NULL;
    if (!x->array || PyArray_TYPE(x->array) != NPY_INT64 || !x->data || PyArray_TYPE(x->data) != NPY_UINT8 || PyArray_NDIM(x->data) != 1) return false;
    x->rank = PyArray_NDIM(x->array) - 1;
    x->sizes = PyArray_DIMS(x->array);
    if (x->rank < 1 || x->sizes[x->rank] != 2) return false;
    x->places = PyArray_DATA(x->array);
    x->count = PyArray_SIZE(x->array) / 2;
    x->bytes = PyArray_DATA(x->data);
    x->room = PyArray_SIZE(x->data);
    return true;
}

static inline bool strings_at(const Call *call, Py_ssize_t index, Strings *x) { return index < call->count && strings_of(call->args[index], x); }

/* Whether the result is to be packed: the last argument, which may be left out. */
static inline bool packs_at(const Call *call, Py_ssize_t index) { return packed_type && call->count == index + 1 && call->args[index] == Py_True; }
static inline bool has_arguments(const Call *call, Py_ssize_t count) { return call->count == count || call->count == count + 1; }

/* The bytes of an element; false where it is something else. */
static inline bool bytes_at(const Strings *x, int64_t place, const uint8_t **data, int64_t *size) {
    if (!x->objects) {
        int64_t begin = x->places[2 * place], length = x->places[2 * place + 1];
        if (begin < 0 || length < 0 || length > x->room || begin > x->room - length) return false;
        *data = x->bytes + begin;
        *size = length;
        return true;
    }
    PyObject *one = x->objects[place];
    char *text;
    Py_ssize_t length;
    if (!one || (!PyBytes_CheckExact(one) && !PyBytes_Check(one)) || PyBytes_AsStringAndSize(one, &text, &length)) return false;
    *data = (const uint8_t *)text;
    *size = length;
    return true;
}

static inline bool same_sizes(int rank, const npy_intp *sizes, int other_rank, const npy_intp *other) {
    return rank == other_rank && !memcmp(sizes, other, (size_t)rank * sizeof(npy_intp));
}

/* Puts an object into an array, in the place of what is there. */
static inline bool put_object(PyObject **place, PyObject *object) {
    PyObject *old = *place;
    Py_INCREF(object);
    *place = object;
    Py_XDECREF(old);
    return true;
}

/* ---- results */

enum { DEEPEST_PACKED = 16 };

/* Strings that are written: into an array of objects, or into places and data. */
typedef struct {
    PyArrayObject *array;
    PyObject **objects; /* NULL where they are packed */
    int64_t *places;
    PyArrayObject *data; /* the bytes of packed ones */
    char *bytes;
    int64_t used, room;
    bool shares; /* the data are those of strings that were given: nothing is written there */
} Writer;

/* Begins a result of these sizes. False with an exception where there is no memory. */
static inline bool begin_strings(Writer *w, bool packs, int rank, const npy_intp *sizes, int64_t bytes) {
    *w = (Writer){0};
    if (!packs || rank > DEEPEST_PACKED) {
        w->array = fresh(NPY_OBJECT, rank, sizes);
        if (w->array) w->objects = PyArray_DATA(w->array);
        return w->array;
    }
    npy_intp with_pairs[DEEPEST_PACKED + 1];
    memcpy(with_pairs, sizes, (size_t)rank * sizeof(npy_intp));
    with_pairs[rank] = 2;
    w->array = fresh(NPY_INT64, rank + 1, with_pairs);
    npy_intp room = w->room = bytes > 64 ? bytes : 64;
    w->data = w->array ? fresh(NPY_UINT8, 1, &room) : NULL;
    if (!w->data) {
        Py_CLEAR(w->array);
        return false;
    }
    w->places = PyArray_DATA(w->array);
    w->bytes = PyArray_DATA(w->data);
    return true;
}

/* Begins a result whose strings are parts of those that were given. */
static inline bool begin_parts(Writer *w, bool packs, const Strings *of, int rank, const npy_intp *sizes, int64_t bytes) {
    bool shares = packs && !of->objects && rank <= DEEPEST_PACKED;
    if (!begin_strings(w, packs, rank, sizes, shares ? 0 : bytes)) return false;
    if (!shares) return true;
    Py_INCREF((PyObject *)of->data);
    Py_DECREF((PyObject *)w->data);
    w->data = of->data;
    w->shares = true;
    return true;
}

/* Has room for so many bytes more. False with an exception. */
static inline bool reserve_bytes(Writer *w, int64_t size) {
    if (size <= w->room - w->used) return true;
    if (size > INT64_MAX / 4 - w->used) return PyErr_NoMemory(), false;
    npy_intp room = 2 * (w->used + size);
    PyArrayObject *larger = fresh(NPY_UINT8, 1, &room);
    if (!larger) return false;
    memcpy(PyArray_DATA(larger), w->bytes, (size_t)w->used);
    Py_DECREF((PyObject *)w->data);
    w->data = larger;
    w->bytes = PyArray_DATA(larger);
    w->room = room;
    return true;
}

/* Where the bytes of a new string go, until there is the next one. NULL with an exception. */
static inline char *room_for(Writer *w, int64_t place, int64_t size) {
    if (w->objects) {
        PyObject *made = PyBytes_FromStringAndSize(NULL, size), *old = w->objects[place];
        if (!made) return NULL;
        w->objects[place] = made;
        Py_XDECREF(old);
        return PyBytes_AsString(made);
    }
    if (size > w->room - w->used && !reserve_bytes(w, size)) return NULL;
    w->places[2 * place] = w->used;
    w->places[2 * place + 1] = size;
    char *room = w->bytes + w->used;
    w->used += size;
    return room;
}

/* Copies a string that is often short. */
static inline void copy_bytes(char *into, const uint8_t *from, int64_t size) {
    if (size > 16) memcpy(into, from, (size_t)size);
    else if (size >= 8) {
        uint64_t first, last;
        memcpy(&first, from, 8);
        memcpy(&last, from + size - 8, 8);
        memcpy(into, &first, 8);
        memcpy(into + size - 8, &last, 8);
    } else
        for (int64_t i = 0; i < size; i++) into[i] = (char)from[i];
}

static inline bool put_bytes(Writer *w, int64_t place, const uint8_t *data, int64_t size) {
    char *room = room_for(w, place, size);
    if (room) copy_bytes(room, data, size);
    return room;
}

/* A part of the string of `x` at `source`, whose bytes those are: the string itself where it is all of it. */
static inline bool put_part(Writer *w, int64_t place, const Strings *x, int64_t source, const uint8_t *data, int64_t size, int64_t begin, int64_t end) {
    if (w->shares) {
        w->places[2 * place] = x->places[2 * source] + begin;
        w->places[2 * place + 1] = end - begin;
        return true;
    }
    if (w->objects && x->objects && !begin && end == size && PyBytes_CheckExact(x->objects[source])) return put_object(w->objects + place, x->objects[source]);
    return put_bytes(w, place, data + begin, end - begin);
}

/* Where among the data of packed parts the bytes of a string are, which are put there unless they are shared. -1 with an exception. */
static inline int64_t home_of(Writer *w, const Strings *x, int64_t row, const uint8_t *data, int64_t size) {
    if (w->shares) return x->places[2 * row];
    if (size > w->room - w->used && !reserve_bytes(w, size)) return -1;
    copy_bytes(w->bytes + w->used, data, size);
    w->used += size;
    return w->used - size;
}

/* Leaves out of the data what was not written. */
static inline void cut_data(Writer *w) {
    npy_intp used = w->used;
    PyArrayObject *whole = w->data;
    w->data = (PyArrayObject *)PyArray_SimpleNewFromData(1, &used, NPY_UINT8, w->bytes);
    if (!w->data) Py_DECREF((PyObject *)whole);
    else if (PyArray_SetBaseObject(w->data, (PyObject *)whole)) Py_CLEAR(w->data); /* which has taken the reference */
}

/* The strings that were written. NULL where they are not `good`. */
static inline PyObject *end_strings(Writer *w, bool good) {
    PyObject *made = NULL;
    if (good && w->objects) return (PyObject *)w->array;
    if (good && !w->shares && w->used < w->room) cut_data(w);
    if (good && w->data) made = PyObject_CallFunctionObjArgs(packed_type, (PyObject *)w->array, (PyObject *)w->data, NULL);
    Py_CLEAR(w->array);
    Py_CLEAR(w->data);
    return made;
}

#endif
