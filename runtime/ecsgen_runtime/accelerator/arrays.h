/* Arrays of rows. */

#ifndef ECSGEN_FAST_ARRAYS_H
#define ECSGEN_FAST_ARRAYS_H

#include "_fast.h"

/* Return rows as an array, which `empty` makes; that may run finalizers. */
static inline PyObject *
array_of(PyObject *empty, PyObject *dtype, const int64_t *rows, uint64_t n)
{
    PyObject *count = PyLong_FromUnsignedLongLong(n);
    PyObject *given[] = {count, dtype};
    PyObject *array = count == NULL ? NULL : PyObject_Vectorcall(empty, given, 2, NULL);
    Py_buffer view;
    Py_XDECREF(count);
    if (array == NULL || PyObject_GetBuffer(array, &view, PyBUF_CONTIG) < 0) {
        Py_XDECREF(array);
        return NULL;
    }
    if ((uint64_t)view.len == n * sizeof *rows) {
        memcpy(view.buf, rows, n * sizeof *rows);
    }
    else {
        PyErr_SetString(PyExc_SystemError, "an array of another size");
        Py_CLEAR(array);
    }
    PyBuffer_Release(&view);
    return array;
}

#endif
