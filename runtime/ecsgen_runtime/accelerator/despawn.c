/* Entities that go, and what goes with them. */

#include "entities.h"
#include "rows.h"

/* True if a list or queue is empty. */
static inline int
is_empty(PyObject *object)
{
    return object != NULL && PyObject_Length(object) == 0;
}

PyObject *
despawn_listeners(const Entities *plan, PyObject *self)
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

/* Find the manager that an entry notifies, NULL if it is freed; 0 for a callback. */
static int
open_entry(const Entities *plan, PyObject *entry, PyObject **manager)
{
    if (Py_TYPE(entry) != plan->entry_kind) {
        return 0;
    }
    PyObject *listener = SLOT(entry, plan->listener);
    if (listener == NULL || !PyWeakref_CheckRefExact(listener)) {
        return 0;
    }
    *manager = PyWeakref_GET_OBJECT(listener);
    if (*manager == Py_None) {
        *manager = NULL;
    }
    return 1;
}

int
has_no_listeners(const Entities *plan, PyObject *entries)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(entries); i++) {
        PyObject *manager;
        Rows rows;
        if (!open_entry(plan, PyTuple_GET_ITEM(entries, i), &manager)) {
            return 0;
        }
        Component *its = manager == NULL ? NULL : plan_of_manager(&plan->plan, manager);
        if (manager != NULL && (its == NULL || !open_rows(its, manager, &rows) || rows.n > 0 ||
                                !is_unlocked(its, manager))) {
            return 0;
        }
    }
    return 1;
}

/* Plan to remove what an entity has in a manager by `remove`; 2 if it has nothing there. */
static int
plan_listener(Removal *it, const Entities *plan, PyObject *remove, PyObject *manager,
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
    return component->removes ? plan_removal(it, component, manager, &rows, row) : 0;
}

typedef struct {
    Removal removals[MAX_FOLLOWERS];
    PyObject *managers[MAX_FOLLOWERS];
    int count;
} ListenerPlans;

static int
has_listener(const ListenerPlans *following, const PyObject *manager)
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
plan_following(ListenerPlans *it, const Entities *plan, PyObject *entries, PyObject *entity)
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
        if (has_listener(it, manager)) {
            return 0; /* notified twice */
        }
        PyObject *remove = SLOT(entry, plan->remove);
        done = plan_listener(&it->removals[it->count], plan, remove, manager, entity);
        if (done == 1) {
            it->managers[it->count++] = manager;
        }
    }
    return done;
}

/* Remove the rows that go with an entity, or keep them. */
static void
end_following(ListenerPlans *it, int is_done)
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

/* Plan an entity's despawn; 0 if it is dead, or the last of its index, or the queue must grow. */
static inline int
plan_death(SlotUpdates *changes, const Entities *plan, const State *state, uint64_t entity)
{
    if (!lives(plan, state, entity) || entity >= plan->last_generation ||
        state->count > state->mask) {
        return 0;
    }
    plan_number(changes, state->queue, plan->queue_count, state->count + 1);
    return changes->failed ? -1 : 1;
}

int
destroy_entity(Entities *plan, PyObject *self, PyObject *number)
{
    State state;
    SlotUpdates changes;
    ListenerPlans following;
    uint64_t entity;
    if (!is_number(number, &entity) || !open_state(plan, self, &state) || !read_limits(plan)) {
        return 0;
    }
    PyObject *entries = despawn_listeners(plan, self);
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
    kill_entity(plan, &state, entity);
    make_changes(&changes);
    end_following(&following, 1);
    return 1;
}
