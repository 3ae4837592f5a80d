/*
 * DHAT's file, version 2: the input of Valgrind's dh_view.html. A program point is a stack, with
 * its blocks and bytes in total, at its own peak, at the program's peak (t-gmax) and at the end,
 * and the total lifetime of its blocks. Accesses are not on a tape, and the file says so.
 *
 * The viewer requires distinct stacks, so those that look the same are merged. A point's own peak
 * is found by replaying all events; memory is needed for numbers per stack.
 */
#include "export/events.h"
#include "export/paths.h"
#include "export/text_file.h"

enum {
	NS_PER_UNIT = 1000, /* microseconds; the viewer scales by 10^6 of them, seconds */
	SHORT_LIVED = 10    /* units: the viewer's notion of short-lived */
};

struct point { /* by node */
	struct model_sum live;
	struct model_sum most; /* at its own peak of bytes */
	uint64_t lifetime_ns;
};

struct dhat {
	const struct export_context *context;
	struct text_file file;
	struct paths paths;
	struct point *points;
};

static uint64_t end_ns(const struct dhat *dhat)
{
	return model_process(dhat->context->model)->duration_ns;
}

static void point_play(struct dhat *dhat, const struct event *event)
{
	struct point *point = &dhat->points[paths_node(&dhat->paths, event->stack)];
	const uint64_t rest_ns = end_ns(dhat) - u64_min(event->ns, end_ns(dhat));

	if (event->is_free) {
		point->live.bytes -= event->bytes;
		point->live.count--;
		point->lifetime_ns -= rest_ns;
		return;
	}
	point->live.bytes += event->bytes;
	point->live.count++;
	point->lifetime_ns += rest_ns;
	if (point->live.bytes >= point->most.bytes)
		point->most = point->live;
}

/* All stacks of the selection already have nodes: points do not move. */
static struct err *points_play(struct dhat *dhat)
{
	CLEAN(events_destroy) struct events *events = events_create(dhat->context->selection);

	dhat->points = calloc(dhat->paths.nodes.count, sizeof(*dhat->points));
	if (!events || !dhat->points)
		return err_nomem();
	while (events_next(events))
		for (size_t i = 0; i < events->count; i++)
			point_play(dhat, &events->items[i]);
	return NULL;
}

static void head_write(struct dhat *dhat)
{
	const struct model *model = dhat->context->model;
	const struct model_process *process = model_process(model);
	CLEAN(str_deinit) struct str command = { 0 };

	for (uint32_t i = 0; i < process->argc; i++)
		str_printf(&command, "%s%s", i ? " " : "", process->argv[i]);
	str_add(&dhat->file.text,
		"{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\""
		",\"bklt\":true,\"bkacc\":false,\"tu\":\"\xc2\xb5s\",\"Mtu\":\"s\"");
	text_file_u64(&dhat->file, ",\"tuth\":", SHORT_LIVED);
	text_file_json(&dhat->file,
		       ",\n\"cmd\":", process->argc ? str_text(&command) : process->exe);
	text_file_u64(&dhat->file, ",\"pid\":", process->pid);
	text_file_u64(&dhat->file, ",\"tg\":", model_totals(model)->peak_ns / NS_PER_UNIT);
	text_file_u64(&dhat->file, ",\"te\":", process->duration_ns / NS_PER_UNIT);
	dhat->file.text.failed |= command.failed;
}

static void point_write(struct dhat *dhat, uint32_t node)
{
	const struct model_stack_sums *sums = &dhat->paths.nodes.items[node].self;
	const struct point *point = &dhat->points[node];
	const struct vec_u32 *path = paths_frames(&dhat->paths, node);
	struct text_file *file = &dhat->file;

	text_file_u64(file, "{\"tb\":", sums->allocated.bytes);
	text_file_u64(file, ",\"tbk\":", sums->allocated.count);
	text_file_u64(file, ",\"tl\":", point->lifetime_ns / NS_PER_UNIT);
	text_file_u64(file, ",\"mb\":", point->most.bytes);
	text_file_u64(file, ",\"mbk\":", point->most.count);
	text_file_u64(file, ",\"gb\":", sums->peak.bytes);
	text_file_u64(file, ",\"gbk\":", sums->peak.count);
	text_file_u64(file, ",\"eb\":", sums->leaked.bytes);
	text_file_u64(file, ",\"ebk\":", sums->leaked.count);
	str_add(&file->text, ",\"fs\":");
	for (size_t i = path->count; i > 0; i--) /* innermost first; 0 is "[root]" */
		text_file_u64(file, i == path->count ? "[" : ",", path->items[i - 1] + 1);
	str_add(&file->text, "]}");
}

static void points_write(struct dhat *dhat)
{
	const char *before = "\n";

	str_add(&dhat->file.text, ",\n\"pps\":[");
	for (uint32_t i = 1; i < dhat->paths.nodes.count && text_file_step(&dhat->file); i++) {
		if (dhat->paths.nodes.items[i].stack_count == 0)
			continue;
		str_add(&dhat->file.text, before);
		point_write(dhat, i);
		before = ",\n";
	}
	str_add_char(&dhat->file.text, ']');
}

/* "0x401136: main (hello.c:12)": readers of these strings depend on their format. */
static void frames_write(struct dhat *dhat)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_add(&dhat->file.text, ",\n\"ftbl\":[\"[root]\"");
	for (uint32_t i = 0; i < dhat->paths.frames.count && text_file_step(&dhat->file); i++) {
		const struct path_frame *frame = &dhat->paths.frames.items[i];
		const struct name *name = paths_name(&dhat->paths, i);

		str_clear(&text);
		str_add_hex(&text, frame->pc);
		str_printf(&text, ": %s ", name->function);
		if (frame->file && frame->line)
			str_printf(&text, "(%s:%u)", frame->file, frame->line);
		else
			str_printf(&text, "(in %s)", *name->module ? name->module : "???");
		text_file_json(&dhat->file, ",\n", str_text(&text));
		dhat->file.text.failed |= text.failed;
	}
	str_add(&dhat->file.text, "]}\n");
}

static struct err *dhat_write(const struct export_context *context, FILE *out)
{
	struct dhat dhat = {
		.context = context,
		.file = { .out = out },
		.paths = { .context = context },
	};
	struct err *err = paths_build(&dhat.paths, &context->sums);

	if (!err)
		err = points_play(&dhat);
	if (!err) {
		head_write(&dhat);
		points_write(&dhat);
		frames_write(&dhat);
		dhat.file.text.failed |= dhat.paths.failed;
		err = text_file_end(&dhat.file);
	}
	paths_deinit(&dhat.paths);
	free(dhat.points);
	return err;
}

const struct export_format export_dhat = {
	.name = "dhat",
	.summary = "the file of Valgrind's DHAT, for dh_view.html",
	.suffix = ".dhat.json",
	.has_alive = true,
	.kind = EXPORT_COURSE,
	.depth = MODEL_FULL,
	.write = dhat_write,
};
