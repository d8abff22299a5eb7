#include "arguments.h"

#include "values.h"

static const Field *
named_field(const Component *plan, PyObject *name)
{
    for (Py_ssize_t i = 0; i < plan->n_fields; i++) {
        if (plan->fields[i].name == name) {
            return &plan->fields[i];
        }
    }
    /* What comes out of a file is often not interned. */
    for (Py_ssize_t i = 0; PyUnicode_CheckExact(name) && i < plan->n_fields; i++) {
        if (PyUnicode_Compare(plan->fields[i].name, name) == 0) {
            return &plan->fields[i];
        }
    }
    return NULL;
}

static int
take_value(const Field *field, PyObject *value, char *scratch)
{
    return field != NULL &&
           (value == field->fallback || value_to_cell(field, value, scratch + field->at));
}

static void
take_defaults(const Component *plan, char *scratch)
{
    memcpy(scratch, plan->defaults, (size_t)plan->row_bytes);
}

int
has_names(const Component *plan, PyObject *names)
{
    Py_ssize_t count = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        if (name != plan->above && named_field(plan, name) == NULL) {
            return 0;
        }
    }
    return 1;
}

int
read_named(const Component *plan, PyObject *const *values, PyObject *names, char *scratch,
           uint64_t *above)
{
    take_defaults(plan, scratch);
    if (above != NULL) {
        *above = NIL;
    }
    Py_ssize_t count = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (above != NULL && plan->above != NULL && PyTuple_GET_ITEM(names, i) == plan->above) {
            if (!is_number(values[i], above)) {
                return 0;
            }
            continue;
        }
        if (!take_value(named_field(plan, PyTuple_GET_ITEM(names, i)), values[i], scratch)) {
            return 0;
        }
    }
    return 1;
}

int
read_dict(const Component *plan, PyObject *fields, char *scratch)
{
    PyObject *name, *value;
    Py_ssize_t position = 0;
    take_defaults(plan, scratch);
    while (PyDict_Next(fields, &position, &name, &value)) { /* no Python code runs */
        if (!take_value(named_field(plan, name), value, scratch)) {
            return 0;
        }
    }
    return 1;
}

int
read_row_values(const Component *plan, PyObject *row, char *scratch)
{
    if (Py_TYPE(row) != plan->row_kind || PyTuple_GET_SIZE(row) != plan->n_fields) {
        return 0;
    }
    take_defaults(plan, scratch);
    for (Py_ssize_t i = 0; i < plan->n_fields; i++) {
        if (!take_value(&plan->fields[i], PyTuple_GET_ITEM(row, i), scratch)) {
            return 0;
        }
    }
    return 1;
}
