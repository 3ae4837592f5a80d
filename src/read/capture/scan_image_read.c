/* Reading a scan image: what fails stays failed and gives zeros. */
#include <assert.h>

#include "capture/scan_image_format.h"

struct bytes {
	const uint8_t *at, *end;
	bool failed;
};

static uint8_t take_byte(struct bytes *bytes)
{
	if (bytes->at == bytes->end) {
		bytes->failed = true;
		return 0;
	}
	return *bytes->at++;
}

static uint64_t take(struct bytes *bytes)
{
	uint64_t number = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		const uint8_t byte = take_byte(bytes);

		if (shift == 63 && byte > 1)
			break;
		number |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return number;
	}
	bytes->failed = true;
	return 0;
}

static uint64_t take_at_most(struct bytes *bytes, uint64_t most)
{
	const uint64_t number = take(bytes);

	if (number > most) {
		bytes->failed = true;
		return 0;
	}
	return number;
}

static uint32_t take_u32(struct bytes *bytes)
{
	return (uint32_t)take_at_most(bytes, UINT32_MAX);
}

/* A number of things of at least so many bytes each: no more than can follow. */
static size_t take_count(struct bytes *bytes, size_t item_bytes)
{
	const uint64_t count = take(bytes);

	if (count > (size_t)(bytes->end - bytes->at) / item_bytes) {
		bytes->failed = true;
		return 0;
	}
	return (size_t)count;
}

static uint64_t take_sum(struct bytes *bytes, uint64_t from)
{
	uint64_t sum;

	if (__builtin_add_overflow(from, take(bytes), &sum)) {
		bytes->failed = true;
		return from;
	}
	return sum;
}

static uint32_t take_node(struct bytes *bytes, uint32_t from, size_t node_count)
{
	const uint64_t folded = take(bytes);
	const uint64_t distance = folded - 1;
	const uint64_t node = from + (distance >> 1 ^ -(distance & 1));

	if (folded == 0)
		return SCAN_NODE_NONE;
	if (node >= node_count) {
		bytes->failed = true;
		return SCAN_NODE_NONE;
	}
	return (uint32_t)node;
}

static void read_facts(struct bytes *bytes, struct scan_image_facts *facts)
{
	facts->pause_ns = take(bytes);
	facts->scan_ns = take(bytes);
	facts->root_bytes = take(bytes);
	facts->block_bytes = take(bytes);
	facts->unread_bytes = take(bytes);
	facts->thread_count = take_u32(bytes);
	facts->missed_threads = take_u32(bytes);
	facts->heuristics = (uint32_t)take_at_most(bytes, TAPE_SCAN_HEURISTICS);
	facts->trouble = take_u32(bytes);
}

static struct err *malformed(void)
{
	return err_new(ERR_FORMAT, "malformed result of a leak scan");
}

static struct err *read_texts(struct bytes *bytes, struct scan_image *image)
{
	const size_t count = take_count(bytes, 1);

	if (bytes->failed)
		return malformed();
	if (count > 0) {
		if (bytes->at[0] != '\0' || bytes->at[count - 1] != '\0')
			return malformed();
		image->texts = malloc(count);
		if (!image->texts)
			return err_nomem();
		memcpy(image->texts, bytes->at, count);
		image->texts_bytes = count;
		bytes->at += count;
	}
	return image->facts.trouble && image->facts.trouble >= count ? malformed() : NULL;
}

static void read_holder(struct bytes *bytes, size_t texts_bytes, struct scan_image_holder *holder)
{
	holder->kind = take_u32(bytes);
	holder->tid = take_u32(bytes);
	holder->begin = take(bytes);
	holder->end = take_sum(bytes, holder->begin);
	holder->retained_bytes = take(bytes);
	holder->name = take_u32(bytes);
	if (holder->kind < TAPE_SCAN_GLOBAL || holder->kind > TAPE_SCAN_MAPPING ||
	    (holder->name && holder->name >= texts_bytes))
		bytes->failed = true;
}

static struct err *read_holders(struct bytes *bytes, struct scan_image *image)
{
	const size_t count = take_count(bytes, HOLDER_BYTES_MIN);

	if (bytes->failed)
		return malformed();
	if (count == 0)
		return NULL;
	image->holders = calloc(count, sizeof(*image->holders));
	if (!image->holders)
		return err_nomem();
	image->holder_count = count;
	for (size_t i = 0; i < count && !bytes->failed; i++)
		read_holder(bytes, image->texts_bytes, &image->holders[i]);
	return bytes->failed ? malformed() : NULL;
}

static void read_frame(struct bytes *bytes, const struct scan_image *image, uint64_t version,
		       uint32_t *holder, uint64_t *end, struct scan_image_frame *frame)
{
	const uint64_t more = take_at_most(bytes, image->holder_count - 1 - *holder);

	if (more > 0)
		*end = image->holders[*holder + more].begin;
	*holder += (uint32_t)more;
	frame->holder = *holder;
	frame->begin = take_sum(bytes, *end);
	frame->end = take_sum(bytes, frame->begin);
	frame->pc = take(bytes);
	frame->depth = version == VERSION_WITHOUT_DEPTHS ? SCAN_DEPTH_UNKNOWN : take_u32(bytes);
	*end = frame->end;
	if (image->holders[*holder].kind != TAPE_SCAN_STACK ||
	    frame->end > image->holders[*holder].end || frame->begin >= frame->end)
		bytes->failed = true;
}

static struct err *read_frames(struct bytes *bytes, uint64_t version, struct scan_image *image)
{
	const size_t count = take_count(bytes, FRAME_BYTES_MIN);
	uint32_t holder = 0;
	uint64_t end = image->holder_count ? image->holders[0].begin : 0;

	if (bytes->failed || (count && image->holder_count == 0))
		return malformed();
	if (count == 0)
		return NULL;
	image->frames = calloc(count, sizeof(*image->frames));
	if (!image->frames)
		return err_nomem();
	image->frame_count = count;
	for (size_t i = 0; i < count && !bytes->failed; i++)
		read_frame(bytes, image, version, &holder, &end, &image->frames[i]);
	return bytes->failed ? malformed() : NULL;
}

/* Returns the block's end. */
static uint64_t read_block(struct bytes *bytes, uint64_t end, uint32_t node, size_t node_count,
			   struct scan_image_block *block)
{
	const uint8_t bits = take_byte(bytes);
	const unsigned heuristic = bits >> HEURISTIC_SHIFT & 7;

	block->class = bits & CLASS_BITS;
	block->heuristic = (uint8_t)(heuristic ? 1 << (heuristic - 1) : 0);
	block->is_interior = (bits & INTERIOR_BIT) != 0;
	block->address = take_sum(bytes, end);
	block->size_bytes = take(bytes);
	block->retained_bytes = block->size_bytes + take(bytes); /* a difference: may wrap */
	block->offset = take(bytes);
	block->parent = take_node(bytes, node, node_count);
	block->dominator =
		bits & PARENT_DOMINATES_BIT ? block->parent : take_node(bytes, node, node_count);
	if (block->class == TAPE_SCAN_UNKNOWN || block->class >= TAPE_SCAN_CLASS_COUNT ||
	    block->heuristic > TAPE_SCAN_HEURISTICS ||
	    scan_image_block_end(block) <= block->address)
		bytes->failed = true;
	return scan_image_block_end(block);
}

static uint32_t block_parent(const struct scan_image_block *block)
{
	return block->parent;
}

static uint32_t block_dominator(const struct scan_image_block *block)
{
	return block->dominator;
}

/* Whether no chain comes back to where it was. walks: who was here, by block; all zeros. */
static bool leads_to_ends(const struct scan_image *image, uint32_t *walks,
			  uint32_t (*next)(const struct scan_image_block *block))
{
	for (uint32_t first = 0; first < image->block_count; first++) {
		uint32_t node = first;

		while (node < image->block_count && walks[node] == 0) {
			walks[node] = first + 1;
			node = next(&image->blocks[node]);
		}
		if (node < image->block_count && walks[node] == first + 1)
			return false;
	}
	return true;
}

static struct err *check_chains(const struct scan_image *image)
{
	CLEAN(free) uint32_t *walks = calloc(image->block_count, sizeof(*walks));

	if (!walks)
		return err_nomem();
	if (!leads_to_ends(image, walks, block_parent))
		return malformed();
	memset(walks, 0, image->block_count * sizeof(*walks));
	return leads_to_ends(image, walks, block_dominator) ? NULL : malformed();
}

static struct err *read_blocks(struct bytes *bytes, struct scan_image *image)
{
	const size_t count = take_count(bytes, BLOCK_BYTES_MIN);
	const size_t node_count = count + image->holder_count; /* both are less than 2^28 */
	uint64_t end = 0;

	if (bytes->failed || (count && image->facts.trouble))
		return malformed();
	if (count == 0)
		return NULL;
	image->blocks = calloc(count, sizeof(*image->blocks));
	if (!image->blocks)
		return err_nomem();
	image->block_count = count;
	for (size_t i = 0; i < count && !bytes->failed; i++)
		end = read_block(bytes, end, (uint32_t)i, node_count, &image->blocks[i]);
	return bytes->failed ? malformed() : check_chains(image);
}

static struct err *read_all(struct bytes *bytes, struct scan_image *image)
{
	const uint64_t version = take(bytes);
	struct err *err;

	if (version < VERSION_WITHOUT_FRAMES || version > VERSION)
		return bytes->failed ? malformed()
				     : err_new(ERR_UNSUPPORTED, "a leak scan of another version");
	read_facts(bytes, &image->facts);
	err = read_texts(bytes, image);
	if (!err)
		err = read_holders(bytes, image);
	if (!err && version != VERSION_WITHOUT_FRAMES)
		err = read_frames(bytes, version, image);
	if (!err)
		err = read_blocks(bytes, image);
	if (!err && bytes->at != bytes->end)
		err = malformed();
	return err;
}

struct err *scan_image_read(const uint8_t *bytes, size_t size, struct scan_image *image_ret)
{
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	struct bytes rest = { bytes, bytes + size, false };
	struct err *err;

	assert(bytes || size == 0);
	if (size > SCAN_IMAGE_BYTES_MAX)
		return err_new(ERR_LIMIT, "result of a leak scan: %zu bytes", size);
	err = read_all(&rest, &image);
	if (err)
		return err;
	*image_ret = image;
	image = (struct scan_image) { 0 };
	return NULL;
}
