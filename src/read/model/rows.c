#include "model/rows.h"

#include <assert.h>

#include "base/big.h"
#include "model/packer.h"

enum {
	COUNT_MAX = UINT32_MAX - 1,
	HOT_MIN = 4,
	PATCHES_SHARE = 16, /* of memory, twice */
	SEGMENTS_MAX = 1 << (32 - SEGMENT_BITS),
	AHEAD = 10 /* entries of a log whose memory is prefetched */
};

struct err *rows_init(struct rows *rows, struct image *image, const struct clock *clock,
		      uint64_t memory_bytes)
{
	assert(image->fd >= 0);
	*rows = (struct rows) {
		.image = image,
		.address_mask = UINT64_MAX,
		.clock = clock,
		/* the rest is for the table of blocks, decoding, and sums */
		.hot_max = u64_max(memory_bytes / 8 / PACKER_ROWS_BYTES, HOT_MIN),
	};
	packer_init(&rows->packer, memory_bytes / PATCHES_SHARE);
	patches_init(&rows->patches, memory_bytes / PATCHES_SHARE);
	rows->hot = calloc(SEGMENTS_MAX, sizeof(*rows->hot)); /* untouched where not needed */
	if (!rows->hot)
		return err_nomem();
	return NULL;
}

void rows_deinit(struct rows *rows)
{
	packer_deinit(&rows->packer);
	for (size_t i = rows->cold_count; i < rows->segment_count; i++)
		big_free(rows->hot[i], PACKER_ROWS_BYTES);
	free(rows->hot);
	segments_vec_deinit(&rows->segments);
	big_free(rows->freed, PACKER_FREED_BYTES);
	freed_blocks_deinit(&rows->freed_blocks);
	patches_deinit(&rows->patches);
	vec_u64_deinit(&rows->chain_patches);
	chains_vec_deinit(&rows->chains);
}

/* The oldest segment in memory goes to the packer. */
static struct err *segment_give(struct rows *rows)
{
	const struct pack_job job = { rows->hot[rows->cold_count], (uint32_t)rows->cold_count,
				      false };

	rows->cold_count++;
	return packer_give(rows, job);
}

static struct err *segment_begin(struct rows *rows)
{
	struct row *fresh = NULL;
	struct err *err = NULL;

	if (!packer_expect(rows))
		return err_nomem();
	if (rows->segment_count - rows->cold_count >= rows->hot_max) {
		err = segment_give(rows);
		fresh = packer_spare(&rows->packer, false);
	}
	if (!err && !fresh)
		fresh = big_alloc(PACKER_ROWS_BYTES);
	if (!err && !fresh)
		err = err_nomem();
	if (!err)
		rows->current = rows->hot[rows->segment_count++] = fresh;
	else
		big_free(fresh, PACKER_ROWS_BYTES);
	return err;
}

/* In memory and ours; NULL: the packer has it. A row's end belongs to the packer in any case. */
static struct row *row_find(const struct rows *rows, uint32_t row)
{
	const size_t segment = row >> SEGMENT_BITS;

	return segment < rows->cold_count ? NULL : &rows->hot[segment][row % MODEL_SEGMENT];
}

/* The chain that the row `old` is in, a new one if none; ROW_NONE: out of memory. */
static uint32_t chain_of(struct rows *rows, uint32_t old)
{
	struct row *row = row_find(rows, old);
	const uint32_t fresh = (uint32_t)rows->chains.count;
	uint32_t known = row ? row->chain : packer_chain_of(rows, old);

	if (known != ROW_NONE)
		return known;
	if (!chains_vec_push(&rows->chains, (struct chain_record) { old, old, 1 }))
		return ROW_NONE;
	if (row)
		row->chain = fresh;
	else if (!vec_u64_push(&rows->chain_patches, (uint64_t)old << 32 | fresh))
		return ROW_NONE;
	return fresh;
}

static uint32_t chain_extend(struct rows *rows, uint32_t old, uint32_t row)
{
	const uint32_t chain = chain_of(rows, old);

	if (chain != ROW_NONE) {
		rows->chains.items[chain].last_row = row;
		rows->chains.items[chain].length++;
	}
	return chain;
}

struct err *rows_add(struct rows *rows, const struct capture_event *event, uint32_t slack,
		     uint32_t thread, uint32_t realloc_of)
{
	const uint64_t at = rows->count;
	uint32_t chain = ROW_NONE;

	if (unlikely(at % MODEL_SEGMENT == 0)) {
		struct err *err = at < COUNT_MAX - MODEL_SEGMENT
					  ? segment_begin(rows)
					  : err_new(ERR_LIMIT, "more than %u allocations",
						    COUNT_MAX - MODEL_SEGMENT);

		if (err)
			return err;
	}
	if (realloc_of != ROW_NONE) {
		chain = chain_extend(rows, realloc_of, (uint32_t)at);
		if (chain == ROW_NONE)
			return err_nomem();
	}
	__builtin_prefetch(&rows->current[at % MODEL_SEGMENT] + AHEAD, 1);
	rows->current[at % MODEL_SEGMENT] = (struct row) {
		.address = event->address & rows->address_mask,
		.size = event->size,
		.time = event->ticks,
		.free_time = MODEL_NEVER,
		.slack = slack,
		.stack = event->stack,
		.free_stack = CAPTURE_STACK_NONE,
		.thread = thread,
		.free_thread = MODEL_NO_THREAD,
		.realloc_distance = realloc_of == ROW_NONE ? 0 : (uint32_t)at - realloc_of,
		.chain = chain,
		.fn = (uint8_t)event->fn,
		.free_fn = TAPE_FN_EXTENDED,
	};
	rows->count++;
	return NULL;
}

struct err *rows_retell(struct rows *rows, uint32_t index, const struct capture_event *event,
			uint32_t thread, unsigned flags)
{
	const struct patch patch = { .time = event->ticks,
				     .row = index,
				     .stack = event->stack,
				     .thread = thread,
				     .chain = ROW_NONE,
				     .fn = (uint8_t)event->fn,
				     .flags = (uint8_t)flags };

	assert(index < rows->count);
	assert(index < rows->count);
	return patches_add(&rows->patches, patch);
}

/* Space for the next block; a full one goes to the packer. */
static struct err *freed_begin(struct rows *rows)
{
	const uint64_t number = rows->freed_count / FREED_BLOCK;
	const struct pack_job job = { steal(rows->freed), (uint32_t)(number - 1), true };
	struct err *err = packer_expect_freed(rows) ? NULL : err_nomem();

	if (err) {
		big_free(job.items, PACKER_FREED_BYTES);
		return err;
	}
	if (job.items)
		err = packer_give(rows, job);
	if (err)
		return err;
	rows->freed = packer_spare(&rows->packer, true);
	if (!rows->freed)
		rows->freed = big_alloc(PACKER_FREED_BYTES);
	return rows->freed ? NULL : err_nomem();
}

struct err *rows_free(struct rows *rows, const struct block *block,
		      const struct capture_event *event, uint32_t thread, unsigned flags)
{
	if (unlikely(rows->freed_count % FREED_BLOCK == 0)) {
		struct err *err = freed_begin(rows);

		if (err)
			return err;
	}
	__builtin_prefetch(&rows->freed[rows->freed_count % FREED_BLOCK] + AHEAD, 1);
	rows->freed[rows->freed_count++ % FREED_BLOCK] = (struct freed_entry) {
		.time = event->ticks,
		.size = block->size,
		.row = block->serial,
		.stack = block->stack,
		.slack = block->slack,
		.free_stack = event->stack,
		.free_thread = thread,
		.free_fn = (uint8_t)event->fn,
		.flags = (uint8_t)flags,
	};
	return NULL;
}
