/* TFRecord's framing, and the Examples in records. */
#ifndef ACTORFLOW_RECORDS_H
#define ACTORFLOW_RECORDS_H

#include <Python.h>
#include <stdbool.h>

/* cut_records(data): the whole records that some bytes start with, where each starts, where the last one ends, and what is wrong with
 * the one there: 0 nothing, 1 the checksum of its length, 2 that of its data. */
PyObject *cut_records(PyObject *self, PyObject *data);

/* example_columns(messages, names, kinds): the wanted features of serialized Examples. A pair for each has the lengths, -1 where a
 * message lacks it, and an array of the values of all messages. A kind is the number of a list's field in Feature. None where a
 * message has another structure than usual. */
PyObject *example_columns(PyObject *self, PyObject *const *args, Py_ssize_t count);

#endif
