/* TFRecord's framing. */
#ifndef ACTORFLOW_RECORDS_H
#define ACTORFLOW_RECORDS_H

#include <Python.h>
#include <stdbool.h>

/* cut_records(data): the whole records that some bytes start with, where each starts, where the last one ends, and what is wrong with
 * the one there: 0 nothing, 1 the checksum of its length, 2 that of its data. */
PyObject *cut_records(PyObject *self, PyObject *data);

#endif
