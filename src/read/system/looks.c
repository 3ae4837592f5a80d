#include "system/looks.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

enum { PATH_BYTES_MAX = 4096, PAGE_BYTES_MAX = 1 << 30, ERRNO_MAX = 4095 };

static const char *const MAGIC = "memtape triage 1";

/* --- asking ----------------------------------------------------------------------------------- */

const struct look_file *look_file_find(const struct look *look, const char *path)
{
	assert(path);
	for (size_t i = 0; i < look->file_count; i++)
		if (strcmp(look->files[i].path, path) == 0)
			return &look->files[i];
	return NULL;
}

const char *look_text(const struct look *look, const char *path)
{
	const struct look_file *file = look_file_find(look, path);

	return file ? file->text : NULL;
}

const char *look_text_of(const struct look *look, const char *fmt, ...)
{
	char path[PATH_BYTES_MAX];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	return len > 0 && (size_t)len < sizeof(path) ? look_text(look, path) : NULL;
}

/* --- writing ---------------------------------------------------------------------------------- */

void looks_write_begin(const struct looks *looks, struct str *out)
{
	str_printf(out, "%s\npage %llu\n", MAGIC, (unsigned long long)looks->page_bytes);
	if (looks->subject)
		str_printf(out, "subject %llu\n", (unsigned long long)looks->subject);
}

static void file_write(const struct look_file *file, struct str *out)
{
	if (!file->text) {
		str_printf(out, "error %d %s\n", file->error, file->path);
		return;
	}
	str_printf(out, "file %s\n", file->path);
	for (const char *line = file->text; *line;) {
		const size_t len = strcspn(line, "\n");

		str_add_char(out, '\t');
		str_add_bytes(out, line, len);
		str_add_char(out, '\n');
		line += len + (line[len] == '\n');
	}
}

void look_write(const struct look *look, struct str *out)
{
	str_printf(out, "look %llu %llu\n", (unsigned long long)look->realtime_ns,
		   (unsigned long long)look->monotonic_ns);
	if (look->process_count != SYSTEM_UNKNOWN)
		str_printf(out, "processes %llu\n", (unsigned long long)look->process_count);
	for (size_t i = 0; i < look->file_count; i++)
		file_write(&look->files[i], out);
}

/* --- parsing ---------------------------------------------------------------------------------- */

/* The text being parsed, a line at a time; and what has been found. */
struct parser {
	const char *at, *end; /* the lines that are left */
	const char *line;     /* this one, without its end */
	size_t len, number;
	struct arena *arena;
	struct looks looks;
	struct look_vec items;
	struct look_files files; /* of the last look */
};

static void parser_deinit(struct parser *parser)
{
	look_vec_deinit(&parser->items);
	look_files_deinit(&parser->files);
}

CLEAN_DEFINE_DEINIT(parser_deinit, struct parser);

static bool line_next(struct parser *parser)
{
	const char *newline;

	if (parser->at == parser->end)
		return false;
	newline = memchr(parser->at, '\n', (size_t)(parser->end - parser->at));
	parser->line = parser->at;
	parser->len = (size_t)((newline ? newline : parser->end) - parser->at);
	parser->at = newline ? newline + 1 : parser->end;
	parser->number++;
	return true;
}

static struct err *wrong(const struct parser *parser, const char *what)
{
	return err_new(ERR_FORMAT, "line %zu: %s", parser->number, what);
}

/* What is behind "word "; NULL: the line begins with another word. In the arena. */
static const char *behind(struct parser *parser, const char *word)
{
	const size_t len = strlen(word);

	if (parser->len < len + 2 || memcmp(parser->line, word, len) != 0 ||
	    parser->line[len] != ' ')
		return NULL;
	return arena_text(parser->arena, parser->line + len + 1, parser->len - len - 1);
}

/* Digits at *at, and what follows: a blank if there is more. False: there are none, or too many. */
static bool number_take(const char **at, uint64_t *value_ret)
{
	char digits[STR_SHORT_BYTES];
	const size_t len = strspn(*at, "0123456789");

	if (len == 0 || len >= sizeof(digits) || ((*at)[len] && (*at)[len] != ' '))
		return false;
	memcpy(digits, *at, len);
	digits[len] = '\0';
	*at += len + ((*at)[len] == ' ');
	return str_parse_u64(digits, value_ret);
}

static struct err *number_parse(const struct parser *parser, const char *rest, uint64_t most,
				uint64_t *value_ret)
{
	uint64_t value;

	if (!number_take(&rest, &value) || *rest || value == 0 || value > most)
		return wrong(parser, "the number is missing or out of range");
	*value_ret = value;
	return NULL;
}

/* The files of a look are known when the next one begins. */
static struct err *files_settle(struct parser *parser)
{
	struct look *last =
		parser->items.count ? &parser->items.items[parser->items.count - 1] : NULL;
	struct look_file *files;

	if (!last)
		return NULL;
	files = arena_array(parser->arena, parser->files.count, sizeof(*files));
	if (!files)
		return err_nomem();
	if (parser->files.count > 0)
		memcpy(files, parser->files.items, parser->files.count * sizeof(*files));
	last->files = files;
	last->file_count = parser->files.count;
	parser->files.count = 0;
	return NULL;
}

static struct err *look_parse(struct parser *parser, const char *rest)
{
	struct look look = { .process_count = SYSTEM_UNKNOWN };
	const struct look *last =
		parser->items.count ? &parser->items.items[parser->items.count - 1] : NULL;
	struct err *err;

	if (!number_take(&rest, &look.realtime_ns) || !number_take(&rest, &look.monotonic_ns) ||
	    *rest)
		return wrong(parser, "expected: look NANOSECONDS NANOSECONDS");
	if (last && look.monotonic_ns <= last->monotonic_ns)
		return wrong(parser, "this look is not after the one before it");
	err = files_settle(parser);
	if (err)
		return err;
	return look_vec_push(&parser->items, look) ? NULL : err_nomem();
}

/* The lines behind tabs that follow, without the tabs. In the arena. */
static const char *text_take(struct parser *parser)
{
	const char *const begin = parser->at;
	const char *end = begin;
	char *text, *to;

	while (end < parser->end && *end == '\t') {
		const char *newline = memchr(end, '\n', (size_t)(parser->end - end));

		end = newline ? newline + 1 : parser->end;
	}
	text = to = arena_alloc(parser->arena, (size_t)(end - begin) + 1);
	while (text && parser->at < end && line_next(parser)) {
		memcpy(to, parser->line + 1, parser->len - 1);
		to += parser->len - 1;
		*to++ = '\n';
	}
	return text;
}

static struct err *file_parse(struct parser *parser, const char *rest, bool is_error)
{
	struct look_file file = { 0 };
	uint64_t number = 0;

	if (parser->items.count == 0)
		return wrong(parser, "a file before the first look");
	if (is_error && (!number_take(&rest, &number) || number == 0 || number > ERRNO_MAX))
		return wrong(parser, "expected: error NUMBER PATH");
	if (*rest != '/' || strlen(rest) >= PATH_BYTES_MAX)
		return wrong(parser, "the file has no path");
	file.path = rest;
	file.error = (int)number;
	file.text = is_error ? NULL : text_take(parser);
	if (!is_error && !file.text)
		return err_nomem();
	return look_files_push(&parser->files, file) ? NULL : err_nomem();
}

static struct err *line_parse(struct parser *parser)
{
	const char *rest;

	rest = behind(parser, "file");
	if (rest)
		return file_parse(parser, rest, false);
	rest = behind(parser, "error");
	if (rest)
		return file_parse(parser, rest, true);
	rest = behind(parser, "look");
	if (rest)
		return look_parse(parser, rest);
	rest = behind(parser, "page");
	if (rest)
		return number_parse(parser, rest, PAGE_BYTES_MAX, &parser->looks.page_bytes);
	rest = behind(parser, "subject");
	if (rest)
		return number_parse(parser, rest, INT32_MAX, &parser->looks.subject);
	rest = behind(parser, "processes");
	if (rest && parser->items.count > 0)
		return number_parse(parser, rest, INT32_MAX,
				    &parser->items.items[parser->items.count - 1].process_count);
	return wrong(parser, "expected one of page, subject, look, processes, file, error");
}

struct err *looks_parse(const char *text, size_t len, struct arena *arena, struct looks *looks_ret)
{
	CLEAN(parser_deinit)
	struct parser parser = { .at = text, .end = text + len, .arena = arena };
	struct err *err = NULL;

	assert(!text[len]);
	if (memchr(text, '\0', len))
		return err_new(ERR_FORMAT, "it has a NUL in it: this is no recording of memtape "
					   "triage");
	if (!line_next(&parser) || parser.len != strlen(MAGIC) ||
	    memcmp(parser.line, MAGIC, parser.len) != 0)
		return err_new(ERR_FORMAT,
			       "line 1: expected \"%s\": this is no recording of memtape "
			       "triage, or of a newer one",
			       MAGIC);
	while (!err && line_next(&parser))
		if (parser.len > 0)
			err = line_parse(&parser);
	if (!err)
		err = files_settle(&parser);
	if (!err && (parser.items.count == 0 || parser.looks.page_bytes == 0))
		err = err_new(ERR_FORMAT, "there is no %s in it",
			      parser.looks.page_bytes ? "look" : "page");
	if (err)
		return err;
	parser.looks.count = parser.items.count;
	parser.looks.items = arena_array(arena, parser.items.count, sizeof(*parser.items.items));
	if (!parser.looks.items)
		return err_nomem();
	memcpy(parser.looks.items, parser.items.items,
	       parser.items.count * sizeof(*parser.items.items));
	*looks_ret = parser.looks;
	return NULL;
}
