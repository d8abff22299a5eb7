#include "batch_removal.h"

#include <stdlib.h>

/* True if nothing is beside the rows of a manager but a map in memory, and a family. */
static int
is_simple(const Component *plan)
{
    return plan->removes && (plan->is_direct || plan->sparse != ABSENT) &&
           plan->active == ABSENT && plan->id_slot == ABSENT && plan->id_generation == ABSENT &&
           !plan->releases_children;
}

int
open_batch_removal(BatchRemoval *it, const Plan *world, PyObject *manager, const Entities *entities,
             PyObject *owners)
{
    Component *plan = plan_of_manager(world, manager);
    no_changes(&it->changes);
    it->count = it->room = it->leaving = 0;
    return plan != NULL && is_simple(plan) && plan->entities == entities &&
           plan->released == ABSENT && SLOT(manager, plan->owners) == owners &&
           open_rows(plan, manager, &it->rows) && is_unlocked(plan, manager) &&
           open_change(&it->change, plan, manager, &it->rows);
}

void
add_row_of(BatchRemoval *it, uint64_t entity)
{
    uint64_t row = row_in(it->change.plan, &it->rows, &it->change.map, entity);
    if (row != NIL && it->count < it->room) {
        it->gone[it->count++] = (uint32_t)row;
    }
}

static int
compare(const void *one, const void *other)
{
    uint64_t a = get_u32(one), b = get_u32(other);
    return (a > b) - (a < b);
}

void
sort_rows(BatchRemoval *it)
{
    if (it->count > 1) {
        qsort(it->gone, (size_t)it->count, sizeof *it->gone, compare);
    }
}

void
add_dead_rows(BatchRemoval *it, const char *cells, uint64_t n_cells)
{
    const Component *plan = it->change.plan;
    for (uint64_t row = 0; row < it->rows.n && it->count < it->room; row++) {
        uint64_t owner = owner_of(plan, &it->rows, row), index = owner & plan->index_mask;
        if (owner != 0 && (index >= n_cells || get_u64(cells + 8 * index) != owner)) {
            it->gone[it->count++] = (uint32_t)row;
        }
    }
}

/* Marks of rows: what is below a row that is `WALKED` is marked, too. */
enum { STAYS, GOES, WALKED };

/* Mark what is below a row, in the order of the tree; 0 if links lead astray. */
static int
mark_below(const BatchRemoval *it, uint64_t top, char *marks)
{
    const Change *change = &it->change;
    const Component *plan = change->plan;
    uint64_t n = it->rows.n, row = top, steps = 0;
    for (;;) {
        uint64_t next = marks[row] == WALKED ? NIL : get_link(change, plan->first_child, row);
        while (next == NIL && row != top) {
            next = get_link(change, plan->next_sibling, row);
            row = next == NIL ? get_link(change, plan->parent, row) : row;
            if (row >= n || ++steps > 4 * n) {
                return 0;
            }
        }
        if (next == NIL) {
            marks[top] = WALKED;
            return 1;
        }
        if (next >= n || ++steps > 4 * n) {
            return 0;
        }
        row = next;
        marks[row] = marks[row] == WALKED ? WALKED : GOES;
    }
}

int
add_descendants(BatchRemoval *it, uint64_t *owners, uint64_t *count)
{
    const Component *plan = it->change.plan;
    uint64_t n = it->rows.n;
    char *marks = PyMem_Calloc((size_t)n + 1, 1);
    int done = marks != NULL;
    for (uint64_t i = 0; done && i < it->count; i++) {
        uint64_t row = it->gone[i];
        if (marks[row] == STAYS) { /* else it is below another, and so is what is below it */
            marks[row] = GOES;
            done = are_links_sound(&it->change, row) && mark_below(it, row, marks);
        }
    }
    it->count = *count = 0;
    for (uint64_t row = 0; done && row < n; row++) {
        if (marks[row]) {
            uint64_t parent = get_link(&it->change, plan->parent, row);
            if (parent < n && marks[parent]) {
                owners[(*count)++] = owner_of(plan, &it->rows, row);
            }
            it->gone[it->count++] = (uint32_t)row;
        }
    }
    PyMem_Free(marks);
    return done;
}

/* Return the end of a direct manager without rows that go. */
static uint64_t
end_without(const BatchRemoval *it)
{
    uint64_t end = it->rows.n, left = it->count;
    while (end > 0) {
        if (left > 0 && it->gone[left - 1] == end - 1) {
            left--;
        }
        else if (owner_of(it->change.plan, &it->rows, end - 1) != 0) {
            break;
        }
        end--;
    }
    return end;
}

int
plan_batch_removal(BatchRemoval *it, uint64_t more)
{
    const Component *plan = it->change.plan;
    PyObject *data = it->rows.data;
    uint64_t end = it->rows.n - it->count - more;
    int steps = (it->count > 0) + (more > 0);
    it->leaving = it->count + more;
    if (steps == 0) {
        return 1;
    }
    if (plan->is_direct) {
        end = end_without(it);
        if (more > 0 || !plan_step(&it->changes, data, plan->count, -(int64_t)it->count)) {
            return 0;
        }
    }
    for (uint64_t row = end; !plan->is_direct && row < it->rows.n; row++) {
        if (!is_sound(&it->change, row)) {
            return 0;
        }
    }
    plan_number(&it->changes, data, plan->n, end);
    return plan_step(&it->changes, data, plan->version, steps) && !it->changes.failed;
}

/* Take what goes out of the children of what stays; the mark of that is the map, which has forgotten
   who goes. */
static void
detach_batch(const BatchRemoval *it)
{
    const Change *change = &it->change;
    const Component *plan = change->plan;
    for (uint64_t i = 0; i < it->count; i++) {
        uint64_t parent = get_link(change, plan->parent, it->gone[i]);
        if (parent != NIL && first_of(change, owner_of(plan, &it->rows, parent)) == parent) {
            leave_parent(change, it->gone[i]);
        }
    }
}

static void
let_go_directly(const BatchRemoval *it)
{
    const Component *plan = it->change.plan;
    for (uint64_t i = 0; i < it->count; i++) {
        put_u64(cell_number(plan, &it->rows, plan->entity, it->gone[i]), 0);
    }
}

void
commit_batch_removal(BatchRemoval *it)
{
    const Change *change = &it->change;
    const Component *plan = change->plan;
    if (plan->is_direct) {
        let_go_directly(it);
        it->count = 0;
        return;
    }
    for (uint64_t i = 0; i < it->count; i++) {
        enter(change, owner_of(plan, &it->rows, it->gone[i]), NIL);
    }
    if (has_hierarchy(plan)) {
        detach_batch(it);
    }
    uint64_t kept = it->rows.n - it->count, hole = 0, behind = 0;
    while (behind < it->count && it->gone[behind] < kept) {
        behind++;
    }
    for (uint64_t row = kept; row < it->rows.n; row++) {
        if (behind < it->count && it->gone[behind] == row) {
            behind++;
        }
        else {
            move_row(change, row, it->gone[hole++]);
        }
    }
    it->rows.n = kept;
    it->count = 0;
}
