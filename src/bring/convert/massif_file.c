/*
 * Trees have their innermost frames first: below the root line, one line for each allocation site,
 * below that its callers, and so on. A leaf's bytes are those of the whole path. Small sites share
 * one line, "in 7 places, all below massif's threshold (1.00%)".
 */
#include "convert/massif_file.h"

#include <assert.h>

#include "base/map.h"
#include "convert/scan.h"
#include "convert/valgrind_place.h"

enum {
	DEPTH_MAX = 1024, /* Valgrind has stacks of at most 500 frames */
	DEPTH_USUAL = 30  /* --depth */
};

struct massif_place {
	struct valgrind_place place;
	uint64_t children; /* still to come */
	bool is_rest;	   /* several sites, not listed individually */
};

static void place_destroy(struct massif_place *place)
{
	valgrind_place_deinit(&place->place);
	free(place);
}

void massif_file_deinit(struct massif_file *file)
{
	for (size_t i = 0; i < file->path.count; i++)
		place_destroy(file->path.items[i]);
	massif_place_vec_deinit(&file->path);
	massif_share_vec_deinit(&file->shares);
	str_deinit(&file->description);
}

/* --- the head --------------------------------------------------------------------------------- */

/* A line that starts with key; *value_ret is the rest. */
static bool value_next(struct massif_file *file, const char *key, const char **value_ret)
{
	char *line;
	size_t len;

	if (!source_line(file->source, &line, &len) || source_line_is_torn(file->source))
		return false;
	*value_ret = line;
	return scan_text(value_ret, key);
}

static void options_read(struct massif_file *file)
{
	const char *text = str_text(&file->description);
	const char *depth = strstr(text, "--depth=");

	file->depth_max = DEPTH_USUAL;
	if (depth) {
		depth += strlen("--depth=");
		scan_number(&depth, &file->depth_max);
	}
	file->is_pages = strstr(text, "--pages-as-heap=yes") != NULL;
}

struct err *massif_file_begin(struct massif_file *file, struct source *source,
			      struct composer *composer)
{
	const char *value;

	assert(!file->source);
	file->source = source;
	file->composer = composer;
	if (!value_next(file, "desc:", &value))
		return source_error(source, "a massif file begins with a line \"desc: ...\"");
	scan_blanks(&value);
	str_add(&file->description, value);
	if (file->description.failed)
		return err_nomem();
	options_read(file);
	if (!value_next(file, "cmd:", &value))
		return source_error(source, "the second line of a massif file is \"cmd: ...\"");
	scan_blanks(&value);
	composer_command_line(composer, value);
	if (!value_next(file, "time_unit:", &value))
		return source_error(source,
				    "the third line of a massif file is \"time_unit: ...\"");
	scan_blanks(&value);
	if (strcmp(value, "i") == 0)
		file->unit = MASSIF_INSTRUCTIONS;
	else if (strcmp(value, "ms") == 0)
		file->unit = MASSIF_MILLISECONDS;
	else if (strcmp(value, "B") == 0)
		file->unit = MASSIF_BYTES;
	else
		return source_error(source, "times are in \"%.20s\": known are i, ms and B", value);
	return NULL;
}

/* --- trees ------------------------------------------------------------------------------------ */

/* The text after the bytes of a tree line other than the first. */
static void place_read(struct massif_place *place, const char *text)
{
	place->is_rest = strncmp(text, "in ", 3) == 0 && strstr(text, " below massif's threshold");
	valgrind_place_read(&place->place, place->is_rest ? "[below massif's threshold]" : text);
}

/* The path down to `depth`, which has these bytes. */
static bool leaf_take(struct massif_file *file, size_t depth, uint64_t bytes)
{
	const bool is_cut = file->path.items[depth]->is_rest || depth >= file->depth_max;
	uint32_t stack = is_cut ? COMPOSE_TRUNCATED : COMPOSE_ROOT;

	for (size_t i = depth; i > 0; i--)
		stack = composer_stack(
			file->composer, stack,
			valgrind_place_frame(&file->path.items[i]->place, file->composer));
	if (depth == 0)
		stack = COMPOSE_NO_STACK;
	return bytes == 0 ||
	       massif_share_vec_push(&file->shares, (struct massif_share) { stack, bytes });
}

static struct massif_place *place_at(struct massif_file *file, size_t depth)
{
	if (depth == file->path.count) {
		struct massif_place *place = calloc(1, sizeof(*place));

		if (!place || !massif_place_vec_push(&file->path, place)) {
			free(place);
			return NULL;
		}
	}
	return file->path.items[depth];
}

/* Depth of the next line; 0 when the tree is complete. */
static size_t depth_next(const struct massif_file *file, size_t depth)
{
	while (depth > 0 && file->path.items[depth - 1]->children == 0)
		depth--;
	return depth;
}

/* "  n2: 10145 0x40117D: inner (t1.c:5)" with `depth` blanks. False: not such a line. */
static bool tree_line_scan(const char *line, size_t depth, uint64_t *children_ret,
			   uint64_t *bytes_ret, const char **text_ret)
{
	for (size_t i = 0; i < depth; i++) {
		if (!scan_text(&line, " "))
			return false;
	}
	if (!scan_text(&line, "n") || !scan_number(&line, children_ret) ||
	    !scan_text(&line, ": ") || !scan_number(&line, bytes_ret) || !scan_text(&line, " "))
		return false;
	*text_ret = line;
	return true;
}

static bool tree_bad(struct massif_file *file, const char *what)
{
	source_torn(file->source, file->composer, "%s", what);
	file->shares.count = 0;
	return false;
}

static bool tree_read(struct massif_file *file, struct err **err_ret)
{
	size_t depth = 0;

	file->shares.count = 0;
	do {
		struct massif_place *place = place_at(file, depth);
		const char *text;
		uint64_t bytes;
		size_t len;
		char *line;

		if (!place)
			goto nomem;
		if (!source_line(file->source, &line, &len) || source_line_is_torn(file->source))
			return tree_bad(file, "the file ends within the tree of a snapshot");
		if (depth > DEPTH_MAX)
			return tree_bad(file, "a tree is deeper than any that Valgrind writes");
		if (!tree_line_scan(line, depth, &place->children, &bytes, &text))
			return tree_bad(file, "not a line of the tree that began before, as in "
					      "\"n1: 1000 0x4011B6: main (x.c:5)\" behind a blank "
					      "for each step down");
		place_read(place, text);
		if (valgrind_place_failed(&place->place))
			goto nomem;
		if (place->children == 0 && !leaf_take(file, depth, bytes))
			goto nomem;
		if (depth > 0)
			file->path.items[depth - 1]->children--;
		depth = place->children > 0 ? depth + 1 : depth_next(file, depth);
	} while (depth > 0 && !composer_failed(file->composer));
	return true;
nomem:
	*err_ret = err_nomem();
	return false;
}

/* --- snapshots -------------------------------------------------------------------------------- */

/* "#-----------" between the parts of the file, "snapshot=" and the number. False: the end. */
static bool snapshot_find(struct massif_file *file, uint64_t *number_ret)
{
	char *line;
	size_t len;

	while (source_line(file->source, &line, &len)) {
		const char *at = line;

		if (len == 0 || line[0] == '#')
			continue;
		if (scan_text(&at, "snapshot=") && scan_number(&at, number_ret) && !*at)
			return true;
		source_torn(file->source, file->composer, "expected \"snapshot=\" and its number");
		return false;
	}
	return false;
}

static bool number_read(struct massif_file *file, const char *key, uint64_t *value_ret)
{
	const char *value;

	if (value_next(file, key, &value) && scan_number(&value, value_ret) && !*value)
		return true;
	source_torn(file->source, file->composer, "expected a line \"%s\" and a number", key);
	return false;
}

static bool numbers_read(struct massif_file *file, struct massif_snapshot *snapshot)
{
	const char *rest;

	if (!value_next(file, "#", &rest)) {
		source_torn(file->source, file->composer, "expected a line of \"#---\"");
		return false;
	}
	return number_read(file, "time=", &snapshot->time) &&
	       number_read(file, "mem_heap_B=", &snapshot->heap_bytes) &&
	       number_read(file, "mem_heap_extra_B=", &snapshot->extra_bytes) &&
	       number_read(file, "mem_stacks_B=", &snapshot->stacks_bytes);
}

bool massif_file_next(struct massif_file *file, struct massif_snapshot *snapshot_ret,
		      struct err **err_ret)
{
	struct massif_snapshot snapshot = { 0 };
	const char *kind;

	assert(file->source && file->composer);
	if (!snapshot_find(file, &snapshot.number) || !numbers_read(file, &snapshot))
		return false;
	if (!value_next(file, "heap_tree=", &kind)) {
		source_torn(file->source, file->composer, "expected a line \"heap_tree=\"");
		return false;
	}
	snapshot.has_tree = strcmp(kind, "empty") != 0;
	file->shares.count = 0;
	if (snapshot.has_tree && !tree_read(file, err_ret))
		return false;
	massif_shares_sort(&file->shares);
	*snapshot_ret = snapshot;
	return true;
}

const char *massif_file_kind(const struct massif_file *file)
{
	return file->path.count ? str_text(&file->path.items[0]->place.function) : "";
}

static int share_order(const void *a, const void *b)
{
	const struct massif_share *left = a, *right = b;

	return (left->stack > right->stack) - (left->stack < right->stack);
}

void massif_shares_sort(struct massif_share_vec *shares)
{
	size_t count = 0;

	assert(shares->items || shares->count == 0);
	if (shares->count == 0)
		return;
	qsort(shares->items, shares->count, sizeof(*shares->items), share_order);
	for (size_t i = 0; i < shares->count; i++) {
		if (count > 0 && shares->items[count - 1].stack == shares->items[i].stack)
			shares->items[count - 1].bytes += shares->items[i].bytes;
		else
			shares->items[count++] = shares->items[i];
	}
	shares->count = count;
}
