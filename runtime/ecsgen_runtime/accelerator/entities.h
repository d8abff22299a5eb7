/* The entity manager and its queue of free indices. */

#ifndef ECSGEN_FAST_ENTITIES_H
#define ECSGEN_FAST_ENTITIES_H

#include "slot_updates.h"

/* Managers whose rows go with one entity in C. */
#define MAX_FOLLOWERS 32

/* An entity that is going to be: all that may fail is done before anything changes. */
typedef struct {
    SlotUpdates changes;
    char *cell;
    uint64_t handle;
    PyObject *entity; /* the handle as an object */
} NewEntity;

/* Plan to create an entity. If that is done, `add_entity`, which returns the handle, or
   `drop_entity` must follow. */
int plan_entity(NewEntity *it, Entities *plan, PyObject *self);
PyObject *add_entity(NewEntity *it);
void drop_entity(NewEntity *it);

/* Destroy an entity, and what goes with it. */
int destroy_entity(Entities *plan, PyObject *self, PyObject *number);

/* Find the despawn listeners; NULL if callbacks are running. */
PyObject *despawn_listeners(const Entities *plan, PyObject *self);

/* True if those are managers without rows. */
int has_no_listeners(const Entities *plan, PyObject *entries);

/* Do what a world's `collect` does, if only a few are noted and nobody else is dead, and return how
   many rows went. NULL leaves it to Python. */
PyObject *collect_small_batch(World *plan, PyObject *self);

/* A manager and its queue of free indices, as long as no Python code runs. */
typedef struct {
    char *cells; /* the handles */
    uint64_t n_cells;
    PyObject *queue;
    char *queued; /* the free indices */
    uint64_t count, head, mask;
} State;

/* Read the module's limits, which tests make smaller. */
static inline int
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

/* Find the plan of a query's entity manager, which is that of its package; NULL if its class is not
   as generated. */
static inline Entities *
plan_of_entities(const Join *plan, PyObject *entities)
{
    PyObject *found = _PyType_Lookup(Py_TYPE(entities), plan->alive);
    return found != NULL && Py_TYPE(found) == plan->plan.method_kind
               ? (Entities *)((Method *)found)->plan
               : NULL;
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

/* True if an entity is alive. */
static inline int
lives(const Entities *plan, const State *state, uint64_t entity)
{
    uint64_t index = entity & plan->index_mask;
    return index < state->n_cells && get_u64(state->cells + 8 * index) == entity;
}

/* Let an entity die, the index of which finds room in the queue. */
static inline void
kill_entity(const Entities *plan, State *state, uint64_t entity)
{
    uint64_t index = entity & plan->index_mask;
    put_u32(state->queued + 4 * ((state->head + state->count++) & state->mask), index);
    put_u64(state->cells + 8 * index, (entity + plan->one_generation) ^ 1);
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
    state->queued = memory_of(SLOT(queue, plan->queue_cells), &nbytes);
    if (state->queued == NULL || nbytes != 4 * (state->mask + 1)) {
        return 0;
    }
    return is_number(SLOT(queue, plan->queue_head), &state->head); /* below zero: after push_front_many */
}

#endif
