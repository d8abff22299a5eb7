/* The module, and the methods that stand before the generated ones. */

#include "class_plans.h"

/* The types of the module, those of plans first. */
enum { ENTITIES, COMPONENT, WORLD, PROXY, JOIN, PROPERTY, ROWS, METHOD, N_TYPES };

#define N_PLANS PROPERTY

typedef struct {
    PyTypeObject *types[N_TYPES];
} State;

static const Function *const functions_of[N_PLANS] = {
    entity_functions, manager_functions, world_functions, proxy_functions, join_functions,
};

/* ---- Method --------------------------------------------------------------------------------- */

static const Function *
named_function(const Function *functions, const char *name)
{
    for (; functions->name != NULL; functions++) {
        if (strcmp(functions->name, name) == 0) {
            return functions;
        }
    }
    PyErr_Format(PyExc_ValueError, "there is no function %s", name);
    return NULL;
}

static PyObject *
new_method(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(named))
{
    PyObject *plan, *wrapped;
    const char *name;
    Py_ssize_t field = 0;
    State *state = PyType_GetModuleState(type);
    if (state == NULL || !PyArg_ParseTuple(args, "OOs|n", &plan, &wrapped, &name, &field)) {
        return NULL;
    }
    int kind = 0;
    while (kind < N_PLANS && !Py_IS_TYPE(plan, state->types[kind])) {
        kind++;
    }
    if (kind == N_PLANS) {
        return PyErr_Format(PyExc_TypeError, "a plan is needed, not %R", plan);
    }
    if (kind == COMPONENT && (field < 0 || field > ((Component *)plan)->n_fields)) {
        return PyErr_Format(PyExc_IndexError, "there is no field %zd", field);
    }
    const Function *function = named_function(functions_of[kind], name);
    Method *self = function == NULL ? NULL : (Method *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->call = function->call;
        self->wrapped = Py_NewRef(wrapped);
        self->plan = Py_NewRef(plan);
        self->field = field;
        ((Entities *)plan)->plan.method_kind = type; /* all plans begin alike */
    }
    return (PyObject *)self;
}

static int
method_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Method *)self)->wrapped);
    Py_VISIT(((Method *)self)->plan);
    return 0;
}

static PyObject *
refuse(PyObject *Py_UNUSED(callable), PyObject *const *Py_UNUSED(args), size_t Py_UNUSED(nargsf),
       PyObject *Py_UNUSED(kwnames))
{
    PyErr_SetString(PyExc_ReferenceError, "the class of this method is gone");
    return NULL;
}

static int
method_clear(PyObject *self)
{
    ((Method *)self)->call = refuse; /* a finalizer may have it still */
    Py_CLEAR(((Method *)self)->wrapped);
    Py_CLEAR(((Method *)self)->plan);
    return 0;
}

static void
method_free(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    if (((Method *)self)->weak != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    free_object(self);
}

static PyObject *
method_bind(PyObject *self, PyObject *instance, PyObject *Py_UNUSED(owner))
{
    return instance == NULL ? Py_NewRef(self) : PyMethod_New(self, instance);
}

/* To all who look, the method is the generated function. What is its own comes first, apart from
   what every object has: name, documentation, annotations and the like are the function's. */
static PyObject *
method_get(PyObject *self, PyObject *name)
{
    static const char *const own[] = {"__wrapped__", "__class__",     "__reduce__", "__reduce_ex__",
                                      "plan",        "field",       "__weakref__",   "__get__",    "__call__",
                                      "__hash__",    "__eq__",        NULL};
    return get_own_or(self, ((Method *)self)->wrapped, name, own);
}

static int
method_set(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(((Method *)self)->wrapped, name, value);
}

static PyObject *
method_repr(PyObject *self)
{
    return PyObject_Repr(((Method *)self)->wrapped);
}

/* Pickle and copy take it by its name, as they do functions. */
static PyObject *
method_reduce(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    return PyObject_GetAttrString(((Method *)self)->wrapped, "__qualname__");
}

static PyMethodDef method_methods[] = {
    {"__reduce__", method_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef method_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Method, call), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Method, weak), READONLY, NULL},
    {"__wrapped__", T_OBJECT_EX, offsetof(Method, wrapped), READONLY, NULL},
    {"plan", T_OBJECT_EX, offsetof(Method, plan), READONLY, NULL},
    {"field", T_PYSSIZET, offsetof(Method, field), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot method_slots[] = {
    {Py_tp_doc, "A generated method, the usual case of which is in C."},
    {Py_tp_new, new_method},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, method_bind},
    {Py_tp_getattro, method_get},
    {Py_tp_setattro, method_set},
    {Py_tp_repr, method_repr},
    {Py_tp_traverse, method_traverse},
    {Py_tp_clear, method_clear},
    {Py_tp_dealloc, method_free},
    {Py_tp_methods, method_methods},
    {Py_tp_members, method_members},
    {0, NULL},
};

/* A method descriptor: calling it on an instance makes no bound method. */
static PyType_Spec method_spec = {
    .name = "ecsgen_runtime.accelerator._fast.Method",
    .basicsize = sizeof(Method),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_METHOD_DESCRIPTOR |
             Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = method_slots,
};

/* ---- the module ----------------------------------------------------------------------------- */

static PyType_Spec *const specs[N_TYPES] = {
    &entities_spec, &component_spec, &world_spec, &proxy_spec,  &join_spec,
    &property_spec, &rows_spec,      &method_spec,
};

static int
execute(PyObject *module)
{
    PyTypeObject **types = ((State *)PyModule_GetState(module))->types;
    for (int i = 0; i < N_TYPES; i++) {
        types[i] = (PyTypeObject *)PyType_FromModuleAndSpec(module, specs[i], NULL);
        if (types[i] == NULL || PyModule_AddType(module, types[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
module_traverse(PyObject *module, visitproc visit, void *arg)
{
    State *state = PyModule_GetState(module);
    for (int i = 0; i < N_TYPES; i++) {
        Py_VISIT(state->types[i]);
    }
    return 0;
}

static int
module_clear(PyObject *module)
{
    State *state = PyModule_GetState(module);
    for (int i = 0; i < N_TYPES; i++) {
        Py_CLEAR(state->types[i]);
    }
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, execute},
    {0, NULL},
};

static PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_fast",
    .m_doc = "One-row methods of generated managers.",
    .m_size = sizeof(State),
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC
PyInit__fast(void)
{
    return PyModuleDef_Init(&module_definition);
}
