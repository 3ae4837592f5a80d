#include "questions/annotate.h"

#include "answer/line_columns.h"
#include "base/sort.h"
#include "questions/questions.h"
#include "sums/sites.h"

#define SUM(key, sum, kind, doc) MEMBER_AS(key, struct annotated_line, line.sum, kind, doc)

static const struct member line_members[] = {
	MEMBER_AS("line", struct annotated_line, number, PLAIN, "from 1"),
	MEMBER(struct annotated_line, function, TEXT, "one that the line is in"),
	SUM("allocated_bytes", total.allocated.bytes, BYTES, "while the line was on the stack"),
	SUM("allocated_count", total.allocated.count, COUNT, "allocations"),
	SUM("peak_bytes", total.peak.bytes, BYTES, "of these, alive at the peak"),
	SUM("peak_count", total.peak.count, COUNT, "blocks alive at the peak"),
	SUM("leaked_bytes", total.leaked.bytes, BYTES, "never freed, and not suppressed"),
	SUM("leaked_count", total.leaked.count, COUNT, "blocks never freed, and not suppressed"),
	SUM("temporary_count", total.temporary.count, COUNT,
	    "freed before their thread allocated again"),
	SUM("freed_bytes", freed.bytes, BYTES, "while the line was on the stack"),
	SUM("freed_count", freed.count, COUNT, "blocks"),
	SUM("self_bytes", self.allocated.bytes, BYTES, "allocated by the line itself"),
	SUM("self_count", self.allocated.count, COUNT, "allocations"),
	MEMBER(struct annotated_line, text, TEXT, "of the source", .nullable = true),
};
static const struct shape shape_line = SHAPE("AnnotatedLine", struct annotated_line, line_members);

static const struct member annotation_members[] = {
	MEMBER(struct annotation, file, TEXT, "as the debug information has it"),
	MEMBER_AS("source", struct annotation, source_path, TEXT, "where it was found",
		  .nullable = true),
	MEMBER(struct annotation, source_is_newer, FLAG,
	       "than the recording: lines may have moved"),
	MEMBER(struct annotation, lines, ROWS, "those with something", .shape = &shape_line),
	MEMBER(struct annotation, about, FLAT, NULL, .shape = &shape_about),
};
static const struct shape shape_annotation =
	SHAPE("Annotation", struct annotation, annotation_members);

static struct err *check(const struct parameters *with)
{
	struct line_columns chosen;

	return line_columns_choose(with->columns, &chosen);
}

/* Keeps the lines with the highest sort values, in line order. */
static struct err *lines_cut(const struct asked *asked, struct lines *lines)
{
	const uint64_t top = asked->with->top;
	CLEAN(free) struct sort_pair *order = calloc(lines->count + 1, sizeof(*order));
	size_t kept = 0;

	if (top == 0 || top >= lines->count)
		return NULL;
	for (size_t i = 0; order && i < lines->count; i++)
		order[i] = (struct sort_pair) {
			~metric_value((enum metric)asked->sort, &lines->items[i].total), (uint32_t)i
		};
	if (!order || !sort_pairs(order, lines->count))
		return err_nomem();
	for (size_t i = top; i < lines->count; i++)
		lines->items[order[i].index].line = 0;
	for (size_t i = 0; i < lines->count; i++) {
		if (lines->items[i].line > 0)
			lines->items[kept++] = lines->items[i];
	}
	lines->count = kept;
	return NULL;
}

static struct err *rows_fill(const struct asked *asked, const struct lines *lines,
			     struct annotation *answer)
{
	struct annotated_line *items = arena_array(asked->arena, lines->count + 1, sizeof(*items));
	const struct source *source = &answer->source;

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < lines->count; i++) {
		const struct line *line = &lines->items[i];

		items[i] = (struct annotated_line) {
			.number = line->line,
			.function = names_get(asked->names, line->name)->function,
			.line = *line,
			.text = line->line <= source->count ? source->lines[line->line - 1] : NULL,
		};
	}
	answer->lines = (struct shape_rows) { .items = items, .count = lines->count };
	return NULL;
}

/* The file of the line that allocated the most, of what the user calls own code first. */
static struct err *hottest_find(const struct asked *asked, const char **file_ret)
{
	const struct site *const *ranked;
	struct sites sites;
	size_t count = 0;
	struct err *err = sites_find(&asked->selection->sums, asked->names, asked->mode,
				     asked->arena, &sites);

	if (!err)
		err = sites_rank(&sites, (enum metric)asked->sort, 0, asked->arena, &ranked,
				 &count);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		struct walk walk = walk_begin(asked->model, asked->names,
					      ranked[i]->stacks[asked->sort], asked->mode);
		const struct name_frame *frame = walk_next(&walk);

		if (frame && frame->file && frame->line > 0) {
			*file_ret = frame->file;
			return NULL;
		}
	}
	return err_new(ERR_NOT_FOUND, "no allocation has a source line; line numbers need debug "
				      "information (gcc -g, or the package with debug symbols)");
}

static struct err *ask(const struct asked *asked, void *result)
{
	static const struct source_opener any;
	const char *wanted = asked->with->file;
	CLEAN(str_deinit) struct str tried = { 0 };
	struct annotation *answer = result;
	struct lines lines;
	struct err *err = wanted ? NULL : hottest_find(asked, &wanted);

	if (!err)
		err = lines_find(&asked->selection->sums, asked->selection, asked->names,
				 asked->mode, wanted, asked->arena, &lines);
	if (!err)
		err = source_read(asked->model, lines.file, wanted,
				  asked->source_opener ? asked->source_opener : &any, asked->arena,
				  &tried, &answer->source);
	if (!err)
		err = lines_cut(asked, &lines);
	if (!err)
		err = rows_fill(asked, &lines, answer);
	if (err)
		return err;
	answer->file = lines.file;
	answer->source_path = answer->source.path;
	answer->source_is_newer = answer->source.is_newer;
	answer->tried = arena_strdup(asked->arena, str_text(&tried));
	return answer->tried ? about_find(asked, &answer->about) : err_nomem();
}

const struct question question_annotate = {
	.name = "annotate",
	.summary =
		"a source FILE (default: the hottest) with what its lines allocated in the margin",
	.shape = &shape_annotation,
	.depth = MODEL_FULL,
	.optional = TAKES(file),
	.takes = TAKES(file) | TAKES(columns) | TAKES(whole_file) | TAKES(top),
	.selects = true,
	.sorts = metric_words,
	.sort = METRIC_ALLOCATED,
	.check = check,
	.ask = ask,
};
