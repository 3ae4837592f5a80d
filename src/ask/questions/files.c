/*
 * files: source files of the functions on the tape, with their allocations.
 */
#include "sums/files.h"

#include "answer/about.h"
#include "base/str.h"
#include "groups/measure.h"
#include "questions/questions.h"

struct file_row {
	uint64_t id;
	const char *file;
	uint64_t total, self;
	uint64_t allocations;
	struct shape_share share;
	const char *total_text, *self_text;
};

struct files_answer {
	const char *sort;
	uint64_t total;
	uint64_t total_count;
	struct shape_rows files;
	struct about about;
};

static const struct member file_members[] = {
	MEMBER(struct file_row, id, HASH, "of its path; the same on every tape", .is_data = true),
	MEMBER(struct file_row, file, TEXT, "its path", .is_wide = true),
	MEMBER(struct file_row, total, PLAIN, "of the metric, in its functions and those they call",
	       .is_wide = true),
	MEMBER(struct file_row, self, PLAIN, "of the metric, allocated in its functions",
	       .is_wide = true),
	MEMBER(struct file_row, share, SHARE, NULL, .title = "share", .is_text = true),
	MEMBER(struct file_row, total_text, TEXT, NULL, .title = "total", .is_text = true),
	MEMBER(struct file_row, self_text, TEXT, NULL, .title = "self", .is_text = true),
	MEMBER(struct file_row, allocations, COUNT, "in its functions and those they call",
	       .title = "calls"),
	MEMBER_AS("path", struct file_row, file, TEXT, NULL, .title = "file", .left = true,
		  .elastic = true, .is_text = true),
};
static const struct shape shape_file = SHAPE("SourceFile", struct file_row, file_members);

static const struct member files_members[] = {
	MEMBER(struct files_answer, sort, TEXT, "the metric by which they are sorted"),
	MEMBER(struct files_answer, total, PLAIN, "of the metric, in all of the program"),
	MEMBER(struct files_answer, total_count, COUNT, "files"),
	MEMBER(struct files_answer, files, ROWS, "the most of the metric first",
	       .shape = &shape_file),
	MEMBER(struct files_answer, about, FLAT, NULL, .shape = &shape_about),
};
static const struct shape shape_files = SHAPE("SourceFiles", struct files_answer, files_members);

static enum metric metric_asked(const struct parameters *with)
{
	for (unsigned i = 0; with->sort && metric_words_all[i]; i++)
		if (strcmp(metric_words_all[i], with->sort) == 0)
			return (enum metric)i;
	return METRIC_PEAK;
}

static bool needs_rows(const struct parameters *with)
{
	return measure_needs_rows(metric_asked(with));
}

static struct err *check(const struct parameters *with)
{
	if (with->scan && metric_asked(with) != METRIC_RETAINED)
		return err_new(ERR_USAGE, "a leak scan is for the metric retained");
	return NULL;
}

/* NULL: no memory. */
static const char *value_text(struct arena *arena, enum metric metric, uint64_t value)
{
	char words[STR_SHORT_BYTES];

	return arena_strdup(arena, metric_is_bytes(metric) ? str_iec(words, value)
							   : str_grouped(words, value));
}

static struct err *rows_fill(const struct asked *asked, const struct source_files *files,
			     struct files_answer *answer)
{
	const enum metric metric = (enum metric)asked->sort;
	const uint64_t top = asked->with->top ? asked->with->top : UINT64_MAX;
	struct file_row *items = arena_array(asked->arena, files->count + 1, sizeof(*items));
	size_t count = 0;

	if (!items)
		return err_nomem();
	while (count < files->count && count < top) {
		const struct source_file *file = &files->items[count];
		const uint64_t total = metric_value(metric, &file->total);
		const uint64_t self = metric_value(metric, &file->self);

		if (total == 0)
			break;
		items[count] = (struct file_row) {
			.id = file->hash,
			.file = file->path,
			.total = total,
			.self = self,
			.allocations = file->total.allocated.count,
			.share = { total, answer->total },
			.total_text = value_text(asked->arena, metric, total),
			.self_text = value_text(asked->arena, metric, self),
		};
		if (!items[count].total_text || !items[count].self_text)
			return err_nomem();
		count++;
	}
	answer->files = (struct shape_rows) { .items = items, .count = count };
	return NULL;
}

static struct err *ask(const struct asked *asked, void *result)
{
	const enum metric metric = (enum metric)asked->sort;
	struct measure measure = { .metric = metric, .scan = asked->with->scan };
	struct files_answer *answer = result;
	struct source_files files;
	struct sums sums;
	struct err *err = asked_moment(asked, asked->with->at, model_totals(asked->model)->peak_ns,
				       &measure.at_ns);

	if (!err)
		err = measure_sums(asked->selection, &measure, asked->arena, &sums);
	if (!err)
		err = source_files_find(&sums, asked->names, metric, asked->limits, asked->arena,
					&files);
	if (err)
		return err;
	answer->sort = metric_words_all[metric];
	answer->total = metric_value(metric, &sums.total);
	answer->total_count = files.count;
	err = rows_fill(asked, &files, answer);
	return err ? err : about_find(asked, &answer->about);
}

const struct question question_files = {
	.name = "files",
	.summary = "source files, by what was allocated in their functions; see annotate",
	.shape = &shape_files,
	.depth = MODEL_SUMMARY,
	.takes = TAKES(at) | TAKES(scan) | TAKES(top),
	.selects = true,
	.sorts = metric_words_all,
	.sort = METRIC_PEAK,
	.check = check,
	.needs_rows = needs_rows,
	.ask = ask,
};
