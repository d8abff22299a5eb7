/* Rows that come and go: where an entity's row is, and the structural changes of one row. */

#ifndef ECSGEN_FAST_ROWS_H
#define ECSGEN_FAST_ROWS_H

#include "_fast.h"

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
    return get_u64(cell_of(plan, rows, plan->entity, row));
}

/* Find the first row of an entity, NIL if it has none. */
static inline int
find_row(const Component *plan, PyObject *self, const Rows *rows, PyObject *entity, uint64_t *row)
{
    uint64_t handle;
    if (!is_number(entity, &handle)) {
        return 0;
    }
    *row = NIL;
    if (plan->is_direct) {
        uint64_t place = handle & plan->index_mask;
        if (place < rows->n && handle != 0 && owner_of(plan, rows, place) == handle) {
            *row = place;
        }
        return 1;
    }
    if (plan->sparse != ABSENT) {
        Map map;
        if (!open_map(plan, self, &map)) {
            return 0;
        }
        if ((handle & plan->index_mask) < map.size) {
            uint64_t found = get_u32(map_cell(plan, &map, handle));
            if (found < rows->n && owner_of(plan, rows, found) == handle) {
                *row = found;
            }
        }
        return 1;
    }
    PyObject *map = SLOT(self, plan->map);
    if (map == NULL || !PyDict_CheckExact(map)) {
        return 0;
    }
    PyObject *found = PyDict_GetItemWithError(map, entity);
    return found == NULL || (is_number(found, row) && *row < rows->n);
}

/* Whether nothing locks the manager. */
static inline int
is_unlocked(const Component *plan, PyObject *self)
{
    uint64_t locks;
    return is_number(SLOT(self, plan->locks), &locks) && locks == 0;
}

/* Remove a row in use of an unlocked manager. */
int destroy_row(Component *plan, PyObject *self, Rows *rows, uint64_t row);

/* Give an entity (NULL: nobody) a row of the values in `scratch`, and return what `create` does.
   NULL without an exception leaves it to Python. */
PyObject *create_row(Component *plan, PyObject *self, Rows *rows, PyObject *entity,
                     const char *scratch);

#endif
