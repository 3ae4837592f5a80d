#include "scan/heap_walk.h"

#include <assert.h>

enum {
	PAGE = 4096, /* an area has one */
	UNIT = 16,   /* of sizes; blocks begin at multiples */
	HEAD = 4,    /* of a slot, before its block; at the end of the slot before it */
	CLASSES = 48,
	CLASS_MAPPED = 63, /* one slot, which has a mapping of its own */
	/* Of the three upper bits of the byte before the last two of a slot's head. */
	REST_LONG = 5,	/* how much was not asked for stands at the slot's end */
	REST_GROUP = 6, /* the slot is a group of smaller ones */
	REST_MOVED = 7, /* the block does not begin at the slot's beginning */
	/* Offsets in malloc's variables, in words. */
	CONTEXT_FIRST_AREA = 7,
	CONTEXT_LAST_AREA = 8,
	CONTEXT_USED = 58, /* slots by class */
	CONTEXT_WORDS = CONTEXT_USED + CLASSES
};

static const uint16_t class_units[CLASSES] = {
	1,   2,	  3,   4,    5,	   6,	 7,    8,    9,	   10,	 12,   15,   18,   20,	 25,   31,
	36,  42,  50,  63,   72,   84,	 102,  127,  146,  170,	 204,  255,  292,  340,	 409,  511,
	584, 682, 818, 1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191,
};

struct area {
	uint64_t secret, next;
	int32_t count;
	int32_t reserved;
};

/* What malloc knows of a group. */
struct meta {
	uint64_t previous, next, group;
	uint32_t available, freed; /* sets of slots */
	uint64_t bits;		   /* last slot: 5; can be freed; size class: 6; pages */
};

static_assert(sizeof(struct meta) == 40, "as musl has it");

enum { METAS_MAX = (PAGE - sizeof(struct area)) / sizeof(struct meta) };

struct walk {
	const struct heap_request *request;
	struct heap *heap;
	uint64_t secret;
	uint64_t used[CLASSES];	 /* slots, as malloc counts */
	uint64_t found[CLASSES]; /* of groups that were walked */
};

static bool read_at(const struct walk *walk, uint64_t address, void *bytes, size_t count)
{
	return memory_read(&walk->request->memory, address, bytes, count);
}

static void note_broken(struct walk *walk)
{
	walk->heap->broken_lists++;
}

/* --- a slot ------------------------------------------------------------------------------------ */

struct slot {
	uint64_t storage;    /* the group's first slot */
	uint64_t begin, end; /* without the next one's head */
	unsigned index;
};

/* Where the block begins; 0: that is not what a slot looks like. */
static uint64_t block_of(const struct walk *walk, const struct slot *slot)
{
	uint8_t head[HEAD];
	uint16_t units;
	uint64_t block;

	if (!read_at(walk, slot->begin - HEAD, head, sizeof(head)))
		return 0;
	if (head[1] >> 5 != REST_MOVED)
		return slot->begin;
	memcpy(&units, head + 2, sizeof(units));
	block = slot->begin + (uint64_t)units * UNIT;
	return units > 0 && block < slot->end ? block : 0;
}

/* The block says itself where its group begins, and which slot it is. */
static bool is_of(const struct walk *walk, const struct slot *slot, uint64_t block,
		  unsigned *rest_ret)
{
	uint8_t head[2 * HEAD];
	uint32_t far;
	uint16_t near;
	uint64_t units;

	if (!read_at(walk, block - sizeof(head), head, sizeof(head)))
		return false;
	memcpy(&far, head, sizeof(far));
	memcpy(&near, head + 6, sizeof(near));
	units = head[4] ? far : near;
	*rest_ret = head[5] >> 5;
	return (head[5] & 31) == slot->index && block == slot->storage + units * UNIT &&
	       (!head[4] || near == 0);
}

/* How much of it was asked for; false: it is not a block after all. */
static bool size_of(const struct walk *walk, const struct slot *slot, uint64_t block, unsigned rest,
		    uint64_t *size_ret)
{
	uint32_t unasked = rest;

	if (rest > REST_LONG ||
	    (rest == REST_LONG && (!read_at(walk, slot->end - HEAD, &unasked, sizeof(unasked)) ||
				   unasked < REST_LONG)) ||
	    unasked > slot->end - block)
		return false;
	*size_ret = slot->end - block - unasked;
	return true;
}

static bool slot_take(struct walk *walk, const struct slot *slot, bool is_mapped)
{
	const uint64_t block = block_of(walk, slot);
	struct heap_block taken = { .address = block, .is_mapped = is_mapped };
	unsigned rest = 0;

	if (!block || !is_of(walk, slot, block, &rest)) {
		walk->heap->undecoded_count++;
		walk->heap->undecoded_bytes += slot->end - slot->begin;
		return true;
	}
	if (rest == REST_GROUP)
		return true; /* which is walked for itself */
	if (!size_of(walk, slot, block, rest, &taken.usable_bytes)) {
		walk->heap->undecoded_count++;
		walk->heap->undecoded_bytes += slot->end - slot->begin;
		return true;
	}
	return heap_blocks_push(&walk->heap->blocks, taken);
}

/* --- groups ------------------------------------------------------------------------------------ */

static unsigned last_of(const struct meta *meta)
{
	return meta->bits & 31;
}

static unsigned class_of(const struct meta *meta)
{
	return meta->bits >> 6 & 63;
}

/* The size of a slot; 0: there is no such class. */
static uint64_t stride_of(const struct meta *meta)
{
	const uint64_t pages = meta->bits >> 12;

	if (last_of(meta) == 0 && pages > 0)
		return pages < UINT64_C(1) << 36 ? pages * PAGE - UNIT : 0;
	return class_of(meta) < CLASSES ? (uint64_t)class_units[class_of(meta)] * UNIT : 0;
}

/* Slots that are in use; a bit of both sets means that it is not. */
static bool group_walk(struct walk *walk, uint64_t at, const struct meta *meta)
{
	const uint64_t stride = stride_of(meta);
	const uint32_t unused = meta->available | meta->freed;
	const bool is_mapped = class_of(meta) == CLASS_MAPPED;
	const uint64_t end = meta->group + UNIT + (last_of(meta) + 1) * stride - HEAD;
	uint64_t owner;
	bool ok = true;

	if (!stride || meta->group % UNIT != 0 ||
	    !read_at(walk, meta->group, &owner, sizeof(owner)) || owner != at ||
	    !maps_cover(walk->request->maps, meta->group, end, false)) {
		note_broken(walk);
		return true;
	}
	if (class_of(meta) < CLASSES && meta->bits >> 5 & 1)
		walk->found[class_of(meta)] += last_of(meta) + 1;
	for (unsigned i = 0; i <= last_of(meta) && ok; i++) {
		const uint64_t begin = meta->group + UNIT + i * stride;
		const struct slot slot = { meta->group + UNIT, begin, begin + stride - HEAD, i };

		if (!(unused >> i & 1))
			ok = slot_take(walk, &slot, is_mapped);
	}
	return ok;
}

static bool area_walk(struct walk *walk, uint64_t address, uint64_t *next_ret)
{
	struct meta metas[METAS_MAX];
	struct area area;
	bool ok = true;

	*next_ret = 0;
	if (address % PAGE != 0 || !read_at(walk, address, &area, sizeof(area)) ||
	    area.secret != walk->secret || area.count < 0 || area.count > METAS_MAX ||
	    !read_at(walk, address + sizeof(area), metas, (size_t)area.count * sizeof(*metas))) {
		note_broken(walk);
		return true;
	}
	*next_ret = area.next;
	for (int32_t i = 0; i < area.count && ok; i++)
		if (metas[i].group)
			ok = group_walk(walk, address + sizeof(area) + (uint64_t)i * sizeof(*metas),
					&metas[i]);
	return ok;
}

static bool areas_walk(struct walk *walk, uint64_t first)
{
	uint64_t at = first, next, mark = 0;

	/* A list that leads back to where it was at the last power of two has no end. */
	for (unsigned i = 1; at && at != mark; i++, at = next) {
		if (!area_walk(walk, at, &next))
			return false;
		if ((i & (i - 1)) == 0)
			mark = at;
	}
	if (at)
		note_broken(walk);
	for (unsigned i = 0; i < CLASSES; i++)
		if (walk->found[i] != walk->used[i])
			note_broken(walk);
	return true;
}

/* --- malloc's variables ------------------------------------------------------------------------ */

static bool is_area(const struct walk *walk, uint64_t address, uint64_t secret)
{
	struct area area;

	return address % PAGE == 0 && maps_find(walk->request->maps, address) &&
	       read_at(walk, address, &area, sizeof(area)) && area.secret == secret;
}

/* Whether these words are malloc's variables: the first and the last area have the same secret. */
static bool context_fits(struct walk *walk, const uint64_t *words, uint64_t *first_ret)
{
	const uint64_t secret = words[0];

	if (!secret || !words[CONTEXT_FIRST_AREA] || !words[CONTEXT_LAST_AREA] ||
	    words[CONTEXT_FIRST_AREA] % PAGE != 0 || words[CONTEXT_LAST_AREA] % PAGE != 0 ||
	    !is_area(walk, words[CONTEXT_FIRST_AREA], secret) ||
	    !is_area(walk, words[CONTEXT_LAST_AREA], secret))
		return false;
	walk->secret = secret;
	memcpy(walk->used, words + CONTEXT_USED, sizeof(walk->used));
	*first_ret = words[CONTEXT_FIRST_AREA];
	return true;
}

static struct err *context_find(struct walk *walk, uint64_t *first_ret)
{
	enum { BYTES_MAX = 1 << 20 };

	for (size_t i = 0; i < walk->request->data->count; i++) {
		const struct heap_range *range = &walk->request->data->items[i];
		const size_t bytes = range->end - range->begin;
		CLEAN(free) uint64_t *words = bytes <= BYTES_MAX ? malloc(bytes + 1) : NULL;

		if (bytes <= BYTES_MAX && !words)
			return err_nomem();
		if (!words || !read_at(walk, range->begin, words, bytes))
			continue;
		for (size_t at = 0; at + CONTEXT_WORDS <= bytes / sizeof(*words); at++)
			if (context_fits(walk, words + at, first_ret))
				return NULL;
	}
	return err_new(ERR_NOT_FOUND, "no heap of musl");
}

struct err *heap_musl_walk(const struct heap_request *request, struct heap *heap)
{
	CLEAN(heap_deinit) struct heap own = { .is_expected = true };
	struct walk walk = { .request = request, .heap = &own };
	uint64_t first = 0, overlapping = 0;
	struct err *err;

	assert(request->memory.read);
	assert(request->maps && request->data);
	err = context_find(&walk, &first);
	if (err)
		return err;
	if (!areas_walk(&walk, first) || !heap_blocks_order(&own.blocks, &overlapping))
		return err_nomem();
	own.broken_lists += overlapping;
	own.arena_count = 1;
	*heap = own;
	own = (struct heap) { 0 };
	return NULL;
}
