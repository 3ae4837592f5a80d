/*
 * causes: findings at the same line of the user's code are one finding, with the others as its
 * evidence: they are the same blocks, seen in several ways. Internal to findings.
 */
#ifndef MEMTAPE_FINDINGS_CAUSES_H
#define MEMTAPE_FINDINGS_CAUSES_H

#include "findings/finding.h"

/*
 * Sorts the parts - those of a place together, what leads first - and returns one finding a place,
 * in the order of their first parts. What is nowhere stays alone, and so does a bad free. Its `also` and
 * `stake_bytes` are filled in, its rank is the highest of its parts. In the arena.
 */
struct err *causes_join(struct cause_part *parts, size_t count, struct arena *arena,
			struct finding **causes_ret, size_t *count_ret);

#endif
