/* The loop that benchmarks/simulate.py measures the generated kernels by. */

#include <stddef.h>

__attribute__((noinline)) static void
step(size_t elements, float dt, const float *restrict acceleration, float *restrict velocity,
     float *restrict position)
{
    for (size_t k = 0; k < elements; k++) {
        velocity[k] += acceleration[k] * dt;
        position[k] += velocity[k] * dt;
    }
}

/* Several steps in one call, so that the way from Python to C does not count. */
void
simulate(size_t steps, size_t elements, float dt, const float *acceleration, float *velocity,
         float *position)
{
    for (size_t k = 0; k < steps; k++)
        step(elements, dt, acceleration, velocity, position);
}
