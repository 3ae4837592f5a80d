/*
 * heaptrack's interpreted file, version 3: the input of heaptrack_gui and heaptrack_print. A line
 * is a record, its first byte is the type, and all numbers are hexadecimal: strings `s`, code
 * addresses `i`, nodes of the tree of stacks `t`, kinds of allocations `a` (a size and a stack),
 * then `+` and `-` of those kinds, times `c` in milliseconds and resident pages `R`.
 *
 * Definitions are written at first use. Strings, addresses and nodes count from 1, allocation kinds
 * from 0; kind 0 is a dummy, because heaptrack counts a free of it after another free as a
 * temporary allocation. The format has neither threads nor block addresses, so heaptrack guesses
 * temporary allocations from the order of records.
 */
#include <inttypes.h>

#include "base/map.h"
#include "export/events.h"
#include "export/export.h"

enum { FLUSH_BYTES = 1 << 16, STEP_MS = 10, NS_PER_MS = 1000000 };

struct heaptrack {
	const struct export_context *context;
	FILE *out;
	struct str text; /* not yet written */
	struct err *err; /* sticks */
	struct interner strings;
	uint32_t *nodes; /* by stack: number of its `t`; 0: undefined */
	uint32_t node_count;
	uint32_t address_count;
	struct vec_u32 path; /* nodes to be defined, innermost first */
	struct map sizes;    /* bytes -> a small number */
	struct map kinds;    /* number of the size, stack -> number of the `a` */
	uint64_t ms;	     /* of the last `c` */
	size_t usage;	     /* the next sample */
};

static void flush(struct heaptrack *file, size_t at_least)
{
	struct str *text = &file->text;

	if (file->err || text->len < at_least)
		return;
	if (text->failed)
		file->err = err_nomem();
	else if (text->len > 0 && fwrite(text->ptr, 1, text->len, file->out) != text->len)
		file->err = err_errno("write");
	text->len = 0;
}

static void add_hex(struct heaptrack *file, uint64_t value)
{
	char digits[17];

	str_add(&file->text, str_format(digits, sizeof(digits), "%" PRIx64, value));
}

static void add_number(struct heaptrack *file, uint64_t value)
{
	str_add_char(&file->text, ' ');
	add_hex(file, value);
}

/* The number of a string, which is defined if needed; 0 for NULL and "". */
static uint32_t string_get(struct heaptrack *file, const char *text)
{
	const uint32_t known = file->strings.count;
	uint32_t id;

	if (!text || !*text)
		return 0;
	id = interner_put(&file->strings, text, strlen(text));
	if (id == UINT32_MAX) {
		file->text.failed = true;
		return 0;
	}
	if (id == known) {
		str_add(&file->text, "s");
		add_number(file, strlen(text));
		str_add_char(&file->text, ' ');
		str_add(&file->text, text);
		str_add_char(&file->text, '\n');
	}
	return id + 1;
}

/* An `i` of a stack's innermost address: inlined functions first, then the containing one. */
static void address_add(struct heaptrack *file, uint32_t stack)
{
	struct names *names = file->context->names;
	const struct capture_stack *at = &model_stacks(file->context->model)[stack];
	const struct name_frames frames = names_frames(names, stack);
	CLEAN(str_deinit) struct str line = { 0 };
	const uint32_t module =
		string_get(file, names_get(names, frames.frames[frames.count - 1].name)->module);

	str_printf(&line, "i %" PRIx64 " %x", at->exact ? at->pc : at->pc - 1, module);
	for (size_t i = 0; i < frames.count; i++) {
		const struct name_frame *frame = &frames.frames[i];
		const uint32_t function = string_get(file, names_get(names, frame->name)->function);
		const uint32_t source = string_get(file, frame->file);

		str_printf(&line, " %x %x %x", function, source, source ? frame->line : 0);
	}
	str_add_char(&line, '\n');
	str_add(&file->text, str_text(&line));
	file->text.failed |= line.failed;
	file->address_count++;
}

static void missing_add(struct heaptrack *file, uint32_t stack)
{
	const uint32_t function =
		string_get(file, stack == CAPTURE_STACK_NONE ? "(no stack was taken)"
							     : "(outside of all functions)");

	str_printf(&file->text, "i 0 0 %x 0 0\n", function);
	file->address_count++;
}

static void node_add(struct heaptrack *file, uint32_t stack, uint32_t parent)
{
	str_printf(&file->text, "t %x %x\n", file->address_count, parent);
	file->nodes[stack] = ++file->node_count;
}

/* The number of the stack's node. Stacks may be thousands of frames deep: no recursion. */
static uint32_t node_get(struct heaptrack *file, uint32_t stack)
{
	const struct capture_stack *stacks = model_stacks(file->context->model);
	struct vec_u32 *path = &file->path;
	const uint32_t wanted = stack;

	if (stack < CAPTURE_STACK_FIRST && !file->nodes[stack]) {
		missing_add(file, stack);
		node_add(file, stack, 0);
	}
	path->count = 0;
	while (stack >= CAPTURE_STACK_FIRST && !file->nodes[stack]) {
		file->text.failed |= !vec_u32_push(path, stack);
		stack = stacks[stack].parent;
	}
	while (path->count > 0 && !file->text.failed) {
		uint32_t parent;

		stack = path->items[--path->count];
		parent = stacks[stack].parent;
		address_add(file, stack);
		node_add(file, stack, parent < CAPTURE_STACK_FIRST ? 0 : file->nodes[parent]);
	}
	return file->nodes[wanted];
}

/* The number of the allocation kind with this size and stack. */
static uint64_t kind_get(struct heaptrack *file, uint64_t bytes, uint32_t stack)
{
	const uint64_t size_count = file->sizes.count, kind_count = file->kinds.count;
	bool size_is_new, kind_is_new;
	uint64_t *size = map_put(&file->sizes, bytes, &size_is_new);
	uint64_t *kind;

	if (size && size_is_new)
		*size = size_count;
	kind = size ? map_put(&file->kinds, *size << 32 | stack, &kind_is_new) : NULL;
	if (!kind) {
		file->text.failed = true;
		return 0;
	}
	if (kind_is_new) {
		const uint32_t node = node_get(file, stack);

		*kind = kind_count + 1;
		str_printf(&file->text, "a %" PRIx64 " %x\n", bytes, node);
	}
	return *kind;
}

static void time_add(struct heaptrack *file, uint64_t ms)
{
	str_printf(&file->text, "c %" PRIx64 "\n", ms);
	file->ms = ms;
}

/* Writes samples of resident memory up to a time, and the time itself if due. */
static void time_go(struct heaptrack *file, uint64_t ns)
{
	const struct model *model = file->context->model;
	const uint64_t page_bytes = u64_max(model_process(model)->page_bytes, 1);

	for (; file->usage < model_usage_count(model); file->usage++) {
		const struct model_usage *usage = &model_usages(model)[file->usage];

		if (usage->ns > ns)
			break;
		if (usage->usage.rss_bytes == UINT64_MAX)
			continue;
		time_add(file, u64_max(usage->ns / NS_PER_MS, file->ms));
		str_printf(&file->text, "R %" PRIx64 "\n", usage->usage.rss_bytes / page_bytes);
	}
	if (ns / NS_PER_MS >= file->ms + STEP_MS)
		time_add(file, ns / NS_PER_MS);
}

static void head_write(struct heaptrack *file)
{
	const struct model_process *process = model_process(file->context->model);
	struct str *text = &file->text;

	str_add(text, "v 10400 3\nX");
	for (uint32_t i = 0; i < process->argc; i++) {
		str_add_char(text, ' ');
		str_add_terminal(text, process->argv[i]);
	}
	if (process->argc == 0) {
		str_add_char(text, ' ');
		str_add_terminal(text, process->exe);
	}
	/* The machine's memory size is not on a tape. */
	str_printf(text, "\nI %x 0\n", process->page_bytes);
	if (process->flags & TAPE_FLAG_ATTACHED)
		str_add(text, "A\n");
	str_printf(text, "a 0 %x\n", node_get(file, CAPTURE_STACK_ROOT));
}

static void event_write(struct heaptrack *file, const struct event *event)
{
	const uint64_t kind = kind_get(file, event->bytes, event->stack);

	time_go(file, event->ns);
	str_printf(&file->text, "%c %" PRIx64 "\n", event->is_free ? '-' : '+', kind);
	flush(file, FLUSH_BYTES);
}

static void events_write(struct heaptrack *file, struct events *events)
{
	while (!file->err && !file->text.failed && events_next(events))
		for (size_t i = 0; i < events->count; i++)
			event_write(file, &events->items[i]);
}

static void end_write(struct heaptrack *file)
{
	const uint64_t duration_ns = model_process(file->context->model)->duration_ns;

	time_go(file, duration_ns);
	time_add(file, u64_max(duration_ns / NS_PER_MS, file->ms));
	str_printf(&file->text, "# strings: %x\n# ips: %x\n", file->strings.count,
		   file->address_count);
	flush(file, 0);
}

static struct err *heaptrack_write(const struct export_context *context, FILE *out)
{
	CLEAN(events_destroy) struct events *events = events_create(context->selection);
	struct heaptrack file = { .context = context, .out = out };

	file.nodes = calloc(model_stack_count(context->model), sizeof(*file.nodes));
	if (events && file.nodes) {
		head_write(&file);
		events_write(&file, events);
		end_write(&file);
	} else {
		file.err = err_nomem();
	}
	free(file.nodes);
	str_deinit(&file.text);
	interner_deinit(&file.strings);
	vec_u32_deinit(&file.path);
	map_deinit(&file.sizes);
	map_deinit(&file.kinds);
	return file.err;
}

const struct export_format export_heaptrack = {
	.name = "heaptrack",
	.summary = "heaptrack's file, for heaptrack_gui and heaptrack_print",
	.suffix = ".heaptrack",
	.kind = EXPORT_EVENTS,
	.depth = MODEL_FULL,
	.write = heaptrack_write,
};
