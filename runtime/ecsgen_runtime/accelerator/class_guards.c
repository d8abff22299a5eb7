/* Guards: is a class still what it was? And what objects of all types here do in the end. */

#include "class_plans.h"

/* True if a type has what the layer relies on, as it was when the layer was sealed. */
static int
is_as_it_was(const Guard *guard, PyTypeObject *type)
{
    if (guard->values == NULL || !PyType_IsSubtype(type, guard->kind) ||
        type->tp_getattro != guard->kind->tp_getattro) {
        return 0; /* what is broken raises from __getattribute__ */
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(guard->names); i++) {
        PyObject *found = _PyType_Lookup(type, PyTuple_GET_ITEM(guard->names, i));
        if (found != PyTuple_GET_ITEM(guard->values, i)) {
            return 0;
        }
    }
    return 1;
}

int
guard_holds_slowly(Guard *guard, PyTypeObject *type)
{
    for (int i = 1; i < SEEN; i++) {
        Seen found = guard->seen[i];
        if (found.type == type && found.tag == type->tp_version_tag) {
            guard->seen[i] = guard->seen[0];
            guard->seen[0] = found; /* the next call is likely to be for the same class */
            return found.is_good;
        }
    }
    int is_good = is_as_it_was(guard, type); /* looking attributes up gives the type a tag */
    if (guard->values != NULL && PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG) &&
        type->tp_version_tag != 0) {
        memmove(&guard->seen[1], &guard->seen[0], sizeof(Seen) * (SEEN - 1));
        guard->seen[0] = (Seen){type, type->tp_version_tag, is_good};
    }
    return is_good;
}

/* Remember what the attributes of a class are now. */
int
seal_guard(Guard *guard)
{
    Py_ssize_t count = PyTuple_GET_SIZE(guard->names);
    PyObject *values = PyTuple_New(count);
    if (values == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *found = _PyType_Lookup(guard->kind, PyTuple_GET_ITEM(guard->names, i));
        PyTuple_SET_ITEM(values, i, Py_NewRef(found == NULL ? Py_None : found));
    }
    Py_XSETREF(guard->values, values);
    memset(guard->seen, 0, sizeof guard->seen);
    return 0;
}

PyObject *
get_own_or(PyObject *self, PyObject *wrapped, PyObject *name, const char *const *own)
{
    for (; *own != NULL; own++) {
        if (wrapped == NULL || PyUnicode_CompareWithASCIIString(name, *own) == 0) {
            return PyObject_GenericGetAttr(self, name);
        }
    }
    return PyObject_GetAttr(wrapped, name);
}

void
free_object(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    (void)type->tp_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}
