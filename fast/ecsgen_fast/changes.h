/* Numbers in slots that change together: all are made first, for that may fail. */

#ifndef ECSGEN_FAST_CHANGES_H
#define ECSGEN_FAST_CHANGES_H

#include "_fast.h"

#define MAX_CHANGES 8

typedef struct {
    PyObject *owner[MAX_CHANGES];
    Py_ssize_t offset[MAX_CHANGES];
    PyObject *number[MAX_CHANGES];
    int count;
    int failed;
} Changes;

/* Make the number that a slot is going to hold. */
static inline void
plan_number(Changes *changes, PyObject *owner, Py_ssize_t offset, uint64_t value)
{
    PyObject *number = PyLong_FromUnsignedLongLong(value);
    if (number == NULL) {
        changes->failed = 1;
        return;
    }
    changes->owner[changes->count] = owner;
    changes->offset[changes->count] = offset;
    changes->number[changes->count++] = number;
}

/* Plan to count one more or less in a slot that holds a number; 0 if it does not. */
static inline int
plan_step(Changes *changes, PyObject *owner, Py_ssize_t offset, int64_t step)
{
    uint64_t value;
    if (!is_number(SLOT(owner, offset), &value)) {
        return 0;
    }
    plan_number(changes, owner, offset, value + (uint64_t)step);
    return 1;
}

/* What was planned is done. The slots held ints, so nothing runs when these go. */
static inline void
make_changes(Changes *changes)
{
    for (int i = 0; i < changes->count; i++) {
        PyObject **slot = &SLOT(changes->owner[i], changes->offset[i]);
        PyObject *old = *slot;
        *slot = changes->number[i];
        Py_DECREF(old);
    }
}

/* What was planned is not done. */
static inline void
drop_changes(Changes *changes)
{
    for (int i = 0; i < changes->count; i++) {
        Py_DECREF(changes->number[i]);
    }
}

#endif
