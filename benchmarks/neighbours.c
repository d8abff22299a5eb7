/* A flock as one would write it in C: boids counted into cells, each one looks at nine of them. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline float apart_from(float there, float here, float size)
{
    float d = there - here;
    return fabsf(d) > size / 2 ? d - size * rintf(d / size) : d;
}

void neighbours(int64_t n, const float *position, float *heading, const float *wrap, float vision,
           float apart)
{
    int32_t nx = (int32_t)(wrap[0] / (1.001 * vision)), ny = (int32_t)(wrap[1] / (1.001 * vision));
    double ex = (double)wrap[0] / nx, ey = (double)wrap[1] / ny;
    uint32_t *starts = calloc((size_t)nx * ny + 1, sizeof *starts);
    uint32_t *cell = malloc(n * sizeof *cell), *order = malloc(n * sizeof *order);
    float(*place)[2] = malloc(n * sizeof *place), (*way)[2] = malloc(n * sizeof *way);
    for (int64_t i = 0; i < n; i++) {
        cell[i] = (uint32_t)((int32_t)(position[2 * i] / ex) % nx * ny
                             + (int32_t)(position[2 * i + 1] / ey) % ny);
        starts[cell[i] + 1]++;
    }
    for (int64_t c = 0; c < (int64_t)nx * ny; c++)
        starts[c + 1] += starts[c];
    for (int64_t i = 0; i < n; i++) {
        uint32_t k = starts[cell[i]]++;
        order[k] = (uint32_t)i;
        memcpy(place[k], position + 2 * i, sizeof *place);
        memcpy(way[k], heading + 2 * i, sizeof *way);
    }
    memmove(starts + 1, starts, (size_t)nx * ny * sizeof *starts);
    starts[0] = 0;
    float reach = vision * vision;
    for (int32_t cx = 0; cx < nx; cx++)
        for (int32_t cy = 0; cy < ny; cy++) {
            int64_t own = (int64_t)cx * ny + cy;
            for (uint32_t k = starts[own]; k < starts[own + 1]; k++) {
                double push[2] = {0, 0}, pull[2] = {0, 0}, along[2] = {0, 0};
                int64_t count = 0;
                for (int sx = -1; sx <= 1; sx++)
                    for (int sy = -1; sy <= 1; sy++) {
                        int64_t c = (int64_t)((cx + sx + nx) % nx) * ny + (cy + sy + ny) % ny;
                        for (uint32_t o = starts[c]; o < starts[c + 1]; o++) {
                            float x = apart_from(place[o][0], place[k][0], wrap[0]);
                            float y = apart_from(place[o][1], place[k][1], wrap[1]);
                            float square = x * x + y * y;
                            if (square > reach || o == k)
                                continue;
                            count++;
                            pull[0] += x, pull[1] += y;
                            along[0] += way[o][0], along[1] += way[o][1];
                            if (sqrtf(square) < apart)
                                push[0] += x, push[1] += y;
                        }
                    }
                float h[2], many = (float)(count > 1 ? count : 1);
                for (int a = 0; a < 2; a++) {
                    float turn = (float)pull[a] * 0.03f - (float)push[a] * 0.015f
                                 + (float)along[a] * 0.05f;
                    h[a] = way[k][a] + turn / many;
                }
                float length = sqrtf(h[0] * h[0] + h[1] * h[1]);
                if (length == 0)
                    length = 1;
                heading[2 * order[k]] = h[0] / length;
                heading[2 * order[k] + 1] = h[1] / length;
            }
        }
    free(starts), free(cell), free(order), free(place), free(way);
}
