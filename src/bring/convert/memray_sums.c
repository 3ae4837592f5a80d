/*
 * memray's aggregated files (--aggregate): the sums of every stack at the peak and at the end.
 */
#include "convert/memray.h"

#include <assert.h>

/* Numbers in aggregated files; the others are as in other files. */
enum sum_record {
	SUM_SNAPSHOT = 1,
	SUM_ALLOCATION,
	SUM_TRACE,
	SUM_FRAME,
	SUM_OBJECT = 13,
	SUM_TRAILER = 15
};

static uint32_t sum_stack(struct memray *memray, uint64_t node, uint64_t tid)
{
	uint32_t frames[COMPOSE_DEPTH_MAX];
	const uint64_t skipped = tid == memray->main_tid ? memray->skipped_frames : 0;
	uint32_t stack = COMPOSE_ROOT;
	size_t count = 0;

	while (node > 0 && node <= memray->nodes.count && count < COMPOSE_DEPTH_MAX) {
		const struct memray_node *at = &memray->nodes.items[node - 1];
		const uint64_t *frame = map_find(&memray->frame_at, at->frame);

		frames[count++] = frame ? (uint32_t)*frame : 0;
		node = at->parent < node ? at->parent : 0;
	}
	count -= u64_min(count, skipped);
	for (size_t i = count; i-- > 0;)
		stack = composer_stack(memray->composer, stack, frames[i]);
	return count ? stack : COMPOSE_NO_STACK;
}

static void sum_take(struct memray *memray)
{
	uint64_t numbers[9];
	struct compose_sum sum = { .has_peak = true };

	/* thread, allocator, C frame, stack, mappings; counts at the peak and at the end, bytes */
	for (size_t i = 0; i < array_size(numbers); i++)
		numbers[i] = memray_u64_read(memray);
	if (memray->why)
		return;
	sum.peak_count = numbers[5];
	sum.live_count = numbers[6];
	sum.peak_bytes = numbers[7];
	sum.live_bytes = numbers[8];
	for (size_t i = 5; i < array_size(numbers); i++)
		if (numbers[i] >> 56)
			memray_fail(memray, "a number is too large");
	if (memray->why)
		return;
	memray_thread_switch(memray, numbers[0]);
	if (memray->why)
		return;
	memray_thread_tell(memray);
	composer_sum(memray->composer, sum_stack(memray, numbers[3], numbers[0]), &sum);
}

static void sum_frame_take(struct memray *memray)
{
	const uint64_t number = memray_varint_read(memray);
	const uint64_t code = memray_varint_read(memray);
	const uint64_t offset = memray_delta_read(memray);

	memray_u8_read(memray);
	if (!memray->why)
		memray_put(memray, &memray->frame_at, number,
			   memray_frame_of(memray, code, (int64_t)offset));
}

void memray_sum_record_take(struct memray *memray, uint8_t record)
{
	struct memray_node node;

	assert(memray->is_sums);
	switch (record) {
	case SUM_SNAPSHOT:
		memray_u64_read(memray);
		memray_u64_read(memray);
		memray_u64_read(memray);
		break;
	case SUM_ALLOCATION:
		sum_take(memray);
		break;
	case SUM_TRACE:
		node.frame = memray_varint_read(memray);
		node.parent = memray_varint_read(memray);
		if (!memray_node_vec_push(&memray->nodes, node))
			memray_fail(memray, "out of memory");
		break;
	case SUM_FRAME:
		sum_frame_take(memray);
		break;
	case SUM_OBJECT:
		memray_varint_read(memray);
		if (memray->has_native)
			memray_varint_read(memray);
		break;
	case SUM_TRAILER:
		memray->ended = true;
		break;
	default:
		if (!memray_common_take(memray, record))
			memray_fail(memray, "unknown record type: what follows cannot be parsed");
	}
}
