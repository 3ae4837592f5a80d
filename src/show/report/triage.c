#include "report/triage.h"

#include <math.h>

#include "answer/speak.h"
#include "base/number.h"
#include "report/text.h"

enum {
	WIDTH = 80,
	LEVEL_COLUMNS = 10,
	NAME_COLUMNS = 12,
	ANSWER_COLUMN = 2 + LEVEL_COLUMNS + NAME_COLUMNS,
	CELL_COLUMNS = 11,
	PID_COLUMNS = 9,
	PERCENT_COLUMNS = 8,
	PATH_COLUMNS = 20, /* so that the line fits */
	PROCESS_NAME_COLUMNS = 15,
	PROCESSES_SHOWN = 5,
	CGROUPS_SHOWN = 6
};

static const enum text_style level_styles[VERDICT_LEVELS] = {
	[VERDICT_OK] = TEXT_GOOD,
	[VERDICT_UNKNOWN] = TEXT_DIM,
	[VERDICT_WARNING] = TEXT_BAD,
	[VERDICT_CRITICAL] = TEXT_ALARM,
};

/* --- words ------------------------------------------------------------------------------------ */

static void add_padded(struct text *text, enum text_style style, const char *words, size_t columns)
{
	const size_t width = str_width(words);

	text_add(text, style, words);
	str_add_repeated(&text->out, ' ', width < columns ? columns - width : 1);
}

/* From the column `at` on, which is that of the lines that follow, too; no line is longer than WIDTH. */
static void add_wrapped(struct text *text, enum text_style style, const char *words, size_t at)
{
	size_t column = at;

	while (*words) {
		const size_t len = strcspn(words, " ");
		CLEAN(free) char *word = strndup(words, len);
		const size_t width = word ? str_width(word) : 0;

		if (!word)
			text->out.failed = true;
		if (column > at && column + 1 + width > WIDTH) {
			str_add_char(&text->out, '\n');
			str_add_repeated(&text->out, ' ', at);
			column = at;
		} else if (column > at) {
			str_add_char(&text->out, ' ');
			column++;
		}
		text_add(text, style, word ? word : "");
		column += width;
		words += len + strspn(words + len, " ");
	}
	str_add_char(&text->out, '\n');
}

/* --- verdicts --------------------------------------------------------------------------------- */

static void add_verdict(struct text *text, const struct triage_verdict *verdict)
{
	char name[STR_SHORT_BYTES];

	str_format(name, sizeof(name), "%s", verdict->name);
	for (char *at = strchr(name, '_'); at; at = strchr(at, '_'))
		*at = ' ';
	str_add(&text->out, "  ");
	add_padded(text, level_styles[verdict->level_index], verdict->level, LEVEL_COLUMNS);
	add_padded(text, TEXT_PLAIN, name, NAME_COLUMNS);
	add_wrapped(text, TEXT_PLAIN, verdict->answer, ANSWER_COLUMN);
	if (!verdict->next)
		return;
	str_add_repeated(&text->out, ' ', ANSWER_COLUMN);
	text_add(text, TEXT_DIM, "next: ");
	text_add(text, TEXT_VALUE, verdict->next);
	str_add_char(&text->out, '\n');
}

static void add_verdicts(struct text *text, const struct triage *triage)
{
	const struct triage_verdict *verdicts = triage->verdicts.items;
	static const char *const headings[TRIAGE_USES] = { "Utilisation", "Saturation", "Errors" };

	for (unsigned use = 0; use < TRIAGE_USES; use++) {
		text_heading(text, headings[use], NULL);
		for (size_t i = 0; i < triage->verdicts.count; i++)
			if (verdicts[i].use_index == use)
				add_verdict(text, &verdicts[i]);
	}
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void add_cells(struct text *text, enum text_style style, const char *label,
		      const char *const *cells, size_t count)
{
	str_add(&text->out, "  ");
	add_padded(text, TEXT_DIM, label, NAME_COLUMNS);
	for (size_t i = 0; i < count; i++)
		text_right(text, style, cells[i], CELL_COLUMNS);
	str_add_char(&text->out, '\n');
}

static void add_sizes(struct text *text, const char *label, const uint64_t *sizes, size_t count)
{
	char words[6][STR_SHORT_BYTES];
	const char *cells[6];

	for (size_t i = 0; i < count && i < array_size(cells); i++)
		cells[i] = sizes[i] == SHAPE_NONE ? "-" : str_iec(words[i], sizes[i]);
	add_cells(text, TEXT_PLAIN, label, cells, count);
}

static void add_rates(struct text *text, const char *label, const double *rates, size_t count)
{
	struct str words[6] = { 0 };
	const char *cells[6];

	for (size_t i = 0; i < count && i < array_size(cells); i++) {
		str_add_grouped(&words[i], u64_of_double(rates[i] + 0.5));
		cells[i] = isnan(rates[i]) ? "-" : str_text(&words[i]);
	}
	add_cells(text, TEXT_PLAIN, label, cells, count);
	for (size_t i = 0; i < count; i++)
		str_deinit(&words[i]);
}

static void add_memory(struct text *text, const struct triage *triage)
{
	static const char *const memory_titles[] = { "total",  "used",	     "free",
						     "shared", "buff/cache", "available" };
	static const char *const swap_titles[] = { "total",	"used",	 "free",
						   "committed", "limit", "slab" };
	const struct triage_memory *memory = &triage->memory;
	const struct triage_swap *swap = &triage->swap;
	const uint64_t memory_sizes[] = { memory->total,  memory->used,	      memory->free,
					  memory->shared, memory->buff_cache, memory->available };
	const uint64_t swap_sizes[] = { swap->total,	   swap->used,		 swap->free,
					memory->committed, memory->commit_limit, memory->slab };

	str_add_char(&text->out, '\n');
	add_cells(text, TEXT_DIM, "", memory_titles, array_size(memory_titles));
	add_sizes(text, "memory", memory_sizes, array_size(memory_sizes));
	add_cells(text, TEXT_DIM, "", swap_titles, array_size(swap_titles));
	add_sizes(text, "swap, slab", swap_sizes, array_size(swap_sizes));
}

static void add_paging(struct text *text, const struct triage *triage)
{
	static const char *const flow_titles[] = { "si KiB",	"so KiB", "pgpgin K",
						   "pgpgout K", "faults", "majflt" };
	static const char *const scan_titles[] = { "pgfree",  "pgscank", "pgscand",
						   "pgsteal", "%vmeff",	 "stalls" };
	const struct triage_rates *rates = &triage->rates;
	const double flows[] = { rates->swap_in_kib,   rates->swap_out_kib, rates->paged_in_kib,
				 rates->paged_out_kib, rates->faults,	    rates->major_faults };
	const double scans[] = { rates->freed,	rates->scanned_kswapd, rates->scanned_direct,
				 rates->stolen, rates->efficiency,     rates->stalls };

	if (triage->look_count < 2)
		return;
	add_cells(text, TEXT_DIM, "", flow_titles, array_size(flow_titles));
	add_rates(text, "a second", flows, array_size(flows));
	add_cells(text, TEXT_DIM, "", scan_titles, array_size(scan_titles));
	add_rates(text, "", scans, array_size(scans));
}

static void add_size_cell(struct text *text, uint64_t bytes)
{
	char words[STR_SHORT_BYTES];

	text_right(text, TEXT_PLAIN, bytes == SHAPE_NONE ? "-" : str_iec(words, bytes),
		   CELL_COLUMNS);
}

static void add_number_cell(struct text *text, int64_t value, size_t columns)
{
	CLEAN(str_deinit) struct str words = { 0 };

	str_add_i64(&words, value);
	text_right(text, TEXT_PLAIN, value == INT64_MIN ? "-" : str_text(&words), columns);
}

static void add_count_cell(struct text *text, uint64_t count)
{
	char words[STR_SHORT_BYTES];

	text_right(text, TEXT_PLAIN, count == SHAPE_NONE ? "-" : str_grouped(words, count),
		   CELL_COLUMNS);
}

/* What is too long is cut in front: the end of a path says more. */
static void add_tail(struct text *text, const char *path, size_t columns)
{
	const size_t width = str_width(path);

	if (width <= columns) {
		text_add(text, TEXT_PLAIN, path);
		return;
	}
	path += strlen(path);
	for (size_t left = columns - strlen("..."); left > 0; left--)
		do
			path--;
		while ((*path & 0xc0) == 0x80); /* the middle of a character */
	text_add(text, TEXT_PLAIN, "...");
	text_add(text, TEXT_PLAIN, path);
}

static void add_process(struct text *text, const struct triage_process *process)
{
	CLEAN(str_deinit) struct str percent = { 0 };
	CLEAN(str_deinit) struct str growth = { 0 };

	str_add_double(&percent, process->rss_percent, 1);
	if (!isnan(process->growth))
		str_add_iec_signed(&growth, (int64_t)process->growth);
	str_add(&text->out, "  ");
	add_number_cell(text, (int64_t)process->pid, PID_COLUMNS);
	add_size_cell(text, process->rss);
	text_right(text, TEXT_PLAIN, isnan(process->rss_percent) ? "-" : str_text(&percent),
		   PERCENT_COLUMNS);
	add_size_cell(text, process->swapped);
	text_right(text, TEXT_PLAIN, growth.len ? str_text(&growth) : "-", CELL_COLUMNS);
	add_number_cell(text, process->oom_score, CELL_COLUMNS);
	str_add(&text->out, "  ");
	add_tail(text, process->name ? process->name : "?", PROCESS_NAME_COLUMNS);
	str_add_char(&text->out, '\n');
}

static void add_processes(struct text *text, const struct triage *triage)
{
	const struct triage_process *processes = triage->processes.items;

	if (triage->processes.count == 0)
		return;
	str_add_char(&text->out, '\n');
	text_add(text, TEXT_DIM,
		 "        pid        rss    %mem    swapped    growth/s  oom score  name");
	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < triage->processes.count && i < PROCESSES_SHOWN; i++)
		add_process(text, &processes[i]);
}

static void add_cgroups(struct text *text, const struct triage *triage)
{
	const struct triage_cgroup *cgroups = triage->cgroups.items;

	if (triage->cgroups.count == 0)
		return;
	str_add_char(&text->out, '\n');
	text_add(text, TEXT_DIM,
		 "        usage      limit       peak  limit hits  OOM kills  cgroup");
	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < triage->cgroups.count && i < CGROUPS_SHOWN; i++) {
		const struct triage_cgroup *cgroup = &cgroups[i];

		str_add(&text->out, "  ");
		add_size_cell(text, cgroup->usage);
		add_size_cell(text, cgroup->limit);
		add_size_cell(text, cgroup->peak);
		str_add_char(&text->out, ' ');
		add_count_cell(text, cgroup->limit_hits);
		add_count_cell(text, cgroup->oom_kills);
		str_add(&text->out, "  ");
		add_tail(text, cgroup->name, PATH_COLUMNS);
		str_add_char(&text->out, '\n');
	}
}

/* --- the screen ------------------------------------------------------------------------------- */

static void add_head(struct text *text, const struct triage *triage)
{
	CLEAN(str_deinit) struct str rest = { 0 };

	text_add(text, TEXT_BOLD, triage->host ? triage->host : "memory");
	if (triage->subject) {
		const struct triage_subject *subject = triage->subject;

		str_printf(&rest, " · process %llu, ", (unsigned long long)subject->pid);
		str_add(&rest, subject->name ? subject->name : "?");
	}
	str_add(&rest, " · ");
	str_add_counted(&rest, triage->look_count, "look");
	if (triage->look_count > 1) {
		str_add(&rest, " in ");
		str_add_duration(&rest, triage->span_ns);
	}
	str_add(&rest, " · ");
	text_add(text, TEXT_PLAIN, str_text(&rest));
	text_add(text, level_styles[triage->level_index], triage->level);
	str_add_char(&text->out, '\n');
	text->out.failed |= rest.failed;
}

static void add_missing(struct text *text, const struct triage *triage)
{
	const struct triage_missing *missing = triage->missing.items;
	CLEAN(str_deinit) struct str words = { 0 };

	if (triage->missing.count == 0)
		return;
	str_add(&words, "Not read:");
	for (size_t i = 0; i < triage->missing.count; i++)
		str_printf(&words, "%s %s (%s)", i > 0 ? "," : "", missing[i].path,
			   missing[i].reason);
	str_add_char(&text->out, '\n');
	add_wrapped(text, TEXT_DIM, str_text(&words), 0);
	text->out.failed |= words.failed;
}

static struct err *write_text(const struct triage *triage, bool colour, FILE *out)
{
	CLEAN(text_deinit) struct text text = { .colour = colour, .width = WIDTH };

	add_head(&text, triage);
	add_verdicts(&text, triage);
	add_memory(&text, triage);
	add_paging(&text, triage);
	add_processes(&text, triage);
	add_cgroups(&text, triage);
	add_missing(&text, triage);
	if (triage->in_container) {
		str_add_char(&text.out, '\n');
		add_wrapped(&text, TEXT_DIM,
			    "This is a container: limits are those that can be seen from inside, "
			    "and there may be others above them.",
			    0);
	}
	return text_write(&text, out);
}

static struct err *write_json(const struct triage *triage, FILE *out)
{
	CLEAN(emit_destroy)
	struct emit *emit = emit_create(out, &(struct emit_settings) { .format = EMIT_JSON });
	const struct speaker speaker = { .emit = emit };
	struct err *err = emit ? speak_object(&speaker, &shape_triage, triage) : err_nomem();

	return err ? err : emit_finish(emit);
}

struct err *triage_report(const struct triage *triage, bool is_json, bool colour, FILE *out)
{
	return is_json ? write_json(triage, out) : write_text(triage, colour, out);
}
