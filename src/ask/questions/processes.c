/*
 * processes: what each process of a process tree did with memory. A tape of one process has one.
 */
#include "answer/program.h"
#include "questions/questions.h"
#include "questions/threads.h"

static const struct member sum_members[] = {
	MEMBER(struct process_sum, count, COUNT, NULL),
	MEMBER(struct process_sum, bytes, BYTES, NULL),
};
static const struct shape shape_sum = SHAPE("ProcessSum", struct process_sum, sum_members);

static const struct member peak_members[] = {
	MEMBER(struct process_peak, bytes, BYTES, NULL),
};
static const struct shape shape_peak = SHAPE("ProcessPeak", struct process_peak, peak_members);

static const char *const start_words[] = { [TAPE_MEMBER_STARTED] = "start",
					   [TAPE_MEMBER_FORKED] = "fork",
					   [TAPE_MEMBER_EXEC] = "exec",
					   NULL };

static const struct member row_members[] = {
	MEMBER(struct process_row, pid, PLAIN, NULL),
	MEMBER(struct process_row, ppid, PLAIN, "its parent's, when its program began",
	       .title = "parent"),
	MEMBER(struct process_row, name, TEXT, "of its program", .left = true, .elastic = true),
	MEMBER(struct process_row, argv, TEXTS, "its command line, as far as it is kept",
	       .is_data = true),
	MEMBER(struct process_row, begin_ns, NS, "since the first one began", .title = "begin"),
	MEMBER(struct process_row, end_ns, NS, "the same, of the last that is known of it",
	       .title = "end"),
	MEMBER(struct process_row, exit, PLAIN,
	       "exit code; null: it has not ended by itself, or that is not known",
	       .nullable = true),
	MEMBER(struct process_row, signal, TEXT,
	       "name of the signal that has killed it; null: none has, or that is not known",
	       .nullable = true, .left = true),
	MEMBER_AS("ended", struct process_row, end, TEXT,
		  "how; exec: the process went on with another program, which has a row of its own",
		  .words = program_end_words, .left = true),
	MEMBER_AS("started", struct process_row, start, TEXT,
		  "how: fork (of the parent's program), exec (by the same process) or start (all "
		  "else)",
		  .words = start_words, .is_data = true),
	MEMBER(struct process_row, parent, PLAIN,
	       "the row of its parent, or of what it was before the exec, from 0; null: not "
	       "recorded",
	       .nullable = true, .is_data = true),
	MEMBER(struct process_row, allocations, OBJECT, NULL, .shape = &shape_sum),
	MEMBER(struct process_row, peak, OBJECT, "alive at once at most", .shape = &shape_peak),
	MEMBER(struct process_row, leaked, OBJECT,
	       "never freed by it; on a tape of one process without what is suppressed",
	       .shape = &shape_sum),
	MEMBER(struct process_row, inherited_bytes, BYTES,
	       "alive in its parent when it was forked, which are the parent's and counted there "
	       "alone",
	       .title = "inherited", .nullable = true),
	MEMBER(struct process_row, rss, BYTES, "resident at most, of the moments measured",
	       .nullable = true),
	MEMBER(struct process_row, pss, BYTES,
	       "the same, with what it shares divided among those that share it: in sums it is "
	       "counted once",
	       .nullable = true),
	MEMBER(struct process_row, private, BYTES, "the same, that nobody else has",
	       .nullable = true),
	MEMBER(struct process_row, tape, TEXT, "the file in the session's folder", .left = true,
	       .nullable = true),
};
static const struct shape shape_row = SHAPE("ProcessOfTree", struct process_row, row_members);

static const struct member answer_members[] = {
	MEMBER(struct processes_answer, processes, ROWS,
	       "programs in processes, in order of their beginning", .shape = &shape_row),
	MEMBER(struct processes_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_answer =
	SHAPE("ProcessTree", struct processes_answer, answer_members);

static struct err *end_fill(struct arena *arena, uint32_t kind, int32_t status,
			    struct process_row *row)
{
	row->exit = kind == TAPE_END_EXIT && status >= 0 ? (uint64_t)status : SHAPE_NONE;
	row->end = program_end_words[kind <= TAPE_END_EXEC ? kind : TAPE_END_UNKNOWN];
	if (kind != TAPE_END_SIGNAL)
		return NULL;
	row->signal = program_signal_name(arena, status);
	return row->signal ? NULL : err_nomem();
}

/* The next line of a member's text, as it was before it was made one; NULL: out of memory. */
static const char *line_take(struct arena *arena, const char **text)
{
	const size_t len = strcspn(*text, "\n");
	char *line = arena_text(arena, *text, len);
	size_t kept = 0;

	if (!line)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		const bool is_marked = line[i] == '\\' && i + 1 < len;

		i += is_marked;
		line[kept++] = is_marked && line[i] == 'n' ? '\n' : line[i];
	}
	line[kept] = '\0';
	*text += len + ((*text)[len] == '\n');
	return line;
}

static struct err *words_take(struct arena *arena, const char *text, struct process_row *row)
{
	const char **argv;
	size_t line_count = 0;

	for (const char *at = text; *at; at++)
		line_count += *at == '\n';
	argv = arena_array(arena, line_count + 1, sizeof(*argv));
	row->tape = line_take(arena, &text);
	row->name = line_take(arena, &text);
	if (!argv || !row->tape || !row->name)
		return err_nomem();
	row->argv = (struct shape_texts) { argv, 0 };
	while (*text) {
		argv[row->argv.count] = line_take(arena, &text);
		if (!argv[row->argv.count++])
			return err_nomem();
	}
	return NULL;
}

static struct err *member_take(struct arena *arena, const struct model_note *note,
			       struct process_row *row)
{
	const struct tape_member *member = &note->member;
	struct err *err;

	*row = (struct process_row) {
		.pid = member->pid,
		.ppid = member->parent_pid,
		.begin_ns = member->begin_ns,
		.end_ns = member->end_ns,
		.start = start_words[member->start <= TAPE_MEMBER_EXEC ? member->start : 0],
		.parent = member->parent < 0 ? SHAPE_NONE : (uint64_t)member->parent,
		.inherited_bytes = SHAPE_NONE,
		.rss = SHAPE_NONE,
		.pss = SHAPE_NONE,
		.private = SHAPE_NONE,
	};
	err = end_fill(arena, member->end_kind, member->end_status, row);
	return err ? err : words_take(arena, note->text, row);
}

static void sums_take(const struct tape_member_sums *sums, struct process_row *row)
{
	row->allocations = (struct process_sum) { sums->allocated_count, sums->allocated_bytes };
	row->peak.bytes = sums->peak_bytes;
	row->leaked = (struct process_sum) { sums->leaked_count, sums->leaked_bytes };
	row->inherited_bytes = sums->inherited_bytes;
}

static void at_most(uint64_t *value, uint64_t sample)
{
	if (sample != UINT64_MAX && (*value == SHAPE_NONE || sample > *value))
		*value = sample;
}

size_t process_row_of(const uint64_t *numbers, size_t count, uint64_t number)
{
	size_t low = 0, high = count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (numbers[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && numbers[low] == number ? low : count;
}

static void usages_take(const struct asked *asked, struct process_row *rows,
			const uint64_t *numbers, size_t count)
{
	const struct model_note *notes = model_notes(asked->model);

	for (size_t i = 0; i < model_note_count(asked->model); i++) {
		const struct tape_member_usage *usage = &notes[i].member_usage;
		size_t row;

		if (notes[i].type != TAPE_EXT_MEMBER_USAGE)
			continue;
		row = process_row_of(numbers, count, usage->number);
		if (row == count)
			continue;
		at_most(&rows[row].rss, usage->rss_bytes);
		at_most(&rows[row].pss, usage->pss_bytes);
		at_most(&rows[row].private, usage->private_bytes);
	}
}

/* Each MEMBER has its MEMBER_SUMS; tapes that could not be read have neither, but their number. */
static struct err *members_take(const struct asked *asked, struct process_row *rows,
				uint64_t *numbers, size_t *count_ret)
{
	const struct model_note *notes = model_notes(asked->model);
	size_t count = 0;

	for (size_t i = 0; i < model_note_count(asked->model); i++) {
		struct err *err = NULL;

		if (notes[i].type == TAPE_EXT_MEMBER) {
			numbers[count] = notes[i].member.number;
			err = member_take(asked->arena, &notes[i], &rows[count++]);
		} else if (notes[i].type == TAPE_EXT_MEMBER_SUMS && count > 0 &&
			   notes[i].member_sums.number == numbers[count - 1]) {
			sums_take(&notes[i].member_sums, &rows[count - 1]);
		}
		if (err)
			return err;
	}
	*count_ret = count;
	return NULL;
}

/* Parents are numbers of tapes there, and rows here. */
static void parents_settle(struct process_row *rows, const uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const size_t parent = rows[i].parent == SHAPE_NONE
					      ? i
					      : process_row_of(numbers, i, rows[i].parent);

		rows[i].parent = parent < i ? parent : SHAPE_NONE;
	}
}

/* Never freed, without what is suppressed: as the summary counts it. */
static struct err *leaked_find(const struct asked *asked, struct process_sum *leaked)
{
	struct suppressor *suppressor =
		asked->selection ? asked->selection->facts->suppressor : NULL;
	const struct suppressed *suppressed;
	struct err *err = suppressor_find(suppressor, &suppressed);
	const struct model_sum *sum;

	if (err)
		return err;
	sum = suppressed ? &suppressed->sums.total.leaked : &model_totals(asked->model)->leaked;
	*leaked = (struct process_sum) { sum->count, sum->bytes };
	return NULL;
}

/* A tape that was not made of several. */
static struct err *single_take(const struct asked *asked, struct process_row *row)
{
	const struct model_process *process = model_process(asked->model);
	const struct model_totals *totals = model_totals(asked->model);
	const bool is_forked = (process->flags & TAPE_FLAG_FORKED) != 0;
	struct process_sum leaked;
	struct err *err = leaked_find(asked, &leaked);

	if (err)
		return err;

	*row = (struct process_row) {
		.pid = process->pid,
		.ppid = process->parent_pid,
		.name = program_name(asked->model),
		.argv = { process->argv, process->argc },
		.end_ns = process->duration_ns,
		.start = start_words[is_forked ? TAPE_MEMBER_FORKED : TAPE_MEMBER_STARTED],
		.parent = SHAPE_NONE,
		.allocations = { totals->allocated.count, totals->allocated.bytes },
		.peak = { totals->peak.bytes },
		.leaked = leaked,
		.inherited_bytes = is_forked ? SHAPE_NONE : 0,
		.rss = SHAPE_NONE,
		.pss = SHAPE_NONE,
		.private = SHAPE_NONE,
	};
	for (size_t i = 0; i < model_usage_count(asked->model); i++) {
		at_most(&row->rss, model_usages(asked->model)[i].usage.rss_bytes);
		at_most(&row->pss, model_usages(asked->model)[i].usage.pss_bytes);
	}
	return end_fill(asked->arena, process->end_kind, process->end_status, row);
}

struct err *process_rows_find(const struct asked *asked, struct shape_rows *rows_ret,
			      const uint64_t **numbers_ret)
{
	const struct model_note *notes = model_notes(asked->model);
	struct process_row *rows;
	uint64_t *numbers;
	size_t count = 0;
	struct err *err;

	for (size_t i = 0; i < model_note_count(asked->model); i++)
		count += notes[i].type == TAPE_EXT_MEMBER;
	rows = arena_array(asked->arena, count + 1, sizeof(*rows));
	numbers = arena_array(asked->arena, count + 1, sizeof(*numbers));
	if (!rows || !numbers)
		return err_nomem();
	err = members_take(asked, rows, numbers, &count);
	if (err)
		return err;
	parents_settle(rows, numbers, count);
	usages_take(asked, rows, numbers, count);
	if (count == 0)
		err = single_take(asked, &rows[count++]);
	if (err)
		return err;
	*rows_ret = (struct shape_rows) { rows, count };
	if (numbers_ret)
		*numbers_ret = numbers;
	return NULL;
}

static struct err *ask(const struct asked *asked, void *result)
{
	struct processes_answer *answer = result;
	struct err *err = process_rows_find(asked, &answer->processes, NULL);

	return err ? err : quality_find(asked, &answer->quality);
}

const struct question question_processes = {
	.name = "processes",
	.summary = "the processes of a process tree, and what each did with memory",
	.shape = &shape_answer,
	.depth = MODEL_SUMMARY,
	.ignores_leaks = true,
	.is_list = true,
	.instead = "--process chooses one of a session, for every other report",
	.ask = ask,
};
