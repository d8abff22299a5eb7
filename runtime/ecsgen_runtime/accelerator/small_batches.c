/* Methods for many that are given a list of a few. */

#include "arrays.h"
#include "row_lookup.h"
#include "arguments.h"
#include "batch_removal.h"

/* So many at most: more are done faster at once. */
#define SMALL_BATCH 16

/* Read the numbers of a method's only argument, a list of a few; their count, or -1. */
static int
read_small_batch(PyObject *const *args, size_t nargsf, PyObject *kwnames, uint64_t *numbers)
{
    if (!has_args(nargsf, kwnames, 2) || !PyList_CheckExact(args[1]) ||
        PyList_GET_SIZE(args[1]) > SMALL_BATCH) {
        return -1;
    }
    int count = (int)PyList_GET_SIZE(args[1]);
    for (int i = 0; i < count; i++) {
        if (!is_number(PyList_GET_ITEM(args[1], i), &numbers[i])) {
            return -1;
        }
    }
    return count;
}

PyObject *
lookup_small_batch(PARAMETERS)
{
    Component *plan = PLAN(callable);
    uint64_t entities[SMALL_BATCH], row;
    int64_t rows[SMALL_BATCH];
    PyObject *data;
    int count = read_small_batch(args, nargsf, kwnames, entities);
    for (int i = 0; i < count; i++) {
        if (!find_entity(plan, args[0], PyList_GET_ITEM(args[1], i), &data, &row)) {
            return LEAVE;
        }
        rows[i] = (int64_t)row;
    }
    return count <= 0 ? LEAVE : array_of(plan->empty, plan->dtype, rows, (uint64_t)count);
}

/* An entity may be given twice, and goes once. */
static void
drop_repeats(BatchRemoval *it)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < it->count; i++) {
        if (i == 0 || it->gone[i] != it->gone[i - 1]) {
            it->gone[kept++] = it->gone[i];
        }
    }
    it->count = kept;
}

PyObject *
remove_small_batch(PARAMETERS)
{
    Component *plan = PLAN(callable);
    uint64_t entities[SMALL_BATCH];
    uint32_t gone[SMALL_BATCH];
    BatchRemoval leaving;
    int count = read_small_batch(args, nargsf, kwnames, entities);
    if (count < 0 || has_hierarchy(plan) || plan->owners == ABSENT ||
        !open_batch_removal(&leaving, &plan->plan, args[0], plan->entities, SLOT(args[0], plan->owners))) {
        return LEAVE;
    }
    leaving.gone = gone;
    leaving.room = SMALL_BATCH;
    for (int i = 0; i < count; i++) {
        add_row_of(&leaving, entities[i]);
    }
    sort_rows(&leaving);
    drop_repeats(&leaving);
    PyObject *went = plan_batch_removal(&leaving, 0)
                         ? PyLong_FromUnsignedLongLong(leaving.leaving)
                         : NULL;
    if (went == NULL) {
        PyErr_Clear();
        drop_changes(&leaving.changes);
        return LEAVE;
    }
    commit_batch_removal(&leaving);
    make_changes(&leaving.changes);
    return went;
}

/* True if a row may be added for each of some entities, without further ado. */
static int
are_new(const BatchRemoval *it, PyObject *self, const uint64_t *entities, int count)
{
    const Change *change = &it->change;
    const Component *plan = change->plan;
    if (it->rows.n + (uint64_t)count > it->rows.allocated) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        uint64_t index = entities[i] & plan->index_mask;
        if (!is_alive(plan, self, entities[i]) || index >= change->map.size ||
            first_of(change, index) != NIL) {
            return 0;
        }
        for (int k = 0; k < i; k++) {
            if (entities[k] == entities[i]) {
                return 0;
            }
        }
    }
    return 1;
}

PyObject *
create_small_batch(PARAMETERS)
{
    Component *plan = PLAN(callable);
    uint64_t entities[SMALL_BATCH];
    int64_t numbers[SMALL_BATCH];
    char scratch[MAX_ROW];
    BatchRemoval it;
    int count = read_small_batch(args, nargsf, NULL, entities);
    if (count <= 0 || plan->is_direct || !plan->creates ||
        !is_silent(plan, args[0], plan->added) ||
        !read_named(plan, args + 2, kwnames, scratch, NULL)) {
        return LEAVE;
    }
    Rows before;
    if (!open_rows(plan, args[0], &before)) {
        return LEAVE;
    }
    for (int i = 0; i < count; i++) {
        numbers[i] = (int64_t)before.n + i;
    }
    PyObject *rows = array_of(plan->empty, plan->dtype, numbers, (uint64_t)count);
    if (rows == NULL) {
        return NULL;
    }
    int done = open_batch_removal(&it, &plan->plan, args[0], plan->entities,
                                  SLOT(args[0], plan->owners)) &&
               it.rows.n == before.n && are_new(&it, args[0], entities, count);
    if (done) {
        plan_number(&it.changes, it.rows.data, plan->n, it.rows.n + (uint64_t)count);
        done = plan_step(&it.changes, it.rows.data, plan->version, 1) && !it.changes.failed;
    }
    for (int i = 0; done && i < count; i++) {
        add_simple_row(&it.change, it.rows.n + (uint64_t)i, entities[i], scratch);
    }
    if (!done) {
        PyErr_Clear();
        drop_changes(&it.changes);
        Py_DECREF(rows);
        return LEAVE;
    }
    make_changes(&it.changes);
    return rows;
}
