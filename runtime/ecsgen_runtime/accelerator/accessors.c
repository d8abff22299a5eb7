/* Methods that read and write fields. */

#include "row_lookup.h"
#include "values.h"

/* Find the cell of a field with a memoryview of its own; NULL if it has none. */
static inline char *
cell_in(PyObject *data, const Field *field, uint64_t row)
{
    uint64_t nbytes, size = (uint64_t)field->nbytes;
    char *cells = field->cells == ABSENT ? NULL : memory_of(SLOT(data, field->cells), &nbytes);
    return cells != NULL && row < NIL && (row + 1) * size <= nbytes ? cells + row * size : NULL;
}

PyObject *
read_value(Component *plan, PyObject *self, PyObject *data, Field *field, uint64_t row)
{
    char copy[MAX_CELL];
    const char *cell = cell_in(data, field, row);
    Rows rows;
    if (cell != NULL) {
        copy_cell(copy, cell, (uint64_t)field->nbytes);
    }
    else if (open_rows(plan, self, &rows) && row < rows.n) {
        gather(plan, &rows, field, row, copy);
    }
    else {
        return NULL;
    }
    return cell_to_value(field, copy);
}

int
write_value(Component *plan, PyObject *self, PyObject *data, const Field *field, uint64_t row,
            PyObject *value)
{
    char copy[MAX_CELL];
    Rows rows;
    if (!value_to_cell(field, value, copy)) {
        return 0;
    }
    char *cell = cell_in(data, field, row);
    if (cell != NULL) {
        copy_cell(cell, copy, (uint64_t)field->nbytes);
        return 1;
    }
    if (!open_rows(plan, self, &rows) || row >= rows.n) {
        return 0;
    }
    scatter(plan, &rows, field, row, copy);
    return 1;
}

PyObject *
get_value(PARAMETERS)
{
    Component *plan = PLAN(callable);
    PyObject *data;
    uint64_t row;
    if (has_args(nargsf, kwnames, 2) && (data = data_of(plan, args[0])) != NULL &&
        is_row_of(plan, data, args[1], &row)) {
        PyObject *value = read_value(plan, args[0], data, FIELD(callable), row);
        if (value != NULL || PyErr_Occurred()) {
            return value;
        }
    }
    return LEAVE;
}

PyObject *
set_value(PARAMETERS)
{
    Component *plan = PLAN(callable);
    PyObject *data;
    uint64_t row;
    if (has_args(nargsf, kwnames, 3) && (data = data_of(plan, args[0])) != NULL &&
        is_row_of(plan, data, args[1], &row) &&
        write_value(plan, args[0], data, FIELD(callable), row, args[2])) {
        Py_RETURN_NONE;
    }
    return LEAVE;
}

/* A copy of a row, as the named tuple of the component. */
PyObject *
get_row(PARAMETERS)
{
    Component *plan = PLAN(callable);
    Rows rows;
    uint64_t row;
    char cells[MAX_ROW];
    if (!find_row_argument(callable, args, nargsf, kwnames, &rows, &row)) {
        return LEAVE;
    }
    for (Py_ssize_t i = 0; i < plan->n_fields; i++) {
        gather(plan, &rows, &plan->fields[i], row, cells + plan->fields[i].at);
    }
    PyObject *copy = plan->row_kind->tp_alloc(plan->row_kind, plan->n_fields);
    for (Py_ssize_t i = 0; copy != NULL && i < plan->n_fields; i++) {
        PyObject *value = cell_to_value(&plan->fields[i], cells + plan->fields[i].at);
        if (value == NULL) {
            Py_CLEAR(copy);
            break;
        }
        PyTuple_SET_ITEM(copy, i, value);
    }
    return copy == NULL && !PyErr_Occurred() ? LEAVE : copy;
}
