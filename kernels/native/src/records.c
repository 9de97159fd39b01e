/* TFRecord's framing: a length of eight bytes, its masked checksum, the data, their masked checksum. */
#include <Python.h>
#include <string.h>

#include "crc32c.h"
#include "records.h"

enum { LENGTH = 8, CHECKSUM = 4, HEADER = LENGTH + CHECKSUM, FOOTER = CHECKSUM };
enum { WHOLE, DAMAGED_LENGTH, DAMAGED_DATA };

static uint64_t little_endian(const unsigned char *bytes, int count) {
    uint64_t found = 0;
    for (int i = 0; i < count; i++) found |= (uint64_t)bytes[i] << (8 * i);
    return found;
}

static bool fits(const unsigned char *bytes, uint64_t count) {
    uint32_t crc = crc32c(0, bytes, count);
    return little_endian(bytes + count, CHECKSUM) == (uint32_t)((crc >> 15 | crc << 17) + 0xA282EAD8u);
}

static int append(PyObject *list, PyObject *item) {
    int failed = item ? PyList_Append(list, item) : -1;
    Py_XDECREF(item);
    return failed;
}

PyObject *cut_records(PyObject *self, PyObject *given) {
    (void)self;
    Py_buffer view;
    if (PyObject_GetBuffer(given, &view, PyBUF_SIMPLE)) return NULL;
    PyObject *records = PyList_New(0), *starts = PyList_New(0), *found = NULL;
    const unsigned char *data = view.buf;
    uint64_t size = (uint64_t)view.len, at = 0;
    int damage = WHOLE, failed = !records || !starts;
    while (!failed && !damage && size - at >= HEADER + FOOTER) {
        uint64_t length = little_endian(data + at, LENGTH);
        if (length > size - at - HEADER - FOOTER) break;
        if (!fits(data + at, LENGTH))
            damage = DAMAGED_LENGTH;
        else if (!fits(data + at + HEADER, length))
            damage = DAMAGED_DATA;
        else {
            failed = append(starts, PyLong_FromUnsignedLongLong(at)) ||
                     append(records, PyBytes_FromStringAndSize((const char *)data + at + HEADER, (Py_ssize_t)length));
            at += HEADER + length + FOOTER;
        }
    }
    PyBuffer_Release(&view);
    if (!failed) found = Py_BuildValue("(OOKi)", records, starts, (unsigned long long)at, damage);
    Py_XDECREF(records);
    Py_XDECREF(starts);
    return found;
}
