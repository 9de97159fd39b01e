/* Kernels as functions of Python. */
#ifndef ACTORFLOW_FUNCTIONS_H
#define ACTORFLOW_FUNCTIONS_H

#include "call.h"

/* Makes the types of what such functions hold. False with an exception. */
bool make_function_types(void);

/* bind(name, otherwise): a builtin function of a kernel, which leaves what the kernel does not know to `otherwise`. */
PyObject *bind(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* prepared(work, otherwise, adds, limit, most): the kernel of a node, as `otherwise` is one. The function `prepared` does the work on
 * its first input, or on the second and the first one on top (`adds`), as long as `limit()` is None or not below `most`. None for
 * no limit. */
PyObject *make_prepared(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* call(name, threads, *arguments): a kernel on so many threads. NotImplemented where it does not know the arguments. */
PyObject *call_named(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* Calls a function of Python: `count` arguments by place, and behind them those that `names` names. NULL for no names. */
PyObject *call_python(PyObject *function, PyObject *const *args, Py_ssize_t count, PyObject *names);

/* The kernel with this name for the instructions in use (module.c). NULL with an exception where there is none. */
Function function_named(PyObject *name);

/* tape(inputs, dynamic, constants, objects, code, fail, pauses): a builtin function that performs a tape (tape.c). */
PyObject *make_tape(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* Makes the type of tapes. False with an exception. */
bool make_tape_type(void);

#endif
