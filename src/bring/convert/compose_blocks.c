/*
 * Blocks of sources without addresses: they are placed side by side, never twice in the same place,
 * and each group has a list of its live blocks, youngest first.
 */
#include "convert/compose_parts.h"

#include <assert.h>

#include "base/number.h"

static const uint64_t OWN_BEGIN = 0x10000;
enum {
	OWN_ALIGN = 16,
	/*
	 * Beyond these limits, fewer and larger blocks are written: a line of text can claim
	 * billions. Blocks that stay and blocks that go have the same limit each, so that both have
	 * room.
	 */
	SUM_BLOCKS_MAX = 1 << 20, /* for one sum, */
	SUM_KIND_MAX = 1 << 22	  /* for all: beyond it each sum is one block */
};

static const uint32_t NO_BLOCK = UINT32_MAX;

static void event(struct composer *composer, enum tape_fn fn, const struct own_block *block)
{
	const bool is_alloc = fn == TAPE_FN_MALLOC;

	compose_event(
		composer, composer->strand,
		&(struct compose_event) { .fn = fn,
					  .address = block->address,
					  .size = is_alloc ? block->size : 0,
					  .usable = is_alloc ? block->size : 0,
					  .stack = is_alloc ? block->stack : COMPOSE_NO_STACK });
}

static struct own_block block_place(struct composer *composer, uint64_t size, uint32_t stack)
{
	const struct own_block block = { .address = OWN_BEGIN + composer->next_address,
					 .size = size,
					 .stack = stack };

	/* wraps after 2^63 bytes, for bogus files */
	composer->next_address =
		(align_up(composer->next_address + u64_max(size, 1), OWN_ALIGN) + OWN_ALIGN) &
		(UINT64_MAX >> 1);
	return block;
}

/* Adds a block to the front of a list. */
static void list_push(struct composer *composer, uint32_t *youngest, uint64_t size, uint32_t stack)
{
	struct own_block block = block_place(composer, size, stack);
	uint32_t id = composer->free_block;

	assert(id == NO_BLOCK || id < composer->blocks.count);
	if (composer->err)
		return;
	block.next = *youngest;
	if (id != NO_BLOCK) {
		composer->free_block = composer->blocks.items[id].next;
		composer->blocks.items[id] = block;
	} else if (composer->blocks.count < NO_BLOCK &&
		   own_block_vec_push(&composer->blocks, block)) {
		id = (uint32_t)composer->blocks.count - 1;
	} else {
		compose_fail(composer, err_nomem());
		return;
	}
	*youngest = id;
	event(composer, TAPE_FN_MALLOC, &block);
}

/* Removes the youngest block of a non-empty list; returns its size. */
static uint64_t list_pop(struct composer *composer, uint32_t *youngest)
{
	const uint32_t id = *youngest;
	struct own_block *block = &composer->blocks.items[id];
	const uint64_t size = block->size;

	assert(id < composer->blocks.count);
	event(composer, TAPE_FN_FREE, block);
	*youngest = block->next;
	block->next = composer->free_block;
	composer->free_block = id;
	return size;
}

void composer_made(struct composer *composer, uint64_t group, uint64_t size, uint32_t stack)
{
	bool is_new;
	uint64_t *place = map_put(&composer->groups, group, &is_new);
	uint32_t youngest;

	assert(stack < composer->stacks.count);
	composer_missing(composer, TAPE_MISSING_ADDRESSES);
	if (!place) {
		compose_fail(composer, err_nomem());
		return;
	}
	youngest = is_new ? NO_BLOCK : (uint32_t)*place;
	list_push(composer, &youngest, size, stack);
	*place = youngest;
}

bool composer_gone(struct composer *composer, uint64_t group)
{
	uint64_t *place = map_find(&composer->groups, group);
	uint32_t youngest;

	if (!place || (uint32_t)*place == NO_BLOCK)
		return false;
	youngest = (uint32_t)*place;
	list_pop(composer, &youngest);
	*place = youngest;
	return true;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* How many blocks represent this many bytes; *written_ret: all of this kind so far. */
static uint64_t blocks_for(struct composer *composer, uint64_t count, uint64_t bytes,
			   uint64_t *written_ret)
{
	uint64_t blocks = u64_min(count, *written_ret < SUM_KIND_MAX ? SUM_BLOCKS_MAX : 1);

	if (count == 0 && bytes > 0)
		blocks = 1;
	if (blocks != count)
		composer_missing(composer, TAPE_MISSING_COUNTS);
	composer->sum_told += count;
	composer->sum_lost += count > blocks ? count - blocks : 0;
	*written_ret += blocks;
	return blocks;
}

/* The i-th of count sizes that add up to bytes. */
static uint64_t share(uint64_t bytes, uint64_t count, uint64_t i)
{
	assert(i < count);
	return bytes / count + (i < bytes % count);
}

/*
 * One after the other, and before anything that stays: so live bytes never exceed the true maximum,
 * which is at least the live bytes at the end, and at least the largest block.
 */
static void sum_freed(struct composer *composer, uint32_t stack, uint64_t count, uint64_t bytes)
{
	for (uint64_t i = 0; i < count && !composer->err; i++) {
		const struct own_block block = block_place(composer, share(bytes, count, i), stack);

		event(composer, TAPE_FN_MALLOC, &block);
		event(composer, TAPE_FN_FREE, &block);
	}
}

/*
 * Splits what was alive at the peak and at the end into blocks; as many as possible are assumed to
 * be the same. Their sizes are unknown: if the smaller number has more bytes, one of them is taken
 * to be another block.
 */
static void sum_split(const struct compose_sum *sum, struct live_sum *live)
{
	const struct amount peak = { sum->peak_count, sum->peak_bytes };
	const struct amount end = { sum->live_count, sum->live_bytes };
	const struct amount fewer = peak.count < end.count ? peak : end;
	const struct amount more = peak.count < end.count ? end : peak;
	const bool is_same = peak.count == end.count && peak.bytes == end.bytes;

	live->stays = fewer;
	if (!is_same && (fewer.bytes > more.bytes || fewer.count == more.count)) {
		const uint64_t kept = fewer.count - u64_min(fewer.count, 1);

		live->stays.count = kept;
		live->stays.bytes = u64_mul_div(u64_min(fewer.bytes, more.bytes), kept,
						u64_max(fewer.count, 1));
	}
	live->goes =
		(struct amount) { peak.count - live->stays.count, peak.bytes - live->stays.bytes };
	live->late =
		(struct amount) { end.count - live->stays.count, end.bytes - live->stays.bytes };
}

static uint64_t rest_of(uint64_t all, uint64_t a, uint64_t b, uint64_t c)
{
	all -= u64_min(a, all);
	all -= u64_min(b, all);
	return all - u64_min(c, all);
}

void composer_sum(struct composer *composer, uint32_t stack, const struct compose_sum *sum)
{
	struct live_sum live = { .strand = composer->strand,
				 .stack = stack,
				 .youngest = NO_BLOCK,
				 .stays = { sum->live_count, sum->live_bytes } };
	struct amount freed;

	assert(stack < composer->stacks.count);
	if (sum->has_peak)
		sum_split(sum, &live);
	freed = (struct amount) {
		rest_of(sum->allocated_count, live.stays.count, live.goes.count, live.late.count),
		rest_of(sum->allocated_bytes, live.stays.bytes, live.goes.bytes, live.late.bytes)
	};
	composer_missing(composer,
			 TAPE_MISSING_ADDRESSES | TAPE_MISSING_SIZES | TAPE_MISSING_LIFETIMES);
	sum_freed(composer, stack,
		  blocks_for(composer, freed.count, freed.bytes, &composer->sum_gone), freed.bytes);
	if ((sum->live_count || sum->live_bytes || live.goes.count || live.goes.bytes) &&
	    !live_sum_vec_push(&composer->live_sums, live))
		compose_fail(composer, err_nomem());
}

void composer_peak(struct composer *composer, uint64_t peak_ns, uint64_t end_ns)
{
	composer->peak_ns = peak_ns;
	composer->peak_end_ns = end_ns;
}

/* Writes the blocks of a sum; youngest: their list, NULL: they stay. */
static void amount_write(struct composer *composer, const struct live_sum *live,
			 const struct amount *amount, uint32_t *youngest)
{
	const uint64_t count =
		blocks_for(composer, amount->count, amount->bytes, &composer->sum_live);

	composer->strand = live->strand;
	for (uint64_t i = 0; i < count && !composer->err; i++) {
		const uint64_t size = share(amount->bytes, count, i);

		if (youngest) {
			list_push(composer, youngest, size, live->stack);
		} else {
			const struct own_block block = block_place(composer, size, live->stack);

			event(composer, TAPE_FN_MALLOC, &block);
		}
	}
}

void compose_live_sums(struct composer *composer)
{
	struct live_sum *const sums = composer->live_sums.items;
	const size_t count = composer->live_sums.count;
	struct strand *const strand = composer->strand;

	composer_time(composer, composer->peak_ns);
	for (size_t i = 0; i < count; i++) {
		amount_write(composer, &sums[i], &sums[i].stays, NULL);
		amount_write(composer, &sums[i], &sums[i].goes, &sums[i].youngest);
	}
	composer_time(composer, composer->peak_end_ns);
	for (size_t i = 0; i < count; i++) {
		composer->strand = sums[i].strand;
		while (sums[i].youngest != NO_BLOCK && !composer->err)
			list_pop(composer, &sums[i].youngest);
	}
	for (size_t i = 0; i < count; i++)
		amount_write(composer, &sums[i], &sums[i].late, NULL);
	composer->live_sums.count = 0;
	composer->strand = strand;
	if (composer->sum_lost > 0)
		composer_note(composer,
			      "of %llu allocations %llu have no block of their own: bytes are all "
			      "there, in larger ones",
			      (unsigned long long)composer->sum_told,
			      (unsigned long long)composer->sum_lost);
}

/* --- levels ----------------------------------------------------------------------------------- */

void composer_level(struct composer *composer, uint32_t stack, uint64_t count, uint64_t bytes)
{
	const struct level fresh = { .stack = stack, .youngest = NO_BLOCK };
	bool is_new;
	uint64_t *place = map_put(&composer->level_ids, stack, &is_new);
	struct level *level;

	assert(stack < composer->stacks.count);
	if (place && is_new)
		*place = composer->levels.count;
	if (!place || (is_new && !level_vec_push(&composer->levels, fresh))) {
		compose_fail(composer, err_nomem());
		return;
	}
	level = &composer->levels.items[*place];
	if (__builtin_add_overflow(level->wanted_bytes, bytes, &level->wanted_bytes))
		compose_fail(composer, err_new(ERR_LIMIT, "more bytes than can be counted"));
	level->wanted_count += count;
	level->unknown_count += count == 0 && bytes > 0;
}

/* Whether blocks must go: there are too many, or none could be added to make up missing bytes. */
static bool level_is_off(const struct level *level)
{
	if (level->bytes > level->wanted_bytes)
		return true;
	if (level->unknown_count > 0)
		return false;
	return level->count > level->wanted_count ||
	       (level->count == level->wanted_count) != (level->bytes == level->wanted_bytes);
}

static void level_shrink(struct composer *composer, struct level *level)
{
	while (level->youngest != NO_BLOCK && level_is_off(level) && !composer->err) {
		level->bytes -= list_pop(composer, &level->youngest);
		level->count--;
	}
}

static void level_grow(struct composer *composer, struct level *level)
{
	const uint64_t bytes = level->wanted_bytes - level->bytes;
	uint64_t count = level->unknown_count ? 0 : level->wanted_count - level->count;

	count = bytes || count ? blocks_for(composer, count, bytes, &composer->sum_live) : 0;
	for (uint64_t i = 0; i < count && !composer->err; i++)
		list_push(composer, &level->youngest, share(bytes, count, i), level->stack);
	level->bytes = level->wanted_bytes;
	level->count += count;
	level->wanted_bytes = level->wanted_count = level->unknown_count = 0;
}

void composer_moment(struct composer *composer)
{
	composer_missing(composer, TAPE_MISSING_ADDRESSES | TAPE_MISSING_SIZES |
					   TAPE_MISSING_LIFETIMES | TAPE_MISSING_FREED);
	for (size_t i = 0; i < composer->levels.count && !composer->err; i++)
		level_shrink(composer, &composer->levels.items[i]);
	for (size_t i = 0; i < composer->levels.count && !composer->err; i++)
		level_grow(composer, &composer->levels.items[i]);
}
