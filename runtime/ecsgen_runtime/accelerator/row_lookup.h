/* What methods of managers are given: entities, ids and row numbers, and where their rows are. */

#ifndef ECSGEN_FAST_ROW_LOOKUP_H
#define ECSGEN_FAST_ROW_LOOKUP_H

#include "rows.h"

#define PLAN(callable) ((Component *)((Method *)(callable))->plan)
#define FIELD(callable) (&PLAN(callable)->fields[((Method *)(callable))->field])

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

/* Find the row of an id, NIL if it is gone. */
static inline int
find_id(const Component *plan, const Rows *rows, PyObject *id, uint64_t *row)
{
    uint64_t number, peak;
    if (!is_number(id, &number) || !is_number(SLOT(rows->data, plan->peak), &peak) ||
        peak > rows->allocated) {
        return 0;
    }
    uint64_t slot = number & NIL;
    *row = NIL;
    if (slot >= peak || get_u32(cell_number(plan, rows, plan->id_generation, slot)) != number >> 32) {
        return 1;
    }
    if (!plan->is_direct) {
        *row = get_u32(cell_number(plan, rows, plan->id_row, slot));
    }
    else if (slot < rows->n && owner_of(plan, rows, slot) != 0) {
        *row = slot;
    }
    return 1;
}

/* Find the rows of a manager, and the one in use that is a method's only argument. */
static inline int
find_row_argument(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames,
                  Rows *rows, uint64_t *row)
{
    return has_args(nargsf, kwnames, 2) && open_rows(PLAN(callable), args[0], rows) &&
           is_row(PLAN(callable), rows, args[1], row);
}

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

/* Read a field of a row in use; NULL without an exception leaves it to Python. */
PyObject *read_value(Component *plan, PyObject *self, PyObject *data, Field *field, uint64_t row);

/* Write it; 0 leaves it to Python. */
int write_value(Component *plan, PyObject *self, PyObject *data, const Field *field, uint64_t row,
                PyObject *value);

PyObject *get_value(PARAMETERS);
PyObject *set_value(PARAMETERS);
PyObject *get_row(PARAMETERS);
PyObject *lookup_small_batch(PARAMETERS);
PyObject *remove_small_batch(PARAMETERS);
PyObject *create_small_batch(PARAMETERS);

#endif
