/* Cells, lists and maps that know the numbers of rows, and what moving a row means for them. */

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
    if (plan->is_many) {
        uint64_t before = get_link(change, plan->previous, row);
        uint64_t after = get_link(change, plan->next, row);
        if (before >= rows->n || (after >= rows->n && after != NIL)) {
            return 0;
        }
    }
    if (has_hierarchy(plan) && !are_links_sound(change, row)) {
        return 0;
    }
    return plan->id_slot == ABSENT || get_link(change, plan->id_slot, row) < rows->allocated;
}

/* ---- lists of instances (runtime/policies/instances.py) ------------------------------------- */

/* Append a new row to its entity's list, of which `first` is the first row, or NIL. */
static inline void
link_row(const Change *change, uint64_t entity, uint64_t first, uint64_t row)
{
    const Component *plan = change->plan;
    put_link(change, plan->next, row, NIL);
    if (first == NIL) {
        if (change->map.cells != NULL) {
            enter(change, entity, row);
        }
        put_link(change, plan->previous, row, row);
        return;
    }
    uint64_t last = get_link(change, plan->previous, first);
    put_link(change, plan->next, last, row);
    put_link(change, plan->previous, row, last);
    put_link(change, plan->previous, first, row);
}

/* Let a row come before another, or if that is NIL be the last: the first row has its number then. */
static inline void
put_before(const Change *change, uint64_t owner, uint64_t after, uint64_t row)
{
    uint64_t behind = after == NIL ? first_of(change, owner) : after;
    put_link(change, change->plan->previous, behind, row);
}

/* Take a row out of its list. */
static inline void
unlink_row(const Change *change, uint64_t row)
{
    const Component *plan = change->plan;
    uint64_t owner = owner_of(plan, change->rows, row);
    uint64_t before = get_link(change, plan->previous, row);
    uint64_t after = get_link(change, plan->next, row);
    if (before == row) { /* the only one */
        enter(change, owner, NIL);
        return;
    }
    if (get_link(change, plan->next, before) == NIL) { /* the first; before it comes the last */
        enter(change, owner, after);
    }
    else {
        put_link(change, plan->next, before, after);
    }
    put_before(change, owner, after, before);
}

/* Mend a list after row src went to dst. */
static inline void
relink_row(const Change *change, uint64_t src, uint64_t dst)
{
    const Component *plan = change->plan;
    uint64_t owner = owner_of(plan, change->rows, dst);
    uint64_t before = get_link(change, plan->previous, dst);
    uint64_t after = get_link(change, plan->next, dst);
    if (before == src) { /* the only one */
        enter(change, owner, dst);
        put_link(change, plan->previous, dst, dst);
        return;
    }
    if (get_link(change, plan->next, before) == NIL) { /* the first; before it comes the last */
        enter(change, owner, dst);
    }
    else {
        put_link(change, plan->next, before, dst);
    }
    put_before(change, owner, after, dst);
}

/* ---- moving --------------------------------------------------------------------------------- */

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
    if (plan->is_many) {
        relink_row(change, src, dst);
    }
    else if (plan->sparse != ABSENT) {
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
