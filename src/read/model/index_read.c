/*
 * Makes a model of an index file. Everything used as an index is checked here, except for values in
 * rows, which are checked when they are read (table.c).
 */
#include <assert.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/file.h"
#include "core/hash.h"
#include "model/index_reader.h"

/* Data as large as the tape is not checksummed: opening would have to read it. */
static bool is_summed(enum index_section section)
{
	switch (section) {
	case INDEX_STACKS:
	case INDEX_STACK_SEATS:
	case INDEX_STACK_SUMS:
	case INDEX_STACK_LINKS:
	case INDEX_STACK_TOTALS:
	case INDEX_STACK_USABLES:
	case INDEX_STACK_LATENCIES:
	case INDEX_SIGHTINGS:
	case INDEX_TIMELINE:
	case INDEX_CHAINS:
	case INDEX_PEAK_TIES:
	case INDEX_SCAN_BLOCKS:
		return false;
	default:
		return true;
	}
}

uint64_t index_checksum(const struct index_header *header, const uint8_t *file)
{
	struct index_header copy = *header;
	uint64_t sum;

	copy.checksum = 0;
	sum = hash_bytes(&copy, sizeof(copy), 0);
	for (int i = 0; i < INDEX_SECTIONS; i++)
		if (is_summed((enum index_section)i))
			sum = hash_bytes(file + header->parts[i].offset, header->parts[i].bytes,
					 sum);
	return sum;
}

static struct err *check_header(const struct index_header *header, uint64_t file_bytes)
{
	if (memcmp(header->magic, INDEX_MAGIC, sizeof(header->magic)) != 0)
		return err_new(ERR_FORMAT, "not an index");
	if (header->version != INDEX_VERSION || header->header_bytes != IMAGE_HEADER_BYTES ||
	    header->layout != index_layout())
		return err_new(ERR_FORMAT, "an index of another version");
	if (header->file_bytes != file_bytes)
		return err_new(ERR_FORMAT, "the index is truncated");
	for (int i = 0; i < INDEX_SECTIONS; i++) {
		const struct index_part *part = &header->parts[i];

		if (part->offset % 8 != 0 || part->offset > file_bytes ||
		    part->bytes > file_bytes - part->offset)
			return err_new(ERR_FORMAT, "the index is damaged");
	}
	return NULL;
}

const void *index_items(struct index_reader *reader, enum index_section section, size_t item_bytes,
			size_t *count_ret)
{
	const struct index_part *part = &reader->header.parts[section];

	*count_ret = part->bytes / item_bytes;
	reader->failed |= part->bytes % item_bytes != 0;
	return reader->file + part->offset;
}

void *index_copy(struct index_reader *reader, enum index_section section, size_t item_bytes,
		 size_t *count_ret)
{
	const void *items = index_items(reader, section, item_bytes, count_ret);
	void *copy = malloc(*count_ret * item_bytes + 1);

	if (copy)
		memcpy(copy, items, *count_ret * item_bytes);
	return copy;
}

const char *index_text(struct index_reader *reader, const void *stored)
{
	const uint64_t offset = (uintptr_t)stored;

	if (offset >= reader->text_bytes) {
		reader->failed = true;
		return "";
	}
	return (const char *)reader->file + reader->header.parts[INDEX_TEXTS].offset + offset;
}

static void read_texts(struct index_reader *reader)
{
	size_t count;
	const char *texts = index_items(reader, INDEX_TEXTS, 1, &count);

	reader->text_bytes = count;
	reader->failed |= count == 0 || texts[count - 1] != 0;
}

/* A byte that is neither 0 nor 1 must not become a bool. */
static void bool_sanitize(bool *flag)
{
	uint8_t byte;

	memcpy(&byte, flag, 1);
	*flag = byte != 0;
}

static struct err *read_process(struct index_reader *reader)
{
	struct model_process *process = &reader->model->process;
	size_t argc;
	const uint64_t *offsets = index_items(reader, INDEX_ARGV, sizeof(*offsets), &argc);
	const char **argv = arena_array(&reader->model->arena, argc + 1, sizeof(*argv));

	if (!argv)
		return err_nomem();
	for (size_t i = 0; i < argc; i++)
		argv[i] = index_text(reader, (const void *)(uintptr_t)offsets[i]);
	reader->failed |= process->argc != argc;
	process->argv = argv;
	process->exe = index_text(reader, process->exe);
	process->cwd = index_text(reader, process->cwd);
	bool_sanitize(&process->clock_is_estimated);
	if ((unsigned)process->end_kind > TAPE_END_EXEC)
		process->end_kind = TAPE_END_UNKNOWN;
	return NULL;
}

static void read_facts(struct index_reader *reader)
{
	struct model *model = reader->model;
	struct index_facts facts;
	size_t count;
	const void *stored = index_items(reader, INDEX_FACTS, sizeof(facts), &count);

	reader->failed |= count != 1;
	if (reader->failed)
		return;
	memcpy(&facts, stored, sizeof(facts));
	model->process = facts.process;
	model->totals = facts.totals;
	memcpy(model->functions, facts.functions, sizeof(model->functions));
	memcpy(model->sizes, facts.sizes, sizeof(model->sizes));
	model->quality = facts.quality;
	model->stacks_used = facts.stacks_used;
	bool_sanitize(&model->quality.has_recorder);
	model->quality.fault_text = index_text(reader, facts.quality.fault_text);
	model->table.row_count = facts.row_count;
	model->table.freed_count = facts.freed_count;
	model->table.rows_at_peak = facts.rows_at_peak;
	model->clock.start_ticks = facts.clock_start_ticks;
	model->clock.start_ns = facts.clock_start_ns;
	model->clock.slope = facts.clock_slope;
	model->clock.is_estimated = facts.clock_is_estimated != 0;
	model->fine_begin_ticks = facts.timeline_begin_ticks;
	model->fine_span_ticks = facts.timeline_span_ticks;
	model->is_of_pools = facts.is_of_pools != 0;
}

static void check_stacks(struct index_reader *reader)
{
	const struct model *model = reader->model;
	const struct model_by_stack *sums = &model->stack_sums;
	bool sound = !reader->failed && model->stack_count >= CAPTURE_STACK_FIRST;

	for (size_t i = 0; sound && i < model->stack_count; i++) {
		const struct capture_stack *at = &model->stacks[i];

		sound = at->parent < (i < CAPTURE_STACK_FIRST ? CAPTURE_STACK_FIRST : i) &&
			(at->module == CAPTURE_MODULE_NONE || at->module < model->module_count) &&
			sums->seats[i] < sums->count;
	}
	reader->failed |= !sound;
}

static struct err *read_stacks(struct index_reader *reader)
{
	struct model *model = reader->model;
	struct capture_module *modules;
	struct model_by_stack *by_stack = &model->stack_sums;
	size_t seats, links, totals, usables;

	model->stacks =
		index_items(reader, INDEX_STACKS, sizeof(*model->stacks), &model->stack_count);
	by_stack->seats = index_items(reader, INDEX_STACK_SEATS, sizeof(*by_stack->seats), &seats);
	by_stack->items =
		index_items(reader, INDEX_STACK_SUMS, sizeof(*by_stack->items), &by_stack->count);
	model->stack_links =
		index_items(reader, INDEX_STACK_LINKS, sizeof(*model->stack_links), &links);
	model->stack_totals =
		index_items(reader, INDEX_STACK_TOTALS, sizeof(*model->stack_totals), &totals);
	model->stack_usables =
		index_items(reader, INDEX_STACK_USABLES, sizeof(*model->stack_usables), &usables);
	model->sightings = index_items(reader, INDEX_SIGHTINGS, sizeof(*model->sightings),
				       &model->sighting_count);
	reader->failed |= seats != model->stack_count;
	reader->failed |= links != seats || totals != seats || usables != seats;
	modules = index_copy(reader, INDEX_MODULES, sizeof(*modules), &model->module_count);
	model->modules = model->own_modules = modules;
	if (!modules)
		return err_nomem();
	for (size_t i = 0; i < model->module_count; i++) {
		const uint64_t build_id = (uintptr_t)modules[i].build_id;
		const bool inside = modules[i].build_id_bytes <= reader->text_bytes &&
				    build_id <= reader->text_bytes - modules[i].build_id_bytes;

		reader->failed |= !inside;
		modules[i].build_id = reader->file + reader->header.parts[INDEX_TEXTS].offset +
				      (inside ? build_id : 0);
		modules[i].path = index_text(reader, modules[i].path);
		modules[i].file = index_text(reader, modules[i].file);
	}
	check_stacks(reader);
	return NULL;
}

/* For all functions and stacks, or for none. */
static void read_latencies(struct index_reader *reader)
{
	struct model *model = reader->model;
	size_t functions, stacks;
	const struct model_latency *latencies =
		index_items(reader, INDEX_LATENCIES, sizeof(*latencies), &functions);
	const struct model_stack_latency *stack_latencies =
		index_items(reader, INDEX_STACK_LATENCIES, sizeof(*stack_latencies), &stacks);

	if (functions == 0 && stacks == 0)
		return;
	reader->failed |= functions != TAPE_FN_COUNT || stacks != model->stack_count;
	model->latencies = latencies;
	model->stack_latencies = stack_latencies;
}

static struct err *read_threads(struct index_reader *reader)
{
	struct model *model = reader->model;

	model->threads =
		index_copy(reader, INDEX_THREADS, sizeof(*model->threads), &model->thread_count);
	if (!model->threads)
		return err_nomem();
	for (size_t i = 0; i < model->thread_count; i++) {
		struct model_thread *thread = &model->threads[i];

		thread->name = index_text(reader, thread->name);
		reader->failed |= thread->creator != MODEL_NO_THREAD &&
				  thread->creator >= model->thread_count;
		reader->failed |= thread->create_stack >= model->stack_count;
		reader->failed |= thread->stack_use.known > MODEL_STACK_PAGES;
	}
	return NULL;
}

static void read_strays(struct index_reader *reader)
{
	struct model *model = reader->model;

	model->strays =
		index_items(reader, INDEX_STRAYS, sizeof(*model->strays), &model->stray_count);
	reader->failed |= !strays_are_sound(model);
}

static struct err *read_notes(struct index_reader *reader)
{
	struct model *model = reader->model;
	size_t count;

	/* read-only, and not freed: see model_destroy */
	model->usages.items = (struct model_usage *)(uintptr_t)index_items(
		reader, INDEX_USAGES, sizeof(*model->usages.items), &model->usages.count);
	model->systems.items = (struct model_system *)(uintptr_t)index_items(
		reader, INDEX_SYSTEMS, sizeof(*model->systems.items), &model->systems.count);
	model->notes.items =
		index_copy(reader, INDEX_NOTES, sizeof(*model->notes.items), &model->notes.count);
	model->damage.items = index_copy(reader, INDEX_DAMAGE, sizeof(*model->damage.items),
					 &model->damage.count);
	if (!model->notes.items || !model->damage.items)
		return err_nomem();
	count = model->notes.count;
	for (size_t i = 0; i < count; i++) {
		struct model_note *note = &model->notes.items[i];

		note->text = index_text(reader, note->text);
		reader->failed |=
			note->stack >= model->stack_count ||
			(note->thread != MODEL_NO_THREAD && note->thread >= model->thread_count);
	}
	for (size_t i = 0; i < model->damage.count; i++)
		model->damage.items[i].text = index_text(reader, model->damage.items[i].text);
	reader->failed |= model->quality.damage_count != model->damage.count;
	return NULL;
}

static struct err *read_clock(struct index_reader *reader)
{
	struct clock_points *points = &reader->model->clock.points;

	points->items = index_copy(reader, INDEX_CLOCK, sizeof(*points->items), &points->count);
	if (!points->items)
		return err_nomem();
	for (size_t i = 1; i < points->count; i++)
		reader->failed |= points->items[i].ticks <= points->items[i - 1].ticks ||
				  points->items[i].ns <= points->items[i - 1].ns;
	reader->failed |= !(reader->model->clock.slope > 0);
	return NULL;
}

static void read_timeline(struct index_reader *reader)
{
	struct model *model = reader->model;
	struct timeline_now before = { 0 };

	model->fine = index_items(reader, INDEX_TIMELINE, sizeof(*model->fine), &model->fine_count);
	reader->failed |= model->fine_count == 0 || model->fine_count > TIMELINE_SPANS ||
			  model->fine_span_ticks == 0;
	for (size_t i = 0; i < model->fine_count && !reader->failed; i++) {
		const struct timeline_now *now = &model->fine[i].end;

		reader->failed |= now->allocated_count < before.allocated_count ||
				  now->live_count > now->allocated_count ||
				  now->allocated_count - now->live_count <
					  before.allocated_count - before.live_count;
		before = *now;
	}
	reader->failed |= before.allocated_count != model->table.row_count ||
			  before.allocated_count - before.live_count != model->table.freed_count;
}

static void check_segments(struct index_reader *reader, size_t segment_count)
{
	const struct table *table = &reader->model->table;

	/* numbers of rows have 32 bits */
	if (table->row_count > ROW_NONE ||
	    segment_count != (table->row_count + MODEL_SEGMENT - 1) / MODEL_SEGMENT) {
		reader->failed = true;
		return;
	}
	for (size_t i = 0; i < segment_count; i++)
		reader->failed |=
			!segment_is_sound(&table->segments[i], table->file_bytes) ||
			table->segments[i].row_count !=
				u64_min(table->row_count - i * MODEL_SEGMENT, MODEL_SEGMENT);
	/* values of a row and a chain are forced to an existing thread and existing rows */
	reader->failed |= table->row_count > 0 && reader->model->thread_count == 0;
	reader->failed |= table->row_count == 0 && table->chain_count > 0;
}

static bool part_fits(uint64_t offset, uint64_t bytes, uint64_t file_bytes)
{
	return offset % 8 == 0 && offset <= file_bytes && bytes <= file_bytes - offset;
}

static void check_freed(struct index_reader *reader, size_t block_count)
{
	const struct table *table = &reader->model->table;

	if (table->freed_count > table->row_count ||
	    block_count != (table->freed_count + FREED_BLOCK - 1) / FREED_BLOCK) {
		reader->failed = true;
		return;
	}
	for (size_t i = 0; i < block_count; i++)
		reader->failed |=
			!freed_is_sound(&table->freed[i], table->file_bytes) ||
			table->freed[i].count !=
				u64_min(table->freed_count - i * FREED_BLOCK, FREED_BLOCK);
}

static void check_checkpoints(struct index_reader *reader)
{
	const struct table *table = &reader->model->table;

	for (size_t i = 0; i < table->checkpoint_count; i++) {
		const struct checkpoint *point = &table->checkpoints[i];

		reader->failed |= point->stack_count > reader->model->stack_count ||
				  point->row_count > table->row_count ||
				  point->freed_count > table->freed_count ||
				  !part_fits(point->offset,
					     point->stack_count * sizeof(struct model_stack_moment),
					     table->file_bytes);
	}
}

static void read_rows(struct index_reader *reader)
{
	struct table *table = &reader->model->table;
	size_t segments, blocks, chains;

	table->segments = index_items(reader, INDEX_SEGMENTS, sizeof(*table->segments), &segments);
	table->freed = index_items(reader, INDEX_FREED, sizeof(*table->freed), &blocks);
	table->chains = index_items(reader, INDEX_CHAINS, sizeof(*table->chains), &chains);
	table->chain_count = chains;
	table->checkpoints = index_items(reader, INDEX_CHECKPOINTS, sizeof(*table->checkpoints),
					 &table->checkpoint_count);
	table->peak_ties = index_items(reader, INDEX_PEAK_TIES, sizeof(*table->peak_ties),
				       &table->peak_tie_count);
	check_segments(reader, segments);
	check_freed(reader, blocks);
	check_checkpoints(reader);
}

static struct err *read_all(struct index_reader *reader)
{
	struct model *model = reader->model;
	struct err *err = NULL;

	read_texts(reader);
	read_facts(reader);
	if (!reader->failed)
		err = read_process(reader);
	if (!err)
		err = read_stacks(reader);
	if (!err)
		err = read_threads(reader);
	if (!err)
		err = index_read_pools(reader);
	if (!err)
		err = read_notes(reader);
	if (!err)
		err = index_read_scans(reader);
	if (!err)
		err = read_clock(reader);
	if (err)
		return err;
	read_latencies(reader);
	read_strays(reader);
	read_rows(reader);
	read_timeline(reader);
	if (reader->failed)
		return err_new(ERR_FORMAT, "the index is damaged");
	err = table_note_stacks(model);
	if (err)
		return err;
	return model_timeline_join(model) ? NULL : err_nomem();
}

static bool identity_equal(const struct index_identity *a, const struct index_identity *b)
{
	return a->tape_bytes == b->tape_bytes && a->tape_mtime_ns == b->tape_mtime_ns &&
	       a->head_hash == b->head_hash && a->tail_hash == b->tail_hash &&
	       memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0;
}

/* Maps the file; its header is valid, and of this tape. */
static struct err *map_file(struct index_reader *reader, int fd,
			    const struct index_identity *identity)
{
	struct stat status;
	struct err *err;
	void *file;

	if (fstat(fd, &status) != 0)
		return err_errno("stat the index");
	if (!S_ISREG(status.st_mode) || status.st_size < IMAGE_HEADER_BYTES)
		return err_new(ERR_FORMAT, "not an index");
	file = file_map(fd, (uint64_t)status.st_size, MAP_SHARED);
	if (file == MAP_FAILED)
		return err_errno("map the index");
	reader->file = reader->model->table.file = file;
	reader->model->table.file_bytes = (uint64_t)status.st_size;
	memcpy(&reader->header, file, sizeof(reader->header));
	err = check_header(&reader->header, (uint64_t)status.st_size);
	if (err)
		return err;
	if (identity && !identity_equal(identity, &reader->header.identity))
		return err_new(ERR_STATE, "the index of another tape, or of this one before it "
					  "changed");
	if (index_checksum(&reader->header, file) != reader->header.checksum)
		return err_new(ERR_FORMAT, "the index is damaged");
	return NULL;
}

struct err *index_read(int fd, const struct index_identity *identity, struct model **model_ret)
{
	CLEAN(model_destroy) struct model *model = calloc(1, sizeof(*model));
	struct index_reader reader = { .model = model };
	struct err *err;

	assert(fd >= 0);
	if (!model)
		return err_nomem();
	err = map_file(&reader, fd, identity);
	if (!err)
		err = read_all(&reader);
	if (!err)
		*model_ret = steal(model);
	return err;
}
