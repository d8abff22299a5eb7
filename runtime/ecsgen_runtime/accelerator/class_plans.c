/* Plans: the description of a class by Python, as numbers and offsets. */

#include "class_plans.h"

#include <stddef.h>

/* Return an item of the spec, borrowed; KeyError if it is missing. */
static PyObject *
item(PyObject *spec, const char *name)
{
    PyObject *found = PyDict_GetItemString(spec, name);
    if (found == NULL && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_KeyError, name);
    }
    return found;
}

/* Read the offset of a slot that holds an object. */
static int
read_offset(PyObject *descriptor, Py_ssize_t *offset)
{
    if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) {
        PyErr_SetString(PyExc_TypeError, "a slot must be a member descriptor");
        return -1;
    }
    const PyMemberDef *member = ((PyMemberDescrObject *)descriptor)->d_member;
    if (member->type != T_OBJECT_EX || member->offset <= 0) {
        PyErr_SetString(PyExc_TypeError, "a slot must hold an object");
        return -1;
    }
    *offset = member->offset;
    return 0;
}

/* Store an item of the spec, borrowed, that must be of the type of its part. */
static int
read_object(PyObject *found, PyObject **at, const Part *part)
{
    const PyTypeObject *types[] = {
        [ANY] = &PyBaseObject_Type, [TYPE] = &PyType_Type,   [TEXT] = &PyUnicode_Type,
        [DICT] = &PyDict_Type,      [TUPLE] = &PyTuple_Type, [VIEW] = &PyMemoryView_Type,
        [BYTES] = &PyBytes_Type,
    };
    if (!PyObject_TypeCheck(found, (PyTypeObject *)types[part->how])) {
        PyErr_Format(PyExc_TypeError, "%s must be a %s", part->name, types[part->how]->tp_name);
        return -1;
    }
    *at = found;
    return 0;
}

static int
read_part(PyObject *found, void *at, const Part *part)
{
    uint64_t number;
    switch (part->how) {
    case NUMBER:
        number = PyLong_AsUnsignedLongLong(found);
        memcpy(at, &number, sizeof number);
        return PyErr_Occurred() ? -1 : 0;
    case FLAG:
        *(int *)at = found == Py_True;
        return 0;
    case OR_NONE:
        *(PyObject **)at = found == Py_None ? NULL : found;
        return 0;
    case A_SLOT:
    case SLOT_IF_ANY:
        return read_offset(found, at);
    default:
        return read_object(found, at, part);
    }
}

static int
read_parts(void *plan, PyObject *spec, const Part *part)
{
    for (; part->name != NULL; part++) {
        char *at = (char *)plan + part->place;
        if (part->how == SLOT_IF_ANY && PyDict_GetItemString(spec, part->name) == NULL) {
            *(Py_ssize_t *)(void *)at = ABSENT;
            continue;
        }
        PyObject *found = item(spec, part->name);
        if (found == NULL || read_part(found, at, part) < 0) {
            return -1;
        }
    }
    return 0;
}

static const Part common_parts[] = {
    {"kind", offsetof(Plan, guard.kind), TYPE},    {"names", offsetof(Plan, guard.names), TUPLE},
    {"parts", offsetof(Plan, parts.kind), TYPE},   {"part_names", offsetof(Plan, parts.names), TUPLE},
    {"finder", offsetof(Plan, finder), TEXT},      {NULL, 0, ANY},
};

int
read_plan(PyObject *self, PyObject *spec, const Part *parts)
{
    Plan *plan = &((Entities *)self)->plan; /* all plans begin alike */
    plan->spec = Py_NewRef(spec);
    return read_parts(plan, spec, common_parts) < 0 ? -1 : read_parts(self, spec, parts);
}

/* ---- components ----------------------------------------------------------------------------- */

const Part component_parts[] = {
    AT(Component, data, A_SLOT),           AT(Component, locks, A_SLOT),
    AT(Component, anchor, A_SLOT),         AT(Component, n, A_SLOT),
    AT(Component, version, A_SLOT),        AT(Component, allocated, A_SLOT),
    AT(Component, owners, SLOT_IF_ANY),    AT(Component, sparse, SLOT_IF_ANY),
    AT(Component, map, SLOT_IF_ANY),       AT(Component, released, SLOT_IF_ANY),
    AT(Component, added, SLOT_IF_ANY),
    AT(Component, entries, SLOT_IF_ANY),   AT(Component, count, SLOT_IF_ANY),
    AT(Component, active, SLOT_IF_ANY),    AT(Component, peak, SLOT_IF_ANY),
    AT(Component, slots, SLOT_IF_ANY),     AT(Component, first_generation, SLOT_IF_ANY),
    AT(Component, index_mask, NUMBER),     AT(Component, is_direct, FLAG),
    AT(Component, is_many, FLAG),          AT(Component, starts_active, FLAG),
    AT(Component, releases_children, FLAG), AT(Component, kills_orphans, FLAG),
    AT(Component, row_kind, OR_NONE),      AT(Component, callbacks_kind, OR_NONE),
    AT(Component, entities, OR_NONE),      AT(Component, above, OR_NONE),
    AT(Component, empty, ANY),             AT(Component, dtype, ANY),
    {NULL, 0, ANY},
};

typedef struct {
    PyObject *columns, *fields, *roles, *defaults;
} Tables;

static const Part component_tables[] = {
    AT(Tables, columns, TUPLE),  AT(Tables, fields, TUPLE), AT(Tables, roles, DICT),
    AT(Tables, defaults, BYTES), {NULL, 0, ANY},
};

/* What a field without a name has for a column is ABSENT. */
static const Part component_columns[] = {
    AT(Component, anchor_column, ANY),    AT(Component, entity, ANY),
    AT(Component, id_slot, ANY),          AT(Component, id_row, ANY),
    AT(Component, id_generation, ANY),    AT(Component, parent, ANY),
    AT(Component, first_child, ANY),      AT(Component, next_sibling, ANY),
    AT(Component, previous_sibling, ANY), {NULL, 0, ANY},
};

static int
read_columns(Component *plan, PyObject *columns)
{
    plan->n_columns = PyTuple_GET_SIZE(columns);
    plan->columns = PyMem_Calloc((size_t)plan->n_columns + 1, sizeof(Column));
    if (plan->columns == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < plan->n_columns; i++) {
        Column *column = &plan->columns[i];
        unsigned long long before, nbytes;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(columns, i), "KKnp", &before, &nbytes, &column->at,
                              &column->moves)) {
            return -1;
        }
        column->before = before;
        column->nbytes = nbytes;
        if (column->at < ABSENT || (column->at != ABSENT &&
                                    column->at + (Py_ssize_t)nbytes > plan->row_bytes)) {
            PyErr_SetString(PyExc_ValueError, "a column outside of the row");
            return -1;
        }
    }
    return 0;
}

static int
read_field(const Component *plan, Field *field, PyObject *told)
{
    PyObject *columns, *cells;
    if (!PyArg_ParseTuple(told, "UOOOOCiiO!nnO", &field->name, &field->fallback, &field->members,
                          &field->numbers, &field->kind_of, &field->kind, &field->size,
                          &field->count, &PyTuple_Type, &columns, &field->at, &field->nbytes,
                          &cells)) {
        return -1;
    }
    field->cells = ABSENT;
    if (cells != Py_None && read_offset(cells, &field->cells) < 0) {
        return -1;
    }
    if (field->members == Py_None) {
        field->members = NULL;
    }
    field->parts = (int)PyTuple_GET_SIZE(columns);
    int elements = field->count == 0 ? 1 : field->count;
    int is_whole = field->at >= 0 && field->at + field->nbytes <= plan->row_bytes &&
                   field->parts >= 1 && field->parts <= MAX_PARTS &&
                   (field->kind == 0 || (field->nbytes <= MAX_CELL &&
                                         elements * field->size == field->nbytes));
    for (int i = 0; is_whole && i < field->parts; i++) {
        Py_ssize_t column = PyLong_AsSsize_t(PyTuple_GET_ITEM(columns, i));
        field->columns[i] = column;
        is_whole = column >= 0 && column < plan->n_columns &&
                   plan->columns[column].nbytes ==
                       (uint64_t)(field->parts == 1 ? field->nbytes : field->size);
    }
    if (!is_whole && !PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "the field %U does not fit its columns", field->name);
    }
    return is_whole ? 0 : -1;
}

static int
read_fields(Component *plan, PyObject *fields)
{
    plan->n_fields = PyTuple_GET_SIZE(fields);
    plan->fields = PyMem_Calloc((size_t)plan->n_fields + 1, sizeof(Field));
    if (plan->fields == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < plan->n_fields; i++) {
        if (read_field(plan, &plan->fields[i], PyTuple_GET_ITEM(fields, i)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Read which columns have a part to play. */
static int
read_roles(Component *plan, PyObject *roles)
{
    for (const Part *part = component_columns; part->name != NULL; part++) {
        PyObject *number = PyDict_GetItemString(roles, part->name);
        Py_ssize_t column = number == NULL ? ABSENT : PyLong_AsSsize_t(number);
        if (column < ABSENT || column >= plan->n_columns) {
            PyErr_SetString(PyExc_ValueError, part->name);
            return -1;
        }
        memcpy((char *)plan + part->place, &column, sizeof column);
    }
    if (plan->anchor_column == ABSENT) {
        PyErr_SetString(PyExc_ValueError, "there must be a column to go by");
        return -1;
    }
    return 0;
}

int
read_tables(PyObject *self, PyObject *spec)
{
    Component *plan = (Component *)self;
    Tables tables;
    if (read_parts(&tables, spec, component_tables) < 0) {
        return -1;
    }
    plan->defaults = PyBytes_AS_STRING(tables.defaults);
    plan->row_bytes = PyBytes_GET_SIZE(tables.defaults);
    if (plan->row_bytes > MAX_ROW) {
        PyErr_SetString(PyExc_ValueError, "too many bytes in a row");
        return -1;
    }
    if (read_columns(plan, tables.columns) < 0 || read_fields(plan, tables.fields) < 0 ||
        read_roles(plan, tables.roles) < 0) {
        return -1;
    }
    plan->is_anchored = plan->entity != ABSENT && plan->anchor_column == plan->entity;
    return 0;
}
