/* Worlds: a few entities that die together, and all their rows. */

#include "collecting.h"

#include "entities.h"
#include "links.h"

/* Entities that are noted at most, and managers that collect. */
#define MAX_NOTED 16
#define MAX_COLLECTING 64

/* Rows that are going to go from one manager. */
typedef struct {
    Change change;
    Rows rows;
    Changes changes;
    uint64_t gone[MAX_NOTED]; /* ascending */
    int count;
} Leaving;

/* What is going to happen. */
typedef struct {
    Entities *plan;
    State state;
    Changes changes;
    uint64_t dying[MAX_NOTED]; /* in the order noted */
    int n_dying;
    Leaving managers[MAX_COLLECTING];
    int n_managers;
    int64_t n_gone;
} Collection;

/* ---- what is planned ------------------------------------------------------------------------ */

static int
is_dying(const Collection *it, uint64_t entity)
{
    for (int i = 0; i < it->n_dying; i++) {
        if (it->dying[i] == entity) {
            return 1;
        }
    }
    return 0;
}

/* Find out who of the noted is alive, each once. */
static int
plan_deaths(Collection *it, PyObject *noted)
{
    const Entities *plan = it->plan;
    const State *state = &it->state;
    it->n_dying = 0;
    for (Py_ssize_t i = 0; noted != NULL && i < PyList_GET_SIZE(noted); i++) {
        uint64_t entity;
        if (!is_number(PyList_GET_ITEM(noted, i), &entity)) {
            return 0;
        }
        uint64_t index = entity & plan->index_mask;
        if (index < state->n_cells && get_u64(state->cells + 8 * index) == entity &&
            !is_dying(it, entity)) {
            if (entity >= plan->last_generation) {
                return 0;
            }
            it->dying[it->n_dying++] = entity;
        }
    }
    uint64_t count = state->count + (uint64_t)it->n_dying;
    if (count > state->mask + 1) {
        return 0; /* the queue must grow */
    }
    if (it->n_dying > 0) {
        plan_number(&it->changes, state->queue, plan->queue_count, count);
    }
    return 1;
}

/* Note a row, in order. */
static void
note_gone(Leaving *it, uint64_t row)
{
    int place = it->count++;
    for (; place > 0 && it->gone[place - 1] > row; place--) {
        it->gone[place] = it->gone[place - 1];
    }
    it->gone[place] = row;
}

/* Return the end of a direct manager without rows that go. */
static uint64_t
end_without(const Leaving *it)
{
    uint64_t end = it->rows.n;
    int left = it->count;
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

/* Plan what the numbers of a manager are to be. */
static int
plan_numbers(Leaving *it)
{
    const Component *plan = it->change.plan;
    PyObject *data = it->rows.data;
    if (it->count == 0) {
        return 1;
    }
    if (plan->is_direct) {
        plan_number(&it->changes, data, plan->n, end_without(it));
        return plan_step(&it->changes, data, plan->count, -it->count) &&
               plan_step(&it->changes, data, plan->version, 1);
    }
    plan_number(&it->changes, data, plan->n, it->rows.n - (uint64_t)it->count);
    return plan_step(&it->changes, data, plan->version, 1);
}

/* Whether nothing is beside the rows of a manager but a map in memory. */
static int
is_simple(const Component *plan)
{
    return plan->removes && !plan->is_many && (plan->is_direct || plan->sparse != ABSENT) &&
           plan->active == ABSENT && plan->grouped == ABSENT && plan->id_slot == ABSENT &&
           plan->id_generation == ABSENT && plan->released == ABSENT && !has_family(plan);
}

/* Plan which rows of a manager go. */
static int
plan_manager(Collection *it, const Plan *world, PyObject *manager, PyObject *entities)
{
    Component *plan = plan_of_manager(world, manager);
    Leaving *leaving = &it->managers[it->n_managers];
    no_changes(&leaving->changes);
    leaving->count = 0;
    if (plan == NULL || !is_simple(plan) || plan->entities != it->plan ||
        SLOT(manager, plan->owners) != entities || !open_rows(plan, manager, &leaving->rows) ||
        !is_unlocked(plan, manager) ||
        !open_change(&leaving->change, plan, manager, &leaving->rows)) {
        return 0;
    }
    for (int i = 0; i < it->n_dying; i++) {
        uint64_t index = it->dying[i] & plan->index_mask, row = index;
        if (!plan->is_direct) {
            row = index < leaving->change.map.size ? first_of(&leaving->change, index) : NIL;
        }
        if (row < leaving->rows.n && owner_of(plan, &leaving->rows, row) == it->dying[i]) {
            note_gone(leaving, row);
        }
    }
    it->n_managers++;
    it->n_gone += leaving->count;
    for (uint64_t row = leaving->rows.n - (uint64_t)leaving->count; row < leaving->rows.n; row++) {
        if (!plan->is_direct && !is_sound(&leaving->change, row)) {
            return 0;
        }
    }
    return plan_numbers(leaving) && !leaving->changes.failed;
}

/* ---- what is done --------------------------------------------------------------------------- */

static void
drop(Collection *it)
{
    drop_changes(&it->changes);
    for (int i = 0; i < it->n_managers; i++) {
        drop_changes(&it->managers[i].changes);
    }
}

/* Let rows go: those behind the new end move, ascending, into the holes before it. */
static void
let_go(const Leaving *it)
{
    const Change *change = &it->change;
    const Component *plan = change->plan;
    if (plan->is_direct) {
        for (int i = 0; i < it->count; i++) {
            put_u64(cell_of(plan, &it->rows, plan->entity, it->gone[i]), 0);
        }
        return;
    }
    for (int i = 0; i < it->count; i++) {
        enter(change, owner_of(plan, &it->rows, it->gone[i]), NIL);
    }
    uint64_t kept = it->rows.n - (uint64_t)it->count;
    int hole = 0, behind = 0;
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
}

static void
finish(Collection *it)
{
    const Entities *plan = it->plan;
    const State *state = &it->state;
    for (int i = 0; i < it->n_dying; i++) {
        uint64_t entity = it->dying[i], index = entity & plan->index_mask;
        put_u32(state->ring + 4 * ((state->head + state->count + (uint64_t)i) & state->mask),
                index);
        put_u64(state->cells + 8 * index, (entity + plan->one_generation) ^ 1);
    }
    make_changes(&it->changes);
    for (int i = 0; i < it->n_managers; i++) {
        let_go(&it->managers[i]);
        make_changes(&it->managers[i].changes);
    }
}

/* Whether nobody waits for callbacks, or is told of deaths. */
static int
is_quiet(const Entities *plan, PyObject *entities)
{
    PyObject *dispatch = SLOT(entities, plan->dispatch);
    PyObject *entries = told_of_deaths(plan, entities);
    return entries != NULL && PyTuple_GET_SIZE(entries) == 0 &&
           PyObject_Length(SLOT(dispatch, plan->errors)) == 0 &&
           PyObject_Length(SLOT(dispatch, plan->waiting)) == 0;
}

/* Plan everything; 0 leaves it to Python. */
static int
plan_collection(Collection *it, World *plan, PyObject *self, PyObject *entities, uint64_t clean)
{
    uint64_t retired;
    PyObject *noted = SLOT(self, plan->noted), *managers = SLOT(self, plan->collecting);
    if ((noted != NULL && (!PyList_CheckExact(noted) || PyList_GET_SIZE(noted) > MAX_NOTED)) ||
        managers == NULL || !PyTuple_CheckExact(managers) ||
        PyTuple_GET_SIZE(managers) > MAX_COLLECTING || !open_state(it->plan, entities, &it->state) ||
        !read_limits(it->plan) || !is_quiet(it->plan, entities) ||
        !is_number(SLOT(entities, it->plan->n_retired), &retired) ||
        it->state.head + it->state.count + retired != clean || !plan_deaths(it, noted)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(managers); i++) {
        if (!plan_manager(it, &plan->plan, PyTuple_GET_ITEM(managers, i), entities)) {
            return 0;
        }
    }
    return !it->changes.failed;
}

/* Do what was planned, of which the first thing may fail. */
static PyObject *
carry_out(Collection *it, const World *plan, PyObject *self, PyObject *entities, uint64_t clean)
{
    PyObject *noted = SLOT(self, plan->noted);
    PyObject *gone = PyLong_FromLongLong(it->n_gone);
    PyObject *now = PyLong_FromUnsignedLongLong(clean + (uint64_t)it->n_dying);
    if (gone == NULL || now == NULL || PyObject_SetAttr(entities, plan->clean, now) < 0) {
        PyErr_Clear();
        Py_CLEAR(gone);
        drop(it);
    }
    else {
        finish(it);
        if (noted != NULL) {
            (void)PyList_SetSlice(noted, 0, PyList_GET_SIZE(noted), NULL); /* of ints */
        }
    }
    Py_XDECREF(now);
    return gone;
}

PyObject *
collect_few(World *plan, PyObject *self)
{
    Collection it;
    uint64_t clean;
    it.plan = plan->entities_plan;
    it.n_managers = 0;
    it.n_gone = 0;
    no_changes(&it.changes);
    PyObject *entities = PyObject_GetAttr(self, plan->entities);
    PyObject *before = NULL, *gone = NULL;
    if (entities != NULL && guard_holds(&it.plan->plan.guard, entities)) {
        before = PyObject_GetAttr(entities, plan->clean);
    }
    PyErr_Clear();
    if (is_number(before, &clean)) {
        if (plan_collection(&it, plan, self, entities, clean)) {
            gone = carry_out(&it, plan, self, entities, clean);
        }
        else {
            drop(&it);
        }
    }
    Py_XDECREF(before);
    Py_XDECREF(entities);
    return gone;
}
