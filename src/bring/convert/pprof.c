/*
 * Heap profiles in pprof format (profile.proto): allocated and live memory per stack. Written by Go
 * and tools for most other languages; those of gperftools and jemalloc are converted to it by `go
 * tool pprof -proto`.
 *
 * Sampled values are already scaled by the program that wrote the file.
 */
#include <inttypes.h>

#include "convert/elf_kind.h"
#include "convert/importer.h"
#include "convert/pprof_file.h"
#include "convert/protobuf.h"
#include "convert/scan.h"

enum value { ALL_COUNT, ALL_BYTES, LIVE_COUNT, LIVE_BYTES, PEAK_COUNT, PEAK_BYTES, VALUES };

enum { NAMES_MAX = 64, BUILD_ID_MAX = 64 };

struct pprof {
	struct pprof_file file;
	struct composer *composer;
	size_t column[VALUES]; /* index among each sample's values; SIZE_MAX: none */
	uint64_t negative_count;
	uint64_t broken_count;	/* samples with incomplete stacks */
	struct vec_u32 modules; /* the composer's, per mapping */
	struct vec_u32 frames;	/* the composer's, per location */
};

static void pprof_deinit(struct pprof *pprof)
{
	pprof_file_deinit(&pprof->file);
	vec_u32_deinit(&pprof->modules);
	vec_u32_deinit(&pprof->frames);
}

CLEAN_DEFINE_DEINIT(pprof_deinit, struct pprof);

/* A sample type: two numbers, for its name and its unit. */
static bool type_probe(struct protobuf type)
{
	uint64_t numbers[3] = { 0 };
	struct protobuf_field part;

	while (protobuf_next(&type, &part)) {
		if (part.is_bytes || part.number < 1 || part.number > 2)
			return false;
		numbers[part.number] = part.value;
	}
	return !type.failed && numbers[1] != 0 && numbers[2] != 0;
}

/* Matches if there are only fields of profiles, as far as can be seen, and a sample type. */
static enum importer_match pprof_probe(const char *bytes, size_t count)
{
	enum { FIELD_MAX = 15 };
	struct protobuf in = { .at = (const uint8_t *)bytes,
			       .end = (const uint8_t *)bytes + count };
	/* 1 to 6 and 11 are messages and strings, the others numbers (13 may be a packed list) */
	const uint32_t messages = 0x7e | 1 << 11, either = 1 << 13;
	struct protobuf_field field;
	bool has_type = false;

	while (protobuf_next(&in, &field)) {
		if (field.number < 1 || field.number > FIELD_MAX ||
		    (!(either >> field.number & 1) &&
		     (messages >> field.number & 1) != field.is_bytes) ||
		    (field.number == 1 && !type_probe(field.bytes)))
			return IMPORTER_NO;
		has_type |= field.number == 1;
	}
	return has_type ? IMPORTER_YES : IMPORTER_NO;
}

/* --- sample types ----------------------------------------------------------------------------- */

static void columns_find(struct pprof *pprof)
{
	static const struct {
		const char *name;
		enum value value;
	} names[] = {
		{ "alloc_objects", ALL_COUNT },	 { "alloc_space", ALL_BYTES },
		{ "inuse_objects", LIVE_COUNT }, { "inuse_space", LIVE_BYTES },
		{ "peak_objects", PEAK_COUNT },	 { "peak_space", PEAK_BYTES },
		{ "objects", LIVE_COUNT },	 { "space", LIVE_BYTES },
	};

	for (size_t i = 0; i < VALUES; i++)
		pprof->column[i] = SIZE_MAX;
	for (size_t i = pprof->file.types.count; i-- > 0;)
		for (size_t j = array_size(names); j-- > 0;)
			if (strcmp(pprof_text(&pprof->file, pprof->file.types.items[i].name),
				   names[j].name) == 0)
				pprof->column[names[j].value] = i;
}

static struct err *types_error(const struct pprof *pprof, const struct source *source)
{
	CLEAN(str_deinit) struct str known = { 0 };

	for (size_t i = 0; i < pprof->file.types.count && i < 16; i++)
		str_printf(&known, "%s%s", i ? ", " : "",
			   pprof_text(&pprof->file, pprof->file.types.items[i].name));
	return source_error(source,
			    "the profile has %s: those of the heap have inuse_space or "
			    "alloc_space",
			    str_text(&known));
}

static uint64_t sample_value(struct pprof *pprof, const struct pprof_sample *sample,
			     enum value value)
{
	const size_t column = pprof->column[value];
	uint64_t number;

	if (column >= sample->value_count)
		return 0;
	number = pprof->file.values.items[sample->first_value + column];
	if (number < SCAN_NUMBER_END)
		return number;
	pprof->negative_count++;
	return 0;
}

/* --- stacks ----------------------------------------------------------------------------------- */

static size_t build_id_read(const char *text, uint8_t *bytes)
{
	size_t count = 0;

	while (count < BUILD_ID_MAX) {
		const int high = scan_hex_digit(text[0]);
		const int low = high < 0 ? -1 : scan_hex_digit(text[1]);

		if (low < 0)
			return text[0] ? 0 : count; /* Go's own build ids are not hexadecimal */
		bytes[count++] = (uint8_t)(high << 4 | low);
		text += 2;
	}
	return 0;
}

static uint32_t module_make(struct pprof *pprof, const struct pprof_mapping *mapping)
{
	const char *path = pprof_text(&pprof->file, mapping->path);
	uint8_t build_id[BUILD_ID_MAX];
	struct compose_module module = { .path = path, .build_id = build_id };
	const bool has_addresses =
		mapping->begin < mapping->end && path[0] == '/' && mapping->end < UINT64_C(1) << 47;

	if (path[0] == '\0')
		return COMPOSE_NO_MODULE;
	module.build_id_bytes =
		build_id_read(pprof_text(&pprof->file, mapping->build_id), build_id);
	if (has_addresses) {
		module.begin = mapping->begin;
		module.end = mapping->end;
		module.bias = elf_kind_of(path) == ELF_KIND_FIXED
				      ? 0
				      : mapping->begin - u64_min(mapping->offset, mapping->begin);
	}
	return composer_module(pprof->composer, &module);
}

static uint32_t frame_make(struct pprof *pprof, const struct pprof_location *location)
{
	const uint64_t *place = map_find(&pprof->file.mapping_at, location->mapping);
	const struct pprof_mapping *mapping = place ? &pprof->file.mappings.items[*place] : NULL;
	struct compose_name names[NAMES_MAX];
	struct compose_frame frame = { .pc = location->address ? location->address + 1 : 0,
				       .names = names };
	const size_t line_count = u64_min(location->line_count, NAMES_MAX);

	for (size_t i = 0; i < line_count; i++) {
		const struct pprof_line *line = &pprof->file.lines.items[location->first_line + i];
		const uint64_t *at = map_find(&pprof->file.function_at, line->function);
		const struct pprof_function *function =
			at ? &pprof->file.functions.items[*at] : NULL;
		const char *name = function ? pprof_text(&pprof->file, function->name) : "";
		const char *file = function ? pprof_text(&pprof->file, function->file) : "";

		if (function && name[0] == '\0')
			name = pprof_text(&pprof->file, function->mangled);
		if (name[0])
			names[frame.name_count++] = (struct compose_name) {
				name, file[0] ? file : NULL,
				(uint32_t)(line->line < UINT32_MAX ? line->line : 0)
			};
	}
	if (mapping)
		frame.module = pprof->modules.items[*place];
	if (mapping && (frame.pc <= mapping->begin || frame.pc > mapping->end))
		frame.pc = 0;
	if (frame.pc >= UINT64_C(1) << 47)
		frame.pc = 0;
	if (frame.pc == 0 && frame.name_count == 0)
		names[frame.name_count++] = (struct compose_name) { .function = "???" };
	return composer_frame(pprof->composer, &frame);
}

/* False: out of memory. */
static bool frames_make(struct pprof *pprof)
{
	for (size_t i = 0; i < pprof->file.mappings.count; i++)
		if (!vec_u32_push(&pprof->modules,
				  module_make(pprof, &pprof->file.mappings.items[i])))
			return false;
	for (size_t i = 0; i < pprof->file.locations.count; i++)
		if (!vec_u32_push(&pprof->frames,
				  frame_make(pprof, &pprof->file.locations.items[i])))
			return false;
	return true;
}

static uint32_t stack_of(struct pprof *pprof, const struct pprof_sample *sample)
{
	const uint64_t *numbers = pprof->file.locations_of.items + sample->first_location;
	uint32_t stack = COMPOSE_ROOT;

	if (sample->location_count == 0)
		return COMPOSE_NO_STACK;
	for (size_t i = sample->location_count; i-- > 0;) {
		const uint64_t *place = map_find(&pprof->file.location_at, numbers[i]);

		if (!place) {
			pprof->broken_count++;
			return COMPOSE_NO_STACK;
		}
		stack = composer_stack(pprof->composer, stack, pprof->frames.items[*place]);
	}
	return stack;
}

/* --- to the tape ------------------------------------------------------------------------------ */

static void samples_write(struct pprof *pprof)
{
	const bool has_all = pprof->column[ALL_BYTES] != SIZE_MAX;
	const bool has_peak = pprof->column[PEAK_BYTES] != SIZE_MAX;

	for (size_t i = 0; i < pprof->file.samples.count && !composer_failed(pprof->composer);
	     i++) {
		const struct pprof_sample *sample = &pprof->file.samples.items[i];
		struct compose_sum sum = {
			.allocated_count = sample_value(pprof, sample, ALL_COUNT),
			.allocated_bytes = sample_value(pprof, sample, ALL_BYTES),
			.live_count = sample_value(pprof, sample, LIVE_COUNT),
			.live_bytes = sample_value(pprof, sample, LIVE_BYTES),
			.peak_count = sample_value(pprof, sample, PEAK_COUNT),
			.peak_bytes = sample_value(pprof, sample, PEAK_BYTES),
			.has_peak = has_peak,
		};

		if (!has_all) {
			sum.allocated_count = sum.live_count;
			sum.allocated_bytes = sum.live_bytes;
		}
		/* sampled: independent estimates, but the total is not less than its part */
		sum.allocated_count = u64_max(sum.allocated_count, sum.live_count);
		sum.allocated_bytes = u64_max(sum.allocated_bytes, sum.live_bytes);
		if (sum.allocated_bytes || sum.allocated_count || sum.peak_bytes)
			composer_sum(pprof->composer, stack_of(pprof, sample), &sum);
	}
}

static void process_write(struct pprof *pprof)
{
	struct compose_process process = { .start_realtime_ns = pprof->file.time_ns };

	composer_missing(pprof->composer, TAPE_MISSING_PROCESS);
	if (pprof->file.mappings.count > 0)
		process.exe = pprof_text(&pprof->file, pprof->file.mappings.items[0].path);
	if (process.exe && process.exe[0])
		composer_process(pprof->composer, &process);
}

static void facts_write(struct pprof *pprof)
{
	struct composer *composer = pprof->composer;

	composer_missing(composer, TAPE_MISSING_TIMES | TAPE_MISSING_THREADS | TAPE_MISSING_USABLE |
					   TAPE_MISSING_FREE_STACKS | TAPE_MISSING_FUNCTIONS);
	if (pprof->file.period > 1) {
		composer_missing(composer, TAPE_MISSING_SAMPLED);
		composer_note(
			composer,
			"one allocation in about %" PRIu64
			" bytes was seen: numbers are estimates, scaled by who wrote the file",
			pprof->file.period);
	}
	if (pprof->column[ALL_BYTES] == SIZE_MAX) {
		composer_missing(composer, TAPE_MISSING_FREED);
		composer_note(composer, "the file has what is alive only");
	}
	if (pprof->column[LIVE_BYTES] == SIZE_MAX) {
		composer_missing(composer, TAPE_MISSING_FREES);
		composer_note(composer, "the file has only what was allocated, not what is alive: "
					"all is shown as freed");
	}
}

static void rest_tell(const struct pprof *pprof)
{
	if (pprof->negative_count > 0)
		composer_note(pprof->composer,
			      "%" PRIu64 " numbers are below zero and taken for 0: for differences "
			      "convert both profiles, and compare them with memtape diff",
			      pprof->negative_count);
	if (pprof->broken_count > 0)
		composer_note(pprof->composer,
			      "%" PRIu64 " stacks have places that are not in the file: they are "
			      "shown as not known",
			      pprof->broken_count);
}

static struct err *pprof_read(struct source *source, struct composer *composer)
{
	CLEAN(pprof_deinit) struct pprof pprof = { .composer = composer };
	const char *why = NULL;
	struct err *err = pprof_file_read(&pprof.file, source, &why);

	if (err)
		return err;
	/* names and locations come after the samples: without the end nothing is usable */
	if (why || source_failed(source))
		return source_error(source, "%s",
				    why ? why : "the file is damaged, and its tables are lost");
	columns_find(&pprof);
	if (pprof.column[LIVE_BYTES] == SIZE_MAX && pprof.column[ALL_BYTES] == SIZE_MAX)
		return types_error(&pprof, source);
	process_write(&pprof);
	facts_write(&pprof);
	if (!frames_make(&pprof))
		return err_nomem();
	samples_write(&pprof);
	rest_tell(&pprof);
	return NULL;
}

const struct importer importer_pprof = {
	.name = "pprof",
	.title = "heap profiles of pprof, as Go and many others write them, heap.pb.gz",
	.recipe = "curl -o heap.pb.gz http://HOST/debug/pprof/heap",
	.probe = pprof_probe,
	.read = pprof_read,
};
