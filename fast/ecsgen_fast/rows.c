#include "rows.h"

static int
open_change(Change *change, Component *plan, PyObject *self, const Rows *rows)
{
    if (plan->map != ABSENT && plan->active != ABSENT) {
        return 0; /* two rows may move, and a dict may fail at the second */
    }
    change->plan = plan;
    change->rows = rows;
    change->dict = NULL;
    change->map.cells = NULL;
    if (plan->sparse != ABSENT) {
        return open_map(plan, self, &change->map);
    }
    if (plan->map != ABSENT) {
        change->dict = SLOT(self, plan->map);
        return change->dict != NULL && PyDict_CheckExact(change->dict);
    }
    return 1;
}

/* ---- cells of links and ids ----------------------------------------------------------------- */

static inline char *
link_cell(const Change *change, Py_ssize_t column, uint64_t row)
{
    return cell_of(change->plan, change->rows, column, row);
}

static inline uint64_t
get_link(const Change *change, Py_ssize_t column, uint64_t row)
{
    return get_u32(link_cell(change, column, row));
}

static inline void
put_link(const Change *change, Py_ssize_t column, uint64_t row, uint64_t value)
{
    put_u32(link_cell(change, column, row), value);
}

static inline uint64_t
first_of(const Change *change, uint64_t owner)
{
    return get_u32(map_cell(change->plan, &change->map, owner));
}

static inline void
enter(const Change *change, uint64_t owner, uint64_t row)
{
    put_u32(map_cell(change->plan, &change->map, owner), row);
}

/* Whether what is beside a row's columns is as it must be, so that no index leads astray. */
static int
is_sound(const Change *change, uint64_t row)
{
    const Component *plan = change->plan;
    const Rows *rows = change->rows;
    if (plan->sparse != ABSENT) {
        uint64_t owner = owner_of(plan, rows, row);
        if ((owner & plan->index_mask) >= change->map.size || first_of(change, owner) >= rows->n) {
            return 0;
        }
    }
    if (plan->is_many) {
        uint64_t before = get_link(change, plan->previous, row);
        uint64_t after = get_link(change, plan->next, row);
        if (before >= rows->n || (after >= rows->n && after != NIL)) {
            return 0;
        }
    }
    return plan->id_slot == ABSENT || get_link(change, plan->id_slot, row) < rows->allocated;
}

/* ---- lists of instances (runtime/instances/many.py) ----------------------------------------- */

/* Append a new row to its entity's list, of which `first` is the first row, or NIL. */
static void
link_row(const Change *change, uint64_t entity, uint64_t first, uint64_t row)
{
    const Component *plan = change->plan;
    put_link(change, plan->next, row, NIL);
    if (first == NIL) {
        if (change->map.cells != NULL) {
            enter(change, entity, row);
        }
        put_link(change, plan->previous, row, row);
        return;
    }
    uint64_t last = get_link(change, plan->previous, first);
    put_link(change, plan->next, last, row);
    put_link(change, plan->previous, row, last);
    put_link(change, plan->previous, first, row);
}

/* Let a row come before another, or if that is NIL be the last: the first row has its number then. */
static void
put_before(const Change *change, uint64_t owner, uint64_t after, uint64_t row)
{
    uint64_t behind = after == NIL ? first_of(change, owner) : after;
    put_link(change, change->plan->previous, behind, row);
}

/* Take a row out of its list. */
static void
unlink_row(const Change *change, uint64_t row)
{
    const Component *plan = change->plan;
    uint64_t owner = owner_of(plan, change->rows, row);
    uint64_t before = get_link(change, plan->previous, row);
    uint64_t after = get_link(change, plan->next, row);
    if (before == row) { /* the only one */
        enter(change, owner, NIL);
        return;
    }
    if (get_link(change, plan->next, before) == NIL) { /* the first; before it comes the last */
        enter(change, owner, after);
    }
    else {
        put_link(change, plan->next, before, after);
    }
    put_before(change, owner, after, before);
}

/* Mend a list after row src went to dst. */
static void
relink_row(const Change *change, uint64_t src, uint64_t dst)
{
    const Component *plan = change->plan;
    uint64_t owner = owner_of(plan, change->rows, dst);
    uint64_t before = get_link(change, plan->previous, dst);
    uint64_t after = get_link(change, plan->next, dst);
    if (before == src) { /* the only one */
        enter(change, owner, dst);
        put_link(change, plan->previous, dst, dst);
        return;
    }
    if (get_link(change, plan->next, before) == NIL) { /* the first; before it comes the last */
        enter(change, owner, dst);
    }
    else {
        put_link(change, plan->next, before, dst);
    }
    put_before(change, owner, after, dst);
}

/* ---- moving --------------------------------------------------------------------------------- */

/* Move a row, and tell what knows its number; a dict was told before. */
static void
move_row(const Change *change, uint64_t src, uint64_t dst)
{
    const Component *plan = change->plan;
    const Rows *rows = change->rows;
    for (Py_ssize_t i = 0; i < plan->n_columns; i++) {
        if (plan->columns[i].moves) {
            copy_cell(cell_of(plan, rows, i, dst), cell_of(plan, rows, i, src),
                      plan->columns[i].nbytes);
        }
    }
    if (plan->is_many) {
        relink_row(change, src, dst);
    }
    else if (plan->sparse != ABSENT) {
        enter(change, owner_of(plan, rows, dst), dst);
    }
    if (plan->id_slot != ABSENT) {
        put_link(change, plan->id_row, get_link(change, plan->id_slot, dst), dst);
    }
}

static void
drop_keys(Removal *it)
{
    Py_CLEAR(it->gone);
    Py_CLEAR(it->moved);
    Py_CLEAR(it->place);
}

/* Make the keys that a dict is asked for. Both are there, so that nothing fails later: one value
   is replaced, and one key goes. */
static int
plan_dict(Removal *it)
{
    const Change *change = &it->change;
    const Component *plan = change->plan;
    it->gone = PyLong_FromUnsignedLongLong(owner_of(plan, change->rows, it->row));
    it->moved = PyLong_FromUnsignedLongLong(owner_of(plan, change->rows, change->rows->n - 1));
    it->place = PyLong_FromUnsignedLongLong(it->row);
    if (it->gone == NULL || it->moved == NULL || it->place == NULL) {
        return -1;
    }
    int is_there = PyDict_Contains(change->dict, it->gone);
    return is_there > 0 ? PyDict_Contains(change->dict, it->moved) : is_there;
}

/* Let a dict forget a row's owner, and let the one of the last row know where that goes. */
static void
remap_dict(Removal *it)
{
    PyObject *dict = it->change.dict;
    if (it->row != it->change.rows->n - 1) {
        (void)PyDict_SetItem(dict, it->moved, it->place);
    }
    (void)PyDict_DelItem(dict, it->gone);
}

/* ---- destroying ----------------------------------------------------------------------------- */

/* Plan the end of a row of a direct manager. */
static int
plan_end(Removal *it, PyObject *data)
{
    const Component *plan = it->change.plan;
    const Rows *rows = &it->rows;
    uint64_t end = rows->n;
    if (it->row == end - 1) {
        for (end = it->row; end > 0 && owner_of(plan, rows, end - 1) == 0; end--) {
        }
    }
    plan_number(&it->changes, data, plan->n, end);
    return plan_step(&it->changes, data, plan->count, -1) &&
           plan_step(&it->changes, data, plan->version, 1);
}

/* Whether nobody is told of rows that go. */
static int
is_silent(const Component *plan, PyObject *self)
{
    if (plan->released == ABSENT) {
        return 1;
    }
    PyObject *callbacks = SLOT(self, plan->released);
    if (callbacks == NULL || Py_TYPE(callbacks) != plan->callbacks_kind) {
        return 0;
    }
    PyObject *entries = SLOT(callbacks, plan->entries);
    return entries != NULL && PyTuple_CheckExact(entries) && PyTuple_GET_SIZE(entries) == 0;
}

/* Find out whether a row can go, and which row of the active ones takes its place. */
static int
plan_gap(Removal *it)
{
    const Change *change = &it->change;
    const Component *plan = change->plan;
    const Rows *rows = change->rows;
    uint64_t bound = 0;
    if (plan->grouped != ABSENT &&
        (!is_number(SLOT(rows->data, plan->grouped), &bound) || it->row < bound)) {
        return 0; /* the other members of the group are concerned */
    }
    if (plan->active != ABSENT) {
        if (!is_number(SLOT(rows->data, plan->active), &bound) || bound > rows->n) {
            return 0;
        }
        if (it->row < bound) {
            it->active = bound - 1;
            plan_number(&it->changes, rows->data, plan->active, bound - 1);
        }
    }
    if (plan->id_slot != ABSENT) {
        uint64_t slot = get_link(change, plan->id_slot, it->row);
        if (slot >= rows->allocated || get_link(change, plan->id_generation, slot) == NIL) {
            return 0; /* worn out */
        }
    }
    plan_number(&it->changes, rows->data, plan->n, rows->n - 1);
    return plan_step(&it->changes, rows->data, plan->version, 1) && is_sound(change, it->row) &&
           is_sound(change, rows->n - 1) && (it->active == NIL || is_sound(change, it->active));
}

static void
remove_packed(const Change *change, uint64_t row, uint64_t active)
{
    const Component *plan = change->plan;
    uint64_t last = change->rows->n - 1;
    uint64_t slot = 0;
    if (plan->is_many) {
        unlink_row(change, row);
    }
    else if (plan->sparse != ABSENT) {
        enter(change, owner_of(plan, change->rows, row), NIL);
    }
    if (plan->id_slot != ABSENT) {
        slot = get_link(change, plan->id_slot, row);
        put_link(change, plan->id_row, slot, NIL);
    }
    if (active != NIL) {
        if (active != row) {
            move_row(change, active, row);
        }
        row = active; /* the inactive part has the hole now */
    }
    if (row != last) {
        move_row(change, last, row);
    }
    if (plan->id_slot != ABSENT) {
        put_link(change, plan->id_generation, slot, get_link(change, plan->id_generation, slot) + 1);
        put_link(change, plan->id_slot, last, slot);
    }
}

int
plan_removal(Removal *it, Component *plan, PyObject *self, const Rows *rows, uint64_t row)
{
    if ((plan->map != ABSENT && plan->is_many) || !is_silent(plan, self)) {
        return 0;
    }
    it->rows = *rows;
    it->row = row;
    it->active = NIL;
    no_changes(&it->changes);
    if (!open_change(&it->change, plan, self, &it->rows)) {
        return 0;
    }
    it->gone = it->moved = it->place = NULL;
    int done = plan->is_direct ? plan_end(it, rows->data) : plan_gap(it);
    if (it->changes.failed) {
        done = -1;
    }
    if (done > 0 && it->change.dict != NULL) {
        done = plan_dict(it);
    }
    if (done <= 0) {
        drop_removal(it);
    }
    return done;
}

void
drop_removal(Removal *it)
{
    drop_changes(&it->changes);
    drop_keys(it);
}

void
remove_row(Removal *it)
{
    const Change *change = &it->change;
    if (change->plan->is_direct) {
        put_u64(cell_of(change->plan, change->rows, change->plan->entity, it->row), 0);
    }
    else {
        if (change->dict != NULL) {
            remap_dict(it);
        }
        remove_packed(change, it->row, it->active);
    }
    make_changes(&it->changes);
    drop_keys(it);
}

int
destroy_row(Component *plan, PyObject *self, const Rows *rows, uint64_t row)
{
    Removal removal;
    int done = plan_removal(&removal, plan, self, rows, row);
    if (done > 0) {
        remove_row(&removal);
    }
    return done;
}

/* ---- creating ------------------------------------------------------------------------------- */

/* Whether an entity is alive. */
static int
is_alive(const Component *plan, PyObject *self, uint64_t entity)
{
    Entities *entities = plan->entities;
    PyObject *manager = SLOT(self, plan->owners);
    if (manager == NULL || !guard_holds(&entities->plan.guard, manager)) {
        return 0;
    }
    uint64_t nbytes = 0;
    const char *cells = memory_of(SLOT(manager, entities->cells), &nbytes);
    uint64_t index = entity & plan->index_mask;
    return cells != NULL && index < nbytes / 8 && get_u64(cells + 8 * index) == entity;
}

/* Write the owner and the fields of a new row. */
static void
fill_row(const Component *plan, const Rows *rows, uint64_t row, uint64_t entity,
         const char *scratch)
{
    for (Py_ssize_t i = 0; i < plan->n_columns; i++) {
        const Column *column = &plan->columns[i];
        if (column->at != ABSENT) {
            copy_cell(cell_of(plan, rows, i, row), scratch + column->at, column->nbytes);
        }
    }
    if (plan->entity != ABSENT) {
        put_u64(cell_of(plan, rows, plan->entity, row), entity);
    }
}

/* Plan a row of a direct manager; 0 leaves it to Python. */
static int
plan_direct(Creation *it)
{
    const Component *plan = it->change.plan;
    Rows *rows = &it->rows;
    Changes *changes = &it->changes;
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

/* Whether the other members of a group keep an entity from joining it. */
static int
stays_outside(Component *plan, PyObject *others, PyObject *entity)
{
    if (PyTuple_GET_SIZE(others) == 0) {
        return 1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(others); i++) {
        PyObject *member = PyTuple_GET_ITEM(others, i);
        Component *its = plan_of_manager(&plan->plan, member);
        Rows rows;
        uint64_t row;
        if (its == NULL || !open_rows(its, member, &rows) ||
            !find_row(its, member, &rows, entity, &row)) {
            return 0;
        }
        if (row == NIL) {
            return 1;
        }
    }
    return 0;
}

/* Find the first row that an entity has already, if it may have several; 0 if it cannot have one
   more without further ado. */
static int
plan_owner(Creation *it, PyObject *self)
{
    const Change *change = &it->change;
    const Component *plan = change->plan;
    if (it->entity == NULL) {
        return 1;
    }
    if (!find_row(plan, self, &it->rows, it->entity, &it->first)) {
        return 0;
    }
    if (it->first != NIL) {
        return plan->is_many && get_link(change, plan->previous, it->first) < it->rows.n;
    }
    if (change->map.cells == NULL) {
        return 1;
    }
    uint64_t index = it->handle & plan->index_mask;
    /* else the map must grow, or a dead entity had the same index */
    return index < change->map.size && first_of(change, it->handle) == NIL;
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
    if (plan->others != ABSENT) {
        PyObject *others = SLOT(self, plan->others);
        if (others == NULL || !PyTuple_CheckExact(others) ||
            !stays_outside(plan, others, it->entity)) {
            return 0;
        }
    }
    it->place = rows->n;
    if (!plan_owner(it, self) ||
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
    return plan_step(&it->changes, rows->data, plan->version, 1);
}

int
plan_creation(Creation *it, Component *plan, PyObject *self, const Rows *rows, PyObject *entity)
{
    it->rows = *rows;
    it->entity = entity;
    it->handle = 0;
    it->first = NIL;
    it->result = NULL;
    no_changes(&it->changes);
    if ((entity != NULL && !is_number(entity, &it->handle)) ||
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
    if (it->change.dict == NULL || it->first != NIL) {
        return 1;
    }
    return PyDict_SetItem(it->change.dict, it->entity, it->result) < 0 ? -1 : 1;
}

void
leave_dict(const Creation *it)
{
    if (it->change.dict != NULL && it->first == NIL) {
        (void)PyDict_DelItem(it->change.dict, it->entity);
    }
}

static void
append_row(const Creation *it, const char *scratch)
{
    const Change *change = &it->change;
    const Component *plan = change->plan;
    uint64_t first = it->first, end = it->rows.n;
    if (it->place != end) { /* the first inactive row makes room */
        move_row(change, it->place, end);
        if (first == it->place) {
            first = end;
        }
    }
    fill_row(plan, &it->rows, it->place, it->handle, scratch);
    if (plan->is_many) {
        link_row(change, it->handle, first, it->place);
    }
    else if (change->map.cells != NULL) {
        enter(change, it->handle, it->place);
    }
    if (plan->id_slot != ABSENT) {
        put_link(change, plan->id_generation, it->slot, it->generation);
        put_link(change, plan->id_slot, it->place, it->slot);
        put_link(change, plan->id_row, it->slot, it->place);
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
create_row(Component *plan, PyObject *self, const Rows *rows, PyObject *entity,
           const char *scratch)
{
    Creation creation;
    uint64_t handle;
    if (entity != NULL && (!is_number(entity, &handle) || !is_alive(plan, self, handle))) {
        return NULL;
    }
    if (plan_creation(&creation, plan, self, rows, entity) <= 0) {
        return NULL;
    }
    if (enter_dict(&creation) < 0) {
        drop_creation(&creation);
        return NULL;
    }
    return add_row(&creation, scratch);
}
