/*
 * pprof's profile: read by `go tool pprof`, google-pprof, Pyroscope, Parca and others. A protobuf
 * message (pprof.proto has the parts that are written), compressed with gzip.
 *
 * A sample is a stack with eight values, a count and bytes each: allocated in total, alive at the
 * end, alive at the peak, temporary. A location is a node of the tree of stacks: an address with
 * the functions inlined there. Machinery of allocation and program start is left out unless
 * requested; a stack of nothing else keeps one frame.
 */
#include "base/map.h"
#include "export/export.h"
#include "export/gzip.h"
#include "export/messages.h"
#include "pprof.pb-c.h"

typedef Memtape__Pprof__Profile profile_message;
typedef Memtape__Pprof__ValueType value_type_message;
typedef Memtape__Pprof__Sample sample_message;
typedef Memtape__Pprof__Mapping mapping_message;
typedef Memtape__Pprof__Location location_message;
typedef Memtape__Pprof__Line line_message;
typedef Memtape__Pprof__Function function_message;

static const struct {
	const char *type;
	enum metric metric;
} values[] = {
	{ "alloc_objects", METRIC_COUNT },	  { "alloc_space", METRIC_ALLOCATED },
	{ "inuse_objects", METRIC_LEAKED_COUNT }, { "inuse_space", METRIC_LEAKED },
	{ "peak_objects", METRIC_PEAK_COUNT },	  { "peak_space", METRIC_PEAK },
	{ "temp_objects", METRIC_TEMPORARY },	  { "temp_space", METRIC_TEMPORARY_BYTES },
};

struct writer {
	const struct export_context *context;
	struct arena arena;
	profile_message *profile;
	struct interner strings;
	struct map functions; /* name and file -> id */
	uint64_t *locations;  /* by stack: id; 0: none yet, UINT64_MAX: all frames hidden */
	bool failed;	      /* out of memory; sticks */
};

static void *list_add(struct writer *writer, void *list, size_t *count, size_t bytes)
{
	return messages_add(&writer->arena, &writer->failed, list, count, bytes);
}

/* A string's index; protobuf strings must be UTF-8. */
static int64_t string_get(struct writer *writer, const char *text)
{
	CLEAN(str_deinit) struct str clean = { 0 };
	uint32_t id;

	str_add_terminal(&clean, text ? text : "");
	id = interner_put(&writer->strings, str_text(&clean), clean.len);
	writer->failed |= id == UINT32_MAX || clean.failed;
	return id == UINT32_MAX ? 0 : id;
}

static uint64_t function_get(struct writer *writer, const struct name_frame *frame)
{
	const struct name *name = names_get(writer->context->names, frame->name);
	const int64_t file = string_get(writer, frame->file);
	bool is_new;
	uint64_t *id = map_put(&writer->functions, (uint64_t)file << 32 | frame->name, &is_new);
	function_message *function;

	if (!id || !is_new) {
		writer->failed |= !id;
		return id ? *id : 0;
	}
	function = list_add(writer, &writer->profile->function, &writer->profile->n_function,
			    sizeof(*function));
	if (!function)
		return 0;
	memtape__pprof__function__init(function);
	*id = function->id = writer->profile->n_function;
	function->name = string_get(writer, name->function);
	function->system_name = string_get(writer, name->full);
	function->filename = file;
	return function->id;
}

static void lines_add(struct writer *writer, location_message *location, uint32_t stack,
		      const struct name_frames *frames, bool takes_hidden)
{
	const struct export_context *context = writer->context;

	for (size_t i = 0; i < frames->count; i++) {
		line_message *line;

		if (!takes_hidden &&
		    walk_hides(context->mode, context->names, stack, &frames->frames[i]))
			continue;
		line = list_add(writer, &location->line, &location->n_line, sizeof(*line));
		if (!line)
			return;
		memtape__pprof__line__init(line);
		line->function_id = function_get(writer, &frames->frames[i]);
		line->line = frames->frames[i].line;
	}
}

/* The location of a stack's innermost address; 0: all its frames are hidden. */
static uint64_t location_get(struct writer *writer, uint32_t stack, bool takes_hidden)
{
	const struct capture_stack *at = &model_stacks(writer->context->model)[stack];
	const struct name_frames frames = names_frames(writer->context->names, stack);
	location_message draft;
	location_message *location;

	if (writer->locations[stack] && !(takes_hidden && writer->locations[stack] == UINT64_MAX))
		return writer->locations[stack] == UINT64_MAX ? 0 : writer->locations[stack];
	memtape__pprof__location__init(&draft);
	lines_add(writer, &draft, stack, &frames, takes_hidden);
	if (draft.n_line == 0) {
		writer->locations[stack] = UINT64_MAX;
		return 0;
	}
	location = list_add(writer, &writer->profile->location, &writer->profile->n_location,
			    sizeof(*location));
	if (!location)
		return 0;
	*location = draft;
	location->id = writer->profile->n_location;
	location->address = at->exact ? at->pc : at->pc - 1;
	if (at->module != CAPTURE_MODULE_NONE)
		location->mapping_id = at->module + 1;
	writer->locations[stack] = location->id;
	return location->id;
}

/* A location that is not code: no stack was taken, or it is unknown. */
static uint64_t special_get(struct writer *writer, uint32_t stack)
{
	const char *words = stack == CAPTURE_STACK_TRUNCATED ? "(outer frames not known)"
			    : stack == CAPTURE_STACK_NONE    ? "(no stack was taken)"
							     : "(outside of all functions)";
	location_message *location;
	function_message *function;
	line_message *line;

	if (writer->locations[stack])
		return writer->locations[stack];
	function = list_add(writer, &writer->profile->function, &writer->profile->n_function,
			    sizeof(*function));
	location = list_add(writer, &writer->profile->location, &writer->profile->n_location,
			    sizeof(*location));
	if (!function || !location)
		return 0;
	memtape__pprof__function__init(function);
	memtape__pprof__location__init(location);
	function->id = writer->profile->n_function;
	function->name = function->system_name = string_get(writer, words);
	location->id = writer->locations[stack] = writer->profile->n_location;
	line = list_add(writer, &location->line, &location->n_line, sizeof(*line));
	if (line) {
		memtape__pprof__line__init(line);
		line->function_id = function->id;
	}
	return location->id;
}

/* Location ids of a stack, innermost first; count in *count_ret; in the arena. */
static uint64_t *path_get(struct writer *writer, uint32_t stack, size_t *count_ret)
{
	const struct capture_stack *stacks = model_stacks(writer->context->model);
	const uint32_t innermost = stack;
	size_t depth = 1, count = 0;
	uint64_t *ids;

	for (uint32_t at = stack; at >= CAPTURE_STACK_FIRST; at = stacks[at].parent)
		depth++;
	ids = arena_array(&writer->arena, depth, sizeof(*ids));
	for (; ids && stack >= CAPTURE_STACK_FIRST; stack = stacks[stack].parent) {
		const uint64_t id = location_get(writer, stack, false);

		if (id)
			ids[count++] = id;
	}
	if (ids && stack != CAPTURE_STACK_ROOT)
		ids[count++] = special_get(writer, stack);
	else if (ids && count == 0)
		ids[count++] = innermost >= CAPTURE_STACK_FIRST
				       ? location_get(writer, innermost, true)
				       : special_get(writer, innermost);
	writer->failed |= !ids;
	*count_ret = count;
	return ids;
}

static void sample_add(struct writer *writer, uint32_t stack)
{
	const struct model_stack_sums *sums = sums_of_stack(&writer->context->sums, stack);
	sample_message *sample = list_add(writer, &writer->profile->sample,
					  &writer->profile->n_sample, sizeof(*sample));

	if (!sample)
		return;
	memtape__pprof__sample__init(sample);
	sample->location_id = path_get(writer, stack, &sample->n_location_id);
	sample->value = arena_array(&writer->arena, array_size(values), sizeof(*sample->value));
	writer->failed |= !sample->value;
	for (size_t i = 0; sample->value && i < array_size(values); i++)
		sample->value[sample->n_value++] = (int64_t)metric_value(values[i].metric, sums);
}

static void samples_add(struct writer *writer)
{
	const struct sums *sums = &writer->context->sums;
	const size_t count = model_stack_count(writer->context->model);

	for (uint32_t stack = 0; stack < count && !writer->failed; stack++) {
		const struct model_stack_sums *at = sums_of_stack(sums, stack);

		if (at->allocated.count || at->leaked.count || at->peak.count)
			sample_add(writer, stack);
	}
}

static int64_t build_id_get(struct writer *writer, const struct capture_module *module)
{
	CLEAN(str_deinit) struct str digits = { 0 };

	for (size_t i = 0; i < module->build_id_bytes; i++)
		str_printf(&digits, "%02x", module->build_id[i]);
	return string_get(writer, str_text(&digits));
}

/* Sets has_*, so that pprof does not look for symbols itself. */
static void mappings_add(struct writer *writer)
{
	const struct model *model = writer->context->model;

	for (size_t i = 0; i < model_module_count(model); i++) {
		const struct capture_module *module = model_module(model, i);
		mapping_message *mapping = list_add(writer, &writer->profile->mapping,
						    &writer->profile->n_mapping, sizeof(*mapping));

		if (!mapping)
			return;
		memtape__pprof__mapping__init(mapping);
		mapping->id = i + 1;
		mapping->memory_start = module->begin;
		mapping->memory_limit = module->end;
		mapping->filename =
			string_get(writer, names_module_path(writer->context->names, i));
		mapping->build_id = build_id_get(writer, module);
		mapping->has_functions = mapping->has_filenames = true;
		mapping->has_line_numbers = mapping->has_inline_frames = true;
	}
}

static void value_type_init(struct writer *writer, value_type_message *message, const char *type,
			    const char *unit)
{
	writer->failed |= !message;
	if (!message)
		return;
	memtape__pprof__value_type__init(message);
	message->type = string_get(writer, type);
	message->unit = string_get(writer, unit);
}

static void head_add(struct writer *writer)
{
	const struct model_process *process = model_process(writer->context->model);
	profile_message *profile = writer->profile;

	string_get(writer, ""); /* must be the first */
	for (size_t i = 0; i < array_size(values); i++) {
		value_type_init(writer,
				list_add(writer, &profile->sample_type, &profile->n_sample_type,
					 sizeof(value_type_message)),
				values[i].type,
				metric_is_bytes(values[i].metric) ? "bytes" : "count");
		if (values[i].metric == writer->context->metric)
			profile->default_sample_type = string_get(writer, values[i].type);
	}
	profile->period_type = arena_new(&writer->arena, value_type_message);
	value_type_init(writer, profile->period_type, "space", "bytes");
	profile->period = 1; /* not sampled */
	profile->time_nanos = (int64_t)process->start_realtime_ns;
	profile->duration_nanos = (int64_t)process->duration_ns;
}

static struct err *profile_send(struct writer *writer, FILE *out)
{
	CLEAN(free) uint8_t *bytes = NULL;
	size_t size;

	if (writer->failed)
		return err_nomem();
	writer->profile->string_table = (char **)writer->strings.texts;
	writer->profile->n_string_table = writer->strings.count;
	size = memtape__pprof__profile__get_packed_size(writer->profile);
	bytes = malloc(size);
	if (!bytes)
		return err_nomem();
	memtape__pprof__profile__pack(writer->profile, bytes);
	return gzip_write(bytes, size, out);
}

static struct err *pprof_write(const struct export_context *context, FILE *out)
{
	struct writer writer = { .context = context };
	profile_message profile;
	struct err *err;

	memtape__pprof__profile__init(&profile);
	writer.profile = &profile;
	writer.locations = arena_array(&writer.arena, model_stack_count(context->model),
				       sizeof(*writer.locations));
	if (writer.locations) {
		head_add(&writer);
		mappings_add(&writer);
		samples_add(&writer);
		err = profile_send(&writer, out);
	} else {
		err = err_nomem();
	}
	interner_deinit(&writer.strings);
	map_deinit(&writer.functions);
	arena_deinit(&writer.arena);
	return err;
}

const struct export_format export_pprof = {
	.name = "pprof",
	.summary = "pprof's profile, for go tool pprof, google-pprof, Pyroscope and others",
	.suffix = ".pb.gz",
	.has_alive = true,
	.kind = EXPORT_SUMS,
	.is_gzip = true,
	.depth = MODEL_SUMMARY,
	.write = pprof_write,
};
