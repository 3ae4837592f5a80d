/* Writes a model that was built as an index: its parts, one after the other, after its rows. */
#include <assert.h>

#include "base/big.h"
#include "core/hash.h"
#include "model/index.h"

struct writer {
	struct image *image;
	struct index_header header;
	struct vec_u8 texts;
	struct err *err; /* the first error; nothing is written after it */
};

uint64_t index_layout(void)
{
	static const uint32_t sizes[] = {
		sizeof(struct index_header),
		sizeof(struct index_facts),
		sizeof(struct capture_stack),
		sizeof(struct model_stack_sums),
		sizeof(struct model_stack_link),
		sizeof(struct capture_module),
		sizeof(struct capture_sighting),
		sizeof(struct model_thread),
		sizeof(struct model_usage),
		sizeof(struct model_system),
		sizeof(struct model_note),
		sizeof(struct capture_damage),
		sizeof(struct clock_point),
		sizeof(struct timeline_mark),
		sizeof(struct segment),
		sizeof(struct patch),
		sizeof(struct chain_record),
		sizeof(struct freed_block),
		sizeof(struct link),
		sizeof(struct checkpoint),
		sizeof(struct model_stack_moment),
		sizeof(struct model_latency),
		sizeof(struct model_stack_latency),
		sizeof(struct model_stray_free),
		sizeof(struct model_pool),
		sizeof(struct model_scan),
		sizeof(struct model_scan_block),
		sizeof(struct model_scan_holder),
		sizeof(struct model_scan_frame),
		TAPE_FN_COUNT,
		MODEL_COLUMNS,
	};

	return hash_bytes(sizes, sizeof(sizes), 0);
}

/* Offset of a copy of these bytes in the texts. */
static uint64_t put_bytes(struct writer *writer, const void *bytes, size_t len)
{
	const uint64_t at = writer->texts.count;

	if (!vec_u8_reserve(&writer->texts, at + len + 1)) {
		writer->err = writer->err ? writer->err : err_nomem();
		return 0;
	}
	if (len > 0)
		memcpy(writer->texts.items + at, bytes, len);
	writer->texts.items[at + len] = 0;
	writer->texts.count = at + len + 1;
	return at;
}

/* The offset in place of the pointer, as stored. */
static const void *put_text(struct writer *writer, const char *text)
{
	return (const void *)(uintptr_t)put_bytes(writer, text, strlen(text));
}

static void put_part(struct writer *writer, enum index_section section, const void *data,
		     size_t count, size_t item_bytes)
{
	struct index_part part = { .bytes = count * item_bytes };

	if (writer->err)
		return;
	writer->err = image_append(writer->image, data, part.bytes, &part.offset);
	writer->header.parts[section] = part;
}

static void put_facts(struct writer *writer, const struct model *model, const struct rows *rows,
		      const struct replay *replay, const struct model_stack_sums *stacks_used)
{
	struct index_facts facts;

	memset(&facts, 0, sizeof(facts)); /* including the padding between its members */
	facts.process = model->process;
	facts.process.exe = put_text(writer, model->process.exe);
	facts.process.cwd = put_text(writer, model->process.cwd);
	facts.process.argv = NULL;
	facts.totals = model->totals;
	memcpy(facts.functions, model->functions, sizeof(facts.functions));
	memcpy(facts.sizes, model->sizes, sizeof(facts.sizes));
	facts.quality = model->quality;
	facts.quality.fault_text = put_text(writer, model->quality.fault_text);
	facts.stacks_used = *stacks_used;
	facts.row_count = rows->count;
	facts.freed_count = rows->freed_count;
	facts.rows_at_peak = replay->serial_at_peak;
	facts.clock_start_ticks = model->clock.start_ticks;
	facts.clock_start_ns = model->clock.start_ns;
	facts.clock_slope = model->clock.slope;
	facts.clock_is_estimated = model->clock.is_estimated;
	facts.timeline_begin_ticks = model->fine_begin_ticks;
	facts.timeline_span_ticks = model->fine_span_ticks;
	facts.is_of_pools = model->is_of_pools;
	put_part(writer, INDEX_FACTS, &facts, 1, sizeof(facts));
}

static void put_argv(struct writer *writer, const struct model_process *process)
{
	CLEAN(vec_u64_deinit) struct vec_u64 offsets = { 0 };

	for (uint32_t i = 0; i < process->argc; i++)
		if (!vec_u64_push(&offsets,
				  put_bytes(writer, process->argv[i], strlen(process->argv[i]))) &&
		    !writer->err)
			writer->err = err_nomem();
	put_part(writer, INDEX_ARGV, offsets.items, offsets.count, sizeof(*offsets.items));
}

/* Copies items and lets `put` turn each one's pointers into offsets. */
static void put_items(struct writer *writer, enum index_section section, const void *items,
		      size_t count, size_t item_bytes,
		      void (*put)(struct writer *writer, void *item))
{
	CLEAN(free) uint8_t *copy = malloc(count * item_bytes + 1);

	if (!copy) {
		writer->err = writer->err ? writer->err : err_nomem();
		return;
	}
	if (count > 0)
		memcpy(copy, items, count * item_bytes);
	for (size_t i = 0; i < count; i++)
		put(writer, copy + i * item_bytes);
	put_part(writer, section, copy, count, item_bytes);
}

static void put_module(struct writer *writer, void *item)
{
	struct capture_module *module = item;

	module->path = put_text(writer, module->path);
	module->file = put_text(writer, module->file);
	module->build_id = (const uint8_t *)(uintptr_t)put_bytes(writer, module->build_id,
								 module->build_id_bytes);
}

static void put_thread(struct writer *writer, void *item)
{
	struct model_thread *thread = item;

	thread->name = put_text(writer, thread->name);
}

static void put_note(struct writer *writer, void *item)
{
	struct model_note *note = item;

	note->text = put_text(writer, note->text);
}

static void put_pool(struct writer *writer, void *item)
{
	struct model_pool *pool = item;

	pool->name = put_text(writer, pool->name);
}

static void put_damage(struct writer *writer, void *item)
{
	struct capture_damage *damage = item;

	damage->text = put_text(writer, damage->text);
}

static void put_sums(struct writer *writer, const struct model *model)
{
	const struct model_by_stack *sums = &model->stack_sums;

	put_part(writer, INDEX_STACKS, model->stacks, model->stack_count, sizeof(*model->stacks));
	put_part(writer, INDEX_STACK_SEATS, sums->seats, model->stack_count, sizeof(*sums->seats));
	put_part(writer, INDEX_STACK_SUMS, sums->items, sums->count, sizeof(*sums->items));
	put_part(writer, INDEX_SIGHTINGS, model->sightings, model->sighting_count,
		 sizeof(*model->sightings));
	put_items(writer, INDEX_MODULES, model->modules, model->module_count,
		  sizeof(*model->modules), put_module);
	put_items(writer, INDEX_THREADS, model->threads, model->thread_count,
		  sizeof(*model->threads), put_thread);
	put_part(writer, INDEX_STRAYS, model->strays, model->stray_count, sizeof(*model->strays));
	put_part(writer, INDEX_USAGES, model->usages.items, model->usages.count,
		 sizeof(*model->usages.items));
	put_part(writer, INDEX_SYSTEMS, model->systems.items, model->systems.count,
		 sizeof(*model->systems.items));
	put_items(writer, INDEX_NOTES, model->notes.items, model->notes.count,
		  sizeof(*model->notes.items), put_note);
	put_items(writer, INDEX_DAMAGE, model->damage.items, model->damage.count,
		  sizeof(*model->damage.items), put_damage);
	put_items(writer, INDEX_POOLS, model->pools, model->pool_count, sizeof(*model->pools),
		  put_pool);
	put_part(writer, INDEX_CLOCK, model->clock.points.items, model->clock.points.count,
		 sizeof(*model->clock.points.items));
	put_part(writer, INDEX_TIMELINE, model->fine, model->fine_count, sizeof(*model->fine));
}

/* The stack tree and other data by stack, one large table after the other. */
static void put_branches(struct writer *writer, const struct model *model,
			 const struct replay *replay, struct model_stack_sums *use_ret)
{
	const size_t count = model->stack_count;
	CLEAN(free) void *memory = big_calloc(count + 1, sizeof(struct model_stack_sums));
	struct model_stack_sums *totals = memory;
	struct model_stack_link *links = memory;
	uint64_t *usables = memory;

	if (!memory) {
		writer->err = writer->err ? writer->err : err_nomem();
		return;
	}
	model_sums_spread(&model->stack_sums, count, totals);
	model_stack_totals_make(model->stacks, count, totals, use_ret);
	put_part(writer, INDEX_STACK_TOTALS, totals, count, sizeof(*totals));
	model_stack_links_make(model->stacks, count, links);
	put_part(writer, INDEX_STACK_LINKS, links, count, sizeof(*links));
	for (size_t i = 0; i < count; i++)
		usables[i] = replay->usables[i].allocated;
	put_part(writer, INDEX_STACK_USABLES, usables, count, sizeof(*usables));
}

static void put_scan(struct writer *writer, void *item)
{
	struct model_scan *scan = item;

	scan->trouble = put_text(writer, scan->trouble);
	scan->blocks = NULL;
	scan->holders = NULL;
	scan->frames = NULL;
}

static void put_holder(struct writer *writer, void *item)
{
	struct model_scan_holder *holder = item;

	holder->name = put_text(writer, holder->name);
}

static void put_scans(struct writer *writer, const struct model *model)
{
	CLEAN(scan_blocks_vec_deinit) struct scan_blocks_vec blocks = { 0 };
	CLEAN(scan_holders_vec_deinit) struct scan_holders_vec holders = { 0 };
	CLEAN(scan_frames_vec_deinit) struct scan_frames_vec frames = { 0 };
	bool ok = true;

	for (size_t i = 0; i < model->scan_count; i++) {
		const struct model_scan *scan = &model->scans[i];

		ok = ok && scan_blocks_vec_reserve(&blocks, blocks.count + scan->block_count + 1);
		for (uint64_t at = 0; ok && at < scan->block_count; at++)
			ok = scan_blocks_vec_push(&blocks, scan->blocks[at]);
		for (uint64_t at = 0; ok && at < scan->holder_count; at++)
			ok = scan_holders_vec_push(&holders, scan->holders[at]);
		for (uint64_t at = 0; ok && at < scan->frame_count; at++)
			ok = scan_frames_vec_push(&frames, scan->frames[at]);
	}
	if (!ok)
		writer->err = writer->err ? writer->err : err_nomem();
	put_items(writer, INDEX_SCANS, model->scans, model->scan_count, sizeof(*model->scans),
		  put_scan);
	put_part(writer, INDEX_SCAN_BLOCKS, blocks.items, blocks.count, sizeof(*blocks.items));
	put_items(writer, INDEX_SCAN_HOLDERS, holders.items, holders.count, sizeof(*holders.items),
		  put_holder);
	put_part(writer, INDEX_SCAN_FRAMES, frames.items, frames.count, sizeof(*frames.items));
}

static void put_latencies(struct writer *writer, const struct model *model)
{
	const bool has_some = model->latencies != NULL;

	put_part(writer, INDEX_LATENCIES, model->latencies, has_some ? TAPE_FN_COUNT : 0,
		 sizeof(*model->latencies));
	put_part(writer, INDEX_STACK_LATENCIES, model->stack_latencies,
		 has_some ? model->stack_count : 0, sizeof(*model->stack_latencies));
}

static int compare_rows(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* A row freed after the peak, but in the same nanosecond, was live at it. */
static void put_peak_ties(struct writer *writer, const struct model *model, const struct rows *rows,
			  const struct replay *replay, const uint8_t *file)
{
	CLEAN(vec_u32_deinit) struct vec_u32 ties = { 0 };

	for (uint64_t i = replay->ended_at_peak; i < rows->freed_count && !writer->err; i++) {
		const struct freed_block *block = &rows->freed_blocks.items[i / FREED_BLOCK];
		uint64_t ns, row;

		freed_read(block, file, FREED_TIME, i % FREED_BLOCK, 1, &ns);
		freed_read(block, file, FREED_ROW, i % FREED_BLOCK, 1, &row);
		if (ns != model->totals.peak_ns)
			break;
		if (row < replay->serial_at_peak && !vec_u32_push(&ties, (uint32_t)row))
			writer->err = err_nomem();
	}
	if (ties.count > 0)
		qsort(ties.items, ties.count, sizeof(*ties.items), compare_rows);
	put_part(writer, INDEX_PEAK_TIES, ties.items, ties.count, sizeof(*ties.items));
}

static void put_rows(struct writer *writer, const struct model *model, const struct rows *rows,
		     const struct checkpoints *checkpoints, const struct replay *replay,
		     const uint8_t *file)
{
	put_part(writer, INDEX_SEGMENTS, rows->segments.items, rows->segments.count,
		 sizeof(*rows->segments.items));
	put_part(writer, INDEX_FREED, rows->freed_blocks.items, rows->freed_blocks.count,
		 sizeof(*rows->freed_blocks.items));
	put_part(writer, INDEX_CHAINS, rows->chains.items, rows->chains.count,
		 sizeof(*rows->chains.items));
	put_part(writer, INDEX_CHECKPOINTS, checkpoints->points.items, checkpoints->points.count,
		 sizeof(*checkpoints->points.items));
	put_peak_ties(writer, model, rows, replay, file);
}

static void put_header(struct writer *writer, const struct index_identity *identity)
{
	struct index_header *header = &writer->header;
	uint64_t end = writer->image->end;
	const uint8_t *file;

	/* the file ends where its last part would if complete */
	if (!writer->err && ftruncate(writer->image->fd, (off_t)end) != 0)
		writer->err = err_errno("write the index");
	if (writer->err)
		return;
	memcpy(header->magic, INDEX_MAGIC, sizeof(header->magic));
	header->version = INDEX_VERSION;
	header->header_bytes = IMAGE_HEADER_BYTES;
	header->layout = index_layout();
	header->identity = *identity;
	header->file_bytes = end;
	file = image_map(writer->image);
	if (!file) {
		writer->err = err_errno("map the index");
		return;
	}
	header->checksum = index_checksum(header, file);
	image_unmap(file, end);
	writer->err = image_write(writer->image, header, sizeof(*header), 0);
}

struct err *index_write(const struct model *model, const struct rows *rows,
			const struct checkpoints *checkpoints, const struct replay *replay,
			const struct index_identity *identity, struct image *image)
{
	struct writer writer = { .image = image };
	const uint64_t bytes = image->end;
	const uint8_t *file = image_map(image);
	struct model_stack_sums stacks_used = { 0 };

	assert(rows->image == image);
	assert(image->end % IMAGE_ALIGN == 0);
	if (!file)
		return err_errno("map the index");
	put_bytes(&writer, "", 0);
	put_branches(&writer, model, replay, &stacks_used);
	put_facts(&writer, model, rows, replay, &stacks_used);
	put_argv(&writer, &model->process);
	put_sums(&writer, model);
	put_latencies(&writer, model);
	put_scans(&writer, model);
	put_rows(&writer, model, rows, checkpoints, replay, file);
	put_part(&writer, INDEX_TEXTS, writer.texts.items, writer.texts.count, 1);
	put_header(&writer, identity);
	image_unmap(file, bytes);
	vec_u8_deinit(&writer.texts);
	image->is_whole = !writer.err;
	return writer.err;
}
