/* Rows of one manager whose owners are dead, or about to be. */

#ifndef ECSGEN_FAST_BATCH_REMOVAL_H
#define ECSGEN_FAST_BATCH_REMOVAL_H

#include "links.h"

/* Rows that are going to go. */
typedef struct {
    Change change;
    Rows rows;
    SlotUpdates changes;
    uint32_t *gone; /* ascending */
    uint64_t count, room;
    uint64_t leaving; /* how many go in all */
} BatchRemoval;

/* Find a manager's rows; 0 if there is more beside them than a map and a family, or a lock. */
int open_batch_removal(BatchRemoval *it, const Plan *world, PyObject *manager, const Entities *entities,
                 PyObject *owners);

/* Note the row of an entity, if it has one. Behind all others, sort the rows. */
void add_row_of(BatchRemoval *it, uint64_t entity);
void sort_rows(BatchRemoval *it);

/* Note the rows of all that are dead. */
void add_dead_rows(BatchRemoval *it, const char *cells, uint64_t n_cells);

/* Note what is below rows that were noted, and write the owners of that; 0 if links lead astray or
   there is no memory. */
int add_descendants(BatchRemoval *it, uint64_t *owners, uint64_t *count);

/* Plan the numbers of the manager when `more` rows go after those noted; 0 leaves it to Python. */
int plan_batch_removal(BatchRemoval *it, uint64_t more);

/* Let the rows go that were noted: those behind the new end move, ascending, into the holes. Then
   none is noted. */
void commit_batch_removal(BatchRemoval *it);

#endif
