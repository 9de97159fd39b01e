/* What a kernel sees of a call from Python: arguments that are arrays, and a result that is one.
 *
 * A kernel is a `Function`. It looks at its arguments first. Where it meets what it does not know (another type, another
 * order of elements, a value that is an error) it returns NULL and sets no exception: the call goes, untouched, to the
 * Python kernel that it stands for. With an exception set, NULL is an error, as everywhere in C extensions.
 *
 * Arrays are exactly numpy's class, of its own types, in C's order, aligned and of native byte order. Elementwise kernels of one or two
 * operands take others as well, as long as neighbours within a row are neighbours in memory.
 */
#ifndef ACTORFLOW_CALL_H
#define ACTORFLOW_CALL_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL actorflow_array_api
#define PY_UFUNC_UNIQUE_SYMBOL actorflow_ufunc_api
#ifndef OWNS_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include "pool.h"
#include "share.h"

#define INLINED static inline __attribute__((always_inline))

enum {
    DEEPEST = 8,           /* the largest rank of arrays whose dimensions a kernel looks at one by one */
    HELD = 20000,          /* operations up to which a call keeps the interpreter: giving it up and getting it back takes longer */
    WORTH_DIVIDING = 1 << 18 /* elements from which on several threads may pay; `threads.py` decides */
};

typedef struct {
    PyObject *const *args;
    Py_ssize_t count;
    int threads; /* 0: one thread, and what is worth dividing is refused; else so many threads may work */
} Call;

typedef PyObject *(*Function)(const Call *);

typedef struct {
    const char *name;
    Function function;
} Kernel;

/* numpy's own inner loop of a function of one argument, for float32 and float64: what calls it has numpy's bits. */
typedef struct {
    PyUFuncGenericFunction function;
    void *data;
} NumpyLoop;
enum { NUMPY_EXP, NUMPY_LOG, NUMPY_TANH, NUMPY_SIN, NUMPY_COS, NUMPY_LOOPS };
extern NumpyLoop numpy_loops[NUMPY_LOOPS][2];

static inline void numpy_call(const NumpyLoop *loop, const void *x, void *out, int64_t count, int64_t size) {
    char *addresses[2] = {(char *)x, out};
    npy_intp counts[1] = {count}, steps[2] = {size, size};
    loop->function(addresses, counts, steps, loop->data);
}

/* ---- arguments */

static inline PyArrayObject *as_array(PyObject *given) {
    if (Py_TYPE(given) != &PyArray_Type) return NULL;
    PyArrayObject *array = (PyArrayObject *)given;
    if (!PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISALIGNED(array) || !PyArray_ISNOTSWAPPED(array)) return NULL;
    return array;
}

/* The argument with this number, if it is an array. */
static inline PyArrayObject *array_at(const Call *call, Py_ssize_t index) {
    return index < call->count ? as_array(call->args[index]) : NULL;
}

static inline PyArrayObject *typed_at(const Call *call, Py_ssize_t index, int type) {
    PyArrayObject *array = array_at(call, index);
    return array && PyArray_TYPE(array) == type ? array : NULL;
}

static inline bool is_index(PyArrayObject *array) {
    return array && (PyArray_TYPE(array) == NPY_INT32 || PyArray_TYPE(array) == NPY_INT64);
}

static inline PyArrayObject *indices_at(const Call *call, Py_ssize_t index) {
    PyArrayObject *array = array_at(call, index);
    return is_index(array) ? array : NULL;
}

/* An element of an array of indices. */
static inline int64_t number(const void *data, bool wide, int64_t place) {
    return wide ? ((const int64_t *)data)[place] : ((const int32_t *)data)[place];
}

static inline bool is_wide(PyArrayObject *indices) { return PyArray_TYPE(indices) == NPY_INT64; }

/* An argument that is a whole number: an array of rank 0, a scalar of numpy, or Python's. False where it is none. */
static inline bool whole_at(const Call *call, Py_ssize_t index, int64_t *into) {
    PyArrayObject *array = indices_at(call, index);
    if (array) {
        if (PyArray_NDIM(array)) return false;
        *into = number(PyArray_DATA(array), is_wide(array), 0);
        return true;
    }
    if (index >= call->count) return false;
    PyObject *given = call->args[index];
    if (PyArray_IsScalar(given, Int64) || PyArray_IsScalar(given, Int32)) {
        *into = PyNumber_AsSsize_t(given, NULL);
        return true;
    }
    if (!PyLong_CheckExact(given)) return false;
    *into = PyLong_AsLongLong(given);
    if (*into != -1 || !PyErr_Occurred()) return true;
    PyErr_Clear();
    return false;
}

static inline bool same_shape(PyArrayObject *one, PyArrayObject *other) {
    int rank = PyArray_NDIM(one);
    if (PyArray_NDIM(other) != rank) return false;
    for (int i = 0; i < rank; i++)
        if (PyArray_DIM(one, i) != PyArray_DIM(other, i)) return false;
    return true;
}

static inline bool share_memory(PyArrayObject *one, PyArrayObject *other) {
    const char *a = PyArray_BYTES(one), *b = PyArray_BYTES(other);
    return a < b + PyArray_NBYTES(other) && b < a + PyArray_NBYTES(one);
}

/* ---- results */

static inline PyArrayObject *fresh(int type, int rank, const npy_intp *sizes) {
    return (PyArrayObject *)PyArray_SimpleNew(rank, (npy_intp *)sizes, type);
}

/* The array for the result: the argument with this number where it is there and fits, else a fresh one. A new reference. */
static inline PyArrayObject *result_at(const Call *call, Py_ssize_t index, int type, int rank, const npy_intp *sizes) {
    if (index >= call->count || call->args[index] == Py_None) return fresh(type, rank, sizes);
    PyArrayObject *into = typed_at(call, index, type);
    if (!into || PyArray_NDIM(into) != rank || !PyArray_ISWRITEABLE(into)) return NULL;
    for (int i = 0; i < rank; i++)
        if (PyArray_DIM(into, i) != sizes[i]) return NULL;
    Py_INCREF((PyObject *)into);
    return into;
}

static inline PyObject *pair(PyArrayObject *one, PyArrayObject *other) {
    PyObject *both = one && other ? PyTuple_New(2) : NULL;
    if (!both) {
        Py_XDECREF((PyObject *)one);
        Py_XDECREF((PyObject *)other);
        return NULL;
    }
    PyTuple_SetItem(both, 0, (PyObject *)one);
    PyTuple_SetItem(both, 1, (PyObject *)other);
    return both;
}

/* ---- work */

/* The time of the machine's own clock. */
static inline int64_t nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}


/* Whether a call of so much work is left to Python, which decides how many threads take it. */
static inline bool left_to_python(const Call *call, int64_t work) { return !call->threads && work >= WORTH_DIVIDING; }

/* How many threads may share a short call, as Python says for the session that it is of. It may set an exception, which the call
 * raises when the kernel has ended. */
int threads_of_short_call(void);

/* Does `count` parts of some work. Where it is much, other threads run Python meanwhile, and several may share it, `piece` parts
 * at a time. */
static inline void work_through(const Call *call, Part part, const void *given, int64_t count, int64_t piece, int64_t work) {
    if (count <= 0) return;
    if (work <= HELD) {
        part(0, count, given);
        return;
    }
    Short decided = {.how = ALONE};
    if (!call->threads && count > 1) decided = share_decided(part, count, work);
    int threads = decided.how == SHARED || decided.how == WAKES ? threads_of_short_call() : call->threads;
    PyThreadState *state = PyEval_SaveThread();
    if (decided.how != ALONE)
        share_work(&decided, part, given, count, piece < 1 ? 1 : piece, threads);
    else if (threads > 1)
        pool_run(part, given, count, piece < 1 ? 1 : piece, threads);
    else
        part(0, count, given);
    PyEval_RestoreThread(state);
}

/* The last item of a list, which is taken out; NULL if there is none. Threads that ask at once get different items. */
static inline PyObject *take_last(PyObject *list) {
#ifdef Py_GIL_DISABLED
    PyObject *item = PyObject_CallMethod(list, "pop", NULL);
    if (!item && PyErr_ExceptionMatches(PyExc_IndexError)) PyErr_Clear();
    return item;
#else
    Py_ssize_t size = PyList_Size(list);
    PyObject *item = size ? PyList_GetItem(list, size - 1) : NULL;
    Py_XINCREF(item);
    if (item && PyList_SetSlice(list, size - 1, size, NULL)) Py_CLEAR(item);
    return item;
#endif
}

#endif
