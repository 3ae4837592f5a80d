/*
 * Blocks of sources that know no addresses: they are laid side by side and never in the same place
 * twice, and a list of those alive, youngest first, is kept for each group.
 */
#include "convert/compose_parts.h"

static const uint64_t OWN_BEGIN = 0x10000;
enum {
	OWN_ALIGN = 16,
	/*
	 * More blocks than these are fewer and larger ones: a line of text can tell of billions.
	 * Those that stay and those that go have as many each, so that the ones leave room for the
	 * others.
	 */
	SUM_BLOCKS_MAX = 1 << 20, /* for one sum, */
	SUM_KIND_MAX = 1 << 22	  /* for all: then each is one */
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

	/* wraps after 2^63 bytes, in files that lie */
	composer->next_address =
		(align_up(composer->next_address + u64_max(size, 1), OWN_ALIGN) + OWN_ALIGN) &
		(UINT64_MAX >> 1);
	return block;
}

/* A block put in front of a list. */
static void list_push(struct composer *composer, uint32_t *youngest, uint64_t size, uint32_t stack)
{
	struct own_block block = block_place(composer, size, stack);
	uint32_t id = composer->free_block;

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

/* The youngest of a list, which has one, goes; returns its size. */
static uint64_t list_pop(struct composer *composer, uint32_t *youngest)
{
	const uint32_t id = *youngest;
	struct own_block *block = &composer->blocks.items[id];
	const uint64_t size = block->size;

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

/* --- sums --------------------------------------------------------------------------------------
 */

/* How many blocks stand for so many bytes; *written_ret: all of this kind so far. */
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
	return bytes / count + (i < bytes % count);
}

/*
 * One after the other, and before anything that stays: so at no time there is more than there was
 * in truth, which is the most that was alive at the end, or the largest block.
 */
static void sum_freed(struct composer *composer, uint32_t stack, uint64_t count, uint64_t bytes)
{
	for (uint64_t i = 0; i < count && !composer->err; i++) {
		const struct own_block block = block_place(composer, share(bytes, count, i), stack);

		event(composer, TAPE_FN_MALLOC, &block);
		event(composer, TAPE_FN_FREE, &block);
	}
}

void composer_sum(struct composer *composer, uint32_t stack, const struct compose_sum *sum)
{
	const uint64_t freed_bytes =
		sum->allocated_bytes - u64_min(sum->live_bytes, sum->allocated_bytes);
	const uint64_t freed_count =
		sum->allocated_count - u64_min(sum->live_count, sum->allocated_count);
	const struct live_sum live = { .strand = composer->strand,
				       .stack = stack,
				       .count = sum->live_count,
				       .bytes = sum->live_bytes };

	composer_missing(composer,
			 TAPE_MISSING_ADDRESSES | TAPE_MISSING_SIZES | TAPE_MISSING_LIFETIMES);
	sum_freed(composer, stack,
		  blocks_for(composer, freed_count, freed_bytes, &composer->sum_gone), freed_bytes);
	if ((live.count || live.bytes) && !live_sum_vec_push(&composer->live_sums, live))
		compose_fail(composer, err_nomem());
}

void compose_live_sums(struct composer *composer)
{
	struct strand *const strand = composer->strand;

	for (size_t i = 0; i < composer->live_sums.count; i++) {
		const struct live_sum *live = &composer->live_sums.items[i];
		const uint64_t count =
			blocks_for(composer, live->count, live->bytes, &composer->sum_live);

		composer->strand = live->strand;
		for (uint64_t j = 0; j < count && !composer->err; j++) {
			const struct own_block block =
				block_place(composer, share(live->bytes, count, j), live->stack);

			event(composer, TAPE_FN_MALLOC, &block);
		}
	}
	composer->live_sums.count = 0;
	composer->strand = strand;
	if (composer->sum_lost > 0)
		composer_note(composer,
			      "of %llu allocations %llu have no block of their own: bytes are all "
			      "there, in larger ones",
			      (unsigned long long)composer->sum_told,
			      (unsigned long long)composer->sum_lost);
}

/* --- levels ------------------------------------------------------------------------------------
 */

void composer_level(struct composer *composer, uint32_t stack, uint64_t count, uint64_t bytes)
{
	const struct level fresh = { .stack = stack, .youngest = NO_BLOCK };
	bool is_new;
	uint64_t *place = map_put(&composer->level_ids, stack, &is_new);
	struct level *level;

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

/* Whether blocks must go: there are too many, or none could be added for what else is missing. */
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
