/*
 * The algorithm of Lengauer and Tarjan (A Fast Algorithm for Finding Dominators in a Flowgraph,
 * 1979), in its simple form: m log n for any graph. Iterating over sets of dominators is faster on
 * the flow graphs of functions, but heaps have long lists whose items all point to their head, and
 * there it takes the square of their length.
 *
 * Nodes are numbered in the order of a depth-first walk; all arrays but numbers are by number. The
 * root, number 0, is no node: it points to the holders and to the blocks that were lost by
 * themselves.
 */
#include "scan/dominators.h"

#include <assert.h>

#include "base/big.h"

#define NUMBER_NONE UINT32_MAX

enum { AHEAD = 24 }; /* how many are fetched before they are needed */

/* One number's; together, for they are used together. */
struct place {
	uint32_t node;
	uint32_t parent;   /* in the walk */
	uint32_t semi;	   /* semidominator */
	uint32_t ancestor; /* in the forest of what was linked, shortened as it is climbed */
	uint32_t label;	   /* of those climbed over, the one with the least semidominator */
	uint32_t bucket;   /* first of those whose semidominator this is */
	uint32_t next;	   /* in the bucket that it is in; before: 0 if the root points to it */
	uint32_t dominator;
};

struct step {
	uint32_t number;
	uint64_t at, end; /* of its row */
};
VEC_DEFINE(vec_step, struct step);

struct dominators {
	const struct pointers *pointers;
	struct scan_image_block *blocks;
	uint32_t *numbers; /* by node; 0: not yet */
	struct place *places;
	size_t place_room;
	uint32_t place_count;
	struct vec_step steps;
	/* Who points to a number: of who_begins[number] on. */
	uint64_t *who_begins;
	uint32_t *who;
	uint32_t first_lost; /* number */
	uint32_t *climbed;
};

static void dominators_deinit(struct dominators *dominators)
{
	if (dominators->places)
		big_free(dominators->places, dominators->place_room * sizeof(*dominators->places));
	free(dominators->numbers);
	vec_step_deinit(&dominators->steps);
	free(dominators->who_begins);
	free(dominators->who);
	free(dominators->climbed);
}
CLEAN_DEFINE_DEINIT(dominators_deinit, struct dominators);

/* False: out of memory. */
static bool walk_enter(struct dominators *dominators, uint32_t node, uint32_t parent)
{
	const uint64_t *begins = &dominators->pointers->row_begins[node];
	const uint32_t number = dominators->place_count++;
	const struct step step = { number, begins[0], begins[1] };

	dominators->numbers[node] = number;
	dominators->places[number] = (struct place) { .node = node,
						      .parent = parent,
						      .semi = number,
						      .ancestor = NUMBER_NONE,
						      .label = number,
						      .bucket = NUMBER_NONE,
						      .next = NUMBER_NONE };
	for (uint64_t at = begins[0]; at < begins[1] && at < begins[0] + 8; at++) {
		const uint32_t block = pointer_block(dominators->pointers->items[at]);

		__builtin_prefetch(&dominators->numbers[block]);
		__builtin_prefetch(&dominators->pointers->row_begins[block]);
	}
	return vec_step_push(&dominators->steps, step);
}

/* All that hangs on the node and has no number. */
static bool walk_from(struct dominators *dominators, uint32_t first)
{
	const uint64_t *items = dominators->pointers->items;

	if (dominators->numbers[first])
		return true;
	if (!walk_enter(dominators, first, 0))
		return false;
	while (dominators->steps.count > 0) {
		struct step *step = &dominators->steps.items[dominators->steps.count - 1];
		uint32_t block;

		if (step->at == step->end) {
			dominators->steps.count--;
			continue;
		}
		block = pointer_block(items[step->at++]);
		if (block == POINTER_GAP || dominators->numbers[block])
			continue;
		if (!walk_enter(dominators, block, step->number))
			return false;
	}
	return true;
}

/* What is alive has lower numbers than what is lost, which need not know of it. */
static struct err *walk(struct dominators *dominators)
{
	const struct pointers *pointers = dominators->pointers;
	const size_t node_count = pointers->row_count;

	dominators->numbers = big_calloc(node_count + 1, sizeof(*dominators->numbers));
	dominators->place_room = node_count + 1;
	dominators->places = big_alloc(dominators->place_room * sizeof(*dominators->places));
	if (!dominators->numbers || !dominators->places)
		return err_nomem();
	dominators->place_count = 1;
	dominators->places[0] = (struct place) { .ancestor = NUMBER_NONE, .bucket = NUMBER_NONE };
	for (uint32_t node = pointers->block_count; node < pointers->row_count; node++)
		if (!walk_from(dominators, node))
			return err_nomem();
	dominators->first_lost = dominators->place_count;
	for (uint32_t node = 0; node < pointers->block_count; node++) {
		if (dominators->blocks[node].class != TAPE_SCAN_DEFINITE)
			continue;
		if (!walk_from(dominators, node))
			return err_nomem();
		dominators->places[dominators->numbers[node]].next = 0;
	}
	for (uint32_t node = pointers->block_count; node < pointers->row_count; node++)
		dominators->places[dominators->numbers[node]].next = 0;
	assert(dominators->place_count == node_count + 1);
	return NULL;
}

/* Calls visit for every pointer that counts, by number. */
static void pointers_each(struct dominators *dominators,
			  void (*visit)(struct dominators *dominators, uint32_t from, uint32_t to))
{
	const struct pointers *pointers = dominators->pointers;
	const uint32_t *numbers = dominators->numbers;

	for (uint32_t node = 0; node < pointers->row_count; node++) {
		const uint32_t from = numbers[node];

		for (uint64_t at = pointers->row_begins[node]; at < pointers->row_begins[node + 1];
		     at++) {
			const uint32_t block = pointer_block(pointers->items[at]);

			if (at + 2 * AHEAD < pointers->item_count) {
				const uint32_t soon = pointer_block(pointers->items[at + AHEAD]);

				__builtin_prefetch(
					&numbers[pointer_block(pointers->items[at + 2 * AHEAD])]);
				if (soon != POINTER_GAP)
					__builtin_prefetch(&dominators->who_begins[numbers[soon]]);
			}
			if (block != POINTER_GAP && (from < dominators->first_lost ||
						     numbers[block] >= dominators->first_lost))
				visit(dominators, from, numbers[block]);
		}
	}
}

static void who_count(struct dominators *dominators, uint32_t from, uint32_t to)
{
	(void)from;
	dominators->who_begins[to]++;
}

static void who_put(struct dominators *dominators, uint32_t from, uint32_t to)
{
	dominators->who[--dominators->who_begins[to]] = from;
}

/* The pointers turned around: counted first, then put behind each other, from the last to the first. */
static struct err *turn(struct dominators *dominators)
{
	const size_t room = (size_t)dominators->place_count + 1;
	uint64_t *begins = dominators->who_begins = big_calloc(room, sizeof(*begins));

	if (!begins)
		return err_nomem();
	pointers_each(dominators, who_count);
	for (size_t i = 1; i < room; i++)
		begins[i] += begins[i - 1];
	dominators->who = big_calloc(begins[room - 1] + 1, sizeof(*dominators->who));
	if (!dominators->who)
		return err_nomem();
	pointers_each(dominators, who_put);
	return NULL;
}

/* Everything climbed over now hangs on the top of its tree. */
static void shorten(struct dominators *dominators, uint32_t number)
{
	struct place *places = dominators->places;
	size_t count = 0;

	for (; places[places[number].ancestor].ancestor != NUMBER_NONE;
	     number = places[number].ancestor)
		dominators->climbed[count++] = number;
	while (count > 0) {
		struct place *place = &places[dominators->climbed[--count]];
		const struct place *above = &places[place->ancestor];

		if (places[above->label].semi < places[place->label].semi)
			place->label = above->label;
		place->ancestor = above->ancestor;
	}
}

/* The one with the least semidominator on the way to the top of its tree, which is left out. */
static uint32_t least(struct dominators *dominators, uint32_t number)
{
	if (dominators->places[number].ancestor == NUMBER_NONE)
		return number;
	shorten(dominators, number);
	return dominators->places[number].label;
}

static void semidominator_find(struct dominators *dominators, uint32_t number)
{
	struct place *place = &dominators->places[number];
	const uint64_t begin = dominators->who_begins[number];

	if (place->next == 0)
		place->semi = 0;
	/* From the last to the first, as numbers are gone through: what comes is known. */
	for (uint64_t at = dominators->who_begins[number + 1]; at-- > begin;) {
		const uint32_t by = least(dominators, dominators->who[at]);

		if (at >= AHEAD)
			__builtin_prefetch(&dominators->places[dominators->who[at - AHEAD]]);
		if (dominators->places[by].semi < place->semi)
			place->semi = dominators->places[by].semi;
	}
	place->next = dominators->places[place->semi].bucket;
	dominators->places[place->semi].bucket = number;
}

static void bucket_empty(struct dominators *dominators, uint32_t number)
{
	struct place *places = dominators->places;
	uint32_t in = places[number].bucket;

	for (; in != NUMBER_NONE; in = places[in].next) {
		const uint32_t by = least(dominators, in);

		places[in].dominator = places[by].semi < places[in].semi ? by : number;
	}
	places[number].bucket = NUMBER_NONE;
}

static struct err *find(struct dominators *dominators)
{
	struct place *places = dominators->places;

	dominators->climbed = malloc(dominators->place_count * sizeof(*dominators->climbed));
	if (!dominators->climbed)
		return err_nomem();
	for (uint32_t number = dominators->place_count - 1; number > 0; number--) {
		semidominator_find(dominators, number);
		places[number].ancestor = places[number].parent;
		bucket_empty(dominators, places[number].parent);
	}
	for (uint32_t number = 1; number < dominators->place_count; number++)
		if (places[number].dominator != places[number].semi)
			places[number].dominator = places[places[number].dominator].dominator;
	return NULL;
}

/* What dominates has a smaller number: sums are whole when they are passed on. */
static void retain(struct dominators *dominators, struct scan_image_holder *holders)
{
	const uint32_t block_count = dominators->pointers->block_count;

	for (uint32_t node = 0; node < block_count; node++)
		dominators->blocks[node].retained_bytes = dominators->blocks[node].size_bytes;
	for (uint32_t number = dominators->place_count - 1; number > 0; number--) {
		const struct place *place = &dominators->places[number];
		const uint32_t by = dominators->places[place->dominator].node;
		struct scan_image_block *block = &dominators->blocks[place->node];

		if (number > AHEAD)
			__builtin_prefetch(&dominators->blocks[place[-AHEAD].node], 1);
		if (place->node >= block_count)
			continue;
		block->dominator = place->dominator ? by : SCAN_NODE_NONE;
		if (place->dominator && by < block_count)
			dominators->blocks[by].retained_bytes += block->retained_bytes;
		else if (place->dominator)
			holders[by - block_count].retained_bytes += block->retained_bytes;
	}
}

struct err *dominators_fill(const struct pointers *pointers, struct scan_image_block *blocks,
			    struct scan_image_holder *holders)
{
	CLEAN(dominators_deinit)
	struct dominators dominators = { .pointers = pointers, .blocks = blocks };
	struct err *err = walk(&dominators);

	if (!err)
		err = turn(&dominators);
	if (!err)
		err = find(&dominators);
	if (!err)
		retain(&dominators, holders);
	return err;
}
