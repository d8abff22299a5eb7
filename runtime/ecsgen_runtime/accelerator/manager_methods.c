/* Methods that find rows, and those that make them come and go. */

#include "row_lookup.h"
#include "arguments.h"

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
    return find_argument(callable, args, nargsf, kwnames, &row) ? PyLong_FromUnsignedLongLong(row) : LEAVE;
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
        return PyLong_FromUnsignedLongLong(row);
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

/* Add the row that a call describes; NULL without an exception leaves it to Python. */
static PyObject *
created(PyObject *callable, PyObject *const *args, PyObject *kwnames, Py_ssize_t wanted)
{
    Component *plan = PLAN(callable);
    char scratch[MAX_ROW];
    Rows rows;
    uint64_t above;
    if (open_rows(plan, args[0], &rows) && is_unlocked(plan, args[0]) &&
        read_named(plan, args + wanted, kwnames, scratch, &above)) {
        PyObject *entity = wanted == 2 ? args[1] : NULL;
        return create_row(plan, args[0], &rows, entity, above, scratch);
    }
    return NULL;
}

static PyObject *
create(PARAMETERS)
{
    Py_ssize_t wanted = PLAN(callable)->entity == ABSENT ? 1 : 2;
    if (PyVectorcall_NARGS(nargsf) == wanted) {
        PyObject *result = created(callable, args, kwnames, wanted);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    return LEAVE;
}

static PyObject *
ensure(PARAMETERS)
{
    Component *plan = PLAN(callable);
    PyObject *data;
    uint64_t row, handle;
    if (PyVectorcall_NARGS(nargsf) != 2 || !find_entity(plan, args[0], args[1], &data, &row)) {
        return LEAVE;
    }
    if (row == NIL) {
        PyObject *result = created(callable, args, kwnames, 2);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    else if (has_names(plan, kwnames) && is_number(args[1], &handle) &&
             is_alive(plan, args[0], handle)) {
        return PyLong_FromUnsignedLongLong(row);
    }
    return LEAVE;
}

/* ---- ids ------------------------------------------------------------------------------------ */

static PyObject *
id_of(PARAMETERS)
{
    Component *plan = PLAN(callable);
    Rows rows;
    uint64_t row;
    if (find_row_argument(callable, args, nargsf, kwnames, &rows, &row)) {
        uint64_t slot = row;
        if (!plan->is_direct) {
            slot = get_u32(cell_number(plan, &rows, plan->id_slot, row));
        }
        if (slot < rows.allocated) {
            uint64_t generation = get_u32(cell_number(plan, &rows, plan->id_generation, slot));
            return PyLong_FromUnsignedLongLong(generation << 32 | slot);
        }
    }
    return LEAVE;
}

/* Find the row of the id that is a method's only argument. */
static int
find_id_argument(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames,
                 Rows *rows, uint64_t *row)
{
    return has_args(nargsf, kwnames, 2) && open_rows(PLAN(callable), args[0], rows) &&
           find_id(PLAN(callable), rows, args[1], row);
}

static PyObject *
resolve(PARAMETERS)
{
    Rows rows;
    uint64_t row;
    return find_id_argument(callable, args, nargsf, kwnames, &rows, &row) ? PyLong_FromUnsignedLongLong(row) : LEAVE;
}

static PyObject *
has_id(PARAMETERS)
{
    Rows rows;
    uint64_t row;
    if (find_id_argument(callable, args, nargsf, kwnames, &rows, &row)) {
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
    if (find_id_argument(callable, args, nargsf, kwnames, &rows, &row) && row < rows.n &&
        is_unlocked(plan, args[0])) {
        done = destroy_row(plan, args[0], &rows, row);
    }
    return done == 0 ? LEAVE : done < 0 ? NULL : Py_NewRef(Py_None);
}

const Function manager_functions[] = {
    {"get", get_value},
    {"set", set_value},
    {"has_id", has_id},
    {"row", get_row},
    {"entity", get_owner},
    {"lookup", lookup},
    {"has", has},
    {"require", require},
    {"lookup_many", lookup_small_batch},
    {"remove_many", remove_small_batch},
    {"create_many", create_small_batch},
    {"remove", remove_entity},
    {"destroy", destroy},
    {"destroy_row", destroy_in_use},
    {"create", create},
    {"ensure", ensure},
    {"id_of", id_of},
    {"resolve", resolve},
    {"destroy_id", destroy_id},
    {NULL, NULL},
};
