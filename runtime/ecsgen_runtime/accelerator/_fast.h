/* What the parts of the layer share: the plan of a class, and how its objects are read.

   All functions follow one rule. What is unusual in any way, be it another type, a dead entity, a
   lock, or a full buffer, is left to the generated Python method *before anything has changed*. So
   a function here either does exactly what that method would do, or nothing; rules, errors and
   tracebacks stay in Python. Functions that answer with an int say 1 for "done" or "yes", 0 for
   "leave it to Python", and -1 with an exception set (only ever MemoryError). */

#ifndef ECSGEN_FAST_H
#define ECSGEN_FAST_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>
#include <structmember.h>

#define NIL UINT64_C(0xFFFFFFFF) /* no row; also what a cell of 32 bits holds for it */
#define MAX_CELL 256             /* bytes of one field */
#define MAX_ROW 1024             /* bytes of all fields of a row */
#define MAX_PARTS 16             /* columns of one field */
#define ABSENT ((Py_ssize_t)-1)  /* the offset of a slot, or number of a column, that is not there */

/* The object in a slot, at the offset in a member descriptor. */
#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* Classes for which the layer holds: one, and those derived from it that changed nothing it relies
   on. A type's version tag changes with its attributes and those of its bases, so remembering the
   tag is remembering the answer. Tags are never given twice; pointers may be stale. */
#define SEEN 4

typedef struct {
    PyTypeObject *type;
    unsigned int tag;
    int is_good;
} Seen;

typedef struct {
    PyTypeObject *kind;
    PyObject *names;  /* tuple: attributes that must be what they were ... */
    PyObject *values; /* tuple: ... when the layer was sealed, NULL before */
    Seen seen[SEEN];  /* never with a tag of 0, which types without one have */
} Guard;

/* A column of the buffer. */
typedef struct {
    uint64_t before; /* bytes per row of the columns in front of it */
    uint64_t nbytes; /* bytes per row */
    Py_ssize_t at;   /* where a new row's scratch has its value, or ABSENT */
    int moves;       /* true if it goes along when a row moves */
} Column;

/* A field: one column, or as many as it has elements. */
typedef struct {
    PyObject *name;
    PyObject *fallback; /* the default, as an object */
    PyObject *members;  /* of an enum: dict from number to member, else NULL */
    PyObject *numbers;  /* of an enum: frozenset of its numbers, else NULL */
    PyObject *kind_of;  /* of an enum: the class, else NULL */
    int kind;           /* as in the struct module; 's' is text, 'S' bytes, 0: left to Python */
    int size;           /* bytes of an element */
    int count;          /* elements, 0 for a scalar */
    int parts;          /* columns */
    Py_ssize_t columns[MAX_PARTS];
    Py_ssize_t cells; /* the slot of the column's memoryview; ABSENT if there is none, or several */
    Py_ssize_t at;    /* in a new row's scratch */
    Py_ssize_t nbytes;
    PyObject *given; /* of a vector of floats: the tuple that was read last, or NULL */
} Field;

/* How every plan begins. `parts` guards the class of the one object that the methods look into most:
   a manager's data, an entity manager's queue. */
typedef struct {
    PyObject *spec; /* Python's description of the class: keeps alive what the plan points to */
    Guard guard, parts;
    PyTypeObject *method_kind; /* of methods in C */
    PyObject *finder;          /* the name of `lookup`, by which others find a manager's plan */
} Plan;

typedef struct {
    PyObject_HEAD
    Plan plan;
    uint64_t index_mask, one_generation;
    PyObject *globals; /* of the module, whose limits tests make smaller */
    uint64_t limits_tag; /* the version of `globals` in which they were: */
    uint64_t min_free, index_count, last_generation;
    PyTypeObject *dispatch_kind, *callbacks_kind, *entry_kind;
    Py_ssize_t cells, n_used, n_cells, n_retired, free, dispatch, callbacks; /* slots */
    Py_ssize_t queue_count, queue_head, queue_mask, queue_cells;  /* slots of the queue */
    Py_ssize_t depth, errors, waiting;                            /* slots of `dispatch` */
    Py_ssize_t entries;                                           /* of `callbacks` */
    Py_ssize_t listener, remove;                                  /* of an entry */
} Entities;

typedef struct {
    PyObject_HEAD
    Plan plan;
    PyTypeObject *row_kind; /* the named tuple of a row, or NULL */
    PyTypeObject *callbacks_kind; /* of `released` and `added` */
    PyObject *empty, *dtype;      /* what makes an array of rows */
    PyObject *remove;             /* the method of that name, in C if `removes` */
    int removes, creates;         /* true if the methods of these names are in C */
    Entities *entities;     /* NULL if rows have no owners */
    uint64_t index_mask;
    int is_direct, is_many; /* lookup: direct; instances: many */
    int starts_active;      /* true if new rows of a partition are active */
    int releases_children;  /* true if children of rows that go become roots */
    int kills_orphans;      /* true if owners of rows that go with others die */
    PyObject *above;        /* the argument of `create` that names a parent, or NULL */
    int is_anchored;        /* true if `anchor` is the view of the owners */
    Py_ssize_t n_columns, n_fields, row_bytes;
    Column *columns;
    Field *fields;
    char *defaults; /* the scratch of a row of defaults */
    /* slots of the manager */
    Py_ssize_t data, locks, owners, sparse, map, released, added;
    Py_ssize_t entries; /* of `released` and `added` */
    /* slots of its data */
    Py_ssize_t anchor, n, version, allocated, count, active, peak, slots, first_generation;
    /* columns, by number */
    Py_ssize_t anchor_column, entity, id_slot, id_row, id_generation;
    Py_ssize_t parent, first_child, next_sibling, previous_sibling;
} Component;

typedef struct {
    PyObject_HEAD
    Plan plan;
    PyObject *kinds;              /* dict from the names of components to row classes */
    PyObject *array, *cells;      /* an array of one entity, and its memoryview */
    PyObject *copy;               /* the name of what copies it */
    Entities *entities_plan;
    PyObject *reserve;            /* the name of what gives the queue of free indices room */
    PyObject *entities, *clean;   /* names: of the entity manager, and of its count of deaths when no
                                     manager had rows of the dead */
    Py_ssize_t managers, deferred_despawns, collecting_managers; /* slots */
} World;

/* A class of proxies: objects that stand for one row each. */
typedef struct {
    PyObject_HEAD
    Plan plan;
    Component *component;                   /* of the manager whose rows they are */
    PyTypeObject *rows_kind;                /* of what iterates over them */
    int finds;                              /* true if rows are found again by their entities */
    Py_ssize_t manager, owner, row, version; /* slots */
} Proxy;

/* What finds the entities of a query, and their rows. */
typedef struct {
    PyObject_HEAD
    Plan plan;
    PyObject *alive; /* the name by which the plan of an entity manager is found */
    PyTypeObject *member_kind, *sparse_kind;  /* components whose rows are found in C */
    PyObject *rows_kind, *match_kind;         /* what is made of what was found */
    PyObject *empty, *dtype;                  /* what makes an array of rows */
    Py_ssize_t entities, required, optional, any_of, none_of; /* slots */
    Py_ssize_t manager;                       /* of a member */
} Join;

/* A generated method with a function in C before it. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *wrapped; /* the generated method */
    PyObject *plan;    /* a Component, Entities, World, Proxy or Join */
    Py_ssize_t field;
    PyObject *weak;
} Method;

/* The rows of a manager, as long as no Python code runs. */
typedef struct {
    PyObject *data;
    char *base;
    uint64_t n, allocated;
} Rows;

typedef struct {
    const char *name;
    vectorcallfunc call;
} Function;

extern const Function manager_functions[];
extern const Function entity_functions[];
extern const Function world_functions[];
extern const Function proxy_functions[];
extern const Function join_functions[];

int guard_holds_slowly(Guard *guard, PyTypeObject *type);

/* Return an attribute of an object that stands before another one, of which all are that it has not
   itself. */
PyObject *get_own_or(PyObject *self, PyObject *wrapped, PyObject *name, const char *const *own);

/* Free an object, and all that its type clears. */
void free_object(PyObject *self);

/* ---- numbers -------------------------------------------------------------------------------- */

/* Read an int that fits into 64 bits without a sign. */
static inline int
to_u64(PyObject *number, uint64_t *value)
{
#if PY_VERSION_HEX < 0x030C0000 && PYLONG_BITS_IN_DIGIT == 30
    /* An entity has three digits; the general way takes as long as all the rest of a lookup. */
    const digit *digits = ((PyLongObject *)number)->ob_digit;
    switch (Py_SIZE(number)) {
    case 0:
        *value = 0;
        return 1;
    case 1:
        *value = digits[0];
        return 1;
    case 2:
        *value = digits[0] | (uint64_t)digits[1] << 30;
        return 1;
    case 3:
        *value = digits[0] | (uint64_t)digits[1] << 30 | (uint64_t)digits[2] << 60;
        return digits[2] < 16;
    default:
        return 0;
    }
#else
    *value = PyLong_AsUnsignedLongLong(number);
    if (*value == (uint64_t)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return 1;
#endif
}

static inline int
is_number(PyObject *object, uint64_t *value)
{
    return object != NULL && PyLong_CheckExact(object) && to_u64(object, value);
}

/* Return an int; that of an entity without looking for its digits. */
static inline PyObject *
from_u64(uint64_t value)
{
#if PY_VERSION_HEX < 0x030C0000 && PYLONG_BITS_IN_DIGIT == 30
    if (value >> 30 != 0 && value >> 60 == 0) {
        PyLongObject *number = _PyLong_New(2);
        if (number != NULL) {
            number->ob_digit[0] = (digit)(value & PyLong_MASK);
            number->ob_digit[1] = (digit)(value >> 30);
        }
        return (PyObject *)number;
    }
#endif
    return PyLong_FromUnsignedLongLong(value);
}

/* ---- memory --------------------------------------------------------------------------------- */

#ifndef _Py_MEMORYVIEW_RELEASED
#define _Py_MEMORYVIEW_RELEASED 0x001
#endif

/* The memory behind a memoryview in a slot, all of it writable, or NULL. The views of columns and
   maps are contiguous. */
static inline char *
memory_of(PyObject *object, uint64_t *nbytes)
{
    if (object == NULL || !PyMemoryView_Check(object)) {
        return NULL;
    }
    PyMemoryViewObject *view = (PyMemoryViewObject *)object;
    if (view->flags & _Py_MEMORYVIEW_RELEASED || view->view.readonly) {
        return NULL;
    }
    *nbytes = (uint64_t)view->view.len;
    return view->view.buf;
}

static inline uint32_t
get_u32(const char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint64_t
get_u64(const char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline void
put_u32(char *at, uint64_t value)
{
    uint32_t narrow = (uint32_t)value;
    memcpy(at, &narrow, sizeof narrow);
}

static inline void
put_u64(char *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

/* Copy a cell; the common sizes without a call. */
static inline void
copy_cell(char *to, const char *from, uint64_t nbytes)
{
    switch (nbytes) {
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    case 12:
        memcpy(to, from, 12);
        break;
    default:
        memcpy(to, from, nbytes);
    }
}

/* ---- objects -------------------------------------------------------------------------------- */

/* True if an object's class is one for which the layer holds. */
static inline int
guard_holds(Guard *guard, PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    const Seen *seen = &guard->seen[0];
    if (seen->type == type && seen->tag == type->tp_version_tag) {
        return seen->is_good;
    }
    return guard_holds_slowly(guard, type);
}

static inline char *
cell_number(const Component *plan, const Rows *rows, Py_ssize_t column, uint64_t row)
{
    const Column *it = &plan->columns[column];
    return rows->base + it->before * rows->allocated + row * it->nbytes;
}

/* Find the data of a manager; NULL if its class or that of the data is another. */
static inline PyObject *
data_of(Component *plan, PyObject *self)
{
    if (!guard_holds(&plan->plan.guard, self)) {
        return NULL;
    }
    PyObject *data = SLOT(self, plan->data);
    return data != NULL && guard_holds(&plan->plan.parts, data) ? data : NULL;
}

/* Find the rows of a manager. */
static inline int
open_rows(Component *plan, PyObject *self, Rows *rows)
{
    PyObject *data = data_of(plan, self);
    if (data == NULL) {
        return 0;
    }
    uint64_t nbytes = 0;
    char *anchor = memory_of(SLOT(data, plan->anchor), &nbytes);
    if (anchor == NULL || !is_number(SLOT(data, plan->n), &rows->n) ||
        !is_number(SLOT(data, plan->allocated), &rows->allocated)) {
        return 0;
    }
    const Column *column = &plan->columns[plan->anchor_column];
    if (rows->n > rows->allocated || rows->allocated > NIL ||
        nbytes != rows->allocated * column->nbytes) {
        return 0; /* a growth that failed halfway */
    }
    rows->data = data;
    rows->base = anchor - column->before * rows->allocated;
    return 1;
}

/* Read the number of a row that is in use. */
static inline int
is_row(const Component *plan, const Rows *rows, PyObject *object, uint64_t *row)
{
    return PyLong_CheckExact(object) && to_u64(object, row) && *row < rows->n &&
           (!plan->is_direct || get_u64(cell_number(plan, rows, plan->entity, *row)) != 0);
}

/* What functions in C get, and how they leave a call to the method that they stand for. */
#define PARAMETERS PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames
#define LEAVE leave(callable, args, nargsf, kwnames)

static inline PyObject *
leave(PARAMETERS)
{
    return PyObject_Vectorcall(((Method *)callable)->wrapped, args, nargsf, kwnames);
}

/* True if a call has just so many arguments by position. */
static inline int
has_args(size_t nargsf, PyObject *kwnames, Py_ssize_t count)
{
    return kwnames == NULL && PyVectorcall_NARGS(nargsf) == count;
}

#endif
