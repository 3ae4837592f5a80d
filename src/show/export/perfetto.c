/*
 * Perfetto's trace with a native heap profile, shown by its page as flame graphs: bytes and counts
 * allocated, and those not freed, and as a separate heap what was alive at the peak.
 *
 * A trace is a list of packets (perfetto.proto). The first ones of a sequence define strings,
 * mappings, frames and stacks by numbers from 1 on; profile packets refer to stacks by these. Only
 * one packet is in memory at a time, so memory is that of paths.
 */
#include "export/messages.h"
#include "export/paths.h"
#include "perfetto.pb-c.h"

enum {
	PACKET_ENTRIES = 2048, /* a new packet begins after this many */

	FLAGS_CLEARED = 1, /* of the first packet: no numbers are defined before it */
	FLAGS_NEEDED = 2,

	SEQUENCE = 1
};

/* Sets an optional field. */
#define SET(message, field, value) ((message)->has_##field = 1, (message)->field = (value))

/* Appends to a list in a message of the packet; NULL: out of memory. */
#define ADD(trace, message, list)                                                                  \
	messages_add(&(trace)->arena, &(trace)->failed_memory, &(message)->list,                   \
		     &(message)->n_##list, sizeof(**(message)->list))

struct trace {
	FILE *out;
	struct paths *paths;
	struct interner mappings; /* paths of modules; iids are indices + 1, as everywhere */
	struct arena arena;	  /* of the packet being built */
	Perfetto__InternedData interned;
	size_t interned_count;
	Perfetto__ProcessHeapSamples heap;
	uint64_t profile_index;
	bool has_begun;
	bool failed; /* writing failed; see errno */
	bool failed_memory;
};

static void trace_deinit(struct trace *trace)
{
	interner_deinit(&trace->mappings);
	arena_deinit(&trace->arena);
}

CLEAN_DEFINE_DEINIT(trace_deinit, struct trace);

/* --- packets --------------------------------------------------------------------------------- */

static Perfetto__TracePacket packet_begin(struct trace *trace)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	SET(&packet, timestamp, 0);
	SET(&packet, trusted_packet_sequence_id, SEQUENCE);
	SET(&packet, sequence_flags, trace->has_begun ? FLAGS_NEEDED : FLAGS_CLEARED);
	trace->has_begun = true;
	return packet;
}

/* A trace is a concatenation of packets: each is a trace by itself. */
static void packet_send(struct trace *trace, Perfetto__TracePacket *packet)
{
	Perfetto__TracePacket *packets[] = { packet };
	Perfetto__Trace file = PERFETTO__TRACE__INIT;
	uint8_t *bytes;
	size_t size;

	if (trace->failed || trace->failed_memory)
		return;
	file.packet = packets;
	file.n_packet = array_size(packets);
	size = perfetto__trace__get_packed_size(&file);
	bytes = arena_alloc(&trace->arena, size);
	trace->failed_memory = !bytes;
	trace->failed =
		bytes && fwrite(bytes, 1, perfetto__trace__pack(&file, bytes), trace->out) != size;
	arena_deinit(&trace->arena);
}

static char *text_clean(struct trace *trace, const char *text)
{
	CLEAN(str_deinit) struct str clean = { 0 };
	char *copy = NULL;

	str_add_utf8(&clean, text);
	if (!clean.failed)
		copy = arena_strdup(&trace->arena, str_text(&clean));
	trace->failed_memory |= !copy;
	return copy;
}

/* Time 0 of all clocks is the start of recording, except the real-time clock. */
static void clocks_send(struct trace *trace)
{
	enum { REALTIME = 1, MONOTONIC = 3, MONOTONIC_COARSE = 4, BOOTTIME = 6 };
	static const unsigned clocks[] = { REALTIME, MONOTONIC, MONOTONIC_COARSE, BOOTTIME };
	const struct model_process *process = model_process(trace->paths->context->model);
	Perfetto__TracePacket packet = packet_begin(trace);
	Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;

	for (size_t i = 0; i < array_size(clocks); i++) {
		Perfetto__Clock *clock = ADD(trace, &snapshot, clocks);

		if (!clock)
			return;
		perfetto__clock__init(clock);
		SET(clock, clock_id, clocks[i]);
		SET(clock, timestamp, clocks[i] == REALTIME ? process->start_realtime_ns : 0);
	}
	packet.clock_snapshot = &snapshot;
	packet_send(trace, &packet);
}

static void process_send(struct trace *trace)
{
	const struct model_process *process = model_process(trace->paths->context->model);
	Perfetto__TracePacket packet = packet_begin(trace);
	Perfetto__ProcessTree tree = PERFETTO__PROCESS_TREE__INIT;
	Perfetto__Process one = PERFETTO__PROCESS__INIT, *all[] = { &one };
	char *words[] = { text_clean(trace, names_short_path(process->exe)) };

	SET(&one, pid, (int32_t)process->pid);
	SET(&one, ppid, (int32_t)process->parent_pid);
	one.cmdline = words;
	one.n_cmdline = array_size(words);
	tree.processes = all;
	tree.n_processes = array_size(all);
	packet.process_tree = &tree;
	packet_send(trace, &packet);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void interned_send(struct trace *trace)
{
	Perfetto__TracePacket packet = packet_begin(trace);

	packet.interned_data = &trace->interned;
	packet_send(trace, &packet);
	perfetto__interned_data__init(&trace->interned);
	trace->interned_count = 0;
}

/* Between entries that refer to each other. */
static void interned_step(struct trace *trace)
{
	if (++trace->interned_count >= PACKET_ENTRIES)
		interned_send(trace);
}

static void text_init(struct trace *trace, Perfetto__InternedString *entry, uint64_t iid,
		      const char *text)
{
	char *clean = entry ? text_clean(trace, text) : NULL;

	if (!clean)
		return;
	perfetto__interned_string__init(entry);
	SET(entry, iid, iid);
	entry->has_str = 1;
	entry->str = (ProtobufCBinaryData) { strlen(clean), (uint8_t *)clean };
}

static void mapping_add(struct trace *trace, uint64_t iid)
{
	Perfetto__Mapping *mapping = ADD(trace, &trace->interned, mappings);
	uint64_t *path = arena_new(&trace->arena, uint64_t);

	trace->failed_memory |= !path;
	if (!mapping || !path)
		return;
	perfetto__mapping__init(mapping);
	SET(mapping, iid, iid);
	*path = iid;
	mapping->path_string_ids = path;
	mapping->n_path_string_ids = 1;
}

/* A frame without a module gets an unnamed mapping: readers drop frames without a mapping. */
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
		text_init(trace, ADD(trace, &trace->interned, mapping_paths), known + 1, path);
		mapping_add(trace, known + 1);
	}
	return place + 1;
}

static void frame_add(struct trace *trace, uint32_t number, struct interner *sources)
{
	const struct path_frame *frame = &trace->paths->frames.items[number];
	const struct name *name = paths_name(trace->paths, number);
	const uint32_t known = sources->count;
	Perfetto__Frame *entry = ADD(trace, &trace->interned, frames);
	uint32_t source = UINT32_MAX; /* none */

	if (!entry)
		return;
	perfetto__frame__init(entry);
	if (frame->file)
		source = interner_put(sources, frame->file, strlen(frame->file));
	if (frame->file && source == known)
		text_init(trace, ADD(trace, &trace->interned, source_paths), known + 1,
			  frame->file);
	text_init(trace, ADD(trace, &trace->interned, function_names), number + 1, name->function);
	SET(entry, iid, number + 1);
	SET(entry, function_name_id, number + 1);
	SET(entry, mapping_id, mapping_iid(trace, name));
	SET(entry, rel_pc, 0);
	if (source != UINT32_MAX)
		SET(entry, source_path_iid, source + 1);
	if (frame->line)
		SET(entry, line_number, frame->line);
	interned_step(trace);
}

static void frames_send(struct trace *trace)
{
	CLEAN(interner_deinit) struct interner sources = { 0 };

	for (uint32_t i = 0; i < trace->paths->frames.count; i++)
		frame_add(trace, i, &sources);
}

/* The outermost frame first; a stack's number is that of its node, the root has none. */
static void stack_add(struct trace *trace, uint32_t node)
{
	const struct vec_u32 *path = paths_frames(trace->paths, node);
	Perfetto__Callstack *stack = ADD(trace, &trace->interned, callstacks);
	uint64_t *frames = arena_array(&trace->arena, path->count, sizeof(*frames));

	trace->failed_memory |= !frames;
	if (!stack || !frames)
		return;
	perfetto__callstack__init(stack);
	SET(stack, iid, node);
	for (size_t i = 0; i < path->count; i++)
		frames[i] = (uint64_t)path->items[i] + 1;
	stack->frame_ids = frames;
	stack->n_frame_ids = path->count;
	interned_step(trace);
}

static void stacks_send(struct trace *trace)
{
	for (uint32_t node = 1; node < trace->paths->nodes.count; node++)
		if (trace->paths->nodes.items[node].stack_count > 0)
			stack_add(trace, node);
	if (trace->interned_count > 0)
		interned_send(trace);
}

/* --- values ---------------------------------------------------------------------------------- */

static void sample_add(struct trace *trace, uint32_t node, const struct model_stack_sums *sums,
		       bool is_peak)
{
	Perfetto__HeapSample *sample = ADD(trace, &trace->heap, samples);

	if (!sample)
		return;
	perfetto__heap_sample__init(sample);
	SET(sample, callstack_id, node);
	if (is_peak) {
		SET(sample, self_max, sums->peak.bytes);
		SET(sample, self_max_count, sums->peak.count);
		return;
	}
	SET(sample, self_allocated, sums->allocated.bytes);
	SET(sample, self_freed, sums->allocated.bytes - sums->leaked.bytes);
	SET(sample, alloc_count, sums->allocated.count);
	SET(sample, free_count, sums->allocated.count - sums->leaked.count);
}

/* Writes the samples so far as the dump of a heap; more of the same profile follow, or none. */
static void heap_send(struct trace *trace, bool is_peak, bool is_continued)
{
	const struct export_context *context = trace->paths->context;
	Perfetto__TracePacket packet = packet_begin(trace);
	Perfetto__ProfilePacket profile = PERFETTO__PROFILE_PACKET__INIT;
	Perfetto__ProcessHeapSamples *heap = &trace->heap;

	SET(heap, pid, model_process(context->model)->pid);
	SET(heap, from_startup, 1);
	SET(heap, timestamp,
	    context->at_ns ? *context->at_ns : model_process(context->model)->duration_ns);
	heap->heap_name = text_clean(trace, is_peak ? "alive at the peak" : "malloc");
	SET(heap, sampling_interval_bytes, 1); /* not sampled */
	profile.process_dumps = &heap;
	profile.n_process_dumps = 1;
	SET(&profile, continued, is_continued);
	SET(&profile, index, trace->profile_index++);
	packet.profile_packet = &profile;
	packet_send(trace, &packet);
	perfetto__process_heap_samples__init(&trace->heap);
}

static void heap_add(struct trace *trace, bool is_peak)
{
	const struct path_nodes *nodes = &trace->paths->nodes;

	for (uint32_t node = 1; node < nodes->count; node++) {
		const struct model_stack_sums *sums = &nodes->items[node].self;

		if ((is_peak ? sums->peak.count : sums->allocated.count) == 0)
			continue;
		sample_add(trace, node, sums, is_peak);
		if (trace->heap.n_samples >= PACKET_ENTRIES)
			heap_send(trace, is_peak, true);
	}
	heap_send(trace, is_peak, !is_peak); /* the last one ends the profile */
}

static struct err *perfetto_write(const struct export_context *context, FILE *out)
{
	CLEAN(paths_deinit) struct paths paths = { .context = context };
	CLEAN(trace_deinit) struct trace trace = { .out = out, .paths = &paths };
	struct err *err = paths_build(&paths, &context->sums);

	if (err)
		return err;
	perfetto__interned_data__init(&trace.interned);
	perfetto__process_heap_samples__init(&trace.heap);
	clocks_send(&trace);
	process_send(&trace);
	frames_send(&trace);
	stacks_send(&trace);
	heap_add(&trace, false);
	heap_add(&trace, true);
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
