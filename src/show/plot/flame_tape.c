#include "plot/flame_tape.h"

#include <assert.h>
#include <time.h>

#include "base/number.h"
#include "findings/edits.h"
#include "model/import.h"

enum { NS_PER_S = 1000000000, COMMAND_COLUMNS = 80 };

static void add_value(struct str *title, enum metric metric, uint64_t value)
{
	if (metric_is_bytes(metric))
		str_add_iec(title, value);
	else
		str_add_grouped(title, value);
}

void flame_add_title(struct str *title, enum metric metric, bool goes_on, uint64_t value)
{
	const char *words = metric_title_of(metric, goes_on);

	assert((unsigned)metric < METRICS_KEYED);
	str_add_char(title, words[0] ^ 0x20); /* titles begin with a capital */
	str_printf(title, "%s: ", words + 1);
	add_value(title, metric, value);
}

static void add_title(struct str *title, const struct flame_tape *tape)
{
	const bool is_alive = tape->metric == METRIC_PEAK || tape->metric == METRIC_LEAKED;
	const uint64_t value = metric_value(tape->metric, &tape->sums->total);

	if (tape->is_time) {
		str_add(title, "Time in the allocator: ");
		str_add_duration(title, value);
	} else if (tape->moment) {
		str_printf(title, "%s at %s: ", is_alive ? "Alive" : metric_title(tape->metric),
			   tape->moment);
		add_value(title, tape->metric, value);
	} else {
		flame_add_title(title, tape->metric, model_goes_on(tape->sums->model), value);
	}
}

static void add_command(struct str *text, const struct model_process *process)
{
	const size_t begin = text->len;

	if (process->argc == 0)
		str_add(text, names_short_path(process->exe));
	for (uint32_t i = 0; i < process->argc && text->len - begin < COMMAND_COLUMNS; i++) {
		if (i > 0)
			str_add_char(text, ' ');
		str_add(text, i == 0 ? names_short_path(process->argv[i]) : process->argv[i]);
	}
}

void flame_add_date(struct str *text, uint64_t realtime_ns)
{
	const time_t seconds = (time_t)(realtime_ns / NS_PER_S);
	struct tm broken;

	if (realtime_ns == 0 || !localtime_r(&seconds, &broken))
		return;
	str_printf(text, " · %04d-%02d-%02d %02d:%02d", broken.tm_year + 1900, broken.tm_mon + 1,
		   broken.tm_mday, broken.tm_hour, broken.tm_min);
}

void flame_add_scan(struct str *text, const struct model_scan *scan)
{
	if (!scan)
		return;
	str_printf(text, " · leak scan %u after ", scan->id);
	str_add_duration(text, scan->ns);
}

static void add_count(struct str *text, uint64_t count, const char *one, const char *many)
{
	if (count == 0)
		return;
	str_add(text, " · ");
	str_add_grouped(text, count);
	str_add(text, count == 1 ? one : many);
}

void flame_add_counts(struct str *text, const struct model *model)
{
	add_count(text, model_totals(model)->allocated.count, " allocation", " allocations");
	add_count(text, model_quality(model)->lost_events, " event lost", " events lost");
}

static void add_subtitle(struct str *text, const struct flame_tape *tape)
{
	const struct model *model = tape->sums->model;
	const struct model_process *process = model_process(model);

	add_command(text, process);
	str_printf(text, " · pid %u", process->pid);
	flame_add_date(text, process->start_realtime_ns);
	str_add(text, " · ran ");
	str_add_duration(text, process->duration_ns);
	if (tape->metric == METRIC_PEAK) {
		str_add(text, " · peak after ");
		str_add_duration(text,
				 tape->peak_ns ? tape->peak_ns : model_totals(model)->peak_ns);
	}
	flame_add_scan(text, tape->scan);
	flame_add_counts(text, model);
	edits_caption(model, text);
	if (tape->part)
		str_add(text, tape->part);
	if (tape->direction == TREE_BOTTOM_UP)
		str_add(text, " · inverted: callers stand on those they called");
}

/* The value of a frame of minimum width, rounded up, or of the smallest visible one. */
static uint64_t value_min(const struct flame_tape *tape, uint64_t total)
{
	return u64_max(flame_value_min(total), u64_mul_div_up(total, tape->share_min, FLAME_SHARE));
}

struct err *flame_tape_svg(const struct flame_tape *tape, struct str *out)
{
	const struct tree_settings settings = {
		.direction = tape->direction,
		.mode = tape->mode,
		.metric = tape->metric,
		.depth_max = FLAME_DEPTH_MAX + 1,
		.value_min = value_min(tape, metric_value(tape->metric, &tape->sums->total)),
		.merges_recursion = tape->merges_recursion,
	};
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(str_deinit) struct str title = { 0 };
	CLEAN(str_deinit) struct str subtitle = { 0 };
	struct tree tree;
	struct err *err = tree_build(tape->sums, tape->names, &settings, &arena, &tree);

	assert((unsigned)tape->metric < METRICS_KEYED);
	assert(tape->direction == TREE_TOP_DOWN || tape->direction == TREE_BOTTOM_UP);
	if (err)
		return err;
	add_title(&title, tape);
	add_subtitle(&subtitle, tape);
	return flame_svg(&tree, tape->names,
			 &(struct flame_settings) {
				 .title = tape->title ? tape->title : str_text(&title),
				 .subtitle = tape->subtitle ? tape->subtitle : str_text(&subtitle),
				 .is_icicle = tape->is_icicle,
				 .is_inverted = tape->direction == TREE_BOTTOM_UP,
				 .is_time = tape->is_time,
				 .is_moment = tape->moment != NULL,
				 .goes_on = model_goes_on(tape->sums->model),
				 .look = tape->look,
			 },
			 out);
}
