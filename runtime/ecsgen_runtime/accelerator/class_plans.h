#ifndef ECSGEN_FAST_CLASS_PLANS_H
#define ECSGEN_FAST_CLASS_PLANS_H

#include "_fast.h"

/* Remember what the attributes of a class are now. */
int seal_guard(Guard *guard);

/* How an item of Python's description of a class becomes a member of a plan: objects of a type, None
   or any, numbers, and offsets of slots, ABSENT for those that a class does not have. */
typedef enum { ANY, TYPE, TEXT, DICT, TUPLE, VIEW, BYTES, OR_NONE, FLAG, NUMBER, A_SLOT, SLOT_IF_ANY } How;

typedef struct {
    const char *name;
    size_t place; /* the offset of the member */
    How how;
} Part;

#define AT(type, member, how) {#member, offsetof(type, member), how}

/* Read the description of a class; -1 with an exception if it is wrong. */
int read_plan(PyObject *self, PyObject *spec, const Part *parts);

extern const Part component_parts[];

/* Read a component's columns, fields and defaults, behind all else. */
int read_tables(PyObject *self, PyObject *spec);

extern PyType_Spec entities_spec;
extern PyType_Spec component_spec;
extern PyType_Spec world_spec;
extern PyType_Spec proxy_spec;
extern PyType_Spec join_spec;
extern PyType_Spec property_spec;
extern PyType_Spec rows_spec;

/* Let objects of a class of proxies find their properties in C. */
void find_attributes_quickly(PyTypeObject *kind);

#endif
