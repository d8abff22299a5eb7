#ifndef ECSGEN_FAST_CLASS_PLANS_H
#define ECSGEN_FAST_CLASS_PLANS_H

#include "_fast.h"

/* Remember what the attributes of a class are now. */
int seal_guard(Guard *guard);

/* Read Python's description of a class; -1 with an exception if it is wrong. */
int read_entities(Entities *plan, PyObject *spec);
int read_component(Component *plan, PyObject *spec);
int read_world(World *plan, PyObject *spec);
int read_proxy(Proxy *plan, PyObject *spec);
int read_join(Join *plan, PyObject *spec);

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
