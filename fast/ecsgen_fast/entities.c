/* The entity manager: which entities are alive, one that comes, one that goes. */

#include "changes.h"

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

/* Read the module's limits again, if any of its names has another value now. */
static int
read_limits(Entities *plan)
{
#if PY_VERSION_HEX < 0x030C0000
    uint64_t tag = ((PyDictObject *)plan->globals)->ma_version_tag;
    if (tag == plan->limits_tag) {
        return 1;
    }
#else
    uint64_t tag = 0;
#endif
    int is_known = is_number(PyDict_GetItemString(plan->globals, "MIN_FREE"), &plan->min_free) &&
        is_number(PyDict_GetItemString(plan->globals, "INDEX_COUNT"), &plan->index_count) &&
        is_number(PyDict_GetItemString(plan->globals, "LAST_GENERATION"), &plan->last_generation);
    plan->limits_tag = is_known ? tag : 0;
    return is_known;
}

/* Find the cells of a manager. */
static int
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
static int
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
static PyObject *
create_again(const Entities *plan, const State *state)
{
    uint64_t index = get_u32(state->ring + 4 * (state->head & state->mask));
    if (index >= state->n_cells) {
        return NULL;
    }
    uint64_t handle = get_u64(state->cells + 8 * index) ^ 1;
    PyObject *result = PyLong_FromUnsignedLongLong(handle);
    Changes changes;
    no_changes(&changes);
    changes.failed = result == NULL;
    plan_number(&changes, state->queue, plan->queue_head, state->head + 1);
    plan_number(&changes, state->queue, plan->queue_count, state->count - 1);
    if (changes.failed) {
        drop_changes(&changes);
        Py_CLEAR(result);
        return NULL;
    }
    put_u64(state->cells + 8 * index, handle);
    make_changes(&changes);
    return result;
}

/* Use an index for the first time. */
static PyObject *
create_fresh(Entities *plan, PyObject *self, State *state)
{
    uint64_t index;
    if (!is_number(SLOT(self, plan->n_used), &index) || index >= plan->index_count ||
        index >= state->n_cells) {
        return NULL; /* there must be more cells, or there are no more indices */
    }
    uint64_t handle = plan->one_generation | index;
    PyObject *result = PyLong_FromUnsignedLongLong(handle);
    Changes changes;
    no_changes(&changes);
    changes.failed = result == NULL;
    plan_number(&changes, self, plan->n_used, index + 1);
    if (changes.failed) {
        drop_changes(&changes);
        Py_CLEAR(result);
        return NULL;
    }
    make_changes(&changes);
    put_u64(state->cells + 8 * index, handle);
    return result;
}

static PyObject *
create(PARAMETERS)
{
    Entities *plan = PLAN(callable);
    State state;
    if (has_args(nargsf, kwnames, 1) && open_state(plan, args[0], &state) && read_limits(plan)) {
        PyObject *result = NULL;
        if (state.count > plan->min_free) {
            result = create_again(plan, &state);
        }
        else {
            result = create_fresh(plan, args[0], &state);
        }
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    return LEAVE;
}

/* Whether nobody is to be told of deaths, and no callback is running. */
static int
is_silent(const Entities *plan, PyObject *self)
{
    uint64_t depth;
    PyObject *dispatch = SLOT(self, plan->dispatch), *callbacks = SLOT(self, plan->callbacks);
    if (dispatch == NULL || Py_TYPE(dispatch) != plan->dispatch_kind || callbacks == NULL ||
        Py_TYPE(callbacks) != plan->callbacks_kind) {
        return 0;
    }
    PyObject *entries = SLOT(callbacks, plan->entries);
    return is_number(SLOT(dispatch, plan->depth), &depth) && depth == 0 && entries != NULL &&
           PyTuple_CheckExact(entries) && PyTuple_GET_SIZE(entries) == 0;
}

static PyObject *
destroy(PARAMETERS)
{
    Entities *plan = PLAN(callable);
    State state;
    uint64_t entity;
    if (!has_args(nargsf, kwnames, 2) || !open_state(plan, args[0], &state) ||
        !is_number(args[1], &entity) || !is_silent(plan, args[0]) ||
        !read_limits(plan)) {
        return LEAVE;
    }
    uint64_t index = entity & plan->index_mask;
    if (index >= state.n_cells || get_u64(state.cells + 8 * index) != entity ||
        entity >= plan->last_generation || state.count > state.mask) {
        return LEAVE; /* dead, the last of its index, or a queue that must grow */
    }
    Changes changes;
    no_changes(&changes);
    plan_number(&changes, state.queue, plan->queue_count, state.count + 1);
    if (changes.failed) {
        return NULL;
    }
    put_u32(state.ring + 4 * ((state.head + state.count) & state.mask), index);
    put_u64(state.cells + 8 * index, (entity + plan->one_generation) ^ 1);
    make_changes(&changes);
    Py_RETURN_NONE;
}

const Function entity_functions[] = {
    {"alive", alive},
    {"require", require},
    {"create", create},
    {"destroy", destroy},
    {NULL, NULL},
};
