/*
 * Perfetto's trace with a native heap profile, which its page shows as flame graphs: bytes and
 * counts that were allocated, and those not freed, and beside them, as a heap of its own, what was
 * alive at the peak.
 *
 * A trace is a list of packets (protobuf; field numbers are Perfetto's). The first ones of a
 * sequence define texts, mappings, frames and stacks by numbers from 1 on; profile packets name
 * stacks by these. Nothing is in more than one packet at a time, so memory is that of paths.
 */
#include "export/paths.h"

enum {
	PACKET_BYTES = 1 << 16, /* a new packet is begun when there is so much */

	TRACE_PACKET = 1,

	PACKET_PROCESS_TREE = 2,
	PACKET_CLOCKS = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_PROFILE = 37,

	FLAGS_CLEARED = 1, /* of the first packet: no number is known before it */
	FLAGS_NEEDED = 2,

	INTERNED_FUNCTION = 5,
	INTERNED_FRAME = 6,
	INTERNED_CALLSTACK = 7,
	INTERNED_MAPPING_PATH = 17,
	INTERNED_SOURCE = 18,
	INTERNED_MAPPING = 19,

	SEQUENCE = 1
};

/* --- protobuf -------------------------------------------------------------------------------- */

static void put_varint(struct str *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		str_add_char(out, (char)(value | 0x80));
	str_add_char(out, (char)value);
}

static void put_u64(struct str *out, unsigned field, uint64_t value)
{
	put_varint(out, (uint64_t)field << 3);
	put_varint(out, value);
}

static void put_bytes(struct str *out, unsigned field, const char *bytes, size_t size)
{
	put_varint(out, (uint64_t)field << 3 | 2);
	put_varint(out, size);
	str_add_bytes(out, bytes, size);
}

/* The message that was put together, which is empty again. */
static void put_message(struct str *out, unsigned field, struct str *message)
{
	put_bytes(out, field, str_text(message), message->len);
	out->failed |= message->failed;
	str_clear(message);
}

/* --- packets --------------------------------------------------------------------------------- */

struct trace {
	FILE *out;
	struct paths *paths;
	struct interner mappings; /* paths of modules; iids are places + 1, as everywhere */
	struct str item, part, body, packet;
	uint64_t profile_index;
	bool has_begun;
	bool failed; /* writing; errno is that of it */
	bool failed_memory;
};

static void trace_deinit(struct trace *trace)
{
	interner_deinit(&trace->mappings);
	str_deinit(&trace->item);
	str_deinit(&trace->part);
	str_deinit(&trace->body);
	str_deinit(&trace->packet);
}

CLEAN_DEFINE_DEINIT(trace_deinit, struct trace);

/* body becomes the field of a packet of the sequence. */
static void packet_send(struct trace *trace, unsigned field)
{
	CLEAN(str_deinit) struct str file = { 0 };

	put_u64(&trace->packet, PACKET_TIMESTAMP, 0);
	put_u64(&trace->packet, PACKET_SEQUENCE, SEQUENCE);
	put_u64(&trace->packet, PACKET_FLAGS, trace->has_begun ? FLAGS_NEEDED : FLAGS_CLEARED);
	trace->has_begun = true;
	put_message(&trace->packet, field, &trace->body);
	put_message(&file, TRACE_PACKET, &trace->packet);
	trace->failed_memory |= file.failed;
	if (!trace->failed && fwrite(str_text(&file), 1, file.len, trace->out) != file.len)
		trace->failed = true;
}

static void interned_step(struct trace *trace, unsigned field)
{
	put_message(&trace->body, field, &trace->item);
	if (trace->body.len >= PACKET_BYTES)
		packet_send(trace, PACKET_INTERNED);
}

static void interned_text(struct trace *trace, unsigned field, uint64_t iid, const char *text)
{
	put_u64(&trace->item, 1, iid);
	str_add_utf8(&trace->part, text);
	put_message(&trace->item, 2, &trace->part);
	interned_step(trace, field);
}

/* Time 0 of all clocks is the beginning of recording, but of the one that people read. */
static void clocks_send(struct trace *trace)
{
	enum { REALTIME = 1, MONOTONIC = 3, MONOTONIC_COARSE = 4, BOOTTIME = 6 };
	static const unsigned clocks[] = { REALTIME, MONOTONIC, MONOTONIC_COARSE, BOOTTIME };
	const struct model_process *process = model_process(trace->paths->context->model);

	for (size_t i = 0; i < array_size(clocks); i++) {
		put_u64(&trace->item, 1, clocks[i]);
		put_u64(&trace->item, 2, clocks[i] == REALTIME ? process->start_realtime_ns : 0);
		put_message(&trace->body, 1, &trace->item);
	}
	packet_send(trace, PACKET_CLOCKS);
}

static void process_send(struct trace *trace)
{
	const struct model_process *process = model_process(trace->paths->context->model);

	put_u64(&trace->item, 1, process->pid);
	put_u64(&trace->item, 2, process->parent_pid);
	str_add_utf8(&trace->part, names_short_path(process->exe));
	put_message(&trace->item, 3, &trace->part);
	put_message(&trace->body, 1, &trace->item);
	packet_send(trace, PACKET_PROCESS_TREE);
}

/* --- what stacks are of ---------------------------------------------------------------------- */

/* A frame without a module is of a mapping without a name: readers drop those that have none. */
static uint64_t mapping_iid(struct trace *trace, const struct name *name)
{
	const char *path = name->module;
	const uint32_t known = trace->mappings.count;
	const uint32_t place = interner_put(&trace->mappings, path, strlen(path));

	if (place == UINT32_MAX) {
		trace->failed_memory = true;
		return 0;
	}
	if (place == known) {
		interned_text(trace, INTERNED_MAPPING_PATH, known + 1, path);
		put_u64(&trace->item, 1, known + 1);
		put_u64(&trace->item, 7, known + 1);
		interned_step(trace, INTERNED_MAPPING);
	}
	return place + 1;
}

static void frames_send(struct trace *trace)
{
	struct paths *paths = trace->paths;
	CLEAN(interner_deinit) struct interner sources = { 0 };

	for (uint32_t i = 0; i < paths->frames.count; i++) {
		const struct path_frame *frame = &paths->frames.items[i];
		const struct name *name = paths_name(paths, i);
		const uint64_t mapping = mapping_iid(trace, name);
		const uint32_t known = sources.count;
		uint32_t source = UINT32_MAX; /* there is none */

		if (frame->file)
			source = interner_put(&sources, frame->file, strlen(frame->file));
		if (frame->file && source == known)
			interned_text(trace, INTERNED_SOURCE, known + 1, frame->file);
		interned_text(trace, INTERNED_FUNCTION, i + 1, name->function);
		put_u64(&trace->item, 1, i + 1);
		put_u64(&trace->item, 2, i + 1);
		put_u64(&trace->item, 3, mapping);
		put_u64(&trace->item, 4, 0);
		if (source != UINT32_MAX)
			put_u64(&trace->item, 5, source + 1);
		if (frame->line)
			put_u64(&trace->item, 6, frame->line);
		interned_step(trace, INTERNED_FRAME);
	}
}

/* The outermost frame first; a stack's number is that of its node, and the root is none. */
static void stacks_send(struct trace *trace)
{
	struct paths *paths = trace->paths;

	for (uint32_t node = 1; node < paths->nodes.count; node++) {
		const struct vec_u32 *path;

		if (paths->nodes.items[node].stack_count == 0)
			continue;
		path = paths_frames(paths, node);
		put_u64(&trace->item, 1, node);
		for (size_t i = 0; i < path->count; i++)
			put_u64(&trace->item, 2, (uint64_t)path->items[i] + 1);
		interned_step(trace, INTERNED_CALLSTACK);
	}
	if (trace->body.len > 0)
		packet_send(trace, PACKET_INTERNED);
}

/* --- what they have -------------------------------------------------------------------------- */

static void put_sample(struct str *out, const struct model_stack_sums *sums, bool is_peak)
{
	if (is_peak) {
		put_u64(out, 8, sums->peak.bytes);
		put_u64(out, 9, sums->peak.count);
		return;
	}
	put_u64(out, 2, sums->allocated.bytes);
	put_u64(out, 3, sums->allocated.bytes - sums->leaked.bytes);
	put_u64(out, 5, sums->allocated.count);
	put_u64(out, 6, sums->allocated.count - sums->leaked.count);
}

/* The samples that are in part, as the dump of a heap; more of the same profile follow, or none. */
static void dump_send(struct trace *trace, bool is_peak, bool is_continued)
{
	const struct export_context *context = trace->paths->context;
	const char *heap = is_peak ? "alive at the peak" : "malloc";
	const uint64_t now_ns =
		context->at_ns ? *context->at_ns : model_process(context->model)->duration_ns;

	put_u64(&trace->part, 1, model_process(context->model)->pid);
	put_u64(&trace->part, 3, 1);	  /* from_startup */
	put_u64(&trace->part, 9, now_ns); /* timestamp */
	put_bytes(&trace->part, 11, heap, strlen(heap));
	put_u64(&trace->part, 12, 1); /* every byte is sampled */
	put_message(&trace->body, 5, &trace->part);
	put_u64(&trace->body, 6, is_continued);
	put_u64(&trace->body, 7, trace->profile_index++);
	packet_send(trace, PACKET_PROFILE);
}

static void heap_send(struct trace *trace, bool is_peak)
{
	const struct path_nodes *nodes = &trace->paths->nodes;

	for (uint32_t node = 1; node < nodes->count; node++) {
		const struct model_stack_sums *sums = &nodes->items[node].self;

		if ((is_peak ? sums->peak.count : sums->allocated.count) == 0)
			continue;
		put_u64(&trace->item, 1, node);
		put_sample(&trace->item, sums, is_peak);
		put_message(&trace->part, 2, &trace->item);
		if (trace->part.len >= PACKET_BYTES)
			dump_send(trace, is_peak, true);
	}
	dump_send(trace, is_peak, !is_peak); /* the last of them is the profile's end */
}

static struct err *perfetto_write(const struct export_context *context, FILE *out)
{
	CLEAN(paths_deinit) struct paths paths = { .context = context };
	CLEAN(trace_deinit) struct trace trace = { .out = out, .paths = &paths };
	struct err *err = paths_build(&paths, &context->sums);

	if (err)
		return err;
	clocks_send(&trace);
	process_send(&trace);
	frames_send(&trace);
	stacks_send(&trace);
	heap_send(&trace, false);
	heap_send(&trace, true);
	if (paths.failed || trace.failed_memory)
		return err_nomem();
	return trace.failed ? err_errno("write") : NULL;
}

const struct export_format export_perfetto = {
	.name = "perfetto",
	.summary = "Perfetto's trace with a native heap profile, as flame graphs",
	.suffix = ".perfetto-trace",
	.has_alive = true,
	.kind = EXPORT_SUMS,
	.depth = MODEL_SUMMARY,
	.write = perfetto_write,
};
