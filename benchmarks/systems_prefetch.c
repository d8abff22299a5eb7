/* The same with the rows of the next turns on their way from memory already. */

#include <stddef.h>
#include <stdint.h>

#define AHEAD 32

void
systems_prefetch(size_t count, float dt, const int64_t *velocity_rows, const int64_t *position_rows,
              const float *restrict velocity, float *restrict position)
{
    for (size_t k = 0; k < count; k++) {
        size_t next = k + AHEAD < count ? k + AHEAD : k;
        __builtin_prefetch(velocity + 3 * velocity_rows[next]);
        __builtin_prefetch(position + 3 * position_rows[next], 1);
        const float *v = velocity + 3 * velocity_rows[k];
        float *p = position + 3 * position_rows[k];
        p[0] += v[0] * dt;
        p[1] += v[1] * dt;
        p[2] += v[2] * dt;
    }
}
