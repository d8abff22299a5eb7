/* The types of plans. */

#include "class_plans.h"

#include <stddef.h>

/* All plans begin alike. */
static Plan *
plan_of(PyObject *self)
{
    return &((Entities *)self)->plan;
}

static PyObject *
seal(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    Plan *plan = plan_of(self);
    if (seal_guard(&plan->guard) < 0 || seal_guard(&plan->parts) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Store the method that removes an entity's rows: it notifies managers of despawns. */
static PyObject *
seal_component(PyObject *self, PyObject *ignored)
{
    Component *plan = (Component *)self;
    const PyTypeObject *method_kind = plan->plan.method_kind;
    PyObject *create = PyDict_GetItemString(plan->plan.spec, "create");
    plan->remove = PyDict_GetItemString(plan->plan.spec, "remove");
    plan->removes = plan->remove != NULL && Py_TYPE(plan->remove) == method_kind;
    plan->creates = create != NULL && Py_TYPE(create) == method_kind && plan->entities != NULL;
    return seal(self, ignored);
}

/* Let the class find what it has now by shorter ways. */
static PyObject *
seal_proxy(PyObject *self, PyObject *ignored)
{
    find_attributes_quickly(((Proxy *)self)->plan.guard.kind);
    return seal(self, ignored);
}

static PyObject *
new_plan(PyTypeObject *type, PyObject *args, const Part *parts)
{
    PyObject *spec;
    if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &spec)) {
        return NULL;
    }
    PyObject *self = type->tp_alloc(type, 0);
    if (self != NULL && (read_plan(self, spec, parts) < 0 ||
                         (parts == component_parts && read_tables(self, spec) < 0))) {
        Py_CLEAR(self);
    }
    return self;
}

static int
traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(plan_of(self)->spec);
    Py_VISIT(plan_of(self)->guard.values);
    Py_VISIT(plan_of(self)->parts.values);
    return 0;
}

/* Nothing may call the methods of a plan any more: what it points to goes with the spec. */
static int
clear(PyObject *self)
{
    Plan *plan = plan_of(self);
    memset(plan->guard.seen, 0, sizeof plan->guard.seen);
    Py_CLEAR(plan->guard.values);
    Py_CLEAR(plan->parts.values);
    Py_CLEAR(plan->spec);
    return 0;
}

static void
free_component(PyObject *self)
{
    Component *plan = (Component *)self;
    for (Py_ssize_t i = 0; plan->fields != NULL && i < plan->n_fields; i++) {
        Py_XDECREF(plan->fields[i].given);
    }
    PyMem_Free(plan->columns);
    PyMem_Free(plan->fields);
    free_object(self);
}

static const Part entities_parts[] = {
    AT(Entities, cells, A_SLOT),          AT(Entities, n_used, A_SLOT),
    AT(Entities, n_cells, A_SLOT),        AT(Entities, n_retired, A_SLOT),
    AT(Entities, free, A_SLOT),           AT(Entities, dispatch, A_SLOT),
    AT(Entities, callbacks, A_SLOT),      AT(Entities, queue_count, A_SLOT),
    AT(Entities, queue_head, A_SLOT),     AT(Entities, queue_mask, A_SLOT),
    AT(Entities, queue_cells, A_SLOT),    AT(Entities, depth, A_SLOT),
    AT(Entities, errors, A_SLOT),         AT(Entities, waiting, A_SLOT),
    AT(Entities, entries, A_SLOT),        AT(Entities, listener, A_SLOT),
    AT(Entities, remove, A_SLOT),         AT(Entities, index_mask, NUMBER),
    AT(Entities, one_generation, NUMBER), AT(Entities, globals, DICT),
    AT(Entities, dispatch_kind, TYPE),    AT(Entities, callbacks_kind, TYPE),
    AT(Entities, entry_kind, TYPE),       {NULL, 0, ANY},
};

static const Part world_parts[] = {
    AT(World, managers, A_SLOT),    AT(World, deferred_despawns, A_SLOT),
    AT(World, kinds, DICT),         AT(World, collecting_managers, A_SLOT),
    AT(World, copy, TEXT),          AT(World, cells, VIEW),
    AT(World, array, ANY),          AT(World, entities_plan, ANY),
    AT(World, entities, TEXT),      AT(World, clean, TEXT),
    AT(World, reserve, TEXT),       {NULL, 0, ANY},
};

static const Part proxy_parts[] = {
    AT(Proxy, manager, A_SLOT), AT(Proxy, owner, A_SLOT),  AT(Proxy, row, A_SLOT),
    AT(Proxy, version, A_SLOT), AT(Proxy, component, ANY), AT(Proxy, rows_kind, TYPE),
    AT(Proxy, finds, FLAG),     {NULL, 0, ANY},
};

static const Part join_parts[] = {
    AT(Join, entities, A_SLOT), AT(Join, required, A_SLOT),  AT(Join, optional, A_SLOT),
    AT(Join, any_of, A_SLOT),   AT(Join, none_of, A_SLOT),   AT(Join, manager, A_SLOT),
    AT(Join, alive, TEXT),      AT(Join, member_kind, TYPE), AT(Join, sparse_kind, TYPE),
    AT(Join, rows_kind, ANY),   AT(Join, match_kind, ANY),   AT(Join, empty, ANY),
    AT(Join, dtype, ANY),       {NULL, 0, ANY},
};

/* Define the type of a plan. */
#define PLAN_TYPE(Kind, kind, plural, seal_it, free_it)                                        \
    static PyObject *new_##kind(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(named)) \
    {                                                                                          \
        return new_plan(type, args, kind##_parts);                                             \
    }                                                                                          \
    static PyMethodDef kind##_methods[] = {                                                    \
        {"seal", seal_it, METH_NOARGS, "Remember what the class is like: the layer holds now."}, \
        {NULL, NULL, 0, NULL},                                                                 \
    };                                                                                         \
    static PyType_Slot kind##_slots[] = {                                                      \
        {Py_tp_doc, "What the layer knows of a class of " plural "."},                         \
        {Py_tp_new, new_##kind},                                                               \
        {Py_tp_traverse, traverse},                                                            \
        {Py_tp_clear, clear},                                                                  \
        {Py_tp_dealloc, free_it},                                                              \
        {Py_tp_methods, kind##_methods},                                                       \
        {0, NULL},                                                                             \
    };                                                                                         \
    PyType_Spec kind##_spec = {                                                                \
        .name = "ecsgen_runtime.accelerator._fast." #Kind,                                     \
        .basicsize = sizeof(Kind),                                                             \
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,           \
        .slots = kind##_slots,                                                                 \
    }

PLAN_TYPE(Entities, entities, "entity managers", seal, free_object);
PLAN_TYPE(Component, component, "managers", seal_component, free_component);
PLAN_TYPE(World, world, "worlds", seal, free_object);
PLAN_TYPE(Proxy, proxy, "proxies", seal_proxy, free_object);
PLAN_TYPE(Join, join, "what joins the components of queries", seal, free_object);
