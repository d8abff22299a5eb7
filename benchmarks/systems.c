/* The loop that benchmarks/systems.py measures by: arrays of those that move, and of no others. */

#include <stddef.h>

void
systems(size_t elements, float dt, const float *restrict velocity, float *restrict position)
{
    for (size_t k = 0; k < elements; k++)
        position[k] += velocity[k] * dt;
}
