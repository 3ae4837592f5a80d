#include "model/checkpoints.h"

#include <assert.h>

enum {
	COUNT_WISHED = 96,
	SPACING_MIN = 1 << 16,
	BYTES_MIN = 16 << 20 /* for all, plus one byte per event */
};

void checkpoints_init(struct checkpoints *checkpoints, uint64_t event_count)
{
	uint64_t spacing = u64_max(event_count / COUNT_WISHED, SPACING_MIN);

	*checkpoints = (struct checkpoints) {
		.next = spacing,
		.spacing = spacing,
		.bytes_left = event_count + BYTES_MIN,
	};
}

void checkpoints_deinit(struct checkpoints *checkpoints)
{
	checkpoint_vec_deinit(&checkpoints->points);
	free(checkpoints->moments);
}

static struct model_stack_moment moment_of(const struct replay *replay, size_t stack)
{
	const struct tally *tally = tallies_of(&replay->stacks, (uint32_t)stack);
	const struct usable_sums *usable = &replay->usables[stack];

	return (struct model_stack_moment) {
		.allocated = tally->allocated,
		.freed = { tally->allocated.count - tally->live.count,
			   tally->allocated.bytes - tally->live.bytes },
		.temporary = { tally->temporary_count, tally->temporary_bytes },
		.freed_usable = usable->freed,
		.allocated_usable = usable->allocated,
	};
}

/* With very many stacks there are few checkpoints. */
static void space(struct checkpoints *checkpoints, uint64_t bytes)
{
	const size_t count = checkpoints->points.count;
	const uint64_t affordable = checkpoints->bytes_left / bytes;

	checkpoints->bytes_left -= u64_min(bytes, checkpoints->bytes_left);
	if (affordable == 0)
		checkpoints->spacing *= 2;
	else if (affordable + count < COUNT_WISHED)
		checkpoints->spacing += checkpoints->spacing / 4;
	checkpoints->next += checkpoints->spacing;
}

struct err *checkpoints_take(struct checkpoints *checkpoints, const struct replay *replay,
			     size_t stack_count, struct image *image)
{
	struct checkpoint point = {
		.row_count = replay->now.allocated_count,
		.freed_count = replay->now.allocated_count - replay->now.live_count,
		.stack_count = stack_count,
	};
	struct err *err;

	assert(stack_count >= CAPTURE_STACK_FIRST);
	assert(stack_count <= replay->stacks.seat_room);
	assert(checkpoints->spacing > 0);
	assert(replay->now.live_count <= replay->now.allocated_count);
	if (stack_count > checkpoints->moment_room) {
		free(checkpoints->moments);
		checkpoints->moment_room = 0;
		checkpoints->moments = malloc(stack_count * 2 * sizeof(*checkpoints->moments));
		if (!checkpoints->moments)
			return err_nomem();
		checkpoints->moment_room = stack_count * 2;
	}
	for (size_t i = 0; i < stack_count; i++)
		checkpoints->moments[i] = moment_of(replay, i);
	err = image_append(image, checkpoints->moments, stack_count * sizeof(*checkpoints->moments),
			   &point.offset);
	if (err)
		return err;
	space(checkpoints, stack_count * sizeof(*checkpoints->moments));
	return checkpoint_vec_push(&checkpoints->points, point) ? NULL : err_nomem();
}
