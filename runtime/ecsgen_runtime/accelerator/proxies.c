/* Proxies: objects that stand for one row each, and their attributes. */

#include "row_lookup.h"
#include "class_plans.h"

#define PROXY(callable) ((Proxy *)((Method *)(callable))->plan)

/* Attributes that are no fields. */
#define ROW (-1)
#define OWNER (-2)

/* A property of a class of proxies, with functions in C before its own. */
typedef struct {
    PyObject_HEAD
    PyObject *wrapped; /* the property */
    PyObject *plan;    /* a Proxy */
    PyObject *name;    /* interned, as the names in code are */
    Py_ssize_t field;
    int reads, writes; /* what is in C */
} Property;

/* ---- where a proxy's row is ----------------------------------------------------------------- */

/* Note where a proxy's row is now. */
static int
note_row(Proxy *plan, PyObject *proxy, uint64_t row, PyObject *version)
{
    PyObject *number = PyLong_FromUnsignedLongLong(row);
    if (number == NULL) {
        PyErr_Clear(); /* Python tries again */
        return 0;
    }
    Py_XSETREF(SLOT(proxy, plan->row), number); /* both were ints: nothing runs */
    Py_XSETREF(SLOT(proxy, plan->version), Py_NewRef(version));
    return 1;
}

/* Find a proxy's manager, its data, and the row that was there in the data's present version. */
static inline int
open_proxy(Proxy *plan, PyObject *proxy, PyObject **manager, PyObject **data, uint64_t *row)
{
    Component *its = plan->component;
    if (!guard_holds(&plan->plan.guard, proxy)) {
        return 0;
    }
    *manager = SLOT(proxy, plan->manager);
    PyObject *version = SLOT(proxy, plan->version), *number = SLOT(proxy, plan->row);
    if (*manager == NULL || version == NULL || number == NULL ||
        (*data = data_of(its, *manager)) == NULL) {
        return 0;
    }
    PyObject *now = SLOT(*data, its->version);
    if (now == version) {
        return is_row_of(its, *data, number, row);
    }
    uint64_t one, other;
    if (!is_number(now, &one) || !is_number(version, &other)) {
        return 0;
    }
    if (one == other) {
        return is_row_of(its, *data, number, row);
    }
    PyObject *owner = SLOT(proxy, plan->owner);
    return plan->finds && PyLong_CheckExact(number) &&
           find_entity(its, *manager, owner, data, row) && *row != NIL &&
           note_row(plan, proxy, *row, now);
}

/* ---- properties ----------------------------------------------------------------------------- */

static PyObject *
new_property(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(named))
{
    PyObject *plan, *wrapped, *name;
    Py_ssize_t field;
    int reads, writes;
    if (!PyArg_ParseTuple(args, "OO!Unpp", &plan, &PyProperty_Type, &wrapped, &name, &field,
                          &reads, &writes)) {
        return NULL;
    }
    if (strcmp(Py_TYPE(plan)->tp_name, proxy_spec.name) != 0) {
        return PyErr_Format(PyExc_TypeError, "a plan of proxies is needed, not %R", plan);
    }
    if (field < OWNER || field >= ((Proxy *)plan)->component->n_fields) {
        return PyErr_Format(PyExc_IndexError, "there is no field %zd", field);
    }
    Property *self = (Property *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->wrapped = Py_NewRef(wrapped);
        self->plan = Py_NewRef(plan);
        self->name = Py_NewRef(name);
        PyUnicode_InternInPlace(&self->name);
        self->field = field;
        self->reads = reads;
        self->writes = writes && field >= 0;
    }
    return (PyObject *)self;
}

static int
property_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Property *)self)->wrapped);
    Py_VISIT(((Property *)self)->plan);
    return 0;
}

static int
property_clear(PyObject *self)
{
    Py_CLEAR(((Property *)self)->wrapped);
    Py_CLEAR(((Property *)self)->plan);
    Py_CLEAR(((Property *)self)->name);
    return 0;
}

/* Return the value of an attribute; NULL without an exception leaves it to Python. */
static PyObject *
read_attribute(const Property *self, PyObject *proxy)
{
    Proxy *plan = (Proxy *)self->plan;
    PyObject *manager, *data;
    uint64_t row;
    if (self->field == OWNER) {
        PyObject *owner =
            guard_holds(&plan->plan.guard, proxy) ? SLOT(proxy, plan->owner) : NULL;
        return owner == NULL || owner == Py_None ? NULL : Py_NewRef(owner);
    }
    if (!open_proxy(plan, proxy, &manager, &data, &row)) {
        return NULL;
    }
    if (self->field == ROW) {
        return Py_NewRef(SLOT(proxy, plan->row));
    }
    return read_value(plan->component, manager, data, &plan->component->fields[self->field], row);
}

static PyObject *
property_get(PyObject *self, PyObject *proxy, PyObject *owner)
{
    Property *it = (Property *)self;
    if (proxy == NULL) {
        return Py_NewRef(self);
    }
    if (it->reads && it->plan != NULL) {
        PyObject *value = read_attribute(it, proxy);
        if (value != NULL || PyErr_Occurred()) {
            return value;
        }
    }
    if (it->wrapped == NULL) {
        PyErr_SetString(PyExc_ReferenceError, "the class of this property is gone");
        return NULL;
    }
    return Py_TYPE(it->wrapped)->tp_descr_get(it->wrapped, proxy, owner);
}

static int
property_set(PyObject *self, PyObject *proxy, PyObject *value)
{
    Property *it = (Property *)self;
    if (it->writes && it->plan != NULL && value != NULL) {
        Proxy *plan = (Proxy *)it->plan;
        PyObject *manager, *data;
        uint64_t row;
        if (open_proxy(plan, proxy, &manager, &data, &row) &&
            write_value(plan->component, manager, data, &plan->component->fields[it->field], row,
                        value)) {
            return 0;
        }
    }
    if (it->wrapped == NULL) {
        PyErr_SetString(PyExc_ReferenceError, "the class of this property is gone");
        return -1;
    }
    return Py_TYPE(it->wrapped)->tp_descr_set(it->wrapped, proxy, value);
}

/* To all who look, it is the property. */
static PyObject *
property_getattr(PyObject *self, PyObject *name)
{
    static const char *const own[] = {"__get__", "__set__", "__delete__", "__wrapped__", NULL};
    return get_own_or(self, ((Property *)self)->wrapped, name, own);
}

static PyMemberDef property_members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(Property, wrapped), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot property_slots[] = {
    {Py_tp_doc, "A property of proxies, the usual case of which is in C."},
    {Py_tp_new, new_property},
    {Py_tp_descr_get, property_get},
    {Py_tp_descr_set, property_set},
    {Py_tp_getattro, property_getattr},
    {Py_tp_traverse, property_traverse},
    {Py_tp_clear, property_clear},
    {Py_tp_dealloc, free_object},
    {Py_tp_members, property_members},
    {0, NULL},
};

PyType_Spec property_spec = {
    .name = "ecsgen_runtime.accelerator._fast.Property",
    .basicsize = sizeof(Property),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = property_slots,
};

/* ---- attributes of proxies ------------------------------------------------------------------ */

/* Properties that were found lately. A type with the same tag has the same attributes, so what is
   remembered is there still, and so is its name. */
#define FOUND 64

typedef struct {
    const PyTypeObject *type;
    unsigned int tag;
    const PyObject *name;
    PyObject *property;
} Found;

static Found found_lately[FOUND];

/* Find a property in C by its name; NULL for whatever else has that name. */
static inline PyObject *
find_property(PyTypeObject *type, PyObject *name)
{
    Found *it = &found_lately[((uintptr_t)name / 16 ^ (uintptr_t)type / 64) % FOUND];
    if (it->type == type && it->tag == type->tp_version_tag && it->name == name) {
        return it->property;
    }
    PyObject *found = _PyType_Lookup(type, name); /* gives the type a tag */
    if (found == NULL || Py_TYPE(found)->tp_descr_get != property_get) {
        return NULL;
    }
    if (((Property *)found)->name == name && type->tp_version_tag != 0 &&
        PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) {
        *it = (Found){type, type->tp_version_tag, name, found};
    }
    return found;
}

/* What Python does to get an attribute takes as long as reading it. */
static PyObject *
get_attribute(PyObject *proxy, PyObject *name)
{
    PyTypeObject *type = Py_TYPE(proxy);
    PyObject *found = find_property(type, name);
    if (found == NULL) {
        return PyObject_GenericGetAttr(proxy, name);
    }
    Py_INCREF(found); /* the class may lose it meanwhile */
    PyObject *value = property_get(found, proxy, (PyObject *)type);
    Py_DECREF(found);
    return value;
}

static int
set_attribute(PyObject *proxy, PyObject *name, PyObject *value)
{
    PyObject *found = find_property(Py_TYPE(proxy), name);
    if (found == NULL) {
        return PyObject_GenericSetAttr(proxy, name, value);
    }
    Py_INCREF(found);
    int done = property_set(found, proxy, value);
    Py_DECREF(found);
    return done;
}

void
find_attributes_quickly(PyTypeObject *kind)
{
    if (kind->tp_getattro == PyObject_GenericGetAttr) {
        kind->tp_getattro = get_attribute;
    }
    if (kind->tp_setattro == PyObject_GenericSetAttr) {
        kind->tp_setattro = set_attribute;
    }
    PyType_Modified(kind);
}

/* ---- making proxies ------------------------------------------------------------------------- */

/* Make a proxy; the owner's reference is taken. What is made first may run finalizers. */
static PyObject *
make_proxy(Proxy *plan, PyObject *manager, PyObject *owner, uint64_t row, PyObject *version)
{
    PyTypeObject *kind = plan->plan.guard.kind;
    PyObject *number = PyLong_FromUnsignedLongLong(row);
    Py_INCREF(version);
    PyObject *proxy = number == NULL ? NULL : kind->tp_alloc(kind, 0);
    if (proxy == NULL) {
        Py_DECREF(owner);
        Py_XDECREF(number);
        Py_DECREF(version);
        return NULL;
    }
    SLOT(proxy, plan->manager) = Py_NewRef(manager);
    SLOT(proxy, plan->owner) = owner;
    SLOT(proxy, plan->row) = number;
    SLOT(proxy, plan->version) = version;
    return proxy;
}

/* `m[entity]` */
static PyObject *
item(PARAMETERS)
{
    Proxy *plan = PROXY(callable);
    PyObject *data;
    uint64_t row;
    if (has_args(nargsf, kwnames, 2) && plan->finds &&
        find_entity(plan->component, args[0], args[1], &data, &row) && row != NIL) {
        PyObject *version = SLOT(data, plan->component->version);
        if (version != NULL) {
            return make_proxy(plan, args[0], Py_NewRef(args[1]), row, version);
        }
    }
    return LEAVE;
}

/* Overwrite an int to which there is no other reference. 0 if it cannot be. */
static inline int
change_int(PyObject *number, uint64_t value)
{
#if PY_VERSION_HEX < 0x030C0000 && PYLONG_BITS_IN_DIGIT == 30
    if (number == NULL || Py_REFCNT(number) != 1 || !PyLong_CheckExact(number)) {
        return 0;
    }
    digit *digits = ((PyLongObject *)number)->ob_digit;
    if (Py_SIZE(number) == 1 && value > SHARED && value <= PyLong_MASK) {
        digits[0] = (digit)value;
        return 1;
    }
    if (Py_SIZE(number) == 2 && value > PyLong_MASK && value >> 60 == 0) {
        digits[0] = (digit)(value & PyLong_MASK);
        digits[1] = (digit)(value >> 30);
        return 1;
    }
#else
    (void)number;
    (void)value;
#endif
    return 0;
}

/* Put an int into a slot; 0 without memory. The slot has one already, so nothing runs. */
static inline int
put_int(PyObject **slot, uint64_t value)
{
    if (change_int(*slot, value)) {
        return 1;
    }
    PyObject *number = from_u64(value);
    if (number == NULL) {
        PyErr_Clear(); /* the caller makes a new proxy, or raises */
        return 0;
    }
    Py_SETREF(*slot, number);
    return 1;
}

/* What iterates over the rows that were there when it was made, in their order. */
typedef struct {
    PyObject_HEAD
    PyObject *plan;    /* a Proxy */
    PyObject *manager; /* NULL: it is at its end */
    PyObject *data;
    PyObject *find;    /* the manager's bound `lookup` */
    PyObject *version; /* of the rows' numbers */
    uint64_t *owners;  /* 0: the row is a hole */
    uint64_t next, count;
    PyObject *given[2]; /* the last proxies: one that nobody else has any more is the next one */
} RowsIterator;

/* Reuse a former proxy for another row; NULL if it is referenced, or was changed. */
static PyObject *
reuse_proxy(RowsIterator *it, PyObject *proxy, uint64_t owner, uint64_t row, PyObject *version)
{
    const Proxy *plan = (Proxy *)it->plan;
    if (proxy == NULL || Py_REFCNT(proxy) != 1 || Py_TYPE(proxy) != plan->plan.guard.kind ||
        SLOT(proxy, plan->manager) != it->manager) {
        return NULL;
    }
    PyObject **owns = &SLOT(proxy, plan->owner), **at = &SLOT(proxy, plan->row);
    PyObject **seen = &SLOT(proxy, plan->version);
    if (*owns == NULL || !PyLong_CheckExact(*owns) || *at == NULL || !PyLong_CheckExact(*at) ||
        *seen == NULL || !PyLong_CheckExact(*seen) || !put_int(owns, owner) || !put_int(at, row)) {
        return NULL;
    }
    if (*seen != version) {
        Py_SETREF(*seen, Py_NewRef(version));
    }
    return Py_NewRef(proxy);
}

/* Return the proxy of a row, which may be one that was given out before. */
static PyObject *
next_proxy(RowsIterator *it, uint64_t handle, uint64_t row, PyObject *version)
{
    PyObject **given = &it->given[it->next & 1];
    PyObject *proxy = reuse_proxy(it, *given, handle, row, version);
    if (proxy != NULL) {
        return proxy;
    }
    PyObject *owner = from_u64(handle);
    if (owner != NULL) {
        proxy = make_proxy((Proxy *)it->plan, it->manager, owner, row, version);
    }
    if (proxy != NULL) {
        Py_XSETREF(*given, Py_NewRef(proxy));
    }
    return proxy;
}

/* `m.rows()` */
static PyObject *
rows(PARAMETERS)
{
    Proxy *plan = PROXY(callable);
    Component *its = plan->component;
    Rows rows;
    if (!has_args(nargsf, kwnames, 1) || !plan->finds || its->entity == ABSENT ||
        !open_rows(its, args[0], &rows)) {
        return LEAVE;
    }
    PyObject *find = PyObject_GetAttr(args[0], plan->plan.finder);
    RowsIterator *it = find == NULL ? NULL
                                    : (RowsIterator *)plan->rows_kind->tp_alloc(plan->rows_kind, 0);
    if (it == NULL) {
        Py_XDECREF(find);
        return NULL;
    }
    it->plan = Py_NewRef((PyObject *)plan);
    it->manager = Py_NewRef(args[0]);
    it->find = find;
    if (!open_rows(its, args[0], &rows)) { /* finalizers may have run */
        Py_DECREF(it);
        return LEAVE;
    }
    it->data = Py_NewRef(rows.data);
    it->version = Py_XNewRef(SLOT(rows.data, its->version));
    it->owners = PyMem_Malloc((size_t)(rows.n + 1) * sizeof *it->owners);
    if (it->owners == NULL || it->version == NULL) {
        Py_DECREF(it);
        return LEAVE;
    }
    it->count = rows.n;
    memcpy(it->owners, cell_number(its, &rows, its->entity, 0), (size_t)rows.n * sizeof *it->owners);
    return (PyObject *)it;
}

/* Find the row of an owner as `lookup` does, NIL if it has none; -1 with an exception. */
static int
find_again(const RowsIterator *it, uint64_t handle, uint64_t *row)
{
    Proxy *plan = (Proxy *)it->plan;
    PyObject *owner = from_u64(handle), *data, *found = NULL;
    if (owner != NULL && find_entity(plan->component, it->manager, owner, &data, row) &&
        data == it->data) {
        Py_DECREF(owner);
        return 0;
    }
    if (owner != NULL) {
        found = PyObject_CallOneArg(it->find, owner);
        Py_DECREF(owner);
    }
    if (found == NULL) {
        return -1;
    }
    *row = PyLong_AsUnsignedLongLong(found);
    Py_DECREF(found);
    return *row == (uint64_t)-1 && PyErr_Occurred() ? -1 : 0;
}

/* True if the manager has rows still; if it is broken, it says so when the loop begins. */
static int
is_whole(RowsIterator *it)
{
    Proxy *plan = (Proxy *)it->plan;
    if (it->manager == NULL || it->next > 0 ||
        guard_holds(&plan->component->plan.guard, it->manager)) {
        return it->manager != NULL;
    }
    PyObject *data = PyObject_GetAttrString(it->manager, "data");
    Py_XDECREF(data);
    return data != NULL;
}

static PyObject *
rows_next(PyObject *self)
{
    RowsIterator *it = (RowsIterator *)self;
    Proxy *plan = (Proxy *)it->plan;
    if (!is_whole(it)) {
        return NULL;
    }
    while (it->next < it->count) {
        uint64_t row = it->next++, handle = it->owners[row];
        if (handle == 0) {
            continue; /* a hole of a direct manager */
        }
        if (SLOT(it->data, plan->component->version) != it->version &&
            find_again(it, handle, &row) < 0) {
            it->count = 0;
            return NULL;
        }
        PyObject *version = SLOT(it->data, plan->component->version);
        if (row != NIL && version != NULL) {
            return next_proxy(it, handle, row, version);
        }
    }
    return NULL;
}

static int
rows_traverse(PyObject *self, visitproc visit, void *arg)
{
    RowsIterator *it = (RowsIterator *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(it->plan);
    Py_VISIT(it->manager);
    Py_VISIT(it->data);
    Py_VISIT(it->find);
    Py_VISIT(it->given[0]);
    Py_VISIT(it->given[1]);
    return 0;
}

static int
rows_clear(PyObject *self)
{
    RowsIterator *it = (RowsIterator *)self;
    it->count = 0;
    PyMem_Free(it->owners);
    it->owners = NULL;
    Py_CLEAR(it->given[0]);
    Py_CLEAR(it->given[1]);
    Py_CLEAR(it->manager);
    Py_CLEAR(it->data);
    Py_CLEAR(it->find);
    Py_CLEAR(it->plan);
    Py_CLEAR(it->version);
    return 0;
}

static PyType_Slot rows_slots[] = {
    {Py_tp_doc, "Iterates over the rows of a manager."},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, rows_next},
    {Py_tp_traverse, rows_traverse},
    {Py_tp_clear, rows_clear},
    {Py_tp_dealloc, free_object},
    {0, NULL},
};

PyType_Spec rows_spec = {
    .name = "ecsgen_runtime.accelerator._fast.Rows",
    .basicsize = sizeof(RowsIterator),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = rows_slots,
};

const Function proxy_functions[] = {
    {"item", item},
    {"rows", rows},
    {NULL, NULL},
};
