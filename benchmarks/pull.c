/* Springs that pull at both of their ends. */
#include <stdint.h>

void pull(long n, uint64_t mask, const uint32_t *rows_of, const uint64_t *owners, long count,
          const uint64_t *a, const uint64_t *b, const float *at, float *force, float k)
{
    for (long i = 0; i < n; i++) {
        uint32_t p = rows_of[a[i] & mask], q = rows_of[b[i] & mask];
        int has_p = p < count && owners[p] == a[i], has_q = q < count && owners[q] == b[i];
        for (int e = 0; e < 3; e++) {
            float f = ((has_q ? at[3 * q + e] : 0) - (has_p ? at[3 * p + e] : 0)) * k;
            if (has_p)
                force[3 * p + e] += f;
            if (has_q)
                force[3 * q + e] -= f;
        }
    }
}
