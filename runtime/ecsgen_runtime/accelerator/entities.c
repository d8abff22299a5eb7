/* The entity manager: which entities are alive, one that comes, one that goes. */

#include "entities.h"

#define PLAN(callable) ((Entities *)((Method *)(callable))->plan)

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
    *is_alive = lives(PLAN(callable), &state, entity);
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
    uint64_t index = get_u32(state->queued + 4 * (state->head & state->mask));
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
