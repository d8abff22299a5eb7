/* The entity manager: which entities are alive, one that comes, one that goes. */

#include "entities.h"

#include "rows.h"

#define PLAN(callable) ((Entities *)((Method *)(callable))->plan)
#define PARAMETERS PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames
#define LEAVE leave(callable, args, nargsf, kwnames)

/* A manager and its queue of free indices, as long as no Python code runs. */
typedef struct {
    char *cells; /* the handles */
    uint64_t n_cells;
    PyObject *queue;
    char *ring;
    uint64_t count, head, mask;
} State;

/* Read the module's limits, which tests make smaller. */
static int
read_limits_slowly(Entities *plan)
{
    return is_number(PyDict_GetItemString(plan->globals, "MIN_FREE"), &plan->min_free) &&
           is_number(PyDict_GetItemString(plan->globals, "INDEX_COUNT"), &plan->index_count) &&
           is_number(PyDict_GetItemString(plan->globals, "LAST_GENERATION"),
                     &plan->last_generation);
}

/* Read them again if any name of the module has another value now. */
static inline int
read_limits(Entities *plan)
{
#if PY_VERSION_HEX < 0x030C0000
    uint64_t tag = ((PyDictObject *)plan->globals)->ma_version_tag;
    if (tag == plan->limits_tag) {
        return 1;
    }
    plan->limits_tag = 0;
    if (!read_limits_slowly(plan)) {
        return 0;
    }
    plan->limits_tag = tag;
    return 1;
#else
    return read_limits_slowly(plan);
#endif
}

/* Find the cells of a manager. */
static inline int
open_cells(Entities *plan, PyObject *self, State *state)
{
    uint64_t nbytes = 0;
    if (!guard_holds(&plan->plan.guard, self)) {
        return 0;
    }
    state->cells = memory_of(SLOT(self, plan->cells), &nbytes);
    state->n_cells = nbytes / 8;
    return state->cells != NULL;
}

/* Find the queue of free indices, too. */
static inline int
open_state(Entities *plan, PyObject *self, State *state)
{
    uint64_t nbytes = 0;
    if (!open_cells(plan, self, state)) {
        return 0;
    }
    PyObject *queue = state->queue = SLOT(self, plan->free);
    if (queue == NULL || !guard_holds(&plan->plan.parts, queue) ||
        !is_number(SLOT(queue, plan->queue_count), &state->count) ||
        !is_number(SLOT(queue, plan->queue_mask), &state->mask)) {
        return 0;
    }
    state->ring = memory_of(SLOT(queue, plan->queue_cells), &nbytes);
    if (state->ring == NULL || nbytes != 4 * (state->mask + 1)) {
        return 0;
    }
    return is_number(SLOT(queue, plan->queue_head), &state->head); /* below zero: after put_back */
}

/* Find out whether the entity that is a method's only argument is alive. */
static int
ask(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames, int *is_alive)
{
    State state;
    uint64_t entity;
    if (!has_args(nargsf, kwnames, 2) || !open_cells(PLAN(callable), args[0], &state) ||
        !is_number(args[1], &entity)) {
        return 0;
    }
    uint64_t index = entity & PLAN(callable)->index_mask;
    *is_alive = index < state.n_cells && get_u64(state.cells + 8 * index) == entity;
    return 1;
}

static PyObject *
alive(PARAMETERS)
{
    int is_alive;
    return ask(callable, args, nargsf, kwnames, &is_alive) ? PyBool_FromLong(is_alive) : LEAVE;
}

static PyObject *
require(PARAMETERS)
{
    int is_alive;
    if (ask(callable, args, nargsf, kwnames, &is_alive) && is_alive) {
        return Py_NewRef(args[1]);
    }
    return LEAVE;
}

/* Use the index again that has waited longest. */
static int
plan_again(NewEntity *it, const Entities *plan, const State *state)
{
    uint64_t index = get_u32(state->ring + 4 * (state->head & state->mask));
    if (index >= state->n_cells) {
        return 0;
    }
    it->cell = state->cells + 8 * index;
    it->handle = get_u64(it->cell) ^ 1;
    plan_number(&it->changes, state->queue, plan->queue_head, state->head + 1);
    plan_number(&it->changes, state->queue, plan->queue_count, state->count - 1);
    return 1;
}

/* Use an index for the first time. */
static int
plan_fresh(NewEntity *it, const Entities *plan, PyObject *self, const State *state)
{
    uint64_t index;
    if (!is_number(SLOT(self, plan->n_used), &index) || index >= plan->index_count ||
        index >= state->n_cells) {
        return 0; /* there must be more cells, or there are no more indices */
    }
    it->cell = state->cells + 8 * index;
    it->handle = plan->one_generation | index;
    plan_number(&it->changes, self, plan->n_used, index + 1);
    return 1;
}

int
plan_entity(NewEntity *it, Entities *plan, PyObject *self)
{
    State state;
    if (!open_state(plan, self, &state) || !read_limits(plan)) {
        return 0;
    }
    no_changes(&it->changes);
    it->entity = NULL;
    int done = state.count > plan->min_free ? plan_again(it, plan, &state)
                                            : plan_fresh(it, plan, self, &state);
    if (done && !it->changes.failed) {
        it->entity = from_u64(it->handle);
    }
    if (done && it->entity == NULL) {
        done = -1;
    }
    if (done <= 0) {
        drop_entity(it);
    }
    return done;
}

void
drop_entity(NewEntity *it)
{
    drop_changes(&it->changes);
    Py_CLEAR(it->entity);
}

PyObject *
add_entity(NewEntity *it)
{
    put_u64(it->cell, it->handle);
    make_changes(&it->changes);
    return it->entity;
}

static PyObject *
create(PARAMETERS)
{
    NewEntity entity;
    int done = has_args(nargsf, kwnames, 1) ? plan_entity(&entity, PLAN(callable), args[0]) : 0;
    return done == 0 ? LEAVE : done < 0 ? NULL : add_entity(&entity);
}

/* Whether a list or queue is empty. */
static inline int
is_empty(PyObject *object)
{
    return object != NULL && PyObject_Length(object) == 0;
}

/* Find those that are to be told of deaths; NULL if callbacks are running. */
static PyObject *
told_of_deaths(const Entities *plan, PyObject *self)
{
    uint64_t depth;
    PyObject *dispatch = SLOT(self, plan->dispatch), *callbacks = SLOT(self, plan->callbacks);
    if (dispatch == NULL || Py_TYPE(dispatch) != plan->dispatch_kind || callbacks == NULL ||
        Py_TYPE(callbacks) != plan->callbacks_kind ||
        !is_number(SLOT(dispatch, plan->depth), &depth) || depth != 0) {
        return NULL;
    }
    PyObject *entries = SLOT(callbacks, plan->entries);
    if (entries == NULL || !PyTuple_CheckExact(entries)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(entries) > 0 && (!is_empty(SLOT(dispatch, plan->errors)) ||
                                          !is_empty(SLOT(dispatch, plan->waiting)))) {
        return NULL;
    }
    return entries;
}

/* Find the manager that an entry tells, NULL if it is gone; 0 for a callback. */
static int
open_entry(const Entities *plan, PyObject *entry, PyObject **manager)
{
    if (Py_TYPE(entry) != plan->entry_kind) {
        return 0;
    }
    PyObject *follower = SLOT(entry, plan->follower);
    if (follower == NULL || !PyWeakref_CheckRefExact(follower)) {
        return 0;
    }
    *manager = PyWeakref_GET_OBJECT(follower);
    if (*manager == Py_None) {
        *manager = NULL;
    }
    return 1;
}

/* Plan to remove what an entity has in a manager by `remove`; 2 if it has nothing there. */
static int
plan_follower(Removal *it, const Entities *plan, PyObject *remove, PyObject *manager,
              PyObject *entity)
{
    Component *component = plan_of_manager(&plan->plan, manager);
    Rows rows;
    uint64_t row;
    if (component == NULL || remove != component->remove || !open_rows(component, manager, &rows) ||
        !is_unlocked(component, manager) || !find_row(component, manager, &rows, entity, &row)) {
        return 0;
    }
    if (row == NIL) {
        return 2;
    }
    if (!component->removes || !is_only(component, &rows, row)) {
        return 0;
    }
    return plan_removal(it, component, manager, &rows, row);
}

typedef struct {
    Removal removals[MAX_FOLLOWERS];
    PyObject *managers[MAX_FOLLOWERS];
    int count;
} Following;

static int
has_follower(const Following *following, const PyObject *manager)
{
    for (int i = 0; i < following->count; i++) {
        if (following->managers[i] == manager) {
            return 1;
        }
    }
    return 0;
}

/* Plan the removal of all that goes with an entity. */
static int
plan_following(Following *it, const Entities *plan, PyObject *entries, PyObject *entity)
{
    int done = 1;
    for (Py_ssize_t i = 0; done > 0 && i < PyTuple_GET_SIZE(entries); i++) {
        PyObject *entry = PyTuple_GET_ITEM(entries, i), *manager;
        if (!open_entry(plan, entry, &manager) || it->count == MAX_FOLLOWERS) {
            return 0;
        }
        if (manager == NULL) {
            continue;
        }
        if (has_follower(it, manager)) {
            return 0; /* told twice */
        }
        PyObject *remove = SLOT(entry, plan->remove);
        done = plan_follower(&it->removals[it->count], plan, remove, manager, entity);
        if (done == 1) {
            it->managers[it->count++] = manager;
        }
    }
    return done;
}

/* Let what goes with an entity go, or stay. */
static void
end_following(Following *it, int is_done)
{
    for (int i = 0; i < it->count; i++) {
        if (is_done) {
            remove_row(&it->removals[i]);
        }
        else {
            drop_removal(&it->removals[i]);
        }
    }
}

/* Plan to let an entity be dead; 0 if it is, or the last of its index, or the queue must grow. */
static inline int
plan_death(Changes *changes, const Entities *plan, const State *state, uint64_t entity)
{
    uint64_t index = entity & plan->index_mask;
    if (index >= state->n_cells || get_u64(state->cells + 8 * index) != entity ||
        entity >= plan->last_generation || state->count > state->mask) {
        return 0;
    }
    plan_number(changes, state->queue, plan->queue_count, state->count + 1);
    return changes->failed ? -1 : 1;
}

/* Destroy an entity, and what goes with it. */
static int
destroy_entity(Entities *plan, PyObject *self, PyObject *number)
{
    State state;
    Changes changes;
    Following following;
    uint64_t entity;
    if (!is_number(number, &entity) || !open_state(plan, self, &state) || !read_limits(plan)) {
        return 0;
    }
    PyObject *entries = told_of_deaths(plan, self);
    if (entries == NULL) {
        return 0;
    }
    no_changes(&changes);
    following.count = 0;
    int done = plan_death(&changes, plan, &state, entity);
    if (done > 0 && PyTuple_GET_SIZE(entries) > 0) {
        done = plan_following(&following, plan, entries, number);
    }
    if (done <= 0) {
        drop_changes(&changes);
        end_following(&following, 0);
        return done;
    }
    uint64_t index = entity & plan->index_mask;
    put_u32(state.ring + 4 * ((state.head + state.count) & state.mask), index);
    put_u64(state.cells + 8 * index, (entity + plan->one_generation) ^ 1);
    make_changes(&changes);
    end_following(&following, 1);
    return 1;
}

static PyObject *
destroy(PARAMETERS)
{
    int done = 0;
    if (has_args(nargsf, kwnames, 2)) {
        done = destroy_entity(PLAN(callable), args[0], args[1]);
    }
    return done == 0 ? LEAVE : done < 0 ? NULL : Py_NewRef(Py_None);
}

const Function entity_functions[] = {
    {"alive", alive},
    {"require", require},
    {"create", create},
    {"destroy", destroy},
    {NULL, NULL},
};
