/* The simulated execution of a placed step. */
#ifndef ACTORFLOW_SIMULATE_H
#define ACTORFLOW_SIMULATE_H

#include <Python.h>

/* simulate(model, at, times, snapshot, limit, every): `Simulator._simulated` of actorflow/engine/placement/simulation/simulator.py, to the
 * bit. `model` is a tuple of arrays, `at` the device of each group, `times` the arrays (begun, ended, ready, cause, before), which are
 * written. `snapshot` is None or the bytes of one, from which it goes on. Every `every` events a snapshot is kept, none where that is
 * 0. The result is (seconds, final, [(time, snapshot), ...]), or None where the step takes `limit` seconds or more. */
PyObject *simulate(PyObject *self, PyObject *const *args, Py_ssize_t count);

#endif
