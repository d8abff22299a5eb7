/* Entities that come. */

#ifndef ECSGEN_FAST_ENTITIES_H
#define ECSGEN_FAST_ENTITIES_H

#include "changes.h"

/* Managers whose rows go with one entity in C. */
#define MAX_FOLLOWERS 32

/* An entity that is going to be: all that may fail is done before anything changes. */
typedef struct {
    Changes changes;
    char *cell;
    uint64_t handle;
    PyObject *entity; /* the handle as an object */
} NewEntity;

/* Plan to create an entity. If that is done, `add_entity`, which returns the handle, or
   `drop_entity` must follow. */
int plan_entity(NewEntity *it, Entities *plan, PyObject *self);
PyObject *add_entity(NewEntity *it);
void drop_entity(NewEntity *it);

#endif
