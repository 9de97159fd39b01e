/* Kernels as functions of Python. Such a function gets its arguments as a C array, so that a call costs 0.1 µs.
 *
 * A bound one is a kernel, and the function of Python to which it leaves what it does not know. A prepared one is the kernel of a node
 * with constants: it holds its work, and looks at nothing but the inputs that change.
 */
#include "functions.h"

PyObject *call_python(PyObject *function, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    PyObject *given = PyTuple_New(count), *keywords = names ? PyDict_New() : NULL, *found = NULL;
    bool made = given && (keywords || !names);
    for (Py_ssize_t i = 0; made && i < count; i++) {
        Py_INCREF(args[i]);
        PyTuple_SetItem(given, i, args[i]);
    }
    for (Py_ssize_t i = 0; made && names && i < PyTuple_Size(names); i++)
        made = !PyDict_SetItem(keywords, PyTuple_GetItem(names, i), args[count + i]);
    if (made) found = PyObject_Call(function, given, keywords);
    Py_XDECREF(given);
    Py_XDECREF(keywords);
    return found;
}

/* What a kernel gives, unless an exception is set: one of a handler of signals that ran as Python was asked for threads. */
static PyObject *unless_raised(PyObject *found) {
    if (!found || !PyErr_Occurred()) return found;
    Py_DECREF(found);
    return NULL;
}

/* ---- bound */

typedef struct {
    PyObject_HEAD
    Function function;
    PyObject *otherwise;
} Bound;

static PyTypeObject *bound_type;

static void bound_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((Bound *)self)->otherwise);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot bound_slots[] = {{Py_tp_dealloc, bound_dealloc}, {0, NULL}};
static PyType_Spec bound_spec = {"actorflow.kernels.native._native.Bound", sizeof(Bound), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, bound_slots};

static PyObject *call_bound(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Bound *bound = (Bound *)self;
    Call call = {args, count, 0};
    PyObject *found = unless_raised(bound->function(&call));
    if (found || PyErr_Occurred()) return found;
    return call_python(bound->otherwise, args, count, NULL);
}

static PyMethodDef bound_definition = {"kernel", (PyCFunction)(void (*)(void))call_bound, METH_FASTCALL, NULL};

PyObject *bind(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "bind(name, otherwise)");
    Function function = function_named(args[0]);
    if (!function) return NULL;
    Bound *bound = PyObject_New(Bound, bound_type);
    if (!bound) return NULL;
    bound->function = function;
    bound->otherwise = args[1];
    Py_INCREF(args[1]);
    PyObject *made = PyCFunction_NewEx(&bound_definition, (PyObject *)bound, NULL);
    Py_DECREF((PyObject *)bound);
    return made;
}

/* ---- prepared */

typedef struct {
    PyObject_HEAD
    Function function;
    PyObject *work, *otherwise, *limit;
    long most;
    int at; /* the place of the array among the arguments */
} Prepared;

static PyTypeObject *prepared_type;

static void prepared_dealloc(PyObject *self) {
    Prepared *prepared = (Prepared *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(prepared->work);
    Py_XDECREF(prepared->otherwise);
    Py_XDECREF(prepared->limit);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot prepared_slots[] = {{Py_tp_dealloc, prepared_dealloc}, {0, NULL}};
static PyType_Spec prepared_spec = {"actorflow.kernels.native._native.Prepared", sizeof(Prepared), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, prepared_slots};

/* Whether the caller's session allows as many threads as the work is for. -1 with an exception. */
static int has_all_threads(const Prepared *prepared) {
    if (prepared->limit == Py_None) return 1;
    PyObject *limit = PyObject_CallNoArgs(prepared->limit);
    if (!limit) return -1;
    long threads = limit == Py_None ? prepared->most : PyLong_AsLong(limit);
    Py_DECREF(limit);
    return threads == -1 && PyErr_Occurred() ? -1 : threads >= prepared->most;
}

/* A call of a node's kernel: (xp, x, weights) or (xp, added, x, weights), perhaps with a bias, and perhaps `out`. Any other call is left
 * to the function of Python, which says what is wrong with it. */
static PyObject *call_prepared(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    Prepared *prepared = (Prepared *)self;
    Py_ssize_t keywords = names ? PyTuple_Size(names) : 0;
    bool known = count == prepared->at + 2 || count == prepared->at + 3;
    if (keywords) known = known && keywords == 1 && !PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), "out");
    int allowed = known ? has_all_threads(prepared) : 0;
    if (allowed < 0) return NULL;
    if (allowed) {
        PyObject *given[] = {prepared->work, keywords ? args[count] : Py_None, args[prepared->at], args[1]};
        Call call = {given, 2 + prepared->at, 0};
        PyObject *found = unless_raised(prepared->function(&call));
        if (found || PyErr_Occurred()) return found;
    }
    return call_python(prepared->otherwise, args, count, names);
}

static PyMethodDef prepared_definition = {"prepared", (PyCFunction)(void (*)(void))call_prepared, METH_FASTCALL | METH_KEYWORDS, NULL};

PyObject *make_prepared(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 5) return PyErr_Format(PyExc_TypeError, "prepared(work, otherwise, adds, limit, most)");
    PyObject *name = PyUnicode_FromString("prepared"), *module = PyUnicode_FromString("actorflow.kernels.native");
    Function function = name && module ? function_named(name) : NULL;
    int adds = PyObject_IsTrue(args[2]);
    long most = PyLong_AsLong(args[4]);
    bool fits = function && adds >= 0 && !(most == -1 && PyErr_Occurred());
    Prepared *prepared = fits ? PyObject_New(Prepared, prepared_type) : NULL;
    PyObject *made = NULL;
    if (prepared) {
        prepared->function = function;
        prepared->most = most;
        prepared->at = adds ? 2 : 1;
        Py_INCREF(prepared->work = args[0]);
        Py_INCREF(prepared->otherwise = args[1]);
        Py_INCREF(prepared->limit = args[3]);
        made = PyCFunction_NewEx(&prepared_definition, (PyObject *)prepared, module);
        Py_DECREF((PyObject *)prepared);
    }
    Py_XDECREF(name);
    Py_XDECREF(module);
    return made;
}

/* ---- called by name */

PyObject *call_named(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count < 2) return PyErr_Format(PyExc_TypeError, "call(name, threads, *arguments)");
    Function function = function_named(args[0]);
    long threads = PyLong_AsLong(args[1]);
    if (!function || (threads == -1 && PyErr_Occurred())) return NULL;
    Call call = {args + 2, count - 2, threads < 1 ? 1 : (int)threads};
    PyObject *found = function(&call);
    if (found || PyErr_Occurred()) return found;
    Py_RETURN_NOTIMPLEMENTED;
}

bool make_function_types(void) {
    bound_type = (PyTypeObject *)PyType_FromSpec(&bound_spec);
    prepared_type = bound_type ? (PyTypeObject *)PyType_FromSpec(&prepared_spec) : NULL;
    return prepared_type;
}
