/* The other members of a group, when one of them gets or loses a row. */

#include "links.h"

/* Plan to let the row that is to cross a member's bound and the one beside the bound change places,
   and to move the bound. */
static int
plan_crossing(Crossing *it, Component *plan, PyObject *member, const Rows *rows, uint64_t bound)
{
    it->rows = *rows;
    no_changes(&it->changes);
    if (!swaps(plan) || !open_change(&it->change, plan, member, &it->rows) ||
        !is_sound(&it->change, it->row) || !is_sound(&it->change, it->other)) {
        return 0;
    }
    plan_number(&it->changes, rows->data, plan->grouped, bound);
    if (!plan_step(&it->changes, rows->data, plan->version, 1) || it->changes.failed) {
        drop_changes(&it->changes);
        PyErr_Clear(); /* there is no memory: Python says so */
        return 0;
    }
    return 1;
}

void
cross(const Crossings *crossings)
{
    for (int i = 0; crossings != NULL && i < crossings->count; i++) {
        const Crossing *it = &crossings->members[i];
        if (it->row != it->other) {
            swap_rows(&it->change, it->row, it->other);
        }
        make_changes(&it->changes);
    }
}

void
drop_crossings(Crossings *crossings)
{
    while (crossings != NULL && crossings->count > 0) {
        drop_changes(&crossings->members[--crossings->count].changes);
    }
}

/* Find the rows of a member and the end of the group in it. */
static Component *
open_member(const Component *plan, PyObject *member, Rows *rows, uint64_t *bound)
{
    Component *its = plan_of_manager(&plan->plan, member);
    return its != NULL && its->grouped != ABSENT && open_rows(its, member, rows) &&
                   is_number(SLOT(rows->data, its->grouped), bound) && *bound <= rows->n
               ? its
               : NULL;
}

int
plan_entering(Crossings *crossings, const Component *plan, PyObject *others, PyObject *entity)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(others); i++) {
        PyObject *member = PyTuple_GET_ITEM(others, i);
        Rows rows;
        uint64_t row, bound;
        Component *its = open_member(plan, member, &rows, &bound);
        if (its == NULL || !find_row(its, member, &rows, entity, &row)) {
            return 0;
        }
        if (row == NIL) {
            drop_crossings(crossings);
            return 2;
        }
        if (crossings == NULL || crossings->count == MAX_MEMBERS || row < bound) {
            return 0;
        }
        Crossing *it = &crossings->members[crossings->count];
        it->row = row;
        it->other = bound;
        if (!plan_crossing(it, its, member, &rows, bound + 1)) {
            return 0;
        }
        crossings->count++;
    }
    return 1;
}

int
plan_leaving(Crossings *crossings, const Component *plan, PyObject *others, uint64_t row,
             uint64_t bound)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(others); i++) {
        PyObject *member = PyTuple_GET_ITEM(others, i);
        Rows rows;
        uint64_t its_bound;
        Component *its = open_member(plan, member, &rows, &its_bound);
        if (its == NULL || its_bound != bound || crossings == NULL ||
            crossings->count == MAX_MEMBERS) {
            return 0;
        }
        Crossing *it = &crossings->members[crossings->count];
        it->row = row;
        it->other = bound - 1;
        if (!plan_crossing(it, its, member, &rows, bound - 1)) {
            return 0;
        }
        crossings->count++;
    }
    return 1;
}
