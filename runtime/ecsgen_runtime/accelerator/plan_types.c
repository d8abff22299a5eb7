/* The types of plans. */

#include "class_plans.h"

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
new_plan(PyTypeObject *type, PyObject *args)
{
    PyObject *spec;
    if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &spec)) {
        return NULL;
    }
    return type->tp_alloc(type, 0);
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

/* Define the type of a plan that a function reads from Python's description. */
#define PLAN_TYPE(Kind, kind, plural, seal_it, free_it)                                        \
    static PyObject *new_##kind(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(named)) \
    {                                                                                          \
        PyObject *self = new_plan(type, args);                                                 \
        if (self != NULL && read_##kind((Kind *)self, PyTuple_GET_ITEM(args, 0)) < 0) {        \
            Py_CLEAR(self);                                                                    \
        }                                                                                      \
        return self;                                                                           \
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
