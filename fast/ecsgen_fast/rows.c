#include "rows.h"

#include "changes.h"

/* What stands beside the columns while one row comes or goes. */
typedef struct {
    Component *plan;
    Rows *rows;
    Map map;        /* of a sparse manager */
    PyObject *dict; /* of a hash manager */
} Change;

static int
open_change(Change *change, Component *plan, PyObject *self, Rows *rows)
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

/* Let a dict forget a row's owner, and let the one of the last row know where that goes. */
static int
remap_dict(const Change *change, uint64_t row, uint64_t last)
{
    const Component *plan = change->plan;
    PyObject *gone = PyLong_FromUnsignedLongLong(owner_of(plan, change->rows, row));
    PyObject *moved = PyLong_FromUnsignedLongLong(owner_of(plan, change->rows, last));
    PyObject *place = PyLong_FromUnsignedLongLong(row);
    int done = -1;
    if (gone != NULL && moved != NULL && place != NULL) {
        int is_there = PyDict_Contains(change->dict, gone);
        done = is_there > 0 ? PyDict_Contains(change->dict, moved) : is_there;
        if (done > 0 && row != last && PyDict_SetItem(change->dict, moved, place) < 0) {
            done = -1;
        }
        if (done > 0 && PyDict_DelItem(change->dict, gone) < 0) {
            done = -1;
        }
    }
    Py_XDECREF(gone);
    Py_XDECREF(moved);
    Py_XDECREF(place);
    return done;
}

/* ---- destroying ----------------------------------------------------------------------------- */

static int
destroy_direct(Component *plan, Rows *rows, uint64_t row)
{
    uint64_t end = rows->n;
    if (row == end - 1) {
        for (end = row; end > 0 && owner_of(plan, rows, end - 1) == 0; end--) {
        }
    }
    Changes changes;
    no_changes(&changes);
    plan_number(&changes, rows->data, plan->n, end);
    if (!plan_step(&changes, rows->data, plan->count, -1) ||
        !plan_step(&changes, rows->data, plan->version, 1) || changes.failed) {
        drop_changes(&changes);
        return changes.failed ? -1 : 0;
    }
    put_u64(cell_of(plan, rows, plan->entity, row), 0);
    make_changes(&changes);
    return 1;
}

/* Find out whether a row can go, and which row of the active ones takes its place. */
static int
plan_removal(const Change *change, uint64_t row, Changes *changes, uint64_t *active)
{
    const Component *plan = change->plan;
    Rows *rows = change->rows;
    uint64_t bound = 0;
    *active = NIL;
    if (plan->grouped != ABSENT &&
        (!is_number(SLOT(rows->data, plan->grouped), &bound) || row < bound)) {
        return 0; /* the other members of the group are concerned */
    }
    if (plan->active != ABSENT) {
        if (!is_number(SLOT(rows->data, plan->active), &bound) || bound > rows->n) {
            return 0;
        }
        if (row < bound) {
            *active = bound - 1;
            plan_number(changes, rows->data, plan->active, bound - 1);
        }
    }
    if (plan->id_slot != ABSENT) {
        uint64_t slot = get_link(change, plan->id_slot, row);
        if (slot >= rows->allocated || get_link(change, plan->id_generation, slot) == NIL) {
            return 0; /* worn out */
        }
    }
    plan_number(changes, rows->data, plan->n, rows->n - 1);
    return plan_step(changes, rows->data, plan->version, 1) && is_sound(change, row) &&
           is_sound(change, rows->n - 1) && (*active == NIL || is_sound(change, *active));
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
destroy_row(Component *plan, PyObject *self, Rows *rows, uint64_t row)
{
    if (plan->is_direct) {
        return destroy_direct(plan, rows, row);
    }
    Change change;
    if ((plan->map != ABSENT && plan->is_many) || !open_change(&change, plan, self, rows)) {
        return 0;
    }
    Changes changes;
    no_changes(&changes);
    uint64_t active;
    int done = plan_removal(&change, row, &changes, &active);
    if (changes.failed) {
        done = -1;
    }
    if (done > 0 && change.dict != NULL) {
        done = remap_dict(&change, row, rows->n - 1);
    }
    if (done <= 0) {
        drop_changes(&changes);
        return done;
    }
    remove_packed(&change, row, active);
    make_changes(&changes);
    return 1;
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

static PyObject *
create_direct(Component *plan, Rows *rows, uint64_t entity, const char *scratch)
{
    uint64_t row = entity & plan->index_mask;
    if (row >= rows->allocated || (row < rows->n && owner_of(plan, rows, row) != 0)) {
        return NULL;
    }
    PyObject *result = PyLong_FromUnsignedLongLong(row);
    Changes changes;
    no_changes(&changes);
    changes.failed = result == NULL;
    if (row >= rows->n) {
        plan_number(&changes, rows->data, plan->n, row + 1);
    }
    if (!plan_step(&changes, rows->data, plan->count, 1) ||
        !plan_step(&changes, rows->data, plan->version, 1) || changes.failed) {
        drop_changes(&changes);
        Py_CLEAR(result);
        return NULL;
    }
    fill_row(plan, rows, row, entity, scratch);
    make_changes(&changes);
    return result;
}

/* Find the place of a new row, NIL if there is none without further ado, and the first row that
   its entity has already, if it may have several. */
static uint64_t
plan_place(const Change *change, PyObject *self, PyObject *entity, uint64_t handle,
           uint64_t *first)
{
    const Component *plan = change->plan;
    const Rows *rows = change->rows;
    *first = NIL;
    if (rows->n == rows->allocated) {
        return NIL;
    }
    if (plan->others != ABSENT) {
        PyObject *others = SLOT(self, plan->others);
        if (others == NULL || !PyTuple_CheckExact(others) || PyTuple_GET_SIZE(others) != 0) {
            return NIL; /* it may join the group */
        }
    }
    if (entity != NULL) {
        if (!find_row(plan, self, rows, entity, first) || (*first != NIL && !plan->is_many)) {
            return NIL;
        }
        if (change->map.cells != NULL && *first == NIL) {
            uint64_t index = handle & plan->index_mask;
            if (index >= change->map.size || get_u32(map_cell(plan, &change->map, handle)) != NIL) {
                return NIL; /* the map must grow, or a dead entity had the same index */
            }
        }
        if (*first != NIL && get_link(change, plan->previous, *first) >= rows->n) {
            return NIL;
        }
    }
    uint64_t active = rows->n;
    if (plan->starts_active && !is_number(SLOT(rows->data, plan->active), &active)) {
        return NIL;
    }
    if (active > rows->n || (active < rows->n && !is_sound(change, active))) {
        return NIL;
    }
    return active;
}

/* Find the slot of a new row's id, and its generation; NIL if there must be more room. */
static uint64_t
plan_id(const Change *change, Changes *changes, uint64_t *generation)
{
    const Component *plan = change->plan;
    Rows *rows = change->rows;
    uint64_t slots, peak;
    if (!is_number(SLOT(rows->data, plan->slots), &slots) ||
        !is_number(SLOT(rows->data, plan->peak), &peak) || slots > peak || peak > rows->allocated) {
        return NIL;
    }
    if (rows->n != slots) {
        uint64_t slot = get_link(change, plan->id_slot, rows->n);
        if (slot >= peak) {
            return NIL;
        }
        *generation = get_link(change, plan->id_generation, slot);
        return slot;
    }
    if (peak == rows->allocated ||
        !is_number(SLOT(rows->data, plan->first_generation), generation)) {
        return NIL;
    }
    plan_number(changes, rows->data, plan->slots, slots + 1);
    plan_number(changes, rows->data, plan->peak, peak + 1);
    return peak;
}

/* Plan everything that may fail; return what `create` is going to return. */
static PyObject *
plan_creation(const Change *change, Changes *changes, uint64_t place, uint64_t *slot,
              uint64_t *generation)
{
    const Component *plan = change->plan;
    Rows *rows = change->rows;
    uint64_t result = place;
    if (plan->id_slot != ABSENT) {
        *slot = plan_id(change, changes, generation);
        if (*slot == NIL) {
            return NULL;
        }
        if (plan->entity == ABSENT) {
            result = *generation << 32 | *slot;
        }
    }
    if (plan->starts_active) {
        plan_number(changes, rows->data, plan->active, place + 1);
    }
    plan_number(changes, rows->data, plan->n, rows->n + 1);
    if (!plan_step(changes, rows->data, plan->version, 1) || changes->failed) {
        return NULL;
    }
    return PyLong_FromUnsignedLongLong(result);
}

static void
append_row(const Change *change, uint64_t place, uint64_t handle, uint64_t first,
           const char *scratch)
{
    const Component *plan = change->plan;
    Rows *rows = change->rows;
    if (place != rows->n) { /* the first inactive row makes room */
        uint64_t end = rows->n;
        move_row(change, place, end);
        if (first == place) {
            first = end;
        }
    }
    fill_row(plan, rows, place, handle, scratch);
    if (plan->is_many) {
        link_row(change, handle, first, place);
    }
    else if (change->map.cells != NULL) {
        enter(change, handle, place);
    }
}

PyObject *
create_row(Component *plan, PyObject *self, Rows *rows, PyObject *entity, const char *scratch)
{
    uint64_t handle = 0, first, slot = NIL, generation = 0;
    if (entity != NULL && (!is_number(entity, &handle) || !is_alive(plan, self, handle))) {
        return NULL;
    }
    if (plan->is_direct) {
        return create_direct(plan, rows, handle, scratch);
    }
    Change change;
    if (!open_change(&change, plan, self, rows)) {
        return NULL;
    }
    uint64_t place = plan_place(&change, self, entity, handle, &first);
    if (place == NIL) {
        return NULL;
    }
    Changes changes;
    no_changes(&changes);
    PyObject *result = plan_creation(&change, &changes, place, &slot, &generation);
    if (result != NULL && change.dict != NULL && first == NIL &&
        PyDict_SetItem(change.dict, entity, result) < 0) {
        Py_CLEAR(result);
    }
    if (result == NULL) {
        drop_changes(&changes);
        return NULL;
    }
    append_row(&change, place, handle, first, scratch);
    if (plan->id_slot != ABSENT) {
        put_link(&change, plan->id_generation, slot, generation);
        put_link(&change, plan->id_slot, place, slot);
        put_link(&change, plan->id_row, slot, place);
    }
    make_changes(&changes);
    return result;
}
