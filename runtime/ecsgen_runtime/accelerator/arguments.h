/* Values of a new row, given by name or as a row. All write over the defaults; 0 leaves it to Python. */

#ifndef ECSGEN_FAST_ARGUMENTS_H
#define ECSGEN_FAST_ARGUMENTS_H

#include "_fast.h"

/* True if each of a tuple of names, or NULL, is one that a new row takes. */
int has_names(const Component *plan, PyObject *names);

/* As keyword arguments; `names` is their tuple, or NULL without any. `above` becomes the parent's row
   that is among them, or NIL; it is NULL where none may be. */
int read_named(const Component *plan, PyObject *const *values, PyObject *names, char *scratch,
               uint64_t *above);

/* As a dict. */
int read_dict(const Component *plan, PyObject *fields, char *scratch);

/* As the component's named tuple. */
int read_row_values(const Component *plan, PyObject *row, char *scratch);

#endif
