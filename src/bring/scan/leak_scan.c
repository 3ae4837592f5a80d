#include "scan/leak_scan.h"

#include <assert.h>
#include <stddef.h>
#include <sys/uio.h>
#include <time.h>

#include "scan/roots.h"

enum { POINTER_BYTES = 8, READ_STEP_BYTES = 4096 };

struct target {
	pid_t pid;
	struct maps maps;
};

/* --- memory ---------------------------------------------------------------------------------- */

static size_t read_piece(pid_t pid, uint64_t address, void *buffer, size_t bytes)
{
	const struct iovec local = { buffer, bytes };
	const struct iovec remote = { (void *)address, bytes };
	const ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

/* The kernel says at which page it stopped only if it has read something before. */
static size_t read_memory(void *context, uint64_t address, void *buffer, size_t bytes)
{
	const struct target *target = context;
	size_t done = 0;

	while (done < bytes) {
		size_t got = read_piece(target->pid, address + done, (uint8_t *)buffer + done,
					bytes - done);

		if (got == 0) {
			const uint64_t at = address + done;
			const size_t rest = READ_STEP_BYTES - at % READ_STEP_BYTES;

			got = read_piece(target->pid, at, (uint8_t *)buffer + done,
					 u64_min(rest, bytes - done));
		}
		if (got == 0)
			break;
		done += got;
	}
	return done;
}

/*
 * As Memcheck decides it: in a mapped file, and of its first 20 words those that are not 0 point to
 * code; two of them are enough.
 */
static bool is_vtable(void *context, uint64_t address)
{
	enum { WORDS = 20, ENOUGH = 2 };
	const struct target *target = context;
	const struct maps_entry *entry = maps_find(&target->maps, address);
	uint64_t words[WORDS];
	size_t count, found = 0;

	if (address % sizeof(*words) || !entry || !entry->is_file || !entry->is_readable)
		return false;
	count = u64_min(WORDS, (entry->end - address) / sizeof(*words));
	if (read_memory(context, address, words, count * sizeof(*words)) != count * sizeof(*words))
		return false;
	for (size_t i = 0; i < count && found < ENOUGH; i++) {
		const struct maps_entry *code = maps_find(&target->maps, words[i]);

		if (words[i] == 0)
			continue;
		if (!code || !code->is_file || !code->is_executable)
			return false;
		found++;
	}
	return found == ENOUGH;
}

/* --- the result ------------------------------------------------------------------------------ */

static void use_node(const struct scan_image *image, bool *used, uint32_t node)
{
	if (node != SCAN_NODE_NONE && node >= image->block_count)
		used[node - image->block_count] = true;
}

static uint32_t new_node(const struct scan_image *image, const uint32_t *new_index, uint32_t node)
{
	return node == SCAN_NODE_NONE || node < image->block_count
		       ? node
		       : (uint32_t)image->block_count + new_index[node - image->block_count];
}

/* Most variables hold nothing: only those that do stay. */
static struct err *drop_idle_holders(struct scan_image *image)
{
	CLEAN(free) bool *used = calloc(image->holder_count + 1, sizeof(*used));
	CLEAN(free) uint32_t *new_index = calloc(image->holder_count + 1, sizeof(*new_index));
	size_t kept = 0;

	if (!used || !new_index)
		return err_nomem();
	for (size_t i = 0; i < image->block_count; i++) {
		use_node(image, used, image->blocks[i].parent);
		use_node(image, used, image->blocks[i].dominator);
	}
	for (size_t i = 0; i < image->holder_count; i++) {
		if (!used[i])
			continue;
		new_index[i] = (uint32_t)kept;
		image->holders[kept++] = image->holders[i];
	}
	for (size_t i = 0; i < image->block_count; i++) {
		struct scan_image_block *block = &image->blocks[i];

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

static struct err *scan_graph(const struct leak_scan *scan, struct target *target,
			      const struct living *living, const struct roots *roots,
			      struct scan_image *image)
{
	CLEAN(free)
	struct graph_block *blocks = calloc(living->blocks.count + 1, sizeof(*blocks));
	const struct graph graph = {
		.blocks = blocks,
		.block_count = living->blocks.count,
		.roots = roots->ranges.items,
		.root_count = roots->ranges.count,
		.holder_count = roots->holders.count,
		.heuristics = scan->heuristics,
		.pointer_bytes = POINTER_BYTES,
		.memory = { read_memory, is_vtable, target },
	};

	if (!blocks)
		return err_nomem();
	for (size_t i = 0; i < living->blocks.count; i++)
		blocks[i] = (struct graph_block) { living->blocks.items[i].address,
						   living->blocks.items[i].size_bytes };
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

static struct err *run(const struct leak_scan *scan, struct target *target,
		       const struct living *living, struct scan_image *image)
{
	CLEAN(roots_deinit) struct roots roots = { 0 };
	const struct roots_request request = {
		.stop = scan->stop,
		.maps = &target->maps,
		.living = living,
		.places = scan->places,
		.place_count = scan->place_count,
		.spool_inode = scan->spool_inode,
		.exit_tid = scan->exit_tid,
		.exit_sp = scan->exit_sp,
		.read = read_memory,
		.context = target,
	};
	struct err *err = roots_find(&request, &roots);

	if (!err)
		err = scan_graph(scan, target, living, &roots, image);
	if (!err)
		err = take_texts(image, &roots.texts);
	if (err)
		return err;
	take_holders(image, &roots.holders);
	return drop_idle_holders(image);
}

struct err *leak_scan_run(const struct leak_scan *scan, struct scan_image *image)
{
	CLEAN(living_deinit) struct living living = { 0 };
	CLEAN(scan_image_deinit) struct scan_image own = { 0 };
	struct target target = { .pid = scan->memory_pid };
	const uint64_t begin_ns = cpu_ns();
	struct err *err = maps_read(target.pid, &target.maps);

	assert(scan->stop);
	assert(scan->capture);
	if (!err)
		err = living_read(scan->capture, scan->until_ticks, &living);
	if (!err)
		err = run(scan, &target, &living, &own);
	maps_deinit(&target.maps);
	if (err)
		return err;
	own.facts.heuristics = scan->heuristics;
	own.facts.scan_ns = cpu_ns() - begin_ns;
	count_threads(&own.facts, scan->stop);
	*image = own;
	own = (struct scan_image) { 0 };
	return NULL;
}
