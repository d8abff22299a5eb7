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

/* Return an item of the spec that must be of a type, borrowed. */
static PyObject *
typed_item(PyObject *spec, const char *name, PyTypeObject *type)
{
    PyObject *found = item(spec, name);
    if (found != NULL && !PyObject_TypeCheck(found, type)) {
        PyErr_Format(PyExc_TypeError, "%s must be a %s", name, type->tp_name);
        return NULL;
    }
    return found;
}

typedef struct {
    const char *name;
    size_t place;
} Place;

/* Read numbers of the spec into 64 bits each. */
static int
read_numbers(PyObject *spec, void *plan, const Place *places)
{
    for (; places->name != NULL; places++) {
        PyObject *number = typed_item(spec, places->name, &PyLong_Type);
        if (number == NULL) {
            return -1;
        }
        uint64_t value = PyLong_AsUnsignedLongLong(number);
        if (value == (uint64_t)-1 && PyErr_Occurred()) {
            return -1;
        }
        memcpy((char *)plan + places->place, &value, sizeof value);
    }
    return 0;
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

/* Read the offsets of slots; of those that the class does not have, ABSENT. */
static int
read_slots(PyObject *spec, void *plan, const Place *places)
{
    PyObject *slots = typed_item(spec, "slots", &PyDict_Type);
    for (; slots != NULL && places->name != NULL; places++) {
        Py_ssize_t offset = ABSENT;
        PyObject *descriptor = PyDict_GetItemString(slots, places->name);
        if (descriptor != NULL && read_offset(descriptor, &offset) < 0) {
            return -1;
        }
        memcpy((char *)plan + places->place, &offset, sizeof offset);
    }
    return slots == NULL ? -1 : 0;
}

/* True if all slots of a table were found; an exception if not. */
static int
has_all(const void *plan, const Place *places)
{
    for (; places->name != NULL && !PyErr_Occurred(); places++) {
        if (*(const Py_ssize_t *)((const char *)plan + places->place) == ABSENT) {
            PyErr_SetString(PyExc_KeyError, places->name);
        }
    }
    return !PyErr_Occurred();
}

/* Read a guarded class and the names of its attributes. */
static int
read_guard(Guard *guard, PyObject *spec, const char *kind, const char *names)
{
    guard->kind = (PyTypeObject *)typed_item(spec, kind, &PyType_Type);
    guard->names = typed_item(spec, names, &PyTuple_Type);
    return guard->kind == NULL || guard->names == NULL ? -1 : 0;
}

static int
read_guards(Plan *plan, PyObject *spec)
{
    plan->spec = Py_NewRef(spec);
    plan->finder = typed_item(spec, "finder", &PyUnicode_Type);
    if (plan->finder == NULL || read_guard(&plan->guard, spec, "kind", "names") < 0) {
        return -1;
    }
    return read_guard(&plan->parts, spec, "parts", "part_names");
}

/* ---- entities ------------------------------------------------------------------------------- */

#define AT(type, member) {#member, offsetof(type, member)}

static const Place entities_numbers[] = {
    AT(Entities, index_mask), AT(Entities, one_generation), {NULL, 0},
};

static const Place entities_slots[] = {
    AT(Entities, cells),       AT(Entities, n_used),    AT(Entities, n_cells),
    AT(Entities, n_retired),
    AT(Entities, free),        AT(Entities, dispatch),  AT(Entities, callbacks),
    AT(Entities, queue_count), AT(Entities, queue_head), AT(Entities, queue_mask),
    AT(Entities, queue_cells), AT(Entities, depth),     AT(Entities, errors),
    AT(Entities, waiting),     AT(Entities, entries),   AT(Entities, listener),
    AT(Entities, remove),      {NULL, 0},
};

int
read_entities(Entities *plan, PyObject *spec)
{
    if (read_guards(&plan->plan, spec) < 0 || read_numbers(spec, plan, entities_numbers) < 0 ||
        read_slots(spec, plan, entities_slots) < 0) {
        return -1;
    }
    plan->globals = typed_item(spec, "globals", &PyDict_Type);
    plan->dispatch_kind = (PyTypeObject *)typed_item(spec, "dispatch", &PyType_Type);
    plan->callbacks_kind = (PyTypeObject *)typed_item(spec, "callbacks", &PyType_Type);
    plan->entry_kind = (PyTypeObject *)typed_item(spec, "entry", &PyType_Type);
    return has_all(plan, entities_slots) ? 0 : -1;
}

/* ---- components ----------------------------------------------------------------------------- */

static const Place component_numbers[] = {
    AT(Component, index_mask), {NULL, 0},
};

static const Place component_slots[] = {
    AT(Component, data),    AT(Component, locks),  AT(Component, owners),
    AT(Component, sparse),  AT(Component, map),    AT(Component, released),
    AT(Component, entries),
    AT(Component, anchor),  AT(Component, n),      AT(Component, version),
    AT(Component, allocated), AT(Component, count), AT(Component, active),
     AT(Component, peak),   AT(Component, slots),
    AT(Component, first_generation), {NULL, 0},
};

/* What a field without a name has for a column is ABSENT. */
static const Place component_columns[] = {
    AT(Component, anchor_column), AT(Component, entity), AT(Component, id_slot),
    AT(Component, id_row),        AT(Component, id_generation), AT(Component, parent),
    AT(Component, first_child),   AT(Component, next_sibling),
    AT(Component, previous_sibling), {NULL, 0},
};

static int
read_columns(Component *plan, PyObject *spec)
{
    PyObject *columns = typed_item(spec, "columns", &PyTuple_Type);
    if (columns == NULL) {
        return -1;
    }
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
read_fields(Component *plan, PyObject *spec)
{
    PyObject *fields = typed_item(spec, "fields", &PyTuple_Type);
    if (fields == NULL) {
        return -1;
    }
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
read_roles(Component *plan, PyObject *spec)
{
    PyObject *roles = typed_item(spec, "roles", &PyDict_Type);
    for (const Place *place = component_columns; roles != NULL && place->name != NULL; place++) {
        PyObject *number = PyDict_GetItemString(roles, place->name);
        Py_ssize_t column = number == NULL ? ABSENT : PyLong_AsSsize_t(number);
        if (column < ABSENT || column >= plan->n_columns) {
            PyErr_SetString(PyExc_ValueError, place->name);
            return -1;
        }
        memcpy((char *)plan + place->place, &column, sizeof column);
    }
    if (roles != NULL && plan->anchor_column == ABSENT) {
        PyErr_SetString(PyExc_ValueError, "there must be a column to go by");
        return -1;
    }
    return roles == NULL ? -1 : 0;
}

/* Read the values of a row of defaults. */
static int
read_defaults(Component *plan, PyObject *spec)
{
    PyObject *defaults = typed_item(spec, "defaults", &PyBytes_Type);
    if (defaults == NULL) {
        return -1;
    }
    plan->defaults = PyBytes_AS_STRING(defaults);
    plan->row_bytes = PyBytes_GET_SIZE(defaults);
    if (plan->row_bytes > MAX_ROW) {
        PyErr_SetString(PyExc_ValueError, "too many bytes in a row");
        return -1;
    }
    return 0;
}

int
read_component(Component *plan, PyObject *spec)
{
    if (read_guards(&plan->plan, spec) < 0 || read_numbers(spec, plan, component_numbers) < 0 ||
        read_slots(spec, plan, component_slots) < 0 || read_defaults(plan, spec) < 0 ||
        read_columns(plan, spec) < 0 || read_fields(plan, spec) < 0 ||
        read_roles(plan, spec) < 0) {
        return -1;
    }
    if (plan->data == ABSENT || plan->locks == ABSENT || plan->anchor == ABSENT ||
        plan->n == ABSENT || plan->version == ABSENT || plan->allocated == ABSENT) {
        PyErr_SetString(PyExc_KeyError, "a slot that all managers have");
        return -1;
    }
    PyObject *row_kind = item(spec, "row");
    PyObject *entities = item(spec, "entities");
    PyObject *is_direct = item(spec, "is_direct");
    PyObject *is_many = item(spec, "is_many");
    PyObject *starts_active = item(spec, "starts_active");
    PyObject *callbacks = item(spec, "callbacks");
    PyObject *releases_children = item(spec, "releases_children");
    plan->empty = item(spec, "empty");
    plan->dtype = item(spec, "dtype");
    PyObject *kills_orphans = item(spec, "kills_orphans");
    PyObject *above = item(spec, "above");
    if (PyErr_Occurred()) {
        return -1;
    }
    plan->row_kind = row_kind == Py_None ? NULL : (PyTypeObject *)row_kind;
    plan->callbacks_kind = callbacks == Py_None ? NULL : (PyTypeObject *)callbacks;
    plan->entities = entities == Py_None ? NULL : (Entities *)entities;
    plan->is_direct = is_direct == Py_True;
    plan->is_many = is_many == Py_True;
    plan->starts_active = starts_active == Py_True;
    plan->releases_children = releases_children == Py_True;
    plan->kills_orphans = kills_orphans == Py_True;
    plan->above = above == Py_None ? NULL : above;
    plan->is_anchored = plan->entity != ABSENT && plan->anchor_column == plan->entity;
    return 0;
}

/* ---- worlds --------------------------------------------------------------------------------- */

static const Place world_slots[] = {
    AT(World, managers), AT(World, deferred_despawns), AT(World, collecting_managers), {NULL, 0},
};

int
read_world(World *plan, PyObject *spec)
{
    if (read_guards(&plan->plan, spec) < 0 || read_slots(spec, plan, world_slots) < 0) {
        return -1;
    }
    plan->kinds = typed_item(spec, "kinds", &PyDict_Type);
    plan->copy = typed_item(spec, "copy", &PyUnicode_Type);
    plan->cells = typed_item(spec, "cells", &PyMemoryView_Type);
    plan->array = item(spec, "array");
    plan->entities_plan = (Entities *)item(spec, "entities_plan");
    plan->entities = typed_item(spec, "entities", &PyUnicode_Type);
    plan->clean = typed_item(spec, "clean", &PyUnicode_Type);
    plan->reserve = typed_item(spec, "reserve", &PyUnicode_Type);
    return has_all(plan, world_slots) ? 0 : -1;
}

/* ---- proxies -------------------------------------------------------------------------------- */

static const Place proxy_slots[] = {
    AT(Proxy, manager), AT(Proxy, owner), AT(Proxy, row), AT(Proxy, version), {NULL, 0},
};

int
read_proxy(Proxy *plan, PyObject *spec)
{
    if (read_guards(&plan->plan, spec) < 0 || read_slots(spec, plan, proxy_slots) < 0) {
        return -1;
    }
    plan->component = (Component *)item(spec, "component");
    plan->rows_kind = (PyTypeObject *)typed_item(spec, "rows_kind", &PyType_Type);
    PyObject *finds = item(spec, "finds");
    plan->finds = finds == Py_True;
    return has_all(plan, proxy_slots) ? 0 : -1;
}

/* ---- queries -------------------------------------------------------------------------------- */

static const Place join_slots[] = {
    AT(Join, entities), AT(Join, required), AT(Join, optional), AT(Join, any_of),
    AT(Join, none_of),  AT(Join, manager),  {NULL, 0},
};

int
read_join(Join *plan, PyObject *spec)
{
    if (read_guards(&plan->plan, spec) < 0 || read_slots(spec, plan, join_slots) < 0) {
        return -1;
    }
    plan->alive = typed_item(spec, "alive", &PyUnicode_Type);
    plan->member_kind = (PyTypeObject *)typed_item(spec, "member", &PyType_Type);
    plan->sparse_kind = (PyTypeObject *)typed_item(spec, "sparse_member", &PyType_Type);
    plan->rows_kind = item(spec, "rows");
    plan->match_kind = item(spec, "match");
    plan->empty = item(spec, "empty");
    plan->dtype = item(spec, "dtype");
    return has_all(plan, join_slots) ? 0 : -1;
}
