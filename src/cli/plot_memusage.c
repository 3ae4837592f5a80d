/* Pictures of a data file of memusage. */
#include <assert.h>

#include "cli/plot_options.h"
#include "memusage/memusage.h"
#include "plot/trace.h"

static const double NS_PER_S = 1e9;

struct reading_trace {
	struct trace trace;
	bool is_by_time;
	uint64_t begin_ticks;
	double ns_per_tick;
	uint64_t number; /* records so far */
};

static void add_records(void *context, const struct memusage_record *records, size_t count)
{
	struct reading_trace *reading = context;

	for (size_t i = 0; i < count; i++) {
		const double ticks = records[i].ticks > reading->begin_ticks
					     ? (double)(records[i].ticks - reading->begin_ticks)
					     : 0;

		trace_add(&reading->trace,
			  reading->is_by_time ? ticks * reading->ns_per_tick
					      : (double)reading->number,
			  records[i].heap, records[i].stack);
		reading->number++;
	}
}

/* The length of a tick is unknown unless given; without it the axis is in ticks. */
static void axis_make(const struct plot_options *options, const struct memusage_head *head,
		      struct reading_trace *reading, struct timeline *timeline)
{
	reading->is_by_time = options->is_by_time || options->x == PLOT_X_TIME;
	reading->begin_ticks = head->begin_ticks;
	reading->ns_per_tick = options->clock_hz > 0 ? NS_PER_S / (double)options->clock_hz : 1;
	if (!reading->is_by_time) {
		timeline->x_title = "calls of memory functions";
		timeline->x_unit = TICKS_COUNT;
		timeline->x_max = (double)u64_max(head->record_count, 1);
		return;
	}
	timeline->x_title = options->clock_hz > 0 ? "time" : "time in ticks of the clock";
	timeline->x_unit = options->clock_hz > 0 ? TICKS_NS : TICKS_COUNT;
	timeline->x_max =
		(double)u64_max(head->end_ticks - head->begin_ticks, 1) * reading->ns_per_tick;
}

static void add_facts(struct str *text, const struct memusage_head *head)
{
	str_add_grouped(text, head->record_count);
	str_add(text, head->record_count == 1 ? " call or sample" : " calls and samples");
	str_add(text, " · heap peak ");
	str_add_iec(text, head->heap_max);
	str_add(text, " · stack peak ");
	str_add_iec(text, head->stack_max);
	if (head->was_repaired)
		str_add(text, " · the program did not end by itself");
	if (head->trailing_bytes > 0)
		str_add(text, " · the last record is cut off");
}

static struct err *draw(struct plot *plot, struct memusage *memusage, struct timeline *timeline,
			FILE *out)
{
	const struct memusage_head *head = memusage_head(memusage);
	CLEAN(str_deinit) struct str facts = { 0 };

	add_facts(&facts, head);
	plot->chart.title = plot->options->title ? plot->options->title
						 : names_short_path(plot->options->input);
	plot->chart.subtitle = str_text(&facts);
	plot->chart.canvas.title = plot->chart.title;
	timeline->has_own_stack_scale = plot->options->stack == TIMELINE_STACK_OWN;
	if (plot->options->stack == TIMELINE_STACK_NONE)
		timeline->stack = NULL;
	if (!plot->options->shows_total)
		timeline->total = NULL;
	return timeline_draw(timeline, &plot->chart, out);
}

static struct err *memusage_options_check(const struct plot_options *options)
{
	if (options->kind != PLOT_TIMELINE)
		return err_new(ERR_USAGE,
			       "%s: memusage data files only have a timeline; for sizes and "
			       "lifetimes record a tape",
			       options->input);
	if (options->by != PLOT_BY_NONE || options->shows_allocated || options->part.filter ||
	    options->part.from || options->part.until)
		return err_new(ERR_USAGE,
			       "%s: --by, --allocated, --filter, --from and --until need "
			       "a tape",
			       options->input);
	return NULL;
}

struct err *plot_memusage(struct plot *plot, FILE *out)
{
	CLEAN(memusage_close) struct memusage *memusage = NULL;
	struct reading_trace reading = { 0 };
	struct timeline timeline = { 0 };
	struct err *err = memusage_options_check(plot->options);
	uint64_t columns = timeline_columns(&plot->chart.canvas);

	assert(plot->options->input);
	if (!err)
		err = memusage_open(plot->options->input, &memusage);
	if (err)
		return err;
	axis_make(plot->options, memusage_head(memusage), &reading, &timeline);
	if (!reading.is_by_time) /* at most one column per call */
		columns = u64_max(u64_min(columns, memusage_head(memusage)->record_count), 1);
	err = trace_init(&reading.trace, columns, 0, timeline.x_max, &plot->arena);
	if (!err)
		err = memusage_each(memusage, add_records, &reading);
	if (err)
		return err;
	trace_finish(&reading.trace, &timeline);
	return draw(plot, memusage, &timeline, out);
}

/* --- as text -------------------------------------------------------------------------------- */

struct printing {
	FILE *out;
	uint64_t number;
};

static void print_records(void *context, const struct memusage_record *records, size_t count)
{
	struct printing *printing = context;

	for (size_t i = 0; i < count; i++)
		fprintf(printing->out, "%llu: (%llu, %llu, %u, %u (%llu))\n",
			(unsigned long long)printing->number++, (unsigned long long)records[i].heap,
			(unsigned long long)records[i].stack,
			(unsigned)(records[i].ticks & UINT32_MAX),
			(unsigned)(records[i].ticks >> 32), (unsigned long long)records[i].ticks);
}

struct err *plot_memusage_entries(const struct plot_options *options, FILE *out)
{
	CLEAN(memusage_close) struct memusage *memusage = NULL;
	struct printing printing = { .out = out };
	const struct memusage_head *head;
	struct err *err = memusage_open(options->input, &memusage);

	if (err)
		return err;
	head = memusage_head(memusage);
	fprintf(out, "entries: %llu\n", (unsigned long long)head->record_count);
	fprintf(out, "heap peak: %llu\n", (unsigned long long)head->heap_max);
	fprintf(out, "stack peak: %llu\n", (unsigned long long)head->stack_max);
	fprintf(out, "total peak: %llu\n", (unsigned long long)head->total_max);
	fprintf(out, "begin: %llu\n", (unsigned long long)head->begin_ticks);
	fprintf(out, "end: %llu\n", (unsigned long long)head->end_ticks);
	fprintf(out, "header complete: %s\n", head->was_repaired ? "no" : "yes");
	fprintf(out, "bytes cut off: %u\n", head->trailing_bytes);
	err = memusage_each(memusage, print_records, &printing);
	if (!err && ferror(out))
		err = err_errno("write");
	return err;
}
