/* Queries: entities that have certain components, and their rows. */

#include "arrays.h"
#include "entities.h"
#include "class_plans.h"
#include "rows.h"

#define PLAN(callable) ((Join *)((Method *)(callable))->plan)

/* Components of one query in C. */
#define MAX_JOINED 16

/* Up to so many candidates are gone through in C: where there are more, it counts in which order
   memory is read, which Python finds out. */
#define MAX_CANDIDATES 16384

/* What a query asks of a component. */
enum { REQUIRED, OPTIONAL, ANY_OF, NONE_OF };

/* A component of a query, as long as no Python code runs. */
typedef struct {
    Component *plan;
    Rows rows;
    Map map;
    uint64_t count; /* rows in use */
    int role;
    int64_t *found; /* the rows of each entity; NULL for those that are only asked for */
} Joined;

typedef struct {
    State living;
    Entities *entities;
    Joined members[MAX_JOINED];
    int count, walked, kept; /* members; the one gone through; those whose rows are found */
    int asks_any;            /* true if an entity needs one of some */
    int64_t *memory;
    uint64_t n; /* entities */
} Joining;

/* Find the rows of some members that play a role. */
static int
open_members(Joining *it, const Join *plan, PyObject *members, int role)
{
    if (members == NULL || !PyTuple_CheckExact(members)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(members); i++) {
        PyObject *member = PyTuple_GET_ITEM(members, i);
        if ((Py_TYPE(member) != plan->member_kind && Py_TYPE(member) != plan->sparse_kind) ||
            it->count == MAX_JOINED) {
            return 0;
        }
        PyObject *manager = SLOT(member, plan->manager);
        Joined *joined = &it->members[it->count];
        joined->plan = manager == NULL ? NULL : plan_of_manager(&plan->plan, manager);
        joined->role = role;
        if (joined->plan == NULL || joined->plan->entities != it->entities ||
            joined->plan->is_many || (joined->plan->sparse == ABSENT && !joined->plan->is_direct) ||
            !open_rows(joined->plan, manager, &joined->rows) ||
            (!joined->plan->is_direct && !open_map(joined->plan, manager, &joined->map))) {
            return 0;
        }
        joined->count = joined->rows.n;
        if (joined->plan->is_direct &&
            !is_number(SLOT(joined->rows.data, joined->plan->count), &joined->count)) {
            return 0;
        }
        it->count++;
        it->asks_any |= role == ANY_OF;
    }
    return 1;
}

/* Find all that a join needs; 0 leaves it to Python. */
static int
open_join(Joining *it, Join *plan, PyObject *self)
{
    it->count = it->walked = it->asks_any = 0;
    if (!guard_holds(&plan->plan.guard, self)) {
        return 0;
    }
    PyObject *entities = SLOT(self, plan->entities);
    it->entities = entities == NULL ? NULL : plan_of_entities(plan, entities);
    if (it->entities == NULL || !open_cells(it->entities, entities, &it->living) ||
        !open_members(it, plan, SLOT(self, plan->required), REQUIRED)) {
        return 0;
    }
    int required = it->count;
    if (required == 0 || !open_members(it, plan, SLOT(self, plan->optional), OPTIONAL)) {
        return 0;
    }
    it->kept = it->count;
    if (!open_members(it, plan, SLOT(self, plan->any_of), ANY_OF) ||
        !open_members(it, plan, SLOT(self, plan->none_of), NONE_OF)) {
        return 0;
    }
    for (int i = 1; i < required; i++) { /* the first of those of which there are fewest */
        if (it->members[i].count < it->members[it->walked].count) {
            it->walked = i;
        }
    }
    return it->members[it->walked].rows.n <= MAX_CANDIDATES;
}

/* Note the rows of an entity, if it has what is asked for. */
static inline void
consider(Joining *it, uint64_t handle, uint64_t place)
{
    int has_any = !it->asks_any;
    for (int i = 0; i < it->count; i++) {
        const Joined *member = &it->members[i];
        if (member->role == ANY_OF && has_any) {
            continue;
        }
        uint64_t row = i == it->walked
                           ? place
                           : row_in(member->plan, &member->rows, &member->map, handle);
        if ((member->role == REQUIRED && row == NIL) || (member->role == NONE_OF && row != NIL)) {
            return;
        }
        has_any |= member->role == ANY_OF && row != NIL;
        if (i < it->kept) {
            member->found[it->n] = (int64_t)row;
        }
    }
    it->n += (uint64_t)has_any;
}

/* Go through the fewest rows. */
static int
join_candidates(Joining *it)
{
    const Joined *walked = &it->members[it->walked];
    uint64_t n = walked->rows.n;
    it->n = 0;
    it->memory = PyMem_Malloc(((size_t)n + 1) * (size_t)it->kept * sizeof *it->memory);
    if (it->memory == NULL) {
        return 0; /* Python says so */
    }
    for (int i = 0; i < it->kept; i++) {
        it->members[i].found = it->memory + (uint64_t)i * (n + 1);
    }
    for (uint64_t row = 0; row < n; row++) {
        uint64_t handle = owner_of(walked->plan, &walked->rows, row);
        if (lives(it->entities, &it->living, handle)) {
            consider(it, handle, row);
        }
    }
    return 1;
}

/* True if rows follow each other. */
static int
do_follow(const int64_t *rows, uint64_t n)
{
    if (n > 0 && rows[0] == (int64_t)NIL) {
        return 0;
    }
    for (uint64_t i = 1; i < n; i++) {
        if (rows[i] != rows[0] + (int64_t)i) {
            return 0;
        }
    }
    return 1;
}

/* Return rows that follow each other as a slice. */
static PyObject *
slice_of(uint64_t first, uint64_t n)
{
    PyObject *start = PyLong_FromUnsignedLongLong(first);
    PyObject *stop = PyLong_FromUnsignedLongLong(first + n);
    PyObject *found = start == NULL || stop == NULL ? NULL : PySlice_New(start, stop, NULL);
    Py_XDECREF(start);
    Py_XDECREF(stop);
    return found;
}

/* Return the rows of a member as the query has them. */
static PyObject *
rows_of(const Join *plan, const Joined *member, uint64_t n)
{
    int has_nil = 0;
    for (uint64_t i = 0; member->role == OPTIONAL && !has_nil && i < n; i++) {
        has_nil = member->found[i] == (int64_t)NIL;
    }
    PyObject *rows = do_follow(member->found, n)
                         ? slice_of(n == 0 ? 0 : (uint64_t)member->found[0], n)
                         : array_of(plan->empty, plan->dtype, member->found, n);
    PyObject *given[] = {rows, has_nil ? Py_True : Py_False};
    PyObject *found = rows == NULL ? NULL : PyObject_Vectorcall(plan->rows_kind, given, 2, NULL);
    Py_XDECREF(rows);
    return found;
}

/* Return what was found as a match. */
static PyObject *
match_of(const Join *plan, const Joining *it)
{
    PyObject *members = PyList_New(it->kept), *match = NULL;
    for (int i = 0; members != NULL && i < it->kept; i++) {
        PyObject *rows = rows_of(plan, &it->members[i], it->n);
        if (rows == NULL) {
            Py_CLEAR(members);
            break;
        }
        PyList_SET_ITEM(members, i, rows);
    }
    PyObject *count = PyLong_FromUnsignedLongLong(it->n), *walked = PyLong_FromLong(it->walked);
    if (members != NULL && count != NULL && walked != NULL) {
        PyObject *given[] = {count, walked, members, Py_None};
        match = PyObject_Vectorcall(plan->match_kind, given, 4, NULL);
    }
    Py_XDECREF(members);
    Py_XDECREF(count);
    Py_XDECREF(walked);
    return match;
}

/* `_join`: find entities and rows. */
static PyObject *
join(PARAMETERS)
{
    Joining it;
    if (!has_args(nargsf, kwnames, 1) || !open_join(&it, PLAN(callable), args[0]) ||
        !join_candidates(&it)) {
        return LEAVE;
    }
    PyObject *match = match_of(PLAN(callable), &it);
    PyMem_Free(it.memory);
    return match;
}

const Function join_functions[] = {
    {"join", join},
    {NULL, NULL},
};
