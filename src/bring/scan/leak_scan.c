#include "scan/leak_scan.h"

#include <assert.h>
#include <stddef.h>
#include <time.h>

#include "arch/machine.h"
#include "arch/native.h"
#include "scan/roots.h"

enum { POINTER_BYTES = 8 };

struct err *leak_scan_check_machine(const struct tape_header *header)
{
	if (header->elf_machine == ARCH_ELF_MACHINE && header->pointer_bytes == POINTER_BYTES)
		return NULL;
	return err_new(ERR_UNSUPPORTED,
		       "process %u is a %u-bit program (%s): it is recorded, but not looked into",
		       header->pid, header->pointer_bytes * 8,
		       arch_machine_name(header->elf_machine));
}

/* --- memory ---------------------------------------------------------------------------------- */

static size_t read_memory(void *context, uint64_t address, void *buffer, size_t bytes)
{
	const struct leak_scan_view *view = context;

	return view->memory.read(view->memory.context, address, buffer, bytes);
}

/*
 * As Memcheck decides it: in a mapped file, and of its first 20 words those that are not 0 point to
 * code; two of them are enough.
 */
static bool is_vtable(void *context, uint64_t address)
{
	enum { WORDS = 20, ENOUGH = 2 };
	const struct leak_scan_view *view = context;
	const struct maps_entry *entry = maps_find(view->maps, address);
	uint64_t words[WORDS];
	size_t count, found = 0;

	if (address % sizeof(*words) || !entry || !entry->is_file || !entry->is_readable)
		return false;
	count = u64_min(WORDS, (entry->end - address) / sizeof(*words));
	if (!memory_read(&view->memory, address, words, count * sizeof(*words)))
		return false;
	for (size_t i = 0; i < count && found < ENOUGH; i++) {
		const struct maps_entry *code = maps_find(view->maps, words[i]);

		if (words[i] == 0)
			continue;
		if (!code || !code->is_file || !code->is_executable)
			return false;
		found++;
	}
	return found == ENOUGH;
}

/* --- the result ------------------------------------------------------------------------------ */

/* Blocks whose parent or dominator is a holder: few, of many. */
VEC_DEFINE(vec_block_number, uint32_t);

static bool is_holder(const struct scan_image *image, uint32_t node)
{
	return node != SCAN_NODE_NONE && node >= image->block_count;
}

static bool held_find(const struct scan_image *image, struct vec_block_number *held)
{
	for (size_t i = 0; i < image->block_count; i++)
		if ((is_holder(image, image->blocks[i].parent) ||
		     is_holder(image, image->blocks[i].dominator)) &&
		    !vec_block_number_push(held, (uint32_t)i))
			return false;
	return true;
}

static void use_node(const struct scan_image *image, bool *used, uint32_t node)
{
	if (is_holder(image, node))
		used[node - image->block_count] = true;
}

static uint32_t new_node(const struct scan_image *image, const uint32_t *new_index, uint32_t node)
{
	return is_holder(image, node)
		       ? (uint32_t)image->block_count + new_index[node - image->block_count]
		       : node;
}

/* The frame of this holder that has the address; NULL: none. */
static struct scan_image_frame *frame_at(const struct scan_image *image, uint32_t holder,
					 uint64_t address)
{
	size_t low = 0, high = image->frame_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		struct scan_image_frame *frame = &image->frames[middle];

		if (frame->holder < holder || (frame->holder == holder && frame->end <= address))
			low = middle + 1;
		else
			high = middle;
	}
	return low < image->frame_count && image->frames[low].holder == holder &&
			       image->frames[low].begin <= address
		       ? &image->frames[low]
		       : NULL;
}

/* The nearest calls further out: one frame of each. */
static void use_callers(const struct scan_image *image, size_t index, bool *used)
{
	const struct scan_image_frame *frame = &image->frames[index];
	uint32_t depth = frame->depth;

	for (size_t i = index + 1;
	     i < image->frame_count && depth - frame->depth < SCAN_CALLERS_KEPT; i++) {
		if (image->frames[i].holder != frame->holder)
			break;
		if (image->frames[i].depth == depth + 1) {
			used[i] = true;
			depth++;
		}
	}
}

/* Frames in which a chain begins, and who called them: only those stay. */
static struct err *drop_idle_frames(struct scan_image *image, const struct vec_block_number *held)
{
	CLEAN(free) bool *used = calloc(image->frame_count + 1, sizeof(*used));
	size_t kept = 0;

	if (!used)
		return err_nomem();
	for (size_t i = 0; i < held->count; i++) {
		const struct scan_image_block *block = &image->blocks[held->items[i]];
		const size_t holder = block->parent - image->block_count;
		const struct scan_image_frame *frame;

		if (!is_holder(image, block->parent))
			continue;
		frame = frame_at(image, (uint32_t)holder,
				 image->holders[holder].begin + block->offset);
		if (!frame || used[frame - image->frames])
			continue;
		used[frame - image->frames] = true;
		use_callers(image, (size_t)(frame - image->frames), used);
	}
	for (size_t i = 0; i < image->frame_count; i++)
		if (used[i])
			image->frames[kept++] = image->frames[i];
	image->frame_count = kept;
	return NULL;
}

/* Most variables hold nothing: only those that do stay. */
static struct err *drop_idle_holders(struct scan_image *image, const struct vec_block_number *held)
{
	CLEAN(free) bool *used = calloc(image->holder_count + 1, sizeof(*used));
	CLEAN(free) uint32_t *new_index = calloc(image->holder_count + 1, sizeof(*new_index));
	size_t kept = 0;

	if (!used || !new_index)
		return err_nomem();
	for (size_t i = 0; i < held->count; i++) {
		use_node(image, used, image->blocks[held->items[i]].parent);
		use_node(image, used, image->blocks[held->items[i]].dominator);
	}
	for (size_t i = 0; i < image->holder_count; i++) {
		if (!used[i])
			continue;
		new_index[i] = (uint32_t)kept;
		image->holders[kept++] = image->holders[i];
	}
	for (size_t i = 0; i < image->frame_count; i++)
		image->frames[i].holder = new_index[image->frames[i].holder];
	for (size_t i = 0; i < held->count; i++) {
		struct scan_image_block *block = &image->blocks[held->items[i]];

		block->parent = new_node(image, new_index, block->parent);
		block->dominator = new_node(image, new_index, block->dominator);
	}
	image->holder_count = kept;
	return NULL;
}

void leak_scan_part(struct leak_scan_part *part, uint32_t id, const struct vec_u8 *bytes,
		    size_t offset)
{
	static_assert(offsetof(struct leak_scan_part, bytes) == sizeof(part->header),
		      "one payload");
	assert(offset < bytes->count);
	part->header =
		(struct tape_scan_part) { .id = id, .total_bytes = bytes->count, .offset = offset };
	part->count = u64_min(bytes->count - offset, sizeof(part->bytes));
	memcpy(part->bytes, bytes->items + offset, part->count);
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct err *scan_graph(const struct leak_scan *scan, const struct leak_scan_view *view,
			      const struct roots *roots, struct scan_image *image)
{
	const struct living_blocks *living = &view->living->blocks;
	CLEAN(free) struct graph_block *blocks = calloc(living->count + 1, sizeof(*blocks));
	const struct graph graph = {
		.blocks = blocks,
		.block_count = living->count,
		.roots = roots->ranges.items,
		.root_count = roots->ranges.count,
		.holder_count = roots->holders.count,
		.heuristics = scan->heuristics,
		.pointer_bytes = POINTER_BYTES,
		.memory = { read_memory, is_vtable, (void *)view },
	};

	if (!blocks)
		return err_nomem();
	for (size_t i = 0; i < living->count; i++)
		blocks[i] = (struct graph_block) { living->items[i].address,
						   living->items[i].size_bytes };
	return graph_scan(&graph, image);
}

static struct err *take_texts(struct scan_image *image, const struct str *texts)
{
	image->texts = malloc(texts->len);
	if (!image->texts)
		return err_nomem();
	memcpy(image->texts, texts->ptr, texts->len);
	image->texts_bytes = texts->len;
	return NULL;
}

static void take_holders(struct scan_image *image, const struct scan_image_holders *holders)
{
	assert(image->holder_count == holders->count);
	for (size_t i = 0; i < holders->count; i++) {
		const uint64_t retained_bytes = image->holders[i].retained_bytes;

		image->holders[i] = holders->items[i];
		image->holders[i].retained_bytes = retained_bytes;
	}
}

static void count_threads(struct scan_image_facts *facts, const struct stop *stop)
{
	for (size_t i = 0; i < stop->threads.count; i++)
		facts->thread_count += stop->threads.items[i].is_stopped;
	facts->missed_threads = stop->missed_count;
}

static struct err *run(const struct leak_scan *scan, const struct leak_scan_view *view,
		       struct scan_image *image)
{
	CLEAN(roots_deinit) struct roots roots = { 0 };
	CLEAN(vec_block_number_deinit) struct vec_block_number held = { 0 };
	const struct roots_request request = {
		.stop = scan->stop,
		.maps = view->maps,
		.living = view->living,
		.places = scan->places,
		.place_count = scan->place_count,
		.spool_inode = scan->spool_inode,
		.exit_tid = scan->exit_tid,
		.exit_sp = scan->exit_sp,
		.memory = view->memory,
	};
	struct err *err = roots_find(&request, &roots);

	if (!err)
		err = scan_graph(scan, view, &roots, image);
	if (!err)
		err = take_texts(image, &roots.texts);
	if (err)
		return err;
	take_holders(image, &roots.holders);
	image->frames = steal(roots.frames.items);
	image->frame_count = roots.frames.count;
	if (!held_find(image, &held))
		return err_nomem();
	err = drop_idle_frames(image, &held);
	return err ? err : drop_idle_holders(image, &held);
}

struct err *leak_scan_view(const struct leak_scan *scan, const struct leak_scan_view *view,
			   struct scan_image *image)
{
	CLEAN(scan_image_deinit) struct scan_image own = { 0 };
	const uint64_t begin_ns = cpu_ns();
	struct err *err;

	assert(scan->stop);
	assert(view->living);
	assert(view->maps);
	err = run(scan, view, &own);
	if (err)
		return err;
	own.facts.heuristics = scan->heuristics;
	own.facts.scan_ns = cpu_ns() - begin_ns;
	count_threads(&own.facts, scan->stop);
	*image = own;
	own = (struct scan_image) { 0 };
	return NULL;
}

struct err *leak_scan_run(const struct leak_scan *scan, struct scan_image *image)
{
	CLEAN(living_deinit) struct living living = { 0 };
	CLEAN(maps_deinit) struct maps maps = { 0 };
	const struct leak_scan_view view = { &living, &maps, memory_of_process(scan->memory_pid) };
	const uint64_t begin_ns = cpu_ns();
	uint64_t reading_ns;
	struct err *err = maps_read(scan->memory_pid, &maps);

	assert(scan->capture);
	if (!err)
		err = living_read(scan->capture, scan->until_ticks, &living);
	reading_ns = cpu_ns() - begin_ns;
	if (!err)
		err = leak_scan_view(scan, &view, image);
	if (!err)
		image->facts.scan_ns += reading_ns;
	return err;
}
