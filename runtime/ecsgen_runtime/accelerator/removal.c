/* One row that goes. */

#include "links.h"

static void
drop_keys(Removal *it)
{
    Py_CLEAR(it->gone);
    Py_CLEAR(it->moved);
    Py_CLEAR(it->place);
}

/* Make the keys that a dict is asked for. Both are there, so that nothing fails later: one value
   is replaced, and one key goes. */
static int
plan_dict(Removal *it)
{
    const Change *change = &it->change;
    const Component *plan = change->plan;
    it->gone = PyLong_FromUnsignedLongLong(owner_of(plan, change->rows, it->row));
    it->moved = PyLong_FromUnsignedLongLong(owner_of(plan, change->rows, change->rows->n - 1));
    it->place = PyLong_FromUnsignedLongLong(it->row);
    if (it->gone == NULL || it->moved == NULL || it->place == NULL) {
        return -1;
    }
    int is_there = PyDict_Contains(change->dict, it->gone);
    return is_there > 0 ? PyDict_Contains(change->dict, it->moved) : is_there;
}

/* Let a dict forget a row's owner, and let the one of the last row know where that goes. */
static void
remap_dict(Removal *it)
{
    PyObject *dict = it->change.dict;
    if (it->row != it->change.rows->n - 1) {
        (void)PyDict_SetItem(dict, it->moved, it->place);
    }
    (void)PyDict_DelItem(dict, it->gone);
}

/* Plan the end of a row of a direct manager. */
static int
plan_end(Removal *it, PyObject *data)
{
    const Component *plan = it->change.plan;
    const Rows *rows = &it->rows;
    uint64_t end = rows->n;
    if (it->row == end - 1) {
        for (end = it->row; end > 0 && owner_of(plan, rows, end - 1) == 0; end--) {
        }
    }
    plan_number(&it->changes, data, plan->n, end);
    return plan_step(&it->changes, data, plan->count, -1) &&
           plan_step(&it->changes, data, plan->version, 1);
}

/* True if a row can be removed without rows below it. */
static int
is_leaf(const Change *change, uint64_t row)
{
    const Component *plan = change->plan;
    return !has_hierarchy(plan) || get_link(change, plan->first_child, row) == NIL ||
           (plan->releases_children && are_children_sound(change, row));
}

/* Find out whether a row can go, and which row of the active ones takes its place. */
static int
plan_gap(Removal *it)
{
    const Change *change = &it->change;
    const Component *plan = change->plan;
    const Rows *rows = change->rows;
    uint64_t bound = 0;
    if (plan->active != ABSENT) {
        if (!is_number(SLOT(rows->data, plan->active), &bound) || bound > rows->n) {
            return 0;
        }
        if (it->row < bound) {
            it->active = bound - 1;
            plan_number(&it->changes, rows->data, plan->active, bound - 1);
        }
    }
    if (plan->id_slot != ABSENT) {
        uint64_t slot = get_link(change, plan->id_slot, it->row);
        if (slot >= rows->allocated || get_link(change, plan->id_generation, slot) == NIL) {
            return 0; /* worn out */
        }
    }
    plan_number(&it->changes, rows->data, plan->n, rows->n - 1);
    return plan_step(&it->changes, rows->data, plan->version, 1) && is_sound(change, it->row) &&
           is_sound(change, rows->n - 1) && (it->active == NIL || is_sound(change, it->active)) &&
           is_leaf(change, it->row);
}

static void
remove_packed(const Change *change, uint64_t row, uint64_t active)
{
    const Component *plan = change->plan;
    uint64_t last = change->rows->n - 1;
    uint64_t slot = 0;
    if (plan->sparse != ABSENT) {
        enter(change, owner_of(plan, change->rows, row), NIL);
    }
    if (plan->id_slot != ABSENT) {
        slot = get_link(change, plan->id_slot, row);
        put_link(change, plan->id_row, slot, NIL);
    }
    if (has_hierarchy(plan)) {
        if (get_link(change, plan->parent, row) != NIL) {
            leave_parent(change, row);
        }
        release_children(change, row);
    }
    if (active != NIL) {
        if (active != row) {
            move_row(change, active, row);
        }
        row = active; /* the inactive part has the hole now */
    }
    if (row != last) {
        move_row(change, last, row);
    }
    if (plan->id_slot != ABSENT) {
        put_link(change, plan->id_generation, slot, get_link(change, plan->id_generation, slot) + 1);
        put_link(change, plan->id_slot, last, slot);
    }
}

int
plan_removal(Removal *it, Component *plan, PyObject *self, const Rows *rows, uint64_t row)
{
    if (!is_silent(plan, self, plan->released)) {
        return 0;
    }
    it->rows = *rows;
    it->row = row;
    it->active = NIL;
    no_changes(&it->changes);
    if (!open_change(&it->change, plan, self, &it->rows)) {
        return 0;
    }
    it->gone = it->moved = it->place = NULL;
    int done = plan->is_direct ? plan_end(it, rows->data) : plan_gap(it);
    if (it->changes.failed) {
        done = -1;
    }
    if (done > 0 && it->change.dict != NULL) {
        done = plan_dict(it);
    }
    if (done <= 0) {
        drop_removal(it);
    }
    return done;
}

void
drop_removal(Removal *it)
{
    drop_changes(&it->changes);
    drop_keys(it);
}

void
remove_row(Removal *it)
{
    const Change *change = &it->change;
    if (change->plan->is_direct) {
        put_u64(cell_number(change->plan, change->rows, change->plan->entity, it->row), 0);
    }
    else {
        if (change->dict != NULL) {
            remap_dict(it);
        }
        remove_packed(change, it->row, it->active);
    }
    make_changes(&it->changes);
    drop_keys(it);
}

int
destroy_row(Component *plan, PyObject *self, const Rows *rows, uint64_t row)
{
    Removal removal;
    int done = plan_removal(&removal, plan, self, rows, row);
    if (done > 0) {
        remove_row(&removal);
    }
    return done;
}
