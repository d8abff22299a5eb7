/* Worlds: rows of the dead go, and with them those of a few that were noted. */

#include "entities.h"
#include "batch_removal.h"

#include <stdlib.h>

/* Entities that are noted at most, managers that collect, and rows of one of them: to look through
   more takes as long in Python. */
#define MAX_NOTED 16
#define MAX_COLLECTING 64
#define MAX_ROWS_SEEN 65536

/* A plan of despawns: entities die, their rows go and all that is below these in a hierarchy,
   then the owners of that die, and their rows go. */
typedef struct {
    Entities *plan;
    State state;
    SlotUpdates changes;
    uint64_t dying[MAX_NOTED]; /* in the order noted */
    int n_dying;
    int is_clean; /* true if no other entity is dead */
    BatchRemoval managers[MAX_COLLECTING];
    int n_managers, n_families;
    uint64_t *orphans; /* ascending */
    uint64_t n_orphans;
    uint64_t wanted; /* room in the queue of free indices; 0: there is enough */
    void *memory;
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

/* Find the noted entities that are alive, each once. */
static int
plan_deaths(Collection *it, PyObject *noted)
{
    it->n_dying = 0;
    for (Py_ssize_t i = 0; noted != NULL && i < PyList_GET_SIZE(noted); i++) {
        uint64_t entity;
        if (!is_number(PyList_GET_ITEM(noted, i), &entity)) {
            return 0;
        }
        if (lives(it->plan, &it->state, entity) && !is_dying(it, entity)) {
            it->dying[it->n_dying++] = entity;
        }
    }
    return 1;
}

/* True if a manager has no rows; a locked one has something to say. */
static int
is_empty(const Plan *world, PyObject *manager)
{
    Component *plan = plan_of_manager(world, manager);
    Rows rows;
    return plan != NULL && open_rows(plan, manager, &rows) && rows.n == 0 &&
           is_unlocked(plan, manager);
}

/* Find the managers that collect, and memory for the rows that go. */
static int
open_managers(Collection *it, const World *plan, PyObject *managers, PyObject *entities)
{
    size_t needed = 0;
    it->n_managers = it->n_families = 0;
    it->orphans = NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(managers); i++) {
        BatchRemoval *leaving = &it->managers[it->n_managers];
        PyObject *manager = PyTuple_GET_ITEM(managers, i);
        if (is_empty(&plan->plan, manager)) {
            continue;
        }
        if (!open_batch_removal(leaving, &plan->plan, manager, it->plan, entities) ||
            leaving->rows.n > MAX_ROWS_SEEN) {
            return 0;
        }
        it->n_managers++;
        it->n_families += has_hierarchy(leaving->change.plan);
    }
    for (int i = 0; i < it->n_managers; i++) {
        BatchRemoval *leaving = &it->managers[i];
        int is_few = it->is_clean && it->n_families == 0;
        leaving->room = is_few ? (uint64_t)it->n_dying : leaving->rows.n;
        needed += leaving->room * (has_hierarchy(leaving->change.plan) ? 12 : 4);
    }
    it->memory = PyMem_Malloc(needed + 8);
    char *at = it->memory;
    for (int family = 1; at != NULL && family >= 0; family--) { /* the orphans first: of 64 bits */
        for (int i = 0; i < it->n_managers; i++) {
            BatchRemoval *leaving = &it->managers[i];
            if (has_hierarchy(leaving->change.plan) == family) {
                it->orphans = family ? (uint64_t *)at : it->orphans;
                at += family ? 8 * leaving->room : 0;
                leaving->gone = (uint32_t *)at;
                at += 4 * leaving->room;
            }
        }
    }
    return at != NULL && it->n_families <= 1;
}

static int
compare(const void *one, const void *other)
{
    uint64_t a = get_u64(one), b = get_u64(other);
    return (a > b) - (a < b);
}

/* Find the cascade below dead rows' entities; only live ones count. */
static int
plan_orphans(Collection *it, BatchRemoval *leaving)
{
    uint64_t count, kept = 0;
    if (!add_descendants(leaving, it->orphans, &count)) {
        return 0;
    }
    for (uint64_t i = 0; leaving->change.plan->kills_orphans && i < count; i++) {
        uint64_t owner = it->orphans[i];
        if (lives(it->plan, &it->state, owner) && !is_dying(it, owner)) {
            it->orphans[kept++] = owner;
        }
    }
    it->n_orphans = kept;
    qsort(it->orphans, (size_t)kept, sizeof *it->orphans, compare);
    return 1;
}

/* Find the rows that go at first. */
static int
plan_first(Collection *it)
{
    it->n_orphans = 0;
    for (int i = 0; i < it->n_managers; i++) {
        BatchRemoval *leaving = &it->managers[i];
        if (!it->is_clean) {
            add_dead_rows(leaving, it->state.cells, it->state.n_cells);
        }
        for (int k = 0; k < it->n_dying; k++) {
            add_row_of(leaving, it->dying[k]);
        }
        sort_rows(leaving);
        if (leaving->count > 0 && has_hierarchy(leaving->change.plan) &&
            !plan_orphans(it, leaving)) {
            return 0;
        }
    }
    return 1;
}

/* Plan all numbers; nothing fails behind that. */
static int
plan_numbers(Collection *it)
{
    const Entities *plan = it->plan;
    uint64_t dead = (uint64_t)it->n_dying + it->n_orphans;
    for (int i = 0; i < it->n_dying; i++) {
        if (it->dying[i] >= plan->last_generation) {
            return 0;
        }
    }
    if (it->n_orphans > 0 && it->orphans[it->n_orphans - 1] >= plan->last_generation) {
        return 0; /* an index is worn out */
    }
    if (it->state.count + dead > it->state.mask + 1) {
        it->wanted = it->state.count + dead;
        return 0;
    }
    if (dead > 0) {
        plan_number(&it->changes, it->state.queue, plan->queue_count, it->state.count + dead);
    }
    for (int i = 0; i < it->n_managers; i++) {
        BatchRemoval *leaving = &it->managers[i];
        uint64_t more = 0;
        for (uint64_t k = 0; !has_hierarchy(leaving->change.plan) && k < it->n_orphans; k++) {
            more += row_in(leaving->change.plan, &leaving->rows, &leaving->change.map,
                           it->orphans[k]) != NIL;
        }
        if (!plan_batch_removal(leaving, more)) {
            return 0;
        }
    }
    return !it->changes.failed;
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

static void
finish(Collection *it)
{
    for (int i = 0; i < it->n_dying; i++) {
        kill_entity(it->plan, &it->state, it->dying[i]);
    }
    for (int i = 0; i < it->n_managers; i++) {
        commit_batch_removal(&it->managers[i]);
    }
    for (uint64_t k = 0; k < it->n_orphans; k++) {
        kill_entity(it->plan, &it->state, it->orphans[k]);
    }
    for (int i = 0; i < it->n_managers; i++) {
        BatchRemoval *leaving = &it->managers[i];
        for (uint64_t k = 0; !has_hierarchy(leaving->change.plan) && k < it->n_orphans; k++) {
            add_row_of(leaving, it->orphans[k]);
        }
        sort_rows(leaving);
        commit_batch_removal(leaving);
        make_changes(&leaving->changes);
    }
    make_changes(&it->changes);
}

/* True if no callback waits, and no despawn listener has rows to remove. */
static int
is_quiet(const Entities *plan, PyObject *entities)
{
    PyObject *dispatch = SLOT(entities, plan->dispatch);
    PyObject *entries = despawn_listeners(plan, entities);
    return entries != NULL && has_no_listeners(plan, entries) &&
           PyObject_Length(SLOT(dispatch, plan->errors)) == 0 &&
           PyObject_Length(SLOT(dispatch, plan->waiting)) == 0;
}

/* Plan everything, if that is usual. */
static int
plan_collection(Collection *it, World *plan, PyObject *self, PyObject *entities, PyObject *clean,
                uint64_t *deaths)
{
    uint64_t retired, before;
    PyObject *noted = SLOT(self, plan->deferred_despawns), *managers = SLOT(self, plan->collecting_managers);
    if ((noted != NULL && (!PyList_CheckExact(noted) || PyList_GET_SIZE(noted) > MAX_NOTED)) ||
        managers == NULL || !PyTuple_CheckExact(managers) ||
        PyTuple_GET_SIZE(managers) > MAX_COLLECTING ||
        !open_state(it->plan, entities, &it->state) || !read_limits(it->plan) ||
        !is_quiet(it->plan, entities) ||
        !is_number(SLOT(entities, it->plan->n_retired), &retired)) {
        return 0;
    }
    *deaths = it->state.head + it->state.count + retired;
    it->is_clean = is_number(clean, &before) && before == *deaths;
    if (!plan_deaths(it, noted)) {
        return 0;
    }
    *deaths += (uint64_t)it->n_dying; /* orphans do not count: Python looks for them again */
    return open_managers(it, plan, managers, entities) && plan_first(it) && plan_numbers(it);
}

/* Do what was planned, of which the first thing may fail. */
static PyObject *
carry_out(Collection *it, const World *plan, PyObject *self, PyObject *entities, uint64_t deaths)
{
    PyObject *noted = SLOT(self, plan->deferred_despawns);
    uint64_t rows = 0;
    for (int i = 0; i < it->n_managers; i++) {
        rows += it->managers[i].leaving;
    }
    PyObject *gone = PyLong_FromUnsignedLongLong(rows);
    PyObject *now = PyLong_FromUnsignedLongLong(deaths);
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

/* Reserve room in the queue of free indices; 0 leaves it to Python. */
static int
enlarge_queue(Collection *it, PyObject *reserve)
{
    PyObject *wanted = PyLong_FromUnsignedLongLong(it->wanted);
    PyObject *done = wanted == NULL
                         ? NULL
                         : PyObject_CallMethodOneArg(it->state.queue, reserve, wanted);
    Py_XDECREF(wanted);
    Py_XDECREF(done);
    PyErr_Clear();
    return done != NULL;
}

/* Try to collect with what there is; NULL leaves it to Python, or to another try. */
static PyObject *
try_to_collect(Collection *it, World *plan, PyObject *self, PyObject *entities)
{
    uint64_t deaths;
    PyObject *gone = NULL;
    it->plan = plan->entities_plan;
    it->n_managers = 0;
    it->memory = NULL;
    it->wanted = 0;
    no_changes(&it->changes);
    if (!guard_holds(&it->plan->plan.guard, entities)) {
        return NULL;
    }
    PyObject *clean = PyObject_GetAttr(entities, plan->clean);
    PyErr_Clear();
    if (clean != NULL && plan_collection(it, plan, self, entities, clean, &deaths)) {
        gone = carry_out(it, plan, self, entities, deaths);
    }
    else {
        drop(it);
    }
    PyMem_Free(it->memory);
    Py_XDECREF(clean);
    return gone;
}

PyObject *
collect_small_batch(World *plan, PyObject *self)
{
    Collection it;
    PyObject *entities = PyObject_GetAttr(self, plan->entities), *gone = NULL;
    if (entities != NULL) {
        gone = try_to_collect(&it, plan, self, entities);
        if (gone == NULL && it.wanted > 0 && enlarge_queue(&it, plan->reserve)) {
            gone = try_to_collect(&it, plan, self, entities);
        }
        Py_DECREF(entities);
    }
    PyErr_Clear();
    return gone;
}
