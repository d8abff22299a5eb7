/* Rows that take from a number of another row. */
#include <stdint.h>

void strike(long n, uint64_t mask, const uint32_t *rows_of, const uint64_t *owners, long count,
            const uint64_t *target, const float *damage, float *points)
{
    for (long i = 0; i < n; i++) {
        uint32_t row = rows_of[target[i] & mask];
        if (row < count && owners[row] == target[i])
            points[row] -= damage[i];
    }
}
