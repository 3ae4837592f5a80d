/*
 * Folded stacks: a line per stack, "main;parse;read_block 4096", the outermost function first, then
 * a number. Written by memtape export, stackcollapse-*, bpftrace's scripts, jeprof --collapsed and
 * flame-graph tools. The file does not say what its numbers mean: they are taken as live bytes. A
 * name may contain blanks, so the number follows the last one.
 */
#include <inttypes.h>

#include "base/str.h"
#include "base/vec.h"
#include "convert/importer.h"
#include "convert/scan.h"

/*
 * The number at the end of a line, which starts at begin. Fractions, as in estimates, are rounded.
 * False: the line does not end in a number after a blank.
 */
static bool value_find(const char *line, size_t len, size_t *begin_ret, uint64_t *value_ret)
{
	size_t end = len, begin;
	const char *at;

	while (end > 0 && (line[end - 1] == ' ' || line[end - 1] == '\t'))
		end--;
	begin = end;
	while (begin > 0 && line[begin - 1] != ' ' && line[begin - 1] != '\t')
		begin--;
	at = line + begin;
	if (begin == 0 || !scan_number(&at, value_ret))
		return false;
	if (*at == '.' && at[1] >= '0' && at[1] <= '9') {
		*value_ret += at[1] >= '5';
		for (at++; *at >= '0' && *at <= '9';)
			at++;
	}
	*begin_ret = begin;
	return at == line + end;
}

/* The end of the stack, without the blanks before the number. */
static size_t stack_end(const char *line, size_t begin)
{
	while (begin > 0 && (line[begin - 1] == ' ' || line[begin - 1] == '\t'))
		begin--;
	return begin;
}

static bool is_text(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)line[i] < ' ' && line[i] != '\t' && line[i] != '\r')
			return false;
	}
	return true;
}

/* Matches if every complete line ends in a number. */
static enum importer_match folded_probe(const char *bytes, size_t count)
{
	size_t found = 0;

	for (size_t begin = 0; begin < count;) {
		const char *newline = memchr(bytes + begin, '\n', count - begin);
		const size_t len = (newline ? newline : bytes + count) - (bytes + begin);
		const bool is_crlf = len > 0 && bytes[begin + len - 1] == '\r';
		size_t number;
		uint64_t value;

		if (!is_text(bytes + begin, len))
			return IMPORTER_NO;
		if (!newline && count >= IMPORTER_PROBE_BYTES)
			break; /* it continues beyond the probed bytes */
		if (len > is_crlf && bytes[begin] != '#') {
			if (!value_find(bytes + begin, len - is_crlf, &number, &value))
				return IMPORTER_NO;
			found++;
		}
		begin += len + 1;
	}
	return found > 0 || count >= IMPORTER_PROBE_BYTES ? IMPORTER_MAYBE : IMPORTER_NO;
}

/* The stack "a;b;c", which is modified. Empty frames are skipped. */
static uint32_t stack_of(struct composer *composer, char *text)
{
	uint32_t stack = COMPOSE_ROOT;

	while (text) {
		const struct compose_name name = { .function = text };
		const struct compose_frame frame = { .names = &name, .name_count = 1 };
		char *end = strchr(text, ';');

		if (end)
			*end++ = 0;
		if (name.function[0])
			stack = composer_stack(composer, stack, composer_frame(composer, &frame));
		text = end;
	}
	return stack == COMPOSE_ROOT ? COMPOSE_NO_STACK : stack;
}

struct folded {
	uint64_t line_count; /* lines with a stack and a number */
	uint64_t pair_count; /* of these, with another number before it */
	uint64_t bad_count;
	uint64_t bad_line; /* the first bad line */
};

static void line_take(struct folded *folded, struct composer *composer, char *line, size_t len,
		      uint64_t number)
{
	size_t begin, before;
	uint64_t value, other;

	if (!value_find(line, len, &begin, &value)) {
		if (folded->bad_count++ == 0)
			folded->bad_line = number;
		return;
	}
	folded->line_count++;
	len = stack_end(line, begin);
	line[len] = 0;
	folded->pair_count += value_find(line, len, &before, &other) && before > 0;
	if (value > 0) {
		const struct compose_sum sum = { .allocated_bytes = value, .live_bytes = value };

		composer_sum(composer, stack_of(composer, line), &sum);
	}
}

static struct err *notes_write(const struct folded *folded, struct source *source,
			       struct composer *composer)
{
	if (folded->line_count == 0)
		return source_error(source,
				    "no line is a stack and a number, as in \"main;read 4096\"");
	if (folded->pair_count == folded->line_count)
		return source_error(source,
				    "all lines end in two numbers: these are the differences "
				    "of two profiles; convert those instead, and compare "
				    "the tapes with memtape diff");
	composer_note(composer, "the file does not name its unit; numbers are read as live bytes");
	if (folded->bad_count > 0)
		composer_note(
			composer,
			"%" PRIu64
			" lines do not end in a number and are skipped, the first is line %" PRIu64,
			folded->bad_count, folded->bad_line);
	return NULL;
}

static struct err *folded_read(struct source *source, struct composer *composer)
{
	struct folded folded = { 0 };
	char *line;
	size_t len;

	composer_missing(composer, TAPE_MISSING_TIMES | TAPE_MISSING_THREADS |
					   TAPE_MISSING_ADDRESSES | TAPE_MISSING_FREES |
					   TAPE_MISSING_USABLE | TAPE_MISSING_FREE_STACKS |
					   TAPE_MISSING_FUNCTIONS | TAPE_MISSING_PROCESS);
	while (!composer_failed(composer) && source_line(source, &line, &len)) {
		if (source_line_is_torn(source) && source_failed(source))
			break; /* some of its digits may be missing */
		if (len > 0 && line[0] != '#')
			line_take(&folded, composer, line, len, source_line_number(source));
	}
	return notes_write(&folded, source, composer);
}

const struct importer importer_folded = {
	.name = "folded",
	.title = "folded stacks: a line per stack and its bytes",
	.recipe = "memtape export folded, stackcollapse-*, jeprof --collapsed",
	.probe = folded_probe,
	.read = folded_read,
};
