/*
 * Firefox Profiler's processed profile: every allocation and free with its stack, thread and
 * address, from which it computes retained memory; a curve of live bytes; and the program's marks.
 *
 * Tables are objects of columns, so each column is one pass over the events, and memory is needed
 * for frames, stacks and strings.
 */
#include "export/events.h"
#include "export/moments.h"
#include "export/paths.h"
#include "export/text_file.h"

enum {
	LAYOUT = 60, /* format version; the site upgrades older ones */
	SPANS = 2000,
	NS_PER_MS = 1000000
};

struct firefox {
	const struct export_context *context;
	struct text_file file;
	struct paths paths;
	struct interner texts; /* the profile's stringArray */
	uint64_t event_count;
	uint64_t values[MODEL_BATCH]; /* from the allocation, for each event */
	uint64_t freed[MODEL_BATCH];  /* from the free */
};

static uint32_t text_number(struct firefox *firefox, const char *text)
{
	const uint32_t id = interner_put(&firefox->texts, text, strlen(text));

	firefox->file.text.failed |= id == UINT32_MAX;
	return id;
}

static void add_ms(struct str *text, uint64_t ns)
{
	str_add_ratio(text, ns, NS_PER_MS, 6);
}

/* ,"key":[value,value,...] with the same value. */
static void column_of(struct firefox *firefox, const char *key, const char *value, size_t count)
{
	struct text_file *file = &firefox->file;

	str_printf(&file->text, ",\n\"%s\":[", key);
	for (size_t i = 0; i < count && text_file_step(file); i++) {
		str_add(&file->text, i ? "," : "");
		str_add(&file->text, value);
	}
	str_add_char(&file->text, ']');
}

/* --- events -------------------------------------------------------------------------------- */

static void time_add(struct firefox *firefox, const struct event *event, size_t i)
{
	(void)i;
	add_ms(&firefox->file.text, event->ns);
}

static void weight_add(struct firefox *firefox, const struct event *event, size_t i)
{
	(void)i;
	if (event->is_free && event->bytes > 0)
		str_add_char(&firefox->file.text, '-');
	str_add_u64(&firefox->file.text, event->bytes);
}

static void stack_add(struct firefox *firefox, const struct event *event, size_t i)
{
	const uint32_t stack = event->is_free ? (uint32_t)firefox->freed[i] : event->stack;

	str_add_u64(&firefox->file.text, paths_node(&firefox->paths, stack) - 1);
}

static void number_add(struct firefox *firefox, const struct event *event, size_t i)
{
	str_add_u64(&firefox->file.text, event->is_free ? firefox->freed[i] : firefox->values[i]);
}

static void thread_add(struct firefox *firefox, const struct event *event, size_t i)
{
	const struct model *model = firefox->context->model;
	const uint64_t thread = event->is_free ? firefox->freed[i] : firefox->values[i];

	str_add_u64(&firefox->file.text,
		    thread == MODEL_NO_THREAD ? 0 : model_thread(model, thread)->tid);
}

static const struct {
	const char *key;
	enum model_column of_allocation;
	enum model_column of_free;
	void (*add)(struct firefox *firefox, const struct event *event, size_t i);
} columns[] = {
	{ "time", MODEL_SIZE, MODEL_SIZE, time_add },
	{ "weight", MODEL_SIZE, MODEL_SIZE, weight_add },
	{ "stack", MODEL_STACK, MODEL_FREE_STACK, stack_add },
	{ "memoryAddress", MODEL_ADDRESS, MODEL_ADDRESS, number_add },
	{ "threadId", MODEL_THREAD, MODEL_FREE_THREAD, thread_add },
};

static struct err *column_write(struct firefox *firefox, size_t column)
{
	struct text_file *file = &firefox->file;
	CLEAN(events_destroy)
	struct events *events = events_create(firefox->context->selection);

	if (!events)
		return err_nomem();
	firefox->event_count = 0;
	str_printf(&file->text, "\"%s\":[", columns[column].key);
	while (text_file_step(file) && events_next(events)) {
		events_read(events, columns[column].of_allocation, firefox->values);
		events_read(events, columns[column].of_free, firefox->freed);
		for (size_t i = 0; i < events->count; i++) {
			str_add(&file->text, firefox->event_count++ ? "," : "");
			columns[column].add(firefox, &events->items[i], i);
		}
	}
	str_add(&file->text, "],\n");
	return NULL;
}

static struct err *allocations_write(struct firefox *firefox)
{
	struct err *err = NULL;

	str_add(&firefox->file.text, ",\n\"nativeAllocations\":{");
	for (size_t i = 0; i < array_size(columns) && !err; i++)
		err = column_write(firefox, i);
	text_file_u64(&firefox->file, "\"weightType\":\"bytes\",\"length\":", firefox->event_count);
	str_add_char(&firefox->file.text, '}');
	return err;
}

/* --- threads, marks and the curve ---------------------------------------------------------- */

static bool is_mark(const struct model_note *note)
{
	return note->type == TAPE_EXT_MARK;
}

static void marks_write(struct firefox *firefox)
{
	const struct model *model = firefox->context->model;
	struct str *text = &firefox->file.text;
	size_t count = 0;

	str_add(text, ",\n\"markers\":{\"name\":[");
	for (size_t i = 0; i < model_note_count(model); i++) {
		if (is_mark(&model_notes(model)[i]))
			text_file_u64(&firefox->file, count++ ? "," : "",
				      text_number(firefox, model_notes(model)[i].text));
	}
	str_add(text, "],\n\"startTime\":[");
	count = 0;
	for (size_t i = 0; i < model_note_count(model); i++) {
		if (!is_mark(&model_notes(model)[i]))
			continue;
		str_add(text, count++ ? "," : "");
		add_ms(text, model_notes(model)[i].ns);
	}
	str_add_char(text, ']');
	column_of(firefox, "endTime", "null", count);
	column_of(firefox, "data", "null", count);
	column_of(firefox, "phase", "0", count);
	column_of(firefox, "category", "0", count);
	text_file_u64(&firefox->file, ",\"length\":", count);
	str_add_char(text, '}');
}

static struct err *thread_write(struct firefox *firefox)
{
	const struct model_process *process = model_process(firefox->context->model);
	const char *name = names_short_path(process->exe);
	struct text_file *file = &firefox->file;
	struct err *err;

	text_file_json(file, ",\n\"threads\":[{\"processType\":\"default\",\"name\":", name);
	text_file_json(file, ",\"processName\":", name);
	text_file_u64(file, ",\"isMainThread\":true,\"pid\":\"", process->pid);
	text_file_u64(file, "\",\"tid\":", process->pid);
	str_add(&file->text, ",\"processStartupTime\":0,\"processShutdownTime\":null,"
			     "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\n"
			     "\"samples\":{\"stack\":[],\"time\":[],\"weight\":null,"
			     "\"weightType\":\"samples\",\"length\":0}");
	err = allocations_write(firefox);
	marks_write(firefox);
	str_add(&file->text, "}]");
	return err;
}

static struct err *curve_write(struct firefox *firefox)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct str *text = &firefox->file.text;
	struct moments moments = { 0 };
	struct err *err = moments_find(firefox->context, SPANS, &arena, &moments);

	if (err)
		return err;
	str_printf(text,
		   ",\n\"counters\":[{\"name\":\"malloc\",\"category\":\"Memory\",\"description\":"
		   "\"Live bytes\",\"pid\":\"%u\",\"mainThreadIndex\":0,\n\"samples\":{\"time\":[",
		   model_process(firefox->context->model)->pid);
	for (size_t i = 0; i < moments.count; i++) {
		str_add(text, i ? "," : "");
		add_ms(text, moments.items[i].ns);
	}
	str_add(text, "],\n\"count\":["); /* increments */
	for (size_t i = 0; i < moments.count; i++) {
		str_add(text, i ? "," : "");
		str_add_i64(text, (int64_t)(moments.items[i].bytes -
					    (i ? moments.items[i - 1].bytes : 0)));
	}
	text_file_u64(&firefox->file, "],\"length\":", moments.count);
	str_add(text, "}}]");
	return NULL;
}

/* --- tables -------------------------------------------------------------------------------- */

static void stacks_write(struct firefox *firefox)
{
	const struct path_nodes *nodes = &firefox->paths.nodes;
	struct text_file *file = &firefox->file;

	str_add(&file->text, ",\n\"shared\":{\"stackTable\":{\"frame\":[");
	for (size_t i = 1; i < nodes->count && text_file_step(file); i++)
		text_file_u64(file, i > 1 ? "," : "", nodes->items[i].frame);
	str_add(&file->text, "],\n\"prefix\":[");
	for (size_t i = 1; i < nodes->count && text_file_step(file); i++) {
		if (nodes->items[i].parent == 0)
			str_add(&file->text, i > 1 ? ",null" : "null");
		else
			text_file_u64(file, i > 1 ? "," : "", nodes->items[i].parent - 1);
	}
	text_file_u64(file, "],\"length\":", nodes->count - 1);
	str_add_char(&file->text, '}');
}

/* Functions are the frames' names, by which the site merges calls. */
static void frames_write(struct firefox *firefox, struct vec_u32 *functions)
{
	const struct path_frames *frames = &firefox->paths.frames;
	struct text_file *file = &firefox->file;
	CLEAN(map_deinit) struct map numbers = { 0 };

	str_add(&file->text, ",\n\"frameTable\":{\"func\":[");
	for (uint32_t i = 0; i < frames->count && text_file_step(file); i++) {
		bool is_new = false;
		uint64_t *number = map_put(&numbers, frames->items[i].name, &is_new);

		if (number && is_new) {
			*number = functions->count;
			file->text.failed |= !vec_u32_push(functions, i);
		}
		file->text.failed |= !number;
		text_file_u64(file, i ? "," : "", number ? *number : 0);
	}
	str_add(&file->text, "],\n\"line\":[");
	for (uint32_t i = 0; i < frames->count && text_file_step(file); i++) {
		str_add(&file->text, i ? "," : "");
		if (frames->items[i].line)
			str_add_u64(&file->text, frames->items[i].line);
		else
			str_add(&file->text, "null");
	}
	str_add_char(&file->text, ']');
	column_of(firefox, "address", "-1", frames->count);
	column_of(firefox, "inlineDepth", "0", frames->count);
	column_of(firefox, "category", "0", frames->count);
	column_of(firefox, "subcategory", "0", frames->count);
	column_of(firefox, "nativeSymbol", "null", frames->count);
	column_of(firefox, "innerWindowID", "null", frames->count);
	column_of(firefox, "column", "null", frames->count);
	text_file_u64(file, ",\"length\":", frames->count);
	str_add_char(&file->text, '}');
}

/* functions: one frame for each. */
static void functions_write(struct firefox *firefox, const struct vec_u32 *functions,
			    struct interner *sources)
{
	const struct paths *paths = &firefox->paths;
	struct text_file *file = &firefox->file;

	str_add(&file->text, ",\n\"funcTable\":{\"name\":[");
	for (size_t i = 0; i < functions->count && text_file_step(file); i++)
		text_file_u64(
			file, i ? "," : "",
			text_number(firefox, paths_name(paths, functions->items[i])->function));
	str_add(&file->text, "],\n\"source\":[");
	for (size_t i = 0; i < functions->count && text_file_step(file); i++) {
		const char *source = paths->frames.items[functions->items[i]].file;

		if (source)
			text_file_u64(file, i ? "," : "",
				      interner_put(sources, source, strlen(source)));
		else
			str_add(&file->text, i ? ",null" : "null");
	}
	str_add_char(&file->text, ']');
	column_of(firefox, "isJS", "false", functions->count);
	column_of(firefox, "relevantForJS", "false", functions->count);
	column_of(firefox, "resource", "-1", functions->count);
	column_of(firefox, "lineNumber", "null", functions->count);
	column_of(firefox, "columnNumber", "null", functions->count);
	text_file_u64(file, ",\"length\":", functions->count);
	str_add_char(&file->text, '}');
}

static void shared_write(struct firefox *firefox)
{
	CLEAN(interner_deinit) struct interner sources = { 0 };
	CLEAN(vec_u32_deinit) struct vec_u32 functions = { 0 };
	struct text_file *file = &firefox->file;

	stacks_write(firefox);
	frames_write(firefox, &functions);
	functions_write(firefox, &functions, &sources);
	str_add(&file->text, ",\n\"resourceTable\":{\"lib\":[],\"name\":[],\"host\":[],\"type\":[],"
			     "\"length\":0},"
			     "\n\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
			     "\"functionSize\":[],\"length\":0},\n\"sources\":{\"filename\":[");
	for (uint32_t i = 0; i < sources.count; i++)
		text_file_u64(file, i ? "," : "", text_number(firefox, sources.texts[i]));
	str_add_char(&file->text, ']');
	column_of(firefox, "uuid", "null", sources.count);
	text_file_u64(file, ",\"length\":", sources.count);
	str_add(&file->text, "},\n\"stringArray\":[");
	for (uint32_t i = 0; i < firefox->texts.count && text_file_step(file); i++)
		text_file_json(file, i ? ",\n" : "", firefox->texts.texts[i]);
	str_add(&file->text, "]}}\n");
}

static void head_write(struct firefox *firefox)
{
	const struct model_process *process = model_process(firefox->context->model);
	struct text_file *file = &firefox->file;

	text_file_u64(file, "{\"meta\":{\"interval\":1,\"startTime\":",
		      process->start_realtime_ns / NS_PER_MS);
	text_file_json(file, ",\"processType\":0,\"product\":", names_short_path(process->exe));
	text_file_u64(file,
		      ",\"stackwalk\":1,\"version\":30,\"preprocessedProfileVersion\":", LAYOUT);
	str_add(&file->text,
		",\n\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":"
		"[\"Other\"]}],\"markerSchema\":[],\"symbolicated\":true,"
		"\"importedFrom\":\"memtape\"},\n\"libs\":[]");
}

static struct err *firefox_write(const struct export_context *context, FILE *out)
{
	struct firefox *firefox = calloc(1, sizeof(*firefox));
	struct err *err, *file_err;

	if (!firefox)
		return err_nomem();
	firefox->context = firefox->paths.context = context;
	firefox->file.out = out;
	err = paths_build(&firefox->paths, &context->sums);
	if (!err) {
		head_write(firefox);
		err = thread_write(firefox);
	}
	if (!err)
		err = curve_write(firefox);
	if (!err)
		shared_write(firefox);
	firefox->file.text.failed |= firefox->paths.failed;
	file_err = text_file_end(&firefox->file);
	paths_deinit(&firefox->paths);
	interner_deinit(&firefox->texts);
	free(firefox);
	if (err)
		err_destroy(file_err);
	return err ? err : file_err;
}

const struct export_format export_firefox = {
	.name = "firefox",
	.summary = "Firefox Profiler's profile, with native allocations",
	.suffix = ".profile.json",
	.kind = EXPORT_EVENTS,
	.depth = MODEL_FULL,
	.write = firefox_write,
};
