/* Loops over queries: a row after the other, as long as nothing changes. */

#include "entities.h"
#include "class_plans.h"

#include <stddef.h>

#define PLAN(callable) ((Join *)((Method *)(callable))->plan)

/* Numbers that are looked at in each step: versions of managers, and three of the entities. */
#define MAX_WATCHED 20

/* The int in a slot. As long as this is the same object, it is the same number; and since the loop
   has it, too, it does not change in place. */
typedef struct {
    PyObject *owner, *number;
    Py_ssize_t slot;
} Watched;

typedef struct {
    PyObject_HEAD
    PyObject *plan, *join, *state;
    PyObject *rows; /* an iterator; NULL: the loop has ended */
    Watched watched[MAX_WATCHED];
    int count;
} Loop;

/* Watch the number in a slot. */
static int
watch(Loop *it, PyObject *owner, Py_ssize_t slot)
{
    PyObject *number = SLOT(owner, slot);
    if (it->count == MAX_WATCHED || number == NULL || !PyLong_CheckExact(number)) {
        return 0;
    }
    it->watched[it->count++] = (Watched){Py_NewRef(owner), Py_NewRef(number), slot};
    return 1;
}

/* Watch the versions of the managers that a query has joined. */
static int
watch_versions(Loop *it, const Join *plan, PyObject *data)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(data); i++) {
        PyObject *rows = PyTuple_GET_ITEM(data, i);
        PyObject *found = _PyType_Lookup(Py_TYPE(rows), plan->version);
        if (found == NULL || !Py_IS_TYPE(found, &PyMemberDescr_Type)) {
            return 0;
        }
        const PyMemberDef *member = ((PyMemberDescrObject *)found)->d_member;
        if (member->type != T_OBJECT_EX || !watch(it, rows, member->offset)) {
            return 0;
        }
    }
    return 1;
}

static int
watch_all(Loop *it, Join *plan)
{
    PyObject *entities = SLOT(it->join, plan->entities), *data = SLOT(it->join, plan->data);
    Entities *its = entities == NULL ? NULL : plan_of_entities(plan, entities);
    it->state = Py_XNewRef(SLOT(it->join, plan->state));
    if (its == NULL || !guard_holds(&its->plan.guard, entities) || data == NULL ||
        !PyTuple_CheckExact(data) || PyTuple_GET_SIZE(data) == 0 || it->state == NULL) {
        return 0;
    }
    PyObject *queue = SLOT(entities, its->free);
    return queue != NULL && guard_holds(&its->plan.parts, queue) &&
           watch_versions(it, plan, data) && watch(it, queue, its->queue_count) &&
           watch(it, queue, its->queue_head) && watch(it, entities, its->n_retired);
}

/* `_while_unchanged`: return what steps through rows. */
PyObject *
loop_over_query(PARAMETERS)
{
    Join *plan = PLAN(callable);
    if (!has_args(nargsf, kwnames, 2) || !PyIter_Check(args[1])) {
        return LEAVE;
    }
    PyObject *join = PyObject_GetAttr(args[0], plan->join);
    if (join == NULL || !guard_holds(&plan->plan.guard, join)) {
        PyErr_Clear();
        Py_XDECREF(join);
        return LEAVE;
    }
    Loop *it = (Loop *)plan->loop_kind->tp_alloc(plan->loop_kind, 0);
    if (it == NULL) {
        Py_DECREF(join);
        return NULL;
    }
    it->join = join;
    it->plan = Py_NewRef((PyObject *)plan);
    if (!watch_all(it, plan)) {
        Py_DECREF(it);
        return LEAVE;
    }
    it->rows = Py_NewRef(args[1]);
    return (PyObject *)it;
}

/* Note the numbers that are there now. */
static void
recheck(Loop *it)
{
    for (int i = 0; i < it->count; i++) {
        Watched *watched = &it->watched[i];
        Py_XSETREF(watched->number, Py_XNewRef(SLOT(watched->owner, watched->slot)));
    }
}

/* Raise if something else changed than that an entity was created; -1 with an exception. */
static int
ask_for_changes(Loop *it)
{
    const Join *plan = (Join *)it->plan;
    PyObject *now = PyObject_CallMethodNoArgs(it->join, plan->changes);
    int is_same = now == NULL ? -1 : PyObject_RichCompareBool(now, it->state, Py_EQ);
    Py_XDECREF(now);
    if (is_same > 0) {
        recheck(it);
        return 1;
    }
    PyObject *error = is_same == 0 ? PyObject_CallNoArgs(plan->changed) : NULL;
    if (error != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    }
    return -1;
}

static PyObject *
loop_next(PyObject *self)
{
    Loop *it = (Loop *)self;
    PyObject *row = NULL;
    if (it->rows == NULL) {
        return NULL;
    }
    int is_good = 1;
    for (int i = 0; i < it->count; i++) {
        const Watched *watched = &it->watched[i];
        is_good &= SLOT(watched->owner, watched->slot) == watched->number;
    }
    if (is_good || ask_for_changes(it) > 0) {
        row = Py_TYPE(it->rows)->tp_iternext(it->rows);
    }
    if (row == NULL) {
        Py_CLEAR(it->rows);
    }
    return row;
}

static int
loop_traverse(PyObject *self, visitproc visit, void *arg)
{
    Loop *it = (Loop *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(it->plan);
    Py_VISIT(it->join);
    Py_VISIT(it->rows);
    for (int i = 0; i < it->count; i++) {
        Py_VISIT(it->watched[i].owner);
    }
    return 0;
}

static int
loop_clear(PyObject *self)
{
    Loop *it = (Loop *)self;
    Py_CLEAR(it->rows);
    Py_CLEAR(it->join);
    Py_CLEAR(it->plan);
    Py_CLEAR(it->state);
    while (it->count > 0) {
        Watched *watched = &it->watched[--it->count];
        Py_CLEAR(watched->owner);
        Py_CLEAR(watched->number);
    }
    return 0;
}

static PyType_Slot loop_slots[] = {
    {Py_tp_doc, "Iterates over the rows of a query."},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, loop_next},
    {Py_tp_traverse, loop_traverse},
    {Py_tp_clear, loop_clear},
    {Py_tp_dealloc, free_object},
    {0, NULL},
};

PyType_Spec loop_spec = {
    .name = "ecsgen_runtime.accelerator._fast.Loop",
    .basicsize = sizeof(Loop),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = loop_slots,
};
