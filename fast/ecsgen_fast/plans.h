#ifndef ECSGEN_FAST_PLANS_H
#define ECSGEN_FAST_PLANS_H

#include "_fast.h"

extern PyType_Spec entities_spec;
extern PyType_Spec component_spec;
extern PyType_Spec world_spec;

#endif
