/* The loop that benchmarks/managers.py measures lookup_many by: a sparse array from entity index
   to row, and the owner of the row compared with the whole handle. */

#include <stddef.h>
#include <stdint.h>

#define NIL 0xFFFFFFFFu

void
lookup(size_t count, const uint64_t *entities, const uint32_t *rows, size_t size,
            const uint64_t *owners, intptr_t *found)
{
    for (size_t k = 0; k < count; k++) {
        uint64_t entity = entities[k];
        uint32_t index = (uint32_t)entity;
        uint32_t row = index < size ? rows[index] : NIL;
        found[k] = row != NIL && owners[row] == entity ? (intptr_t)row : (intptr_t)NIL;
    }
}
