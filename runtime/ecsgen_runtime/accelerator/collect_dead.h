#ifndef ECSGEN_FAST_COLLECT_DEAD_H
#define ECSGEN_FAST_COLLECT_DEAD_H

#include "_fast.h"

/* Do what a world's `collect` does, if only a few are noted and nobody else is dead, and return how
   many rows went. NULL leaves it to Python. */
PyObject *collect_small_batch(World *plan, PyObject *self);

#endif
