#include "capture/shift.h"

#include "core/random.h"

enum { GAP_MIN_GIB = 8, STEP_BYTES = 64 << 20, STEPS_PER_GIB = (1 << 30) / STEP_BYTES };

static bool is_used(const struct shift *shift, uint64_t gib)
{
	return shift->used[gib / 64] >> gib % 64 & 1;
}

void shift_note(struct shift *shift, uint64_t address, uint64_t bytes)
{
	const uint64_t first = address >> 30;
	const uint64_t end = address + (bytes > 0 ? bytes - 1 : 0);

	if (address == 0 || first >= SHIFT_GIB_COUNT || end < address)
		return;
	for (uint64_t gib = first; gib <= u64_min(end >> 30, SHIFT_GIB_COUNT - 1); gib++)
		shift->used[gib / 64] |= UINT64_C(1) << gib % 64;
}

/* First used GiB from `from` on, or the end. */
static uint64_t next_used(const struct shift *shift, uint64_t from)
{
	while (from < SHIFT_GIB_COUNT && !is_used(shift, from))
		from++;
	return from;
}

/* One past the last of those that move with `first`. */
static uint64_t part_end(const struct shift *shift, uint64_t first)
{
	uint64_t end = first + 1;

	for (uint64_t next; (next = next_used(shift, end)) < SHIFT_GIB_COUNT; end = next + 1)
		if (next - end >= GAP_MIN_GIB)
			break;
	return end;
}

/* At most a quarter of the gap to each side: neighbours that do the same stay apart. */
static struct err *distance_choose(uint64_t below_gib, uint64_t above_gib, int64_t *bytes_ret)
{
	const uint64_t down = below_gib / 4 * STEPS_PER_GIB, up = above_gib / 4 * STEPS_PER_GIB;
	uint64_t random;
	int rc;

	rc = random_fill(&random, sizeof(random));
	if (rc < 0)
		return err_errno_new(-rc, "random bytes");
	*bytes_ret = ((int64_t)(random % (down + up + 1)) - (int64_t)down) * STEP_BYTES;
	return NULL;
}

struct err *shift_make(struct shift *shift)
{
	uint64_t before_end = 0; /* of the part before */
	uint64_t moved = 0; /* below this GiB distances are chosen; half of a gap goes each way */

	for (uint64_t first = next_used(shift, 0); first < SHIFT_GIB_COUNT;) {
		const uint64_t end = part_end(shift, first), next = next_used(shift, end);
		int64_t bytes = 0;
		struct err *err = distance_choose(first - before_end, next - end, &bytes);

		if (err)
			return err;
		if (before_end == 0)
			moved = first / 2;
		for (const uint64_t last = next == SHIFT_GIB_COUNT ? next : (end + next) / 2;
		     moved < last; moved++)
			shift->by[moved] = bytes;
		before_end = end;
		first = next;
	}
	return NULL;
}
