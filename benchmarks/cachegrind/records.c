/* One update, `velocity += acceleration * dt; position += velocity * dt`, over several ways to lay
   the same rows out in memory. benchmarks/cachegrind/count.py runs it under cachegrind:

       records LAYOUT ROWS STEPS

   and prints the ns per row and step.

   With -DPOSITION_ONLY it is `position += velocity * dt`.

   The update needs 36 hot bytes of a row. What belongs to a row besides is cold here: 92 bytes, so
   that a record has 128. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    float x, y, z;
} vec3;

/* Only what the update needs. */
typedef struct {
    vec3 position, velocity, acceleration;
} hot;

/* The hot fields first. */
typedef struct {
    vec3 position, velocity, acceleration;
    char cold[92];
} sorted;

/* The same fields, in the order in which somebody thought of them. */
typedef struct {
    char name[32];
    vec3 position;
    char model[24];
    vec3 velocity;
    char sound[24];
    vec3 acceleration;
    char notes[12];
} mixed;

_Static_assert(sizeof(hot) == 36 && sizeof(sorted) == 128 && sizeof(mixed) == 128, "sizes");

#define DT 0.0009765625f

static void *
zeroed(size_t size)
{
    /* On a cache line, as the buffer of a generated manager. */
    void *memory = aligned_alloc(64, (size + 63) / 64 * 64);
    if (memory == NULL) {
        fputs("not enough memory\n", stderr);
        exit(1);
    }
    return memset(memory, 0, size);
}

static inline void
advance(vec3 *position, vec3 *velocity, const vec3 *acceleration)
{
#ifdef POSITION_ONLY
    (void)acceleration;
#else
    velocity->x += acceleration->x * DT;
    velocity->y += acceleration->y * DT;
    velocity->z += acceleration->z * DT;
#endif
    position->x += velocity->x * DT;
    position->y += velocity->y * DT;
    position->z += velocity->z * DT;
}

#define ADVANCE(row) advance(&(row).position, &(row).velocity, &(row).acceleration)

static void
print_time(clock_t taken, size_t times)
{
    printf("%f\n", 1e9 * (double)taken / CLOCKS_PER_SEC / (double)times);
}

/* Does something for each row, `steps` times, and prints how long one took. */
#define RUN(rows, steps, something)                    \
    do {                                               \
        clock_t began = clock();                       \
        for (size_t step = 0; step < (steps); step++)  \
            for (size_t k = 0; k < (rows); k++)        \
                something;                             \
        print_time(clock() - began, (rows) * (steps)); \
    } while (0)

static void
columns(size_t rows, size_t steps)
{
    vec3 *position = zeroed(rows * sizeof *position);
    vec3 *velocity = zeroed(rows * sizeof *velocity);
    vec3 *acceleration = zeroed(rows * sizeof *acceleration);
    RUN(rows, steps, advance(&position[k], &velocity[k], &acceleration[k]));
}

#define RECORDS(type)                                     \
    static void records_##type(size_t rows, size_t steps) \
    {                                                     \
        type *all = zeroed(rows * sizeof *all);           \
        RUN(rows, steps, ADVANCE(all[k]));                \
    }

RECORDS(hot)
RECORDS(sorted)
RECORDS(mixed)

/* Records of their own, reached through pointers, after some time of coming and going: the order
   of the pointers has nothing to do with that in memory. */
static void
objects(size_t rows, size_t steps)
{
    mixed *all = zeroed(rows * sizeof *all);
    mixed **order = zeroed(rows * sizeof *order);
    for (size_t k = 0; k < rows; k++)
        order[k] = &all[k];
    unsigned long long draw = 1;
    for (size_t k = rows; k > 1; k--) {
        draw = draw * 6364136223846793005ull + 1442695040888963407ull;
        size_t other = (size_t)((draw >> 33) % k);
        mixed *swapped = order[k - 1];
        order[k - 1] = order[other];
        order[other] = swapped;
    }
    RUN(rows, steps, ADVANCE(*order[k]));
}

static const struct {
    const char *name;
    void (*run)(size_t rows, size_t steps);
} LAYOUTS[] = {
    {"columns", columns},
    {"hot", records_hot},
    {"sorted", records_sorted},
    {"mixed", records_mixed},
    {"objects", objects},
};

int
main(int count, char **words)
{
    if (count == 4)
        for (size_t k = 0; k < sizeof LAYOUTS / sizeof *LAYOUTS; k++)
            if (strcmp(words[1], LAYOUTS[k].name) == 0) {
                LAYOUTS[k].run(strtoul(words[2], NULL, 10), strtoul(words[3], NULL, 10));
                return 0;
            }
    fputs("usage: records columns|hot|sorted|mixed|objects ROWS STEPS\n", stderr);
    return 2;
}
