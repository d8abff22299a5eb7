/* Rows that come and go: where an entity's row is, and the structural changes of one row. */

#ifndef ECSGEN_FAST_ROWS_H
#define ECSGEN_FAST_ROWS_H

#include "slot_updates.h"

/* The map of a sparse manager, as long as no Python code runs. */
typedef struct {
    char *cells;
    uint64_t size;
} Map;

/* Find the map of a sparse manager. */
static inline int
open_map(const Component *plan, PyObject *self, Map *map)
{
    uint64_t nbytes = 0;
    map->cells = memory_of(SLOT(self, plan->sparse), &nbytes);
    map->size = nbytes / 4;
    return map->cells != NULL;
}

static inline char *
map_cell(const Component *plan, const Map *map, uint64_t entity)
{
    return map->cells + 4 * (entity & plan->index_mask);
}

static inline uint64_t
owner_of(const Component *plan, const Rows *rows, uint64_t row)
{
    return get_u64(cell_number(plan, rows, plan->entity, row));
}

/* Return the row of an entity in a direct or sparse manager, NIL if it has none. */
static inline uint64_t
row_in(const Component *plan, const Rows *rows, const Map *map, uint64_t entity)
{
    uint64_t index = entity & plan->index_mask, row = index;
    if (!plan->is_direct) {
        row = index < map->size ? get_u32(map->cells + 4 * index) : NIL;
    }
    /* 0 is no entity: holes of direct managers have it. */
    return row < rows->n && owner_of(plan, rows, row) == entity && entity != 0 ? row : NIL;
}

/* Find the first row of an entity, NIL if it has none. */
static inline int
find_row(const Component *plan, PyObject *self, const Rows *rows, PyObject *entity, uint64_t *row)
{
    uint64_t handle;
    if (!is_number(entity, &handle)) {
        return 0;
    }
    if (plan->is_direct || plan->sparse != ABSENT) {
        Map map;
        if (!plan->is_direct && !open_map(plan, self, &map)) {
            return 0;
        }
        *row = row_in(plan, rows, &map, handle);
        return 1;
    }
    PyObject *dict = SLOT(self, plan->map);
    if (dict == NULL || !PyDict_CheckExact(dict)) {
        return 0;
    }
    *row = NIL;
    PyObject *found = PyDict_GetItemWithError(dict, entity);
    return found == NULL || (is_number(found, row) && *row < rows->n);
}

/* True if nothing locks the manager. */
static inline int
is_unlocked(const Component *plan, PyObject *self)
{
    uint64_t locks;
    return is_number(SLOT(self, plan->locks), &locks) && locks == 0;
}

/* Find the plan of another manager of the same package; NULL if its class is not as generated. */
static inline Component *
plan_of_manager(const Plan *plan, PyObject *manager)
{
    PyObject *found = _PyType_Lookup(Py_TYPE(manager), plan->finder);
    return found != NULL && Py_TYPE(found) == plan->method_kind
               ? (Component *)((Method *)found)->plan
               : NULL;
}

/* What stands beside the columns while one row comes or goes. */
typedef struct {
    Component *plan;
    const Rows *rows;
    Map map;        /* of a sparse manager */
    PyObject *dict; /* of a hash manager */
} Change;

/* ---- cells that hold numbers of rows, and cells of the map --------------------------------------- */

static inline uint64_t
get_link(const Change *change, Py_ssize_t column, uint64_t row)
{
    return get_u32(cell_number(change->plan, change->rows, column, row));
}

static inline void
put_link(const Change *change, Py_ssize_t column, uint64_t row, uint64_t value)
{
    put_u32(cell_number(change->plan, change->rows, column, row), value);
}

static inline uint64_t
first_of(const Change *change, uint64_t owner)
{
    return get_u32(map_cell(change->plan, &change->map, owner));
}

static inline void
enter(const Change *change, uint64_t owner, uint64_t row)
{
    put_u32(map_cell(change->plan, &change->map, owner), row);
}

/* ---- structural changes ------------------------------------------------------------------------- */

/* A row that is going to go: all that may fail is done before anything changes. */
typedef struct {
    Change change;
    Rows rows;
    SlotUpdates changes;
    uint64_t row;
    uint64_t active;                /* the active row that takes its place, or NIL */
    PyObject *gone, *moved, *place; /* keys and a value of the dict, or NULL */
} Removal;

/* Plan to remove a row in use of an unlocked manager. If that is done, `remove_row` or
   `drop_removal` must follow. */
int plan_removal(Removal *it, Component *plan, PyObject *self, const Rows *rows, uint64_t row);
void remove_row(Removal *it);
void drop_removal(Removal *it);

/* Remove a row in use of an unlocked manager. */
int destroy_row(Component *plan, PyObject *self, const Rows *rows, uint64_t row);

/* A row that is going to come. */
typedef struct {
    Change change;
    Rows rows;
    SlotUpdates changes;
    PyObject *entity; /* borrowed; NULL: nobody */
    PyObject *result; /* what `create` returns */
    uint64_t handle, place;
    uint64_t slot, generation; /* of the id */
    uint64_t above;            /* the parent, or NIL */
} Creation;

/* Plan to give an entity that is alive or about to be a row. If that is done, `add_row`, which
   returns what `create` does, or `drop_creation` must follow; before `add_row` comes `enter_dict`,
   which `leave_dict` takes back. `above`: a parent, or NIL. */
int plan_creation(Creation *it, Component *plan, PyObject *self, const Rows *rows,
                  PyObject *entity, uint64_t above);
int enter_dict(const Creation *it);
void leave_dict(const Creation *it);
PyObject *add_row(Creation *it, const char *scratch);
void drop_creation(Creation *it);

/* True if an entity is alive. */
int is_alive(const Component *plan, PyObject *self, uint64_t entity);

/* True if no callback in a slot of a manager, `released` or `added`, is to be notified. */
int is_silent(const Component *plan, PyObject *self, Py_ssize_t slot);

/* Write a new row of a sparse manager with nothing beside it but a family. */
void add_simple_row(const Change *change, uint64_t row, uint64_t entity, const char *scratch);

/* Give an entity (NULL: nobody) a row of the values in `scratch` below a parent (NIL: none), and
   return what `create` does. NULL without an exception leaves it to Python. */
PyObject *create_row(Component *plan, PyObject *self, const Rows *rows, PyObject *entity,
                     uint64_t above, const char *scratch);

#endif
