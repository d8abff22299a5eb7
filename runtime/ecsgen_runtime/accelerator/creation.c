/* One row that comes. */

#include "entities.h"
#include "links.h"

int
is_alive(const Component *plan, PyObject *self, uint64_t entity)
{
    State living;
    PyObject *manager = SLOT(self, plan->owners);
    return manager != NULL && open_cells(plan->entities, manager, &living) &&
           lives(plan->entities, &living, entity);
}

int
is_silent(const Component *plan, PyObject *self, Py_ssize_t slot)
{
    if (slot == ABSENT) {
        return 1;
    }
    PyObject *callbacks = SLOT(self, slot);
    if (callbacks == NULL || Py_TYPE(callbacks) != plan->callbacks_kind) {
        return 0;
    }
    PyObject *entries = SLOT(callbacks, plan->entries);
    return entries != NULL && PyTuple_CheckExact(entries) && PyTuple_GET_SIZE(entries) == 0;
}

/* Write the owner and the fields of a new row. */
static void
fill_row(const Component *plan, const Rows *rows, uint64_t row, uint64_t entity,
         const char *scratch)
{
    for (Py_ssize_t i = 0; i < plan->n_columns; i++) {
        const Column *column = &plan->columns[i];
        if (column->at != ABSENT) {
            copy_cell(cell_number(plan, rows, i, row), scratch + column->at, column->nbytes);
        }
    }
    if (plan->entity != ABSENT) {
        put_u64(cell_number(plan, rows, plan->entity, row), entity);
    }
}

void
add_simple_row(const Change *change, uint64_t row, uint64_t entity, const char *scratch)
{
    const Component *plan = change->plan;
    fill_row(plan, change->rows, row, entity, scratch);
    enter(change, entity, row);
    if (has_hierarchy(plan)) {
        make_root(change, row);
        put_link(change, plan->first_child, row, NIL);
    }
}

/* Plan a row of a direct manager; 0 leaves it to Python. */
static int
plan_direct(Creation *it)
{
    const Component *plan = it->change.plan;
    Rows *rows = &it->rows;
    SlotUpdates *changes = &it->changes;
    uint64_t row = it->handle & plan->index_mask, peak;
    if (row >= rows->allocated || (row < rows->n && owner_of(plan, rows, row) != 0)) {
        return 0;
    }
    if (plan->id_generation != ABSENT) {
        it->generation = get_link(&it->change, plan->id_generation, row);
        if (it->generation == NIL || !is_number(SLOT(rows->data, plan->peak), &peak)) {
            return 0; /* worn out */
        }
        if (row >= peak) {
            plan_number(changes, rows->data, plan->peak, row + 1);
        }
    }
    it->place = row;
    it->result = PyLong_FromUnsignedLongLong(row);
    if (row >= rows->n) {
        plan_number(changes, rows->data, plan->n, row + 1);
    }
    return plan_step(changes, rows->data, plan->count, 1) &&
           plan_step(changes, rows->data, plan->version, 1);
}

/* True if an entity may get its row without further ado. */
static int
can_have_row(const Creation *it, PyObject *self)
{
    const Change *change = &it->change;
    uint64_t row, index = it->handle & change->plan->index_mask;
    if (it->entity == NULL) {
        return 1;
    }
    if (!find_row(change->plan, self, &it->rows, it->entity, &row) || row != NIL) {
        return 0;
    }
    /* Else the map must grow, or a dead entity had the same index. */
    return change->map.cells == NULL ||
           (index < change->map.size && first_of(change, it->handle) == NIL);
}

/* Find the place of a new row; 0 if there is none without further ado. */
static int
plan_place(Creation *it, PyObject *self)
{
    Component *plan = it->change.plan;
    const Rows *rows = &it->rows;
    if (rows->n == rows->allocated) {
        return 0;
    }
    it->place = rows->n;
    if (it->above != NIL && !takes_children(&it->change, it->above)) {
        return 0;
    }
    if (!can_have_row(it, self) ||
        (plan->starts_active && !is_number(SLOT(rows->data, plan->active), &it->place))) {
        return 0;
    }
    return it->place == rows->n ||
           (it->place < rows->n && is_sound(&it->change, it->place));
}

/* Find the slot of a new row's id, and its generation; 0 if there must be more room. */
static int
plan_id(Creation *it)
{
    const Change *change = &it->change;
    const Component *plan = change->plan;
    Rows *rows = &it->rows;
    uint64_t slots, peak;
    if (!is_number(SLOT(rows->data, plan->slots), &slots) ||
        !is_number(SLOT(rows->data, plan->peak), &peak) || slots > peak || peak > rows->allocated) {
        return 0;
    }
    if (rows->n != slots) {
        it->slot = get_link(change, plan->id_slot, rows->n);
        if (it->slot < peak) {
            it->generation = get_link(change, plan->id_generation, it->slot);
        }
        return it->slot < peak;
    }
    if (peak == rows->allocated ||
        !is_number(SLOT(rows->data, plan->first_generation), &it->generation)) {
        return 0;
    }
    plan_number(&it->changes, rows->data, plan->slots, slots + 1);
    plan_number(&it->changes, rows->data, plan->peak, peak + 1);
    it->slot = peak;
    return 1;
}

/* Plan everything that may fail for a packed manager; 0 leaves it to Python. */
static int
plan_packed(Creation *it, PyObject *self)
{
    const Component *plan = it->change.plan;
    Rows *rows = &it->rows;
    if (!plan_place(it, self)) {
        return 0;
    }
    uint64_t result = it->place;
    if (plan->id_slot != ABSENT) {
        if (!plan_id(it)) {
            return 0;
        }
        if (plan->entity == ABSENT) {
            result = it->generation << 32 | it->slot;
        }
    }
    if (plan->starts_active) {
        plan_number(&it->changes, rows->data, plan->active, it->place + 1);
    }
    plan_number(&it->changes, rows->data, plan->n, rows->n + 1);
    it->result = PyLong_FromUnsignedLongLong(result);
    return plan_step(&it->changes, rows->data, plan->version, 1 + (it->above != NIL));
}

int
plan_creation(Creation *it, Component *plan, PyObject *self, const Rows *rows, PyObject *entity,
              uint64_t above)
{
    it->above = above;
    it->rows = *rows;
    it->entity = entity;
    it->handle = 0;
    it->result = NULL;
    no_changes(&it->changes);
    if ((entity != NULL && !is_number(entity, &it->handle)) ||
        !is_silent(plan, self, plan->added) ||
        !open_change(&it->change, plan, self, &it->rows)) {
        return 0;
    }
    int done = plan->is_direct ? plan_direct(it) : plan_packed(it, self);
    if (it->changes.failed || (done && it->result == NULL)) {
        done = -1;
    }
    if (done <= 0) {
        drop_creation(it);
    }
    return done;
}

void
drop_creation(Creation *it)
{
    drop_changes(&it->changes);
    Py_CLEAR(it->result);
}

int
enter_dict(const Creation *it)
{
    if (it->change.dict == NULL) {
        return 1;
    }
    return PyDict_SetItem(it->change.dict, it->entity, it->result) < 0 ? -1 : 1;
}

void
leave_dict(const Creation *it)
{
    if (it->change.dict != NULL) {
        (void)PyDict_DelItem(it->change.dict, it->entity);
    }
}

static void
append_row(const Creation *it, const char *scratch)
{
    const Change *change = &it->change;
    const Component *plan = change->plan;
    uint64_t end = it->rows.n;
    if (it->place != end) { /* the first inactive row makes room */
        move_row(change, it->place, end);
    }
    fill_row(plan, &it->rows, it->place, it->handle, scratch);
    if (change->map.cells != NULL) {
        enter(change, it->handle, it->place);
    }
    if (plan->id_slot != ABSENT) {
        put_link(change, plan->id_generation, it->slot, it->generation);
        put_link(change, plan->id_slot, it->place, it->slot);
        put_link(change, plan->id_row, it->slot, it->place);
    }
    if (has_hierarchy(plan)) {
        make_root(change, it->place);
        put_link(change, plan->first_child, it->place, NIL);
    }
    if (it->above != NIL) {
        join_parent(change, it->place, it->above == it->place ? end : it->above);
    }
}

PyObject *
add_row(Creation *it, const char *scratch)
{
    const Component *plan = it->change.plan;
    if (plan->is_direct) {
        fill_row(plan, &it->rows, it->place, it->handle, scratch);
        if (plan->id_generation != ABSENT) {
            put_link(&it->change, plan->id_generation, it->place, it->generation + 1);
        }
    }
    else {
        append_row(it, scratch);
    }
    make_changes(&it->changes);
    return it->result;
}

PyObject *
create_row(Component *plan, PyObject *self, const Rows *rows, PyObject *entity, uint64_t above,
           const char *scratch)
{
    Creation creation;
    uint64_t handle;
    if (entity != NULL && (!is_number(entity, &handle) || !is_alive(plan, self, handle))) {
        return NULL;
    }
    if (plan_creation(&creation, plan, self, rows, entity, above) <= 0) {
        return NULL;
    }
    if (enter_dict(&creation) < 0) {
        drop_creation(&creation);
        return NULL;
    }
    return add_row(&creation, scratch);
}
