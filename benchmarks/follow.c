/* Rows that read a vector of another row, which a sparse array of rows and its owners find. */
#include <stdint.h>

void follow(long n, uint64_t mask, const uint32_t *rows_of, const uint64_t *owners, long count,
            const uint64_t *target, const float *at, float *velocity, const float *others, float k)
{
    for (long i = 0; i < n; i++) {
        uint32_t row = rows_of[target[i] & mask];
        float x = 0, y = 0, z = 0;
        if (row < count && owners[row] == target[i]) {
            x = others[3 * row];
            y = others[3 * row + 1];
            z = others[3 * row + 2];
        }
        velocity[3 * i] += (x - at[3 * i]) * k;
        velocity[3 * i + 1] += (y - at[3 * i + 1]) * k;
        velocity[3 * i + 2] += (z - at[3 * i + 2]) * k;
    }
}
