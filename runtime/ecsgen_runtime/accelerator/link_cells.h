/* Cells that hold numbers of rows, and cells of the map. */

#ifndef ECSGEN_FAST_LINK_CELLS_H
#define ECSGEN_FAST_LINK_CELLS_H

#include "rows.h"

static inline char *
link_cell(const Change *change, Py_ssize_t column, uint64_t row)
{
    return cell_number(change->plan, change->rows, column, row);
}

static inline uint64_t
get_link(const Change *change, Py_ssize_t column, uint64_t row)
{
    return get_u32(link_cell(change, column, row));
}

static inline void
put_link(const Change *change, Py_ssize_t column, uint64_t row, uint64_t value)
{
    put_u32(link_cell(change, column, row), value);
}

static inline uint64_t
first_of(const Change *change, uint64_t owner)
{
    return get_u32(map_cell(change->plan, &change->map, owner));
}

static inline void
enter(const Change *change, uint64_t owner, uint64_t row)
{
    put_u32(map_cell(change->plan, &change->map, owner), row);
}

#endif
