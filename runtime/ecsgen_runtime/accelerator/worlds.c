/* Worlds: an entity that comes with rows, all at once. */

#include "entities.h"
#include "arguments.h"
#include "rows.h"

#define PLAN(callable) ((World *)((Method *)(callable))->plan)

/* Rows of one entity in C, and bytes of all their fields. */
#define MAX_ROWS 16
#define MAX_FIELDS 2048

/* An entity that is going to be, and its rows. */
typedef struct {
    NewEntity entity;
    PyObject *managers[MAX_ROWS];
    Component *plans[MAX_ROWS];
    Rows rows[MAX_ROWS];
    char *scratch[MAX_ROWS];
    int count;
    Py_ssize_t used;
    char fields[MAX_FIELDS];
    Creation creations[MAX_ROWS];
} Spawn;

/* Find the number of a manager among those that get a row, -1 if it gets none. */
static int
number_of(const Spawn *it, const PyObject *manager)
{
    for (int i = 0; i < it->count; i++) {
        if (it->managers[i] == manager) {
            return i;
        }
    }
    return -1;
}

/* Note the row that a manager is to have, given as a dict or a row. */
static int
note_row(Spawn *it, const World *plan, PyObject *managers, PyObject *kind, PyObject *given)
{
    PyObject *manager = PyDict_GetItemWithError(managers, kind);
    Component *its = manager == NULL ? NULL : plan_of_manager(&plan->plan, manager);
    int number = it->count;
    if (its == NULL || !its->creates || number == MAX_ROWS ||
        it->used + its->row_bytes > MAX_FIELDS || number_of(it, manager) >= 0) {
        return 0; /* for one, it is given twice */
    }
    char *scratch = it->scratch[number] = it->fields + it->used;
    int is_known = PyDict_CheckExact(given) ? read_dict(its, given, scratch)
                                            : read_row_values(its, given, scratch);
    if (!is_known || !open_rows(its, manager, &it->rows[number]) || !is_unlocked(its, manager)) {
        return 0;
    }
    it->managers[number] = manager;
    it->plans[number] = its;
    it->used += its->row_bytes;
    it->count++;
    return 1;
}

/* Find the entity manager that all owners come from, and its plan; NULL if there are several. */
static PyObject *
owners_of(const Spawn *it, Entities **plan)
{
    PyObject *found = NULL;
    for (int i = 0; i < it->count; i++) {
        PyObject *owners = SLOT(it->managers[i], it->plans[i]->owners);
        if (owners == NULL || (found != NULL && owners != found)) {
            return NULL;
        }
        found = owners;
        *plan = it->plans[i]->entities;
    }
    return found;
}

static void
drop(Spawn *it, int planned, int entered)
{
    for (int i = 0; i < planned; i++) {
        if (i < entered) {
            leave_dict(&it->creations[i]);
        }
        drop_creation(&it->creations[i]);
    }
    drop_entity(&it->entity);
}

/* Plan everything; 0 leaves it to Python. */
static int
plan_spawn(Spawn *it)
{
    Entities *entities = NULL;
    PyObject *owners = owners_of(it, &entities);
    int done = owners == NULL ? 0 : plan_entity(&it->entity, entities, owners);
    if (done <= 0) {
        return done;
    }
    int planned = 0, entered = 0;
    while (done > 0 && planned < it->count) {
        done = plan_creation(&it->creations[planned], it->plans[planned], it->managers[planned],
                             &it->rows[planned], it->entity.entity, NIL);
        planned += done > 0;
    }
    while (done > 0 && entered < it->count) {
        done = enter_dict(&it->creations[entered]);
        entered += done > 0;
    }
    if (done <= 0) {
        drop(it, planned, entered);
    }
    return done;
}

/* Do what was planned and return the entity. */
static PyObject *
finish(Spawn *it)
{
    PyObject *entity = add_entity(&it->entity);
    for (int i = 0; i < it->count; i++) {
        Py_DECREF(add_row(&it->creations[i], it->scratch[i]));
    }
    return entity;
}

/* The dict of a world's managers, by row class; NULL if the world is not as generated. */
static PyObject *
managers_of(World *plan, PyObject *self)
{
    PyObject *managers =
        guard_holds(&plan->plan.guard, self) ? SLOT(self, plan->managers) : NULL;
    return managers != NULL && PyDict_CheckExact(managers) ? managers : NULL;
}

/* Note the rows that are given by the components' names. */
static int
note_named(Spawn *it, const World *plan, PyObject *managers, PyObject *const *values,
           PyObject *names)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *kind = PyDict_GetItemWithError(plan->kinds, PyTuple_GET_ITEM(names, i));
        if (kind == NULL ||
            (values[i] != Py_None && !note_row(it, plan, managers, kind, values[i]))) {
            return 0;
        }
    }
    return it->count > 0;
}

/* Make the array of a spawn's only entity; no Python code runs. */
static PyObject *
array_of(const World *plan, uint64_t entity)
{
    uint64_t nbytes;
    char *cell = memory_of(plan->cells, &nbytes);
    if (cell == NULL || nbytes != sizeof entity) {
        return NULL;
    }
    put_u64(cell, entity);
    return PyObject_CallMethodNoArgs(plan->array, plan->copy);
}

static PyObject *
spawn(PARAMETERS)
{
    World *plan = PLAN(callable);
    Spawn it;
    uint64_t n;
    if (PyVectorcall_NARGS(nargsf) != 2 || kwnames == NULL || !is_number(args[1], &n) || n != 1) {
        return LEAVE;
    }
    PyObject *managers = managers_of(plan, args[0]);
    it.count = 0;
    it.used = 0;
    int done = managers != NULL && note_named(&it, plan, managers, args + 2, kwnames)
                   ? plan_spawn(&it)
                   : 0;
    if (done <= 0) {
        return done < 0 ? NULL : LEAVE;
    }
    PyObject *array = array_of(plan, it.entity.handle);
    if (array == NULL) {
        drop(&it, it.count, it.count);
        return PyErr_Occurred() ? NULL : LEAVE;
    }
    Py_DECREF(finish(&it));
    return array;
}

/* The same with rows, and a number in return. */
static PyObject *
create(PARAMETERS)
{
    World *plan = PLAN(callable);
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    PyObject *managers = kwnames == NULL && count > 1 ? managers_of(plan, args[0]) : NULL;
    Spawn it;
    it.count = 0;
    it.used = 0;
    int done = managers != NULL;
    for (Py_ssize_t i = 1; done > 0 && i < count; i++) {
        done = PyTuple_Check(args[i]) &&
               note_row(&it, plan, managers, (PyObject *)Py_TYPE(args[i]), args[i]);
    }
    if (done > 0) {
        done = plan_spawn(&it);
    }
    return done < 0 ? NULL : done == 0 ? LEAVE : finish(&it);
}

/* Note one entity for later; the first is left to Python, which makes the list. */
static PyObject *
destroy_later(PARAMETERS)
{
    World *plan = PLAN(callable);
    PyObject *noted = NULL;
    if (has_args(nargsf, kwnames, 2) && PyLong_CheckExact(args[1]) &&
        guard_holds(&plan->plan.guard, args[0])) {
        noted = SLOT(args[0], plan->deferred_despawns);
    }
    if (noted == NULL || !PyList_CheckExact(noted)) {
        return LEAVE;
    }
    return PyList_Append(noted, args[1]) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *
collect(PARAMETERS)
{
    World *plan = PLAN(callable);
    PyObject *gone = has_args(nargsf, kwnames, 1) && guard_holds(&plan->plan.guard, args[0])
                         ? collect_small_batch(plan, args[0])
                         : NULL;
    return gone == NULL ? LEAVE : gone;
}

const Function world_functions[] = {
    {"destroy_later", destroy_later},
    {"collect", collect},
    {"spawn", spawn},
    {"create", create},
    {NULL, NULL},
};
