/*
 * Execution trees of Valgrind's tools in callgrind's format: live and total allocations
 * (--xtree-memory), or leaks (--xtree-leak). Such a file has one chain of calls for each stack,
 * outermost first, with its costs at every step; the last step's are those of the stack.
 */
#include <inttypes.h>

#include "convert/scan.h"
#include "convert/xtree.h"

enum { COLUMNS_MAX = 64 };

enum column {
	COLUMN_NONE,
	COLUMN_CUR_BYTES,
	COLUMN_CUR_BLOCKS,
	COLUMN_ALL_BYTES,
	COLUMN_ALL_BLOCKS,
	COLUMN_LEAK_BYTES, /* of one kind of leak; each block is in one */
	COLUMN_LEAK_BLOCKS,
	COLUMN_LEAK_COUNTED, /* bytes of blocks reachable through others, included in IB, too */
	COLUMN_KINDS
};

struct callgrind {
	struct source *source;
	struct composer *composer;
	struct interner texts;
	struct map files; /* number -> text */
	struct map functions;
	enum column columns[COLUMNS_MAX];
	size_t column_count;
	bool is_leak;
	uint64_t totals[COLUMNS_MAX]; /* of all stacks */
	uint64_t told[COLUMNS_MAX];   /* from the file's last line */
	bool has_totals;
	/* the current chain */
	uint32_t stack; /* of all frames but the last */
	uint32_t file;	/* text; UINT32_MAX: unknown */
	uint32_t function;
	uint64_t depth;
	bool has_frame; /* the last one, whose line has not been read yet */
	bool is_call;	/* the next costs belong to a call */
	struct xtree_rows rows;
	uint64_t bad_count;
	uint64_t bad_line;
	bool no_memory;
};

static const uint32_t NO_TEXT = UINT32_MAX;

static void callgrind_deinit(struct callgrind *file)
{
	interner_deinit(&file->texts);
	map_deinit(&file->files);
	map_deinit(&file->functions);
	xtree_rows_deinit(&file->rows);
}

CLEAN_DEFINE_DEINIT(callgrind_deinit, struct callgrind);

/* --- the head --------------------------------------------------------------------------------- */

static enum column column_of(const char *word, size_t len)
{
	static const struct {
		const char *word;
		enum column column;
	} words[] = {
		{ "curB", COLUMN_CUR_BYTES },	{ "curBk", COLUMN_CUR_BLOCKS },
		{ "totB", COLUMN_ALL_BYTES },	{ "totBk", COLUMN_ALL_BLOCKS },
		{ "RB", COLUMN_LEAK_BYTES },	{ "PB", COLUMN_LEAK_BYTES },
		{ "IB", COLUMN_LEAK_BYTES },	{ "DB", COLUMN_LEAK_BYTES },
		{ "DIB", COLUMN_LEAK_COUNTED }, { "RBk", COLUMN_LEAK_BLOCKS },
		{ "PBk", COLUMN_LEAK_BLOCKS },	{ "IBk", COLUMN_LEAK_BLOCKS },
		{ "DBk", COLUMN_LEAK_BLOCKS },
	};

	for (size_t i = 0; i < array_size(words); i++)
		if (strlen(words[i].word) == len && memcmp(words[i].word, word, len) == 0)
			return words[i].column;
	return COLUMN_NONE;
}

static void columns_read(struct callgrind *file, const char *at)
{
	for (scan_blanks(&at); *at && file->column_count < COLUMNS_MAX; scan_blanks(&at)) {
		const size_t len = strcspn(at, " \t");
		const enum column column = column_of(at, len);

		file->columns[file->column_count++] = column;
		file->is_leak |= column == COLUMN_LEAK_BYTES;
		at += len;
	}
}

/* The last line of the head lists the columns. */
static struct err *head_read(struct callgrind *file)
{
	uint64_t has = 0;
	char *line;
	size_t len;

	while (file->column_count == 0 && source_line(file->source, &line, &len)) {
		const char *at = line;

		if (scan_text(&at, "cmd:")) {
			scan_blanks(&at);
			composer_command_line(file->composer, at);
		} else if (scan_text(&at, "creator:")) {
			scan_blanks(&at);
			if (strncmp(at, "xtree", 5) != 0)
				return source_error(
					file->source,
					"a callgrind file by \"%.40s\": of that form execution "
					"trees can be read (valgrind --xtree-memory=full)",
					at);
		} else if (scan_text(&at, "events:")) {
			columns_read(file, at);
		}
	}
	for (size_t i = 0; i < file->column_count; i++)
		has |= UINT64_C(1) << file->columns[i];
	if (!(has & (UINT64_C(1) << COLUMN_CUR_BYTES | UINT64_C(1) << COLUMN_LEAK_BYTES)))
		return source_error(file->source,
				    "the file counts no memory: of execution trees those of "
				    "--xtree-memory and --xtree-leak can be read");
	return NULL;
}

/* --- chains ----------------------------------------------------------------------------------- */

/* "(3) take" defines number 3, "(3)" refers to it. False: it is neither. */
static bool name_read(struct callgrind *file, struct map *names, const char *at, uint32_t *text_ret)
{
	uint64_t number, *place;

	if (!scan_text(&at, "(") || !scan_number(&at, &number) || !scan_text(&at, ")"))
		return false;
	scan_blanks(&at);
	if (*at) {
		const uint32_t text = interner_put(&file->texts, at, strlen(at));

		place = text == NO_TEXT ? NULL : map_put(names, number, NULL);
		if (!place) {
			file->no_memory = true;
			return false;
		}
		*place = text;
	}
	place = map_find(names, number);
	if (place)
		*text_ret = (uint32_t)*place;
	return place != NULL;
}

static const char *name_of(const struct callgrind *file, uint32_t text, const char *unknown)
{
	const char *name;

	if (text == NO_TEXT)
		return unknown;
	name = file->texts.texts[text];
	return strncmp(name, "Unknown", 7) == 0 && strstr(name, "???") ? unknown : name;
}

/* Adds the last frame, whose line is now known, to the stack. */
static void frame_end(struct callgrind *file, uint64_t line)
{
	const struct compose_name name = {
		.function = name_of(file, file->function, "???"),
		.file = name_of(file, file->file, NULL),
		.line = (uint32_t)u64_min(line, UINT32_MAX),
	};
	const struct compose_frame frame = { .names = &name, .name_count = 1 };

	if (!file->has_frame || file->depth >= COMPOSE_DEPTH_MAX)
		return;
	file->has_frame = false;
	file->depth++;
	file->stack =
		composer_stack(file->composer, file->stack, composer_frame(file->composer, &frame));
}

static void sums_add(struct callgrind *file, const uint64_t *costs, uint32_t stack)
{
	uint64_t sums[XTREE_KINDS] = { 0 };

	for (size_t i = 0; i < file->column_count; i++) {
		const enum xtree_kind kinds[COLUMN_KINDS] = {
			[COLUMN_CUR_BYTES] = XTREE_LIVE_BYTES,
			[COLUMN_CUR_BLOCKS] = XTREE_LIVE_BLOCKS,
			[COLUMN_ALL_BYTES] = XTREE_ALL_BYTES,
			[COLUMN_ALL_BLOCKS] = XTREE_ALL_BLOCKS,
			[COLUMN_LEAK_BYTES] = XTREE_LIVE_BYTES,
			[COLUMN_LEAK_BLOCKS] = XTREE_LIVE_BLOCKS,
		};

		file->totals[i] += costs[i];
		if (file->columns[i] == COLUMN_LEAK_COUNTED)
			sums[XTREE_LIVE_BYTES] -= u64_min(costs[i], sums[XTREE_LIVE_BYTES]);
		else if (file->columns[i] != COLUMN_NONE)
			sums[kinds[file->columns[i]]] += costs[i];
	}
	for (size_t i = 0; i < XTREE_KINDS; i++)
		if (sums[i] && !xtree_rows_add(&file->rows, stack, (enum xtree_kind)i, sums[i]))
			file->no_memory = true;
}

/* "21", "21 90030 30 90030 30 0 0"; trailing zeros may be omitted */
static bool costs_read(struct callgrind *file, const char *at)
{
	uint64_t costs[COLUMNS_MAX] = { 0 }, line;
	const uint32_t caller = file->stack;
	size_t count = 0;
	bool is_unknown;

	if (!scan_number(&at, &line))
		return false;
	for (scan_blanks(&at); *at && count < file->column_count; scan_blanks(&at))
		if (!scan_number(&at, &costs[count++]))
			return false;
	if (*at)
		return false;
	if (file->is_call) {
		file->is_call = false;
		return true;
	}
	is_unknown = !name_of(file, file->function, NULL);
	frame_end(file, line);
	if (count == 0)
		return true;
	/* in leaks the innermost is Valgrind's malloc, which has no name there */
	sums_add(file, costs, file->is_leak && is_unknown ? caller : file->stack);
	file->stack = COMPOSE_ROOT;
	file->depth = 0;
	return true;
}

static void totals_read(struct callgrind *file, const char *at)
{
	size_t count = 0;

	for (scan_blanks(&at); *at && count < file->column_count; scan_blanks(&at))
		if (!scan_number(&at, &file->told[count++]))
			return;
	file->has_totals = true;
}

static bool line_read(struct callgrind *file, const char *at)
{
	uint32_t other;

	if (*at >= '0' && *at <= '9')
		return costs_read(file, at);
	if (scan_text(&at, "fn=")) {
		file->has_frame = true;
		file->is_call = false;
		return name_read(file, &file->functions, at, &file->function);
	}
	if (scan_text(&at, "fl="))
		return name_read(file, &file->files, at, &file->file);
	if (scan_text(&at, "cfi=") || scan_text(&at, "cfl="))
		return name_read(file, &file->files, at, &other);
	if (scan_text(&at, "cfn="))
		return name_read(file, &file->functions, at, &other);
	if (scan_text(&at, "calls=")) {
		file->is_call = true;
		return true;
	}
	if (scan_text(&at, "totals:"))
		totals_read(file, at);
	else if (*at == '\0')
		file->stack = COMPOSE_ROOT, file->depth = 0;
	else
		return false;
	return true;
}

/* --- notes ------------------------------------------------------------------------------------ */

static void leaks_tell(const struct callgrind *file)
{
	composer_missing(file->composer, TAPE_MISSING_FREED);
	composer_note(
		file->composer,
		"a report of leaks: what was alive at the end, and nothing of what was freed");
}

static void rest_tell(const struct callgrind *file)
{
	bool is_whole = file->has_totals;

	for (size_t i = 0; i < file->column_count; i++)
		is_whole = is_whole && file->totals[i] == file->told[i];
	if (!file->has_totals)
		source_torn(file->source, file->composer,
			    "the file ends before its totals: the stacks that follow are not here");
	else if (!is_whole)
		composer_note(file->composer, "the stacks do not add up to the file's own totals");
	if (file->bad_count > 0)
		composer_note(
			file->composer,
			"%" PRIu64
			" lines could not be parsed and are skipped, the first is line %" PRIu64,
			file->bad_count, file->bad_line);
}

static void facts_write(const struct callgrind *file)
{
	bool has[XTREE_FREED + 1] = { false };

	for (size_t i = 0; i < file->column_count; i++) {
		has[XTREE_ALL_BYTES] |= file->columns[i] == COLUMN_ALL_BYTES || file->is_leak;
		has[XTREE_ALL_BLOCKS] |= file->columns[i] == COLUMN_ALL_BLOCKS || file->is_leak;
	}
	xtree_facts_write(file->composer, has);
	if (file->is_leak)
		leaks_tell(file);
	rest_tell(file);
}

struct err *xtree_callgrind_read(struct source *source, struct composer *composer)
{
	CLEAN(callgrind_deinit)
	struct callgrind file = {
		.source = source,
		.composer = composer,
		.stack = COMPOSE_ROOT,
		.file = NO_TEXT,
		.function = NO_TEXT,
	};
	struct err *err = head_read(&file);
	char *line;
	size_t len;

	if (err)
		return err;
	while (!file.no_memory && !composer_failed(composer) && source_line(source, &line, &len)) {
		if (source_line_is_torn(source))
			break;
		if (line_read(&file, line))
			continue;
		if (file.bad_count++ == 0)
			file.bad_line = source_line_number(source);
	}
	if (file.no_memory)
		return err_nomem();
	facts_write(&file);
	xtree_rows_write(&file.rows, composer);
	return NULL;
}
