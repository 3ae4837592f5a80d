/*
 * usage: verdicts on the system's memory, and the samples: one line per time step.
 */
#include "questions/timeline.h"

#include <math.h>

#include "questions/questions.h"
#include "report/quality.h"

enum {
	LINES_DEFAULT = 24,
	TIME_COLUMNS = 9,
	BYTES_COLUMNS = 10,
	PERCENT_COLUMNS = 7,
	NAME_COLUMNS = 14,
	LEVEL_COLUMNS = 10
};

static enum text_style style_of(const char *level)
{
	return strcmp(level, "critical") == 0  ? TEXT_ALARM
	       : strcmp(level, "warning") == 0 ? TEXT_BAD
	       : strcmp(level, "unknown") == 0 ? TEXT_DIM
					       : TEXT_GOOD;
}

/* "  memory        critical  1.0 GiB of 24.0 GiB available (4.2 %), first after 2.50 s" */
static void add_verdict(struct text *text, const struct usage_verdict *verdict)
{
	const bool is_bad = verdict->short_ns > 0 || strcmp(verdict->level, "critical") == 0;

	str_add(&text->out, "  ");
	str_add(&text->out, verdict->name);
	str_add_repeated(&text->out, ' ',
			 NAME_COLUMNS - u64_min(NAME_COLUMNS, strlen(verdict->name)));
	text_add(text, style_of(verdict->level), verdict->level);
	str_add_repeated(&text->out, ' ',
			 LEVEL_COLUMNS - u64_min(LEVEL_COLUMNS, strlen(verdict->level)));
	str_add_terminal(&text->out, verdict->answer);
	if (is_bad && verdict->time_ns != SHAPE_NONE) {
		str_add(&text->out, ", after ");
		str_add_duration(&text->out, verdict->time_ns);
	}
	str_add_char(&text->out, '\n');
}

static void add_verdicts(struct text *text, const struct usage_answer *usage)
{
	const struct usage_verdict *verdicts = usage->verdicts.items;

	if (!usage->level) {
		str_add(&text->out, "  This tape has no samples of the system's memory.\n");
		return;
	}
	for (size_t i = 0; i < usage->verdicts.count; i++)
		if (strcmp(verdicts[i].level, "unknown") != 0)
			add_verdict(text, &verdicts[i]);
}

static void add_bytes(struct text *text, enum text_style style, uint64_t bytes)
{
	char words[STR_SHORT_BYTES];

	text_right(text, style, bytes == SHAPE_NONE ? "-" : str_iec(words, bytes), BYTES_COLUMNS);
}

static void add_percent(struct text *text, double percent)
{
	CLEAN(str_deinit) struct str words = { 0 };

	if (isnan(percent))
		str_add(&words, "-");
	else
		str_add_double(&words, percent, 1);
	text_right(text, TEXT_PLAIN, str_text(&words), PERCENT_COLUMNS);
	text->out.failed |= words.failed;
}

static void add_step(struct text *text, const struct usage_step *step)
{
	char words[STR_SHORT_BYTES];

	text_right(text, TEXT_DIM, str_duration(words, step->ns), TIME_COLUMNS);
	add_bytes(text, TEXT_VALUE, step->rss);
	add_bytes(text, TEXT_PLAIN, step->available);
	add_bytes(text, TEXT_PLAIN, step->swap_used);
	add_bytes(text, TEXT_PLAIN, step->swapped_in);
	add_bytes(text, TEXT_PLAIN, step->swapped_out);
	add_percent(text, step->some_avg10);
	add_bytes(text, TEXT_PLAIN, step->cgroup);
	str_add_char(&text->out, '\n');
}

static void add_titles(struct text *text)
{
	static const char *const titles[] = { "resident", "available", "swap used", "swap in",
					      "swap out" };

	text_right(text, TEXT_DIM, "time", TIME_COLUMNS);
	for (size_t i = 0; i < array_size(titles); i++)
		text_right(text, TEXT_DIM, titles[i], BYTES_COLUMNS);
	text_right(text, TEXT_DIM, "waits %", PERCENT_COLUMNS + 1);
	text_right(text, TEXT_DIM, "cgroup", BYTES_COLUMNS - 1);
	str_add_char(&text->out, '\n');
}

/* "  node 1      64.0 MiB, at most 80.0 MiB; 2.10 s of processor time" */
static void add_nodes(struct text *text, const struct usage_answer *usage)
{
	const struct usage_node *nodes = usage->nodes.items;

	if (usage->nodes.count == 0)
		return;
	text_heading(text, "NUMA nodes", "memory without files; processor time is an estimate");
	for (size_t i = 0; i < usage->nodes.count; i++) {
		str_printf(&text->out, "  node %-4llu", (unsigned long long)nodes[i].node);
		add_bytes(text, TEXT_VALUE, nodes[i].bytes);
		str_add(&text->out, ", at most ");
		str_add_iec(&text->out, nodes[i].bytes_max);
		str_add(&text->out, "; ");
		str_add_duration(&text->out, nodes[i].cpu_ns);
		str_add(&text->out, " of processor time\n");
	}
}

static void add_part(struct text *text, const struct usage_part *part)
{
	char words[STR_SHORT_BYTES];

	text_right(text, TEXT_PLAIN,
		   str_format(words, sizeof(words), "%llu", (unsigned long long)part->pid),
		   TIME_COLUMNS);
	add_bytes(text, TEXT_VALUE, part->rss);
	add_bytes(text, TEXT_PLAIN, part->pss);
	add_bytes(text, TEXT_PLAIN, part->private);
	str_add(&text->out, "  ");
	str_add_terminal(&text->out, part->name);
	str_add_char(&text->out, '\n');
}

/* Of a session: each process at its most. */
static struct err *add_processes(struct text *text, const struct usage_answer *usage,
				 struct arena *arena)
{
	const struct usage_part *parts = usage->processes.items;
	struct usage_part *most;
	size_t count = 0;

	for (size_t i = 0; i < usage->processes.count; i++)
		count = u64_max(count, parts[i].process + 1);
	if (count == 0)
		return NULL;
	most = arena_array(arena, count, sizeof(*most));
	if (!most)
		return err_nomem();
	memset(most, 0, count * sizeof(*most));
	for (size_t i = 0; i < usage->processes.count; i++) {
		struct usage_part *one = &most[parts[i].process];

		one->pid = parts[i].pid;
		one->name = parts[i].name;
		one->rss = u64_max(one->rss, parts[i].rss);
		one->pss = u64_max(one->pss, parts[i].pss);
		one->private = u64_max(one->private, parts[i].private);
	}
	str_add_char(&text->out, '\n');
	text_right(text, TEXT_DIM, "pid", TIME_COLUMNS);
	text_right(text, TEXT_DIM, "resident", BYTES_COLUMNS);
	text_right(text, TEXT_DIM, "PSS", BYTES_COLUMNS);
	text_right(text, TEXT_DIM, "private", BYTES_COLUMNS);
	text_add(text, TEXT_DIM, "  process, at most");
	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < count; i++)
		if (most[i].name)
			add_part(text, &most[i]);
	return NULL;
}

static struct err *usage_text(const struct report_context *context, const void *answer, FILE *out)
{
	const struct usage_answer *usage = answer;
	const struct usage_step *steps = usage->usage.items;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	struct err *err;

	text_head(&text, context->model);
	text_heading(&text, "Verdicts", usage->level);
	add_verdicts(&text, usage);
	str_add_char(&text.out, '\n');
	if (usage->usage.count > 0)
		add_titles(&text);
	else
		str_add(&text.out, "  No sample was taken then.\n");
	for (size_t i = 0; i < usage->usage.count; i++)
		add_step(&text, &steps[i]);
	add_nodes(&text, usage);
	err = add_processes(&text, usage, context->arena);
	if (err)
		return err;
	quality_text(&text, context);
	return text_write(&text, out);
}

/* As many lines as fit a terminal. */
static void for_text(struct parameters *with)
{
	if (with->points == 0)
		with->points = LINES_DEFAULT;
}

const struct report report_usage = {
	.question = &question_usage,
	.for_text = for_text,
	.text = usage_text,
};
