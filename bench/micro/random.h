/* random: Marsaglia's xorshift64, the same numbers in every run. For the programs of this folder. */
#include <stdint.h>

static uint64_t state = 88172645463325252u;

static inline uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}
