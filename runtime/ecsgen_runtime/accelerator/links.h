/* Cells and maps that know the numbers of rows, and what moving a row means for them. */

#ifndef ECSGEN_FAST_LINKS_H
#define ECSGEN_FAST_LINKS_H

#include "hierarchy_links.h"

static inline int
open_change(Change *change, Component *plan, PyObject *self, const Rows *rows)
{
    if (plan->map != ABSENT && plan->active != ABSENT) {
        return 0; /* two rows may move, and a dict may fail at the second */
    }
    change->plan = plan;
    change->rows = rows;
    change->dict = NULL;
    change->map.cells = NULL;
    if (plan->sparse != ABSENT) {
        return open_map(plan, self, &change->map);
    }
    if (plan->map != ABSENT) {
        change->dict = SLOT(self, plan->map);
        return change->dict != NULL && PyDict_CheckExact(change->dict);
    }
    return 1;
}

/* True if what is beside a row's columns is as it must be, so that no index leads astray. */
static inline int
is_sound(const Change *change, uint64_t row)
{
    const Component *plan = change->plan;
    const Rows *rows = change->rows;
    if (plan->sparse != ABSENT) {
        uint64_t owner = owner_of(plan, rows, row);
        if ((owner & plan->index_mask) >= change->map.size || first_of(change, owner) >= rows->n) {
            return 0;
        }
    }
    if (has_hierarchy(plan) && !are_links_sound(change, row)) {
        return 0;
    }
    return plan->id_slot == ABSENT || get_link(change, plan->id_slot, row) < rows->allocated;
}

/* Move a row, and tell what knows its number; a dict was told before. */
static inline void
move_row(const Change *change, uint64_t src, uint64_t dst)
{
    const Component *plan = change->plan;
    const Rows *rows = change->rows;
    for (Py_ssize_t i = 0; i < plan->n_columns; i++) {
        if (plan->columns[i].moves) {
            copy_cell(cell_number(plan, rows, i, dst), cell_number(plan, rows, i, src),
                      plan->columns[i].nbytes);
        }
    }
    if (plan->sparse != ABSENT) {
        enter(change, owner_of(plan, rows, dst), dst);
    }
    if (plan->id_slot != ABSENT) {
        put_link(change, plan->id_row, get_link(change, plan->id_slot, dst), dst);
    }
    if (has_hierarchy(plan)) {
        relink_hierarchy(change, src, dst);
    }
}

#endif
