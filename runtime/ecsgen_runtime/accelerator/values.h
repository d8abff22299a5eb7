/* Fields: from Python objects to the bytes of a cell, and back. */

#ifndef ECSGEN_FAST_VALUES_H
#define ECSGEN_FAST_VALUES_H

#include "_fast.h"

/* Write a value of a field as the bytes of its cell; 0 leaves it to the field's converter. */
int value_to_cell(const Field *field, PyObject *value, char *cell);

/* Return the bytes of a cell as an object; NULL without an exception leaves it to Python. */
PyObject *cell_to_value(Field *field, const char *cell);

/* Copy a field of a row out: making objects may run finalizers, and those anything at all. */
static inline void
gather(const Component *plan, const Rows *rows, const Field *field, uint64_t row, char *cell)
{
    if (field->parts == 1) {
        copy_cell(cell, cell_number(plan, rows, field->columns[0], row), (uint64_t)field->nbytes);
        return;
    }
    for (int i = 0; i < field->parts; i++) {
        const char *from = cell_number(plan, rows, field->columns[i], row);
        copy_cell(cell + i * field->size, from, (uint64_t)field->size);
    }
}

static inline void
scatter(const Component *plan, const Rows *rows, const Field *field, uint64_t row, const char *cell)
{
    if (field->parts == 1) {
        copy_cell(cell_number(plan, rows, field->columns[0], row), cell, (uint64_t)field->nbytes);
        return;
    }
    for (int i = 0; i < field->parts; i++) {
        char *to = cell_number(plan, rows, field->columns[i], row);
        copy_cell(to, cell + i * field->size, (uint64_t)field->size);
    }
}

#endif
