#include "model/scans_load.h"

#include <assert.h>

#include "base/map.h"
#include "base/sort.h"
#include "base/str.h"
#include "model/parts.h"

enum { NODES_MAX = INT32_MAX };

size_t model_scan_count(const struct model *model)
{
	return model->scan_count;
}

const struct model_scan *model_scan_get(const struct model *model, size_t index)
{
	assert(index < model->scan_count);
	return &model->scans[index];
}

/* --- joining ---------------------------------------------------------------------------------- */

void scan_sum(struct model_scan *scan)
{
	memset(scan->classes, 0, sizeof(scan->classes));
	scan->off_tape = (struct model_sum) { 0 };
	for (uint64_t i = 0; i < scan->block_count; i++) {
		const struct model_scan_block *block = &scan->blocks[i];
		struct model_sum *sum = block->flags & MODEL_SCAN_OFF_TAPE
						? &scan->off_tape
						: &scan->classes[block->class];

		sum->count++;
		sum->bytes += block->size_bytes;
	}
}

static struct model_scan_block block_of_image(const struct scan_image_block *from)
{
	return (struct model_scan_block) {
		.address = from->address,
		.size_bytes = from->size_bytes,
		.retained_bytes = from->retained_bytes,
		.offset = from->offset,
		.stack = CAPTURE_STACK_NONE,
		.thread = MODEL_NO_THREAD,
		.row = UINT32_MAX,
		.parent = from->parent,
		.dominator = from->dominator,
		.class = from->class,
		.heuristic = from->heuristic,
		.flags = MODEL_SCAN_OFF_TAPE | (from->is_interior ? MODEL_SCAN_INTERIOR : 0),
	};
}

static struct model_scan_block block_of_tape(const struct block *from)
{
	return (struct model_scan_block) {
		.address = from->address,
		.retained_bytes = from->size,
		.parent = MODEL_NODE_NONE,
		.dominator = MODEL_NODE_NONE,
		.class = TAPE_SCAN_UNKNOWN,
	};
}

/*
 * Merges both lists; places gets the new number of each block of the image. False: out of memory.
 */
static bool blocks_merge(struct scan_built *built, const struct scan_image *image, uint32_t *places)
{
	struct scan_blocks_vec *blocks = &built->blocks;
	const struct scan_live_vec *live = &built->live;
	size_t i = 0, at = 0;

	if (!scan_blocks_vec_reserve(blocks, live->count + image->block_count + 1))
		return false;
	while (i < image->block_count || at < live->count) {
		const bool is_image =
			i < image->block_count &&
			(at == live->count || image->blocks[i].address <= live->items[at].address);
		const bool is_live =
			at < live->count &&
			(!is_image || image->blocks[i].address == live->items[at].address);
		struct model_scan_block *block = &blocks->items[blocks->count];

		*block = is_image ? block_of_image(&image->blocks[i])
				  : block_of_tape(&live->items[at]);
		if (is_image)
			places[i++] = (uint32_t)blocks->count;
		if (is_live) {
			block->size_bytes = live->items[at].size;
			block->stack = live->items[at].stack;
			block->thread = live->items[at].thread;
			block->row = live->items[at].serial;
			block->flags &= (uint8_t)~MODEL_SCAN_OFF_TAPE;
			at++;
		}
		blocks->count++;
	}
	return true;
}

static uint32_t node_move(uint32_t node, const struct scan_image *image, const uint32_t *places,
			  size_t block_count)
{
	if (node == SCAN_NODE_NONE)
		return MODEL_NODE_NONE;
	return node < image->block_count ? places[node]
					 : (uint32_t)(node - image->block_count + block_count);
}

static struct err *holders_copy(struct scan_built *built, const struct scan_image *image,
				struct arena *arena)
{
	for (size_t i = 0; i < image->holder_count; i++) {
		const struct scan_image_holder *from = &image->holders[i];
		const struct model_scan_holder holder = {
			.kind = from->kind,
			.tid = from->tid,
			.begin = from->begin,
			.end = from->end,
			.retained_bytes = from->retained_bytes,
			.name = arena_strdup(arena, from->name ? image->texts + from->name : ""),
		};

		if (!holder.name || !scan_holders_vec_push(&built->holders, holder))
			return err_nomem();
	}
	return NULL;
}

static struct err *frames_copy(struct scan_built *built, const struct scan_image *image)
{
	if (!scan_frames_vec_reserve(&built->frames, image->frame_count + 1))
		return err_nomem();
	for (size_t i = 0; i < image->frame_count; i++)
		built->frames.items[built->frames.count++] = (struct model_scan_frame) {
			.begin = image->frames[i].begin,
			.end = image->frames[i].end,
			.pc = image->frames[i].pc,
			.holder = image->frames[i].holder,
			.module = CAPTURE_MODULE_NONE,
			.depth = image->frames[i].depth,
		};
	return NULL;
}

/* The module that was loaded at these ticks. */
static uint32_t frame_module(const struct capture_module_vec *modules, uint64_t pc, uint64_t ticks)
{
	for (size_t i = modules->count; i-- > 0;) {
		const struct capture_module *module = &modules->items[i];

		if (pc >= module->begin && pc < module->end && module->load_ticks <= ticks &&
		    ticks < module->unload_ticks)
			return (uint32_t)i;
	}
	return CAPTURE_MODULE_NONE;
}

static void facts_copy(struct model_scan *scan, const struct scan_image_facts *facts)
{
	scan->pause_ns = facts->pause_ns;
	scan->scan_ns = facts->scan_ns;
	scan->root_bytes = facts->root_bytes;
	scan->block_bytes = facts->block_bytes;
	scan->unread_bytes = facts->unread_bytes;
	scan->thread_count = facts->thread_count;
	scan->missed_threads = facts->missed_threads;
	scan->heuristics = facts->heuristics;
}

static struct err *image_join(struct scan_built *built, const struct scan_image *image,
			      struct arena *arena)
{
	CLEAN(free) uint32_t *places = calloc(image->block_count + 1, sizeof(*places));
	struct scan_blocks_vec *blocks = &built->blocks;

	if (!places ||
	    !sort_by_u64(built->live.items, built->live.count, sizeof(*built->live.items),
			 offsetof(struct block, address)) ||
	    !blocks_merge(built, image, places))
		return err_nomem();
	for (size_t i = 0; i < blocks->count; i++) {
		struct model_scan_block *block = &blocks->items[i];

		block->parent = node_move(block->parent, image, places, blocks->count);
		block->dominator = node_move(block->dominator, image, places, blocks->count);
	}
	return holders_copy(built, image, arena);
}

const struct model_scan_frame *model_scan_frame(const struct model_scan *scan, uint64_t holder,
						uint64_t address)
{
	uint64_t low = 0, high = scan->frame_count;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;
		const struct model_scan_frame *frame = &scan->frames[middle];

		if (frame->holder < holder || (frame->holder == holder && frame->end <= address))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == scan->frame_count || scan->frames[low].holder != holder ||
	    scan->frames[low].begin > address)
		return NULL;
	return &scan->frames[low];
}

/* A word that a function further in has saved belongs to one further out, which lies behind it. */
const struct model_scan_frame *model_scan_caller(const struct model_scan *scan,
						 const struct model_scan_frame *frame)
{
	const struct model_scan_frame *end = scan->frames + scan->frame_count;

	if (frame->depth >= UINT32_MAX - 1)
		return NULL;
	for (const struct model_scan_frame *at = frame + 1; at < end; at++) {
		if (at->holder != frame->holder)
			break;
		if (at->depth == frame->depth + 1)
			return at;
	}
	return NULL;
}

/* --- parts ------------------------------------------------------------------------------------ */

static void wait_end(struct scan_built *built)
{
	scan_live_vec_deinit(&built->live);
	vec_u8_deinit(&built->bytes);
	built->has_ended = true;
}

static struct err *trouble_set(struct scans *scans, struct scan_built *built, const char *trouble)
{
	wait_end(built);
	built->scan.trouble = arena_strdup(scans->arena, trouble);
	return built->scan.trouble ? NULL : err_nomem();
}

/* Older scans lose their blocks when there are too many of them. */
static struct err *older_shed(struct scans *scans)
{
	size_t count = 0;

	for (size_t i = scans->built.count; i-- > 0;) {
		struct scan_built *built = &scans->built.items[i];
		const size_t more = built->blocks.count + built->live.count;

		if (i + 1 == scans->built.count || more <= SCANS_BLOCKS_MAX - count) {
			count = u64_min(count + more, SCANS_BLOCKS_MAX);
			continue;
		}
		scan_blocks_vec_deinit(&built->blocks);
		scan_holders_vec_deinit(&built->holders);
		scan_frames_vec_deinit(&built->frames);
		if (trouble_set(scans, built, "later scans of this tape took its place"))
			return err_nomem();
	}
	return NULL;
}

static struct err *result_take(struct scans *scans, struct scan_built *built)
{
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	struct err *err = scan_image_read(built->bytes.items, built->bytes.count, &image);
	char text[256];

	if (err) {
		const bool is_nomem = err_code_of(err) == ERR_NOMEM;

		str_format(text, sizeof(text), "its result is damaged: %s", err_message(err));
		if (is_nomem)
			return err;
		err_destroy(err);
		return trouble_set(scans, built, text);
	}
	facts_copy(&built->scan, &image.facts);
	if (image.facts.trouble)
		return trouble_set(scans, built, image.texts + image.facts.trouble);
	if (built->live.count + image.block_count + image.holder_count > NODES_MAX)
		return trouble_set(scans, built, "too many blocks");
	err = image_join(built, &image, scans->arena);
	if (!err)
		err = frames_copy(built, &image);
	wait_end(built);
	return err ? err : older_shed(scans);
}

static struct scan_built *scan_find(struct scans *scans, uint32_t id)
{
	for (size_t i = scans->built.count; i-- > 0;)
		if (scans->built.items[i].scan.id == id)
			return &scans->built.items[i];
	return NULL;
}

struct err *scans_begin(struct scans *scans, const struct tape_scan_begin *begin, uint64_t ticks,
			const struct blocks *blocks)
{
	struct scan_built built = {
		.scan = { .ns = ticks, .id = begin->id, .reason = begin->reason, .trouble = "" }
	};
	struct scan_built *kept;

	if (scans->built.count == SCANS_MAX || scan_find(scans, begin->id))
		return NULL;
	if (!scans_built_vec_push(&scans->built, built))
		return err_nomem();
	kept = &scans->built.items[scans->built.count - 1];
	if (begin->reason == TAPE_SCAN_NOBODY) {
		kept->scan.reason = TAPE_SCAN_EXIT;
		return trouble_set(
			scans, kept,
			"nobody was there to make it: the memtape that recorded the first "
			"process had ended, or this one could not reach it (another user, "
			"another namespace)");
	}
	if (!scan_live_vec_reserve(&kept->live, blocks->live_count + 1))
		return err_nomem();
	for (size_t i = 1; i <= blocks->used_count; i++)
		if (block_is_live(&blocks->items[i]))
			kept->live.items[kept->live.count++] = blocks->items[i];
	return older_shed(scans);
}

struct err *scans_part(struct scans *scans, const struct tape_scan_part *part, const uint8_t *bytes,
		       size_t size)
{
	struct scan_built *built = scan_find(scans, part->id);

	if (!built || built->has_ended)
		return NULL;
	if (part->total_bytes > SCAN_IMAGE_BYTES_MAX ||
	    (built->bytes.count > 0 && part->total_bytes != built->total_bytes) ||
	    part->offset != built->bytes.count || size > part->total_bytes - part->offset)
		return trouble_set(scans, built, "a part of its result is lost");
	built->total_bytes = part->total_bytes;
	if (!vec_u8_reserve(&built->bytes, built->bytes.count + size + 1))
		return err_nomem();
	if (size > 0)
		memcpy(built->bytes.items + built->bytes.count, bytes, size);
	built->bytes.count += size;
	return built->bytes.count == built->total_bytes ? result_take(scans, built) : NULL;
}

struct err *scans_seal(struct scans *scans, const struct capture_module_vec *modules)
{
	for (size_t i = 0; i < scans->built.count; i++) {
		struct scan_built *built = &scans->built.items[i];
		struct err *err = NULL;

		if (!built->has_ended)
			err = trouble_set(scans, built, "the tape has no result of it");
		if (err)
			return err;
		built->scan.blocks = built->blocks.items;
		built->scan.block_count = built->blocks.count;
		built->scan.holders = built->holders.items;
		built->scan.holder_count = built->holders.count;
		built->scan.frames = built->frames.items;
		built->scan.frame_count = built->frames.count;
		for (size_t k = 0; k < built->frames.count; k++)
			built->frames.items[k].module =
				frame_module(modules, built->frames.items[k].pc, built->scan.ns);
		scan_sum(&built->scan);
	}
	return NULL;
}

size_t scans_bytes(const struct scans *scans)
{
	size_t bytes = scans->built.capacity * sizeof(*scans->built.items);

	for (size_t i = 0; i < scans->built.count; i++) {
		const struct scan_built *built = &scans->built.items[i];

		bytes += built->live.capacity * sizeof(*built->live.items) + built->bytes.capacity +
			 built->blocks.capacity * sizeof(*built->blocks.items) +
			 built->holders.capacity * sizeof(*built->holders.items) +
			 built->frames.capacity * sizeof(*built->frames.items);
	}
	return bytes;
}

void scans_deinit(struct scans *scans)
{
	for (size_t i = 0; i < scans->built.count; i++) {
		struct scan_built *built = &scans->built.items[i];

		wait_end(built);
		scan_blocks_vec_deinit(&built->blocks);
		scan_holders_vec_deinit(&built->holders);
		scan_frames_vec_deinit(&built->frames);
	}
	scans_built_vec_deinit(&scans->built);
}

/* --- of an index ------------------------------------------------------------------------------ */

bool scan_is_sound(const struct model *model, const struct model_scan *scan)
{
	const uint64_t nodes = scan->block_count + scan->holder_count;
	bool sound = nodes <= NODES_MAX;

	for (uint64_t i = 0; i < scan->block_count && sound; i++) {
		const struct model_scan_block *block = &scan->blocks[i];

		sound = block->stack < model->stack_count &&
			(block->thread == MODEL_NO_THREAD || block->thread < model->thread_count) &&
			(block->row == UINT32_MAX || block->row < model->table.row_count) &&
			(block->parent == MODEL_NODE_NONE || block->parent < nodes) &&
			(block->dominator == MODEL_NODE_NONE || block->dominator < nodes) &&
			block->class < TAPE_SCAN_CLASS_COUNT &&
			(i == 0 || block->address > scan->blocks[i - 1].address);
	}
	for (uint64_t i = 0; i < scan->holder_count && sound; i++)
		sound = scan->holders[i].kind >= TAPE_SCAN_GLOBAL &&
			scan->holders[i].kind <= TAPE_SCAN_MAPPING;
	for (uint64_t i = 0; i < scan->frame_count && sound; i++)
		sound = scan->frames[i].holder < scan->holder_count &&
			(scan->frames[i].module == CAPTURE_MODULE_NONE ||
			 scan->frames[i].module < model_module_count(model));
	return sound;
}
