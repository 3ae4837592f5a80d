/*
 * bytehound: its .dat files. Chunks hold one stream of events, each a number and its fields without
 * a length, so an unknown event ends what can be read.
 *
 * Code addresses are resolved when the tape is read, in the files that the program had mapped, as
 * for any tape, unless `bytehound postprocess` has put the names into the file. Frames of bytehound
 * itself, which every stack begins with, are left out. The program's environment, which the file
 * contains, is not copied.
 */
#include "convert/bytehound.h"

#include <assert.h>

#include "arch/machine.h"
#include "base/str.h"
#include "convert/lz4_block.h"

enum {
	NS_PER_US = 1000,
	TEXT_MAX = 1 << 20,
	MAPS_MAX = 64 << 20,
	ARGV_MAX = 256,
	FLAG_CALLOC = 1 << 31
};

/* Numbers of the events that are read; event_pass skips the others. */
enum event {
	EVENT_HEADER = 0,
	EVENT_ALLOC = 1,
	EVENT_REALLOC = 2,
	EVENT_FREE = 3,
	EVENT_FILE = 4,
	EVENT_BACKTRACE = 5,
	EVENT_MARKER = 7,
	EVENT_STRING = 14,
	EVENT_FRAME = 15,
	EVENT_DECODED = 16,
	EVENT_GROUP = 17,
	EVENT_BACKTRACE32 = 19,
	EVENT_ALLOC_EX = 20,
	EVENT_REALLOC_EX = 21,
	EVENT_FREE_EX = 22,
	EVENT_FILE64 = 23
};

void bytehound_fail(struct bytehound *bytehound, const char *why)
{
	assert(why);
	if (!bytehound->stream.why)
		bytehound->stream.why = why;
}

static uint64_t time_read(struct bytehound *bytehound)
{
	const uint64_t us = bytehound_u64(&bytehound->stream);
	const uint64_t passed = us - u64_min(bytehound->begin_us, us);

	return u64_min(passed, UINT64_MAX / 4 / NS_PER_US) * NS_PER_US;
}

/* --- the process ------------------------------------------------------------------------------ */

static uint32_t argv_split(const char *text, size_t count, const char **argv)
{
	uint32_t argc = 0;

	for (size_t at = 0; at < count && argc < ARGV_MAX; at += strlen(text + at) + 1)
		argv[argc++] = text + at;
	return argc;
}

/* A string of the file, NUL-terminated. */
static void text_read(struct bytehound *bytehound, struct str *out)
{
	const uint32_t count = bytehound_u32(&bytehound->stream);
	const uint8_t *bytes = bytehound_bytes(&bytehound->stream, count, TEXT_MAX);

	if (bytes)
		str_add_bytes(out, (const char *)bytes, count);
	str_add_bytes(out, "", 0);
	if (out->failed)
		bytehound_fail(bytehound, "out of memory");
}

static void header_take(struct bytehound *bytehound, bool is_first)
{
	struct bytehound_stream *stream = &bytehound->stream;
	CLEAN(str_deinit) struct str command = { 0 }, exe = { 0 }, arch = { 0 };
	const char *argv[ARGV_MAX];
	struct compose_process process = { .argv = argv };
	uint64_t begin_us, now_us, wall_ns;

	bytehound_skip(stream, 16);
	begin_us = bytehound_u64(stream);
	now_us = bytehound_u64(stream);
	wall_ns = bytehound_u64(stream) * UINT64_C(1000000000);
	wall_ns += bytehound_u64(stream);
	process.pid = bytehound_u32(stream);
	text_read(bytehound, &command);
	text_read(bytehound, &exe);
	text_read(bytehound, &arch);
	bytehound_skip(stream, 8 + 1); /* flags, pointer size */
	if (stream->why || !is_first)
		return;
	bytehound->begin_us = begin_us;
	process.exe = str_text(&exe);
	process.argc = argv_split(str_text(&command), command.len, argv);
	process.elf_machine = arch_machine_find(str_text(&arch));
	process.start_realtime_ns = wall_ns - (now_us - begin_us) * NS_PER_US;
	composer_process(bytehound->composer, &process);
}

/* --- stacks ----------------------------------------------------------------------------------- */

static uint64_t address_at(const uint8_t *bytes, uint32_t i, size_t width)
{
	return width == 8 ? load_u64(bytes + i * width) : load_u32(bytes + i * width);
}

/* Addresses, innermost first; all but the innermost are return addresses. */
static uint32_t stack_make(struct bytehound *bytehound, const uint8_t *bytes, uint32_t count,
			   size_t width)
{
	uint32_t stack = COMPOSE_ROOT, first = 0;

	for (; first + 1 < count; first++) {
		const uint64_t pc = address_at(bytes, first, width);
		const struct bytehound_module *module =
			bytehound_module_at(bytehound, pc - (first > 0));

		if (!module || !module->is_recorder)
			break;
	}
	for (uint32_t i = count; i-- > first;) {
		struct compose_frame frame = { .exact = i == 0, .pc = address_at(bytes, i, width) };
		const struct bytehound_module *module;

		if (frame.pc == 0)
			continue;
		module = bytehound_module_at(bytehound, frame.pc - !frame.exact);
		frame.module = module ? module->module : COMPOSE_NO_MODULE;
		stack = composer_stack(bytehound->composer, stack,
				       composer_frame(bytehound->composer, &frame));
	}
	return count ? stack : COMPOSE_NO_STACK;
}

void bytehound_stack_put(struct bytehound *bytehound, uint64_t backtrace, uint32_t stack)
{
	uint64_t *place = map_put(&bytehound->stacks, backtrace, NULL);

	if (place)
		*place = stack;
	else
		bytehound_fail(bytehound, "out of memory");
}

static void backtrace_take(struct bytehound *bytehound, size_t width)
{
	struct bytehound_stream *stream = &bytehound->stream;
	const uint64_t id = bytehound_u64(stream);
	const uint32_t count = bytehound_u32(stream);
	const uint8_t *bytes =
		bytehound_bytes(stream, count * (uint64_t)width, COMPOSE_DEPTH_MAX * width);

	if (bytes)
		bytehound_stack_put(bytehound, id, stack_make(bytehound, bytes, count, width));
}

static uint32_t stack_of(struct bytehound *bytehound, uint64_t backtrace)
{
	const uint64_t *known = map_find(&bytehound->stacks, backtrace);

	if (known)
		return (uint32_t)*known;
	/* 0: none was taken; UINT64_MAX: lost when the file was rewritten */
	bytehound->unknown_stacks += backtrace != 0 && backtrace != UINT64_MAX;
	return COMPOSE_NO_STACK;
}

/* --- events ----------------------------------------------------------------------------------- */

static void block_take(struct bytehound *bytehound, bool has_id, bool is_realloc)
{
	struct bytehound_stream *stream = &bytehound->stream;
	struct bytehound_event event = { .what = is_realloc ? BYTEHOUND_REALLOC : BYTEHOUND_ALLOC };
	uint64_t backtrace;
	uint32_t flags;

	bytehound_skip(stream, has_id ? 16 : 0);
	event.ns = time_read(bytehound);
	if (is_realloc)
		event.old_address = bytehound_u64(stream);
	event.address = bytehound_u64(stream);
	event.size = bytehound_u64(stream);
	backtrace = bytehound_u64(stream);
	event.thread = bytehound_u32(stream);
	flags = bytehound_u32(stream);
	event.usable = event.size + bytehound_u32(stream);
	bytehound_skip(stream, 8); /* free space before it: always 0 */
	if (stream->why)
		return;
	event.fn = flags & (uint32_t)FLAG_CALLOC ? TAPE_FN_CALLOC : TAPE_FN_MALLOC;
	event.stack = stack_of(bytehound, backtrace);
	bytehound_put(bytehound, &event);
}

static void free_take(struct bytehound *bytehound, bool has_id)
{
	struct bytehound_stream *stream = &bytehound->stream;
	struct bytehound_event event = { .what = BYTEHOUND_FREE, .fn = TAPE_FN_FREE };
	uint64_t backtrace;

	bytehound_skip(stream, has_id ? 16 : 0);
	event.ns = time_read(bytehound);
	event.address = bytehound_u64(stream);
	backtrace = bytehound_u64(stream);
	event.thread = bytehound_u32(stream);
	if (stream->why)
		return;
	event.stack = stack_of(bytehound, backtrace);
	bytehound_put(bytehound, &event);
}

/* Freed blocks, as `bytehound strip` leaves them. */
static void group_take(struct bytehound *bytehound)
{
	struct bytehound_stream *stream = &bytehound->stream;
	const uint64_t backtrace = bytehound_u64(stream);
	struct compose_sum sum = { 0 };

	bytehound_skip(stream, 16);
	sum.allocated_count = bytehound_u64(stream);
	sum.allocated_bytes = bytehound_u64(stream);
	bytehound_skip(stream, 16);
	if (stream->why)
		return;
	composer_sum(bytehound->composer, stack_of(bytehound, backtrace), &sum);
	bytehound->stripped_count += sum.allocated_count;
}

static void file_take(struct bytehound *bytehound, bool is_long)
{
	static const char maps[] = "/proc/self/maps";
	struct bytehound_stream *stream = &bytehound->stream;
	uint32_t len;
	uint64_t count;
	const uint8_t *bytes;
	bool is_maps;

	bytehound_skip(stream, 8);
	len = bytehound_u32(stream);
	bytes = bytehound_bytes(stream, len, TEXT_MAX);
	is_maps = bytes && len == sizeof(maps) - 1 && memcmp(bytes, maps, len) == 0;
	count = is_long ? bytehound_u64(stream) : bytehound_u32(stream);
	if (!is_maps) {
		bytehound_skip(stream, count);
		return;
	}
	bytes = bytehound_bytes(stream, count, MAPS_MAX);
	if (bytes && !bytehound_maps(bytehound, (const char *)bytes, count))
		bytehound_fail(bytehound, "out of memory");
}

static void marker_take(struct bytehound *bytehound)
{
	char text[STR_SHORT_BYTES];

	composer_mark(bytehound->composer, str_format(text, sizeof(text), "marker %u",
						      bytehound_u32(&bytehound->stream)));
}

/* --- skipped events --------------------------------------------------------------------------- */

/*
 * The event's fields: d dump (u64 address, u64 length, data), s string, v varint of one to nine
 * bytes, r the origins of a region, a digit: that many bytes. NULL: unknown event.
 */
static const char *fields_of(uint32_t event)
{
	static const char *const fields[] = {
		[6] = "8d",	     [8] = "8888844448",   [9] = "88884",	[10] = "884444",
		[11] = "s",	     [12] = "888",	   [24] = "8v8vvv444s", [25] = "8v8vr",
		[26] = "8v8vvvvvvv", [27] = "v8vv444v8v4",
	};

	return event < array_size(fields) ? fields[event] : NULL;
}

static void region_sources_pass(struct bytehound_stream *stream)
{
	for (uint64_t count = bytehound_varint(stream); count > 0 && !stream->why; count--) {
		bytehound_skip(stream, 8);
		bytehound_varint(stream);
		bytehound_skip(stream, 8);
		bytehound_varint(stream);
		bytehound_skip(stream, 4);
	}
}

static bool event_pass(struct bytehound *bytehound, uint32_t event)
{
	struct bytehound_stream *stream = &bytehound->stream;
	const char *fields = fields_of(event);

	if (!fields)
		return false;
	for (; *fields && !stream->why; fields++) {
		if (*fields == 'd')
			bytehound_skip(stream, bytehound_u64(stream));
		else if (*fields == 's')
			bytehound_skip(stream, event == 11 ? bytehound_u32(stream)
							   : bytehound_varint(stream));
		else if (*fields == 'v')
			bytehound_varint(stream);
		else if (*fields == 'r')
			region_sources_pass(stream);
		else
			bytehound_skip(stream, (uint64_t)(*fields - '0'));
	}
	bytehound->passed_over += event != 11 && event != 12;
	return true;
}

/* --- the file --------------------------------------------------------------------------------- */

static void event_take(struct bytehound *bytehound, uint32_t event)
{
	switch (event) {
	case EVENT_HEADER:
		header_take(bytehound, false);
		break;
	case EVENT_ALLOC:
	case EVENT_ALLOC_EX:
		block_take(bytehound, event == EVENT_ALLOC_EX, false);
		break;
	case EVENT_REALLOC:
	case EVENT_REALLOC_EX:
		block_take(bytehound, event == EVENT_REALLOC_EX, true);
		break;
	case EVENT_FREE:
	case EVENT_FREE_EX:
		free_take(bytehound, event == EVENT_FREE_EX);
		break;
	case EVENT_FILE:
	case EVENT_FILE64:
		file_take(bytehound, event == EVENT_FILE64);
		break;
	case EVENT_BACKTRACE:
	case EVENT_BACKTRACE32:
		backtrace_take(bytehound, event == EVENT_BACKTRACE ? 8 : 4);
		break;
	case EVENT_MARKER:
		marker_take(bytehound);
		break;
	case EVENT_STRING:
		bytehound_string_take(bytehound);
		break;
	case EVENT_FRAME:
		bytehound_frame_take(bytehound);
		break;
	case EVENT_DECODED:
		bytehound_decoded_take(bytehound);
		break;
	case EVENT_GROUP:
		group_take(bytehound);
		break;
	default:
		if (!event_pass(bytehound, event))
			bytehound_fail(bytehound,
				       "an event of a kind that is not known, or of a version "
				       "before 0.11: what follows cannot be told apart");
	}
}

static void tell_rest(struct bytehound *bytehound)
{
	struct composer *composer = bytehound->composer;

	if (bytehound->stream.why)
		source_torn(bytehound->stream.source, composer, "%s", bytehound->stream.why);
	if (bytehound->passed_over > 0)
		composer_note(composer, "mappings, malloc settings and dumps, skipped: %llu",
			      (unsigned long long)bytehound->passed_over);
	if (bytehound->stripped_count > 0)
		composer_note(
			composer,
			"bytehound strip left out %llu blocks, which were freed: of them only "
			"sums are known, of usable sizes",
			(unsigned long long)bytehound->stripped_count);
	if (bytehound->unknown_stacks > 0)
		composer_note(composer, "events whose call stack is not in the file: %llu",
			      (unsigned long long)bytehound->unknown_stacks);
	composer_note(composer, "of the functions that allocate calloc and realloc are known");
}

static struct err *events_read(struct bytehound *bytehound)
{
	struct bytehound_stream *stream = &bytehound->stream;

	if (!bytehound_more(stream) || bytehound_u32(stream) != EVENT_HEADER)
		return source_error(stream->source, "%s",
				    stream->why ? stream->why
						: "a header of bytehound was expected");
	header_take(bytehound, true);
	if (stream->why)
		return source_error(stream->source, "%s", stream->why);
	composer_tool(bytehound->composer, "bytehound");
	composer_missing(bytehound->composer, TAPE_MISSING_FUNCTIONS);
	while (!composer_failed(bytehound->composer) && bytehound_more(stream)) {
		const uint32_t event = bytehound_u32(stream);

		if (!stream->why)
			event_take(bytehound, event);
	}
	bytehound_flush(bytehound);
	tell_rest(bytehound);
	return NULL;
}

static struct err *bytehound_read(struct source *source, struct composer *composer)
{
	struct bytehound bytehound = { .stream.source = source, .composer = composer };
	struct err *err = events_read(&bytehound);

	bytehound_stream_deinit(&bytehound.stream);
	bytehound_events_deinit(&bytehound.waiting);
	bytehound_modules_deinit(&bytehound.modules);
	bytehound_names_deinit(&bytehound.names);
	map_deinit(&bytehound.stacks);
	return err;
}

/* There is no magic number: matches a first chunk that begins with a plausible header. */
static enum importer_match bytehound_probe(const char *bytes, size_t count)
{
	enum { HEADER_FIXED = 60, DECODED_MAX = 256, NS_PER_S = 1000000000 };
	CLEAN(vec_u8_deinit) struct vec_u8 decoded = { 0 };
	const uint8_t *payload = (const uint8_t *)bytes + 5;

	if (count < 5 + 16 || (bytes[0] != 1 && bytes[0] != 2))
		return IMPORTER_NO;
	count -= 5;
	if (bytes[0] == 1) { /* the part of the block that is available */
		lz4_block_begin(payload, count, DECODED_MAX, &decoded);
		payload = decoded.items;
		count = decoded.count;
	}
	if (count < HEADER_FIXED || load_u32(payload) != EVENT_HEADER ||
	    load_u64(payload + 20) > load_u64(payload + 28) || load_u64(payload + 44) >= NS_PER_S ||
	    load_u32(payload + 56) > TEXT_MAX)
		return IMPORTER_NO;
	return IMPORTER_YES;
}

const struct importer importer_bytehound = {
	.name = "bytehound",
	.title = "bytehound's recordings, memory-profiling_*.dat",
	.recipe = "LD_PRELOAD=libbytehound.so PROGRAM",
	.probe = bytehound_probe,
	.read = bytehound_read,
};
