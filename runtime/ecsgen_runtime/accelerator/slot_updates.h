/* Numbers in slots that change together: all are made first, for that may fail. */

#ifndef ECSGEN_FAST_SLOT_UPDATES_H
#define ECSGEN_FAST_SLOT_UPDATES_H

#include "_fast.h"

#define MAX_CHANGES 8

/* CPython shares the ints up to here. */
#define SHARED 256

typedef struct {
    PyObject **slot[MAX_CHANGES];
    PyObject *number[MAX_CHANGES]; /* NULL: the int in the slot changes its value */
    uint64_t value[MAX_CHANGES];
    int count;
    int failed;
} SlotUpdates;

/* True if nobody but its slot has an int of one digit, and another value would have one, too. Then
   the int may change in place, which nobody can tell: making one takes longer than all the rest. */
static inline int
is_own(PyObject *number, uint64_t value)
{
#if PY_VERSION_HEX < 0x030C0000
    return Py_REFCNT(number) == 1 && Py_SIZE(number) == 1 && value > SHARED && value <= PyLong_MASK;
#else
    (void)number;
    (void)value;
    return 0;
#endif
}

static inline void
put_own(PyObject *number, uint64_t value)
{
#if PY_VERSION_HEX < 0x030C0000
    ((PyLongObject *)number)->ob_digit[0] = (digit)value;
#else
    (void)number;
    (void)value;
#endif
}

static inline void
no_changes(SlotUpdates *changes)
{
    changes->count = changes->failed = 0; /* the rest is not looked at */
}

/* Plan what a slot, which has a number, is going to hold. */
static inline void
plan_number(SlotUpdates *changes, PyObject *owner, Py_ssize_t offset, uint64_t value)
{
    PyObject **slot = &SLOT(owner, offset);
    PyObject *number = NULL;
    if (!is_own(*slot, value)) {
        number = PyLong_FromUnsignedLongLong(value);
        if (number == NULL) {
            changes->failed = 1;
            return;
        }
    }
    changes->slot[changes->count] = slot;
    changes->value[changes->count] = value;
    changes->number[changes->count++] = number;
}

/* Plan to count one more or less in a slot; 0 if it has no number. */
static inline int
plan_step(SlotUpdates *changes, PyObject *owner, Py_ssize_t offset, int64_t step)
{
    uint64_t value;
    if (!is_number(SLOT(owner, offset), &value)) {
        return 0;
    }
    plan_number(changes, owner, offset, value + (uint64_t)step);
    return 1;
}

/* What was planned is done. The slots have ints, so nothing runs when these go. */
static inline void
make_changes(const SlotUpdates *changes)
{
    for (int i = 0; i < changes->count; i++) {
        PyObject *old = *changes->slot[i];
        if (changes->number[i] == NULL) {
            put_own(old, changes->value[i]);
        }
        else {
            *changes->slot[i] = changes->number[i];
            Py_DECREF(old);
        }
    }
}

/* What was planned is not done. */
static inline void
drop_changes(const SlotUpdates *changes)
{
    for (int i = 0; i < changes->count; i++) {
        Py_XDECREF(changes->number[i]);
    }
}

#endif
