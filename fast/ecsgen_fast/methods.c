/* The methods of managers. Each is a vectorcall function of a Method. */

#include "given.h"
#include "rows.h"
#include "values.h"

#define PLAN(callable) ((Component *)((Method *)(callable))->plan)
#define FIELD(callable) (&PLAN(callable)->fields[((Method *)(callable))->field])
#define PARAMETERS PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames
#define LEAVE leave(callable, args, nargsf, kwnames)

static PyObject *
nil_or(uint64_t row)
{
    return PyLong_FromUnsignedLongLong(row);
}

/* ---- fields --------------------------------------------------------------------------------- */

/* Read the number of a row that is in use, of a manager's data. */
static inline int
is_row_of(const Component *plan, PyObject *data, PyObject *object, uint64_t *row)
{
    uint64_t n, nbytes;
    if (!PyLong_CheckExact(object) || !to_u64(object, row) ||
        !is_number(SLOT(data, plan->n), &n) || *row >= n) {
        return 0;
    }
    if (!plan->is_direct) {
        return 1;
    }
    const char *owners = memory_of(SLOT(data, plan->anchor), &nbytes);
    return plan->is_anchored && owners != NULL && *row < nbytes / 8 &&
           get_u64(owners + 8 * *row) != 0;
}

/* Find the first row of an entity, NIL if it has none, and the manager's data. */
static inline int
find_entity(Component *plan, PyObject *self, PyObject *entity, PyObject **data, uint64_t *row)
{
    uint64_t handle, nbytes;
    Map map;
    if (plan->sparse == ABSENT || !plan->is_anchored) {
        Rows rows;
        if (!open_rows(plan, self, &rows)) {
            return 0;
        }
        *data = rows.data;
        return find_row(plan, self, &rows, entity, row);
    }
    /* Without looking at the rest of the rows, for this is what is called most. */
    *data = data_of(plan, self);
    if (*data == NULL || !is_number(entity, &handle) || !open_map(plan, self, &map)) {
        return 0;
    }
    const char *owners = memory_of(SLOT(*data, plan->anchor), &nbytes);
    if (owners == NULL) {
        return 0;
    }
    /* Rows often lie in the order of their entities' indices. To try that first lets a processor
       fetch the row without waiting for the map. */
    uint64_t index = handle & plan->index_mask, n;
    if (!plan->is_many && index < nbytes / 8 && get_u64(owners + 8 * index) == handle &&
        is_number(SLOT(*data, plan->n), &n) && index < n) {
        *row = index;
        return 1;
    }
    *row = NIL;
    if (index < map.size) {
        uint64_t found = get_u32(map_cell(plan, &map, handle));
        if (found < nbytes / 8 && get_u64(owners + 8 * found) == handle) {
            *row = found;
        }
    }
    return 1;
}

/* Find the cell of a field with a memoryview of its own; NULL if it has none. */
static inline char *
cell_in(PyObject *data, const Field *field, uint64_t row)
{
    uint64_t nbytes, size = (uint64_t)field->nbytes;
    char *cells = field->cells == ABSENT ? NULL : memory_of(SLOT(data, field->cells), &nbytes);
    return cells != NULL && row < NIL && (row + 1) * size <= nbytes ? cells + row * size : NULL;
}

static PyObject *
read_value(Component *plan, PyObject *self, PyObject *data, const Field *field, uint64_t row)
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

static int
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

static PyObject *
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

static PyObject *
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

/* Find the row of an id, NIL if it is gone. */
static int
find_id(const Component *plan, const Rows *rows, PyObject *id, uint64_t *row)
{
    uint64_t number, peak;
    if (!is_number(id, &number) || !is_number(SLOT(rows->data, plan->peak), &peak) ||
        peak > rows->allocated) {
        return 0;
    }
    uint64_t slot = number & NIL;
    *row = NIL;
    if (slot >= peak || get_u32(cell_of(plan, rows, plan->id_generation, slot)) != number >> 32) {
        return 1;
    }
    if (!plan->is_direct) {
        *row = get_u32(cell_of(plan, rows, plan->id_row, slot));
    }
    else if (slot < rows->n && owner_of(plan, rows, slot) != 0) {
        *row = slot;
    }
    return 1;
}

/* The value of an entity's row: a lookup and an accessor in one. */
static PyObject *
get_value_of(PARAMETERS)
{
    Component *plan = PLAN(callable);
    PyObject *data;
    uint64_t row;
    if (has_args(nargsf, kwnames, 2) && find_entity(plan, args[0], args[1], &data, &row) &&
        row != NIL) {
        PyObject *value = read_value(plan, args[0], data, FIELD(callable), row);
        if (value != NULL || PyErr_Occurred()) {
            return value;
        }
    }
    return LEAVE;
}

static PyObject *
set_value_of(PARAMETERS)
{
    Component *plan = PLAN(callable);
    PyObject *data;
    uint64_t row;
    if (has_args(nargsf, kwnames, 3) && find_entity(plan, args[0], args[1], &data, &row) &&
        row != NIL && write_value(plan, args[0], data, FIELD(callable), row, args[2])) {
        Py_RETURN_NONE;
    }
    return LEAVE;
}

/* The value of an id's row. */
static PyObject *
get_value_of_id(PARAMETERS)
{
    Component *plan = PLAN(callable);
    Rows rows;
    uint64_t row;
    if (has_args(nargsf, kwnames, 2) && open_rows(plan, args[0], &rows) &&
        find_id(plan, &rows, args[1], &row) && row < rows.n) {
        PyObject *value = read_value(plan, args[0], rows.data, FIELD(callable), row);
        if (value != NULL || PyErr_Occurred()) {
            return value;
        }
    }
    return LEAVE;
}

static PyObject *
set_value_of_id(PARAMETERS)
{
    Component *plan = PLAN(callable);
    Rows rows;
    uint64_t row;
    if (has_args(nargsf, kwnames, 3) && open_rows(plan, args[0], &rows) &&
        find_id(plan, &rows, args[1], &row) && row < rows.n &&
        write_value(plan, args[0], rows.data, FIELD(callable), row, args[2])) {
        Py_RETURN_NONE;
    }
    return LEAVE;
}

/* Find the rows of a manager, and the one in use that is a method's only argument. */
static inline int
find_row_argument(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames,
                  Rows *rows, uint64_t *row)
{
    return has_args(nargsf, kwnames, 2) && open_rows(PLAN(callable), args[0], rows) &&
           is_row(PLAN(callable), rows, args[1], row);
}

/* A copy of a row, as the named tuple of the component. */
static PyObject *
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

/* ---- finding -------------------------------------------------------------------------------- */

static PyObject *
get_owner(PARAMETERS)
{
    Component *plan = PLAN(callable);
    Rows rows;
    uint64_t row;
    if (find_row_argument(callable, args, nargsf, kwnames, &rows, &row)) {
        return PyLong_FromUnsignedLongLong(owner_of(plan, &rows, row));
    }
    return LEAVE;
}

/* Find the row of the entity that is a method's only argument. */
static int
find_argument(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames,
              uint64_t *row)
{
    PyObject *data;
    return has_args(nargsf, kwnames, 2) &&
           find_entity(PLAN(callable), args[0], args[1], &data, row);
}

static PyObject *
lookup(PARAMETERS)
{
    uint64_t row;
    return find_argument(callable, args, nargsf, kwnames, &row) ? nil_or(row) : LEAVE;
}

static PyObject *
has(PARAMETERS)
{
    uint64_t row;
    if (find_argument(callable, args, nargsf, kwnames, &row)) {
        return PyBool_FromLong(row != NIL);
    }
    return LEAVE;
}

static PyObject *
require(PARAMETERS)
{
    uint64_t row;
    if (find_argument(callable, args, nargsf, kwnames, &row) && row != NIL) {
        return nil_or(row);
    }
    return LEAVE;
}

/* ---- rows that go --------------------------------------------------------------------------- */

static PyObject *
remove_entity(PARAMETERS)
{
    Component *plan = PLAN(callable);
    Rows rows;
    uint64_t row;
    if (!has_args(nargsf, kwnames, 2) || !open_rows(plan, args[0], &rows) ||
        !is_unlocked(plan, args[0]) || !find_row(plan, args[0], &rows, args[1], &row)) {
        return LEAVE;
    }
    if (row == NIL) {
        return PyLong_FromLong(0);
    }
    if (!is_only(plan, &rows, row)) {
        return LEAVE;
    }
    int done = destroy_row(plan, args[0], &rows, row);
    return done == 0 ? LEAVE : done < 0 ? NULL : PyLong_FromLong(1);
}

static PyObject *
destroy(PARAMETERS)
{
    Component *plan = PLAN(callable);
    Rows rows;
    uint64_t row;
    int done = 0;
    if (find_row_argument(callable, args, nargsf, kwnames, &rows, &row) &&
        is_unlocked(plan, args[0])) {
        done = destroy_row(plan, args[0], &rows, row);
    }
    return done == 0 ? LEAVE : done < 0 ? NULL : Py_NewRef(Py_None);
}

/* What the collection of the dead calls, which has looked for locks. */
static PyObject *
destroy_in_use(PARAMETERS)
{
    Component *plan = PLAN(callable);
    Rows rows;
    uint64_t row;
    int done = 0;
    if (find_row_argument(callable, args, nargsf, kwnames, &rows, &row)) {
        done = destroy_row(plan, args[0], &rows, row);
    }
    return done == 0 ? LEAVE : done < 0 ? NULL : PyLong_FromLong(1);
}

/* ---- rows that come ------------------------------------------------------------------------- */

static PyObject *
create(PARAMETERS)
{
    Component *plan = PLAN(callable);
    Py_ssize_t wanted = plan->entity == ABSENT ? 1 : 2;
    char scratch[MAX_ROW];
    Rows rows;
    if (PyVectorcall_NARGS(nargsf) == wanted && open_rows(plan, args[0], &rows) &&
        is_unlocked(plan, args[0]) && take_named(plan, args + wanted, kwnames, scratch)) {
        PyObject *entity = wanted == 2 ? args[1] : NULL;
        PyObject *result = create_row(plan, args[0], &rows, entity, scratch);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    return LEAVE;
}

/* ---- ids and lists -------------------------------------------------------------------------- */

static PyObject *
id_of(PARAMETERS)
{
    Component *plan = PLAN(callable);
    Rows rows;
    uint64_t row;
    if (find_row_argument(callable, args, nargsf, kwnames, &rows, &row)) {
        uint64_t slot = row;
        if (!plan->is_direct) {
            slot = get_u32(cell_of(plan, &rows, plan->id_slot, row));
        }
        if (slot < rows.allocated) {
            uint64_t generation = get_u32(cell_of(plan, &rows, plan->id_generation, slot));
            return PyLong_FromUnsignedLongLong(generation << 32 | slot);
        }
    }
    return LEAVE;
}

static PyObject *
resolve(PARAMETERS)
{
    Component *plan = PLAN(callable);
    Rows rows;
    uint64_t row;
    if (has_args(nargsf, kwnames, 2) && open_rows(plan, args[0], &rows) &&
        find_id(plan, &rows, args[1], &row)) {
        return nil_or(row);
    }
    return LEAVE;
}

static PyObject *
has_id(PARAMETERS)
{
    Rows rows;
    uint64_t row;
    if (has_args(nargsf, kwnames, 2) && open_rows(PLAN(callable), args[0], &rows) &&
        find_id(PLAN(callable), &rows, args[1], &row)) {
        return PyBool_FromLong(row != NIL);
    }
    return LEAVE;
}

static PyObject *
destroy_id(PARAMETERS)
{
    Component *plan = PLAN(callable);
    Rows rows;
    uint64_t row;
    int done = 0;
    if (has_args(nargsf, kwnames, 2) && open_rows(plan, args[0], &rows) &&
        is_unlocked(plan, args[0]) && find_id(plan, &rows, args[1], &row) && row < rows.n) {
        done = destroy_row(plan, args[0], &rows, row);
    }
    return done == 0 ? LEAVE : done < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *
next_row(PARAMETERS)
{
    Component *plan = PLAN(callable);
    Rows rows;
    uint64_t row;
    if (find_row_argument(callable, args, nargsf, kwnames, &rows, &row)) {
        return nil_or(get_u32(cell_of(plan, &rows, plan->next, row)));
    }
    return LEAVE;
}

static PyObject *
previous_row(PARAMETERS)
{
    Component *plan = PLAN(callable);
    Rows rows;
    uint64_t row;
    if (find_row_argument(callable, args, nargsf, kwnames, &rows, &row)) {
        uint64_t before = get_u32(cell_of(plan, &rows, plan->previous, row));
        if (before < rows.n) {
            uint64_t behind = get_u32(cell_of(plan, &rows, plan->next, before));
            return nil_or(behind == NIL ? NIL : before);
        }
    }
    return LEAVE;
}

const Function manager_functions[] = {
    {"get", get_value},
    {"set", set_value},
    {"get_of", get_value_of},
    {"set_of", set_value_of},
    {"get_of_id", get_value_of_id},
    {"set_of_id", set_value_of_id},
    {"has_id", has_id},
    {"row", get_row},
    {"entity", get_owner},
    {"lookup", lookup},
    {"has", has},
    {"require", require},
    {"remove", remove_entity},
    {"destroy", destroy},
    {"destroy_row", destroy_in_use},
    {"create", create},
    {"id_of", id_of},
    {"resolve", resolve},
    {"destroy_id", destroy_id},
    {"next", next_row},
    {"previous", previous_row},
    {NULL, NULL},
};
