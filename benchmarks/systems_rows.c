/* The loop that queries of benchmarks/systems.py are measured by: over the rows that one finds. */

#include <stddef.h>
#include <stdint.h>

void
systems_rows(size_t count, float dt, const int64_t *velocity_rows, const int64_t *position_rows,
             const float *restrict velocity, float *restrict position)
{
    for (size_t k = 0; k < count; k++) {
        const float *v = velocity + 3 * velocity_rows[k];
        float *p = position + 3 * position_rows[k];
        p[0] += v[0] * dt;
        p[1] += v[1] * dt;
        p[2] += v[2] * dt;
    }
}
