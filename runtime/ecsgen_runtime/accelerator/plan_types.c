/* The types of plans. */

#include "plans.h"

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

/* Remember, too, how rows of an entity go: managers are told of deaths by that method. */
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

static PyObject *
new_entities(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(named))
{
    PyObject *self = new_plan(type, args);
    if (self != NULL && read_entities((Entities *)self, PyTuple_GET_ITEM(args, 0)) < 0) {
        Py_CLEAR(self);
    }
    return self;
}

static PyObject *
new_component(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(named))
{
    PyObject *self = new_plan(type, args);
    if (self != NULL && read_component((Component *)self, PyTuple_GET_ITEM(args, 0)) < 0) {
        Py_CLEAR(self);
    }
    return self;
}

static PyObject *
new_world(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(named))
{
    PyObject *self = new_plan(type, args);
    if (self != NULL && read_world((World *)self, PyTuple_GET_ITEM(args, 0)) < 0) {
        Py_CLEAR(self);
    }
    return self;
}

static PyObject *
new_proxy(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(named))
{
    PyObject *self = new_plan(type, args);
    if (self != NULL && read_proxy((Proxy *)self, PyTuple_GET_ITEM(args, 0)) < 0) {
        Py_CLEAR(self);
    }
    return self;
}

static PyObject *
new_join(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(named))
{
    PyObject *self = new_plan(type, args);
    if (self != NULL && read_join((Join *)self, PyTuple_GET_ITEM(args, 0)) < 0) {
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
free_plan(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    clear(self);
    type->tp_free(self);
    Py_DECREF(type);
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
    free_plan(self);
}

static PyMethodDef plan_methods[] = {
    {"seal", seal, METH_NOARGS, "Remember what the class is like: the layer holds now."},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef component_methods[] = {
    {"seal", seal_component, METH_NOARGS, "Remember what the class is like: the layer holds now."},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef proxy_methods[] = {
    {"seal", seal_proxy, METH_NOARGS, "Remember what the class is like: the layer holds now."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot entities_type_slots[] = {
    {Py_tp_doc, "What the layer knows of a class of entity managers."},
    {Py_tp_new, new_entities},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_dealloc, free_plan},
    {Py_tp_methods, plan_methods},
    {0, NULL},
};

static PyType_Slot world_type_slots[] = {
    {Py_tp_doc, "What the layer knows of a class of worlds."},
    {Py_tp_new, new_world},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_dealloc, free_plan},
    {Py_tp_methods, plan_methods},
    {0, NULL},
};

static PyType_Slot proxy_type_slots[] = {
    {Py_tp_doc, "What the layer knows of a class of proxies."},
    {Py_tp_new, new_proxy},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_dealloc, free_plan},
    {Py_tp_methods, proxy_methods},
    {0, NULL},
};

static PyType_Slot join_type_slots[] = {
    {Py_tp_doc, "What the layer knows of the class that joins the components of queries."},
    {Py_tp_new, new_join},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_dealloc, free_plan},
    {Py_tp_methods, plan_methods},
    {0, NULL},
};

static PyType_Slot component_type_slots[] = {
    {Py_tp_doc, "What the layer knows of a class of managers."},
    {Py_tp_new, new_component},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_dealloc, free_component},
    {Py_tp_methods, component_methods},
    {0, NULL},
};

PyType_Spec entities_spec = {
    .name = "ecsgen_runtime.accelerator._fast.Entities",
    .basicsize = sizeof(Entities),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = entities_type_slots,
};

PyType_Spec component_spec = {
    .name = "ecsgen_runtime.accelerator._fast.Component",
    .basicsize = sizeof(Component),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = component_type_slots,
};

PyType_Spec world_spec = {
    .name = "ecsgen_runtime.accelerator._fast.World",
    .basicsize = sizeof(World),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = world_type_slots,
};

PyType_Spec proxy_spec = {
    .name = "ecsgen_runtime.accelerator._fast.Proxy",
    .basicsize = sizeof(Proxy),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = proxy_type_slots,
};

PyType_Spec join_spec = {
    .name = "ecsgen_runtime.accelerator._fast.Join",
    .basicsize = sizeof(Join),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = join_type_slots,
};
