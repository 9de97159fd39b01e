/* The extension module `_native`: the choice of a processor's kernels, the pool, checksums, and the module's table of functions. */
#define OWNS_NUMPY
#include "kernels.h"

#include "crc32c.h"
#include "functions.h"
#include "packed.h"
#include "records.h"
#include "simulate.h"

#include <stdatomic.h>

NumpyLoop numpy_loops[NUMPY_LOOPS][2];
PyObject *packed_type;

/* use_packed(type): the class of packed strings. */
static PyObject *use_packed(PyObject *self, PyObject *type) {
    (void)self;
    PyObject *old = packed_type;
    Py_INCREF(packed_type = type);
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

/* ---- processors */

/* A set of instructions, and the kernels that were compiled for it. */
typedef struct {
    const char *name;
    const Kernel *table;
} Level;
static Level plain_level = {"plain", kernels_plain}, avx2_level = {"avx2", NULL}, avx512_level = {"avx512", NULL};
static Level *const LEVELS[] = {&avx512_level, &avx2_level, &plain_level};
static _Atomic(Level *) level = &plain_level; /* threads look kernels up while another one takes a level */

static const Kernel *table_of(const char *name) {
    if (!strcmp(name, "plain")) return kernels_plain;
#if defined(__x86_64__)
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    bool wide = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (!strcmp(name, "avx2") && avx2) return kernels_avx2;
    if (!strcmp(name, "avx512") && wide) return kernels_avx512;
#endif
    return NULL;
}

static void find_levels(void) {
    Level *best = NULL;
    for (size_t i = 0; i < sizeof(LEVELS) / sizeof(LEVELS[0]); i++) {
        LEVELS[i]->table = table_of(LEVELS[i]->name);
        if (LEVELS[i]->table && !best) best = LEVELS[i];
    }
    atomic_store(&level, best);
}

static PyObject *use_level(PyObject *self, PyObject *name) {
    (void)self;
    for (size_t i = 0; i < sizeof(LEVELS) / sizeof(LEVELS[0]); i++)
        if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, LEVELS[i]->name) == 0 && LEVELS[i]->table) {
            atomic_store(&level, LEVELS[i]);
            Py_RETURN_TRUE;
        }
    Py_RETURN_FALSE;
}

static PyObject *level_name(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    return PyUnicode_FromString(atomic_load(&level)->name);
}

Function function_named(PyObject *name) {
    for (const Kernel *kernel = atomic_load(&level)->table; kernel->name; kernel++)
        if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, kernel->name) == 0) return kernel->function;
    PyErr_Format(PyExc_KeyError, "there is no native kernel %R", name);
    return NULL;
}

/* ---- the pool */

/* share(part, given, count, piece, threads): the work of a C function at an address. */
static PyObject *share(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    int64_t n[5];
    if (count != 5) return PyErr_Format(PyExc_TypeError, "share(part, given, count, piece, threads)");
    for (int i = 0; i < 5; i++) {
        n[i] = PyLong_AsLongLong(args[i]);
        if (n[i] == -1 && PyErr_Occurred()) return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    pool_run((Part)(intptr_t)n[0], (const void *)(intptr_t)n[1], n[2], n[3] < 1 ? 1 : n[3], (int)n[4]);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

typedef struct {
    PyObject *work, *type, *value, *trace;
} Calls;

static void call_each(int64_t begin, int64_t count, const void *given) {
    Calls *calls = *(Calls *const *)given;
    PyGILState_STATE state = PyGILState_Ensure();
    for (int64_t i = begin; i < begin + count && !calls->type; i++) {
        PyObject *number = PyLong_FromLongLong(i), *found = NULL;
        if (number) found = call_python(calls->work, &number, 1, NULL);
        Py_XDECREF(number);
        if (!found) {
            if (calls->type)
                PyErr_Clear(); /* the first error is told */
            else
                PyErr_Fetch(&calls->type, &calls->value, &calls->trace);
        }
        Py_XDECREF(found);
    }
    PyGILState_Release(state);
}

/* each(work, count, threads): calls a function of Python with each number below `count`. */
static PyObject *each(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "each(work, count, threads)");
    long pieces = PyLong_AsLong(args[1]), threads = PyLong_AsLong(args[2]);
    if (PyErr_Occurred()) return NULL;
    Calls calls = {args[0], NULL, NULL, NULL}, *at = &calls;
    Py_BEGIN_ALLOW_THREADS
    pool_run(call_each, &at, pieces, 1, (int)threads);
    Py_END_ALLOW_THREADS
    if (calls.type) {
        PyErr_Restore(calls.type, calls.value, calls.trace);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *limit_threads(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "limit_threads(threads, cores)");
    long threads = PyLong_AsLong(args[0]), cores = PyLong_AsLong(args[1]);
    if (PyErr_Occurred()) return NULL;
    pool_limit((int)threads, (int)cores);
    Py_RETURN_NONE;
}

static PyObject *pool_threads(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    int threads, sleeping;
    pool_state(&threads, &sleeping);
    return Py_BuildValue("(ii)", threads, sleeping);
}

static _Atomic(PyObject *) of_short_call;

/* share_short_calls(threads): `threads` is a function that says how many may share a short call of its caller. */
static PyObject *share_short_calls(PyObject *self, PyObject *threads) {
    (void)self;
    Py_INCREF(threads);
    atomic_store(&of_short_call, threads); /* the former function stays, because another thread may be calling it */
    Py_RETURN_NONE;
}

int threads_of_short_call(void) {
    PyObject *function = atomic_load(&of_short_call);
    if (!function || PyErr_Occurred()) return 1;
    PyObject *said = PyObject_CallNoArgs(function);
    long threads = said ? PyLong_AsLong(said) : 1; /* with an exception the kernel ends on one thread, and then it is raised */
    Py_XDECREF(said);
    return threads < 1 ? 1 : (int)threads;
}

/* short_calls(): the nanoseconds that their account holds, how many were shared, and how many pauses there were. */
static PyObject *short_calls(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    int64_t balance, calls, pauses;
    share_state(&balance, &calls, &pauses);
    return Py_BuildValue("(LLL)", (long long)balance, (long long)calls, (long long)pauses);
}

/* ---- checksums */

static PyObject *checksum(PyObject *const *args, Py_ssize_t count, uint32_t (*function)(uint32_t, const void *, size_t)) {
    Py_buffer view;
    unsigned long before = 0;
    if (count < 1 || count > 2) return PyErr_Format(PyExc_TypeError, "crc32c(data, before=0)");
    if (count == 2 && (before = PyLong_AsUnsignedLong(args[1])) == (unsigned long)-1 && PyErr_Occurred()) return NULL;
    if (PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE)) return NULL;
    uint32_t found;
    if (view.len > HELD) {
        Py_BEGIN_ALLOW_THREADS
        found = function((uint32_t)before, view.buf, (size_t)view.len);
        Py_END_ALLOW_THREADS
    } else
        found = function((uint32_t)before, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    return PyLong_FromUnsignedLong(found);
}

static PyObject *py_crc32c(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    return checksum(args, count, crc32c);
}

static PyObject *py_crc32c_by_tables(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    return checksum(args, count, crc32c_by_tables);
}

/* ---- the module */

/* numpy's inner loops of functions of one argument, from its universal functions. */
static bool find_numpy_loops(PyObject *numpy) {
    static const char *const names[NUMPY_LOOPS] = {"exp", "log", "tanh", "sin", "cos"};
    static const int types[2] = {NPY_FLOAT32, NPY_FLOAT64};
    for (int i = 0; i < NUMPY_LOOPS; i++) {
        PyUFuncObject *ufunc = (PyUFuncObject *)PyObject_GetAttrString(numpy, names[i]);
        if (!ufunc) return false;
        bool found[2] = {false, false};
        if (Py_TYPE((PyObject *)ufunc) == &PyUFunc_Type && ufunc->nin == 1 && ufunc->nout == 1)
            for (int kind = 0; kind < 2; kind++)
                for (int k = 0; k < ufunc->ntypes && !found[kind]; k++)
                    if (ufunc->types[2 * k] == types[kind] && ufunc->types[2 * k + 1] == types[kind]) {
                        numpy_loops[i][kind].function = ufunc->functions[k];
                        numpy_loops[i][kind].data = ufunc->data ? (void *)ufunc->data[k] : NULL;
                        found[kind] = true;
                    }
        Py_DECREF((PyObject *)ufunc); /* numpy keeps it */
        if (!found[0] || !found[1]) {
            PyErr_Format(PyExc_ImportError, "numpy.%s has no inner loop for floats", names[i]);
            return false;
        }
    }
    return true;
}

#define FAST(name, function) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL}
static PyMethodDef methods[] = {
    FAST("bind", bind),
    FAST("prepared", make_prepared),
    FAST("tape", make_tape),
    FAST("call", call_named),
    FAST("share", share),
    FAST("each", each),
    FAST("limit_threads", limit_threads),
    {"share_short_calls", share_short_calls, METH_O, NULL},
    {"short_calls", short_calls, METH_NOARGS, NULL},
    {"pool_threads", pool_threads, METH_NOARGS, NULL},
    FAST("crc32c", py_crc32c),
    FAST("crc32c_by_tables", py_crc32c_by_tables),
    {"cut_records", cut_records, METH_O, NULL},
    FAST("example_columns", example_columns),
    FAST("simulate", simulate),
    {"use_level", use_level, METH_O, NULL},
    {"use_packed", use_packed, METH_O, NULL},
    {"level", level_name, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* Numpy's tables, the types of tapes and functions, and the pool belong to the process. So one interpreter of it has the library, as one
 * has numpy; there it may be imported again. */
static int load(PyObject *module) {
    static _Atomic int64_t owner = -1;
    int64_t here = PyInterpreterState_GetID(PyInterpreterState_Get()), nobody = -1;
    if (!atomic_compare_exchange_strong(&owner, &nobody, here)) {
        if (nobody != here) {
            PyErr_SetString(PyExc_ImportError, "another interpreter of this process has the library of kernels");
            return -1;
        }
        return PyModule_AddStringConstant(module, "sources", ACTORFLOW_SOURCES);
    }
    PyObject *numpy = _import_array() < 0 || _import_umath() < 0 ? NULL : PyImport_ImportModule("numpy");
    bool is_whole = numpy && find_numpy_loops(numpy) && make_function_types() && make_tape_type();
    Py_XDECREF(numpy);
    if (!is_whole || PyModule_AddStringConstant(module, "sources", ACTORFLOW_SOURCES)) {
        atomic_store(&owner, -1);
        return -1;
    }
    find_levels();
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)load},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED}, /* what threads share is atomic, locked, or never changes */
#endif
    {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
