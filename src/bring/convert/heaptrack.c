/*
 * heaptrack: its interpreted files (heaptrack PROGRAM), and raw ones (heaptrack --raw, or what its
 * library writes by itself), versions 1 to 3. Lines have a letter and hexadecimal numbers; strings,
 * addresses, traces and kinds of allocations are numbered in order of appearance.
 *
 * A raw file has the address of every block, and code addresses that are looked up when the tape is
 * read, as for any tape. An interpreted one has names, and for a free only the size of the block
 * and its allocation stack: if several match, the youngest is taken.
 */
#include "convert/heaptrack.h"

enum {
	VERSION_MAX = 3,
	VERSION_LENGTHS = 3, /* from this version on strings have a length prefix */
	NS_PER_MS = 1000000,
	PAGE_BYTES_MAX = 1 << 24
};

/* Joins the lines of a string that contains newlines. */
static bool text_go_on(struct heaptrack *heaptrack, const char *begin, uint64_t bytes)
{
	struct str *text = &heaptrack->text;
	char *line;
	size_t len;

	str_clear(text);
	str_add(text, begin);
	while (text->len < bytes) {
		if (!source_line(heaptrack->source, &line, &len))
			return false;
		str_add_char(text, '\n');
		str_add_bytes(text, line, len);
	}
	return !text->failed;
}

bool heaptrack_text(struct heaptrack *heaptrack, struct hex_words *words, const char **text_ret)
{
	uint64_t bytes = 0;

	if (heaptrack->version < VERSION_LENGTHS) {
		*text_ret = words->at + (*words->at == ' ');
		words->at += strlen(words->at);
		return true;
	}
	if (!hex_next(words, &bytes) || bytes > SOURCE_LINE_MAX || *words->at != ' ')
		return false;
	words->at++;
	if (strlen(words->at) < bytes) {
		if (!text_go_on(heaptrack, words->at, bytes))
			return false;
		words->at = str_text(&heaptrack->text);
	}
	*text_ret = arena_text(&heaptrack->arena, words->at, bytes);
	words->at += bytes;
	return *text_ret != NULL;
}

/* --- lines of both kinds ---------------------------------------------------------------------- */

static void take_usage(struct heaptrack *heaptrack, uint64_t pages)
{
	struct tape_usage usage;
	uint64_t bytes;

	if (heaptrack->page_bytes == 0 ||
	    __builtin_mul_overflow(pages, heaptrack->page_bytes, &bytes))
		return;
	memset(&usage, 0xff, sizeof(usage)); /* unknown */
	usage.rss_bytes = bytes;
	composer_usage(heaptrack->composer, &usage);
}

/* False: not one of these. */
static bool common_line(struct heaptrack *heaptrack, char letter, struct hex_words words)
{
	uint64_t value = 0;

	switch (letter) {
	case 'X':
		composer_command_line(heaptrack->composer, words.at + (*words.at == ' '));
		return true;
	case 'I':
		if (hex_next(&words, &value) && value <= PAGE_BYTES_MAX)
			heaptrack->page_bytes = value;
		return true;
	case 'c':
		if (hex_next(&words, &value))
			composer_time(heaptrack->composer,
				      u64_min(value, UINT64_MAX / 4 / NS_PER_MS) * NS_PER_MS);
		return true;
	case 'R':
		if (hex_next(&words, &value))
			take_usage(heaptrack, value);
		return true;
	case 'A':
		composer_note(heaptrack->composer, "heaptrack was attached to the running program: "
						   "what it had allocated before is not known");
		return true;
	case 'v':
	case 'S':
	case '#':
	case '\0':
		return true;
	default:
		return false;
	}
}

/* Each kind has distinctive letters, which come before events. */
static void tell_kind(struct heaptrack *heaptrack, char letter)
{
	const bool is_raw = letter == 'x' || letter == 'm';

	if (heaptrack->is_known || (!is_raw && !strchr("sia", letter)))
		return;
	heaptrack->is_known = true;
	heaptrack->is_raw = is_raw;
	composer_missing(heaptrack->composer,
			 TAPE_MISSING_USABLE | TAPE_MISSING_FREE_STACKS | TAPE_MISSING_FUNCTIONS |
				 (is_raw ? 0 : TAPE_MISSING_ADDRESSES | TAPE_MISSING_LIFETIMES));
}

static bool take_line(struct heaptrack *heaptrack, const char *line, const char **why)
{
	const struct hex_words words = { line + (*line != '\0') };

	*why = "it is not one that heaptrack writes";
	if (common_line(heaptrack, *line, words))
		return true;
	if (!strchr("xmsita+-", *line)) {
		heaptrack->unknown_lines++;
		return true;
	}
	tell_kind(heaptrack, *line);
	return heaptrack->is_raw ? heaptrack_raw_line(heaptrack, *line, words, why)
				 : heaptrack_interpreted_line(heaptrack, *line, words, why);
}

/* --- the file --------------------------------------------------------------------------------- */

static struct err *take_version(struct heaptrack *heaptrack)
{
	CLEAN(str_deinit) struct str tool = { 0 };
	struct hex_words words;
	uint64_t by = 0;
	char *line;
	size_t len;

	heaptrack->version = 1;
	if (!source_line(heaptrack->source, &line, &len))
		return source_error(heaptrack->source, "the file is empty");
	words.at = line + 1;
	if (*line != 'v' || !hex_next(&words, &by))
		return source_error(heaptrack->source,
				    "a version was expected, as in \"v 10400 3\"");
	hex_next(&words, &heaptrack->version);
	if (heaptrack->version > VERSION_MAX)
		return source_error(heaptrack->source,
				    "version %llu of heaptrack's format; up to %d can be read",
				    (unsigned long long)heaptrack->version, VERSION_MAX);
	str_printf(&tool, "heaptrack %llu.%llu.%llu", (unsigned long long)(by >> 16),
		   (unsigned long long)(by >> 8 & 0xff), (unsigned long long)(by & 0xff));
	composer_tool(heaptrack->composer, str_text(&tool));
	return NULL;
}

static void tell_rest(const struct heaptrack *heaptrack)
{
	composer_note(heaptrack->composer,
		      "times are those of heaptrack's clock, some ten milliseconds apart");
	if (heaptrack->unknown_lines > 0)
		composer_note(heaptrack->composer, "lines of unknown kinds, skipped: %llu",
			      (unsigned long long)heaptrack->unknown_lines);
	if (heaptrack->unmatched_frees > 0)
		composer_note(heaptrack->composer, "frees of unknown blocks: %llu",
			      (unsigned long long)heaptrack->unmatched_frees);
}

static struct err *read_lines(struct heaptrack *heaptrack)
{
	struct err *err = take_version(heaptrack);
	const char *why;
	char *line;
	size_t len;

	while (!err && !composer_failed(heaptrack->composer) &&
	       source_line(heaptrack->source, &line, &len)) {
		/* a number may have lost digits */
		if (source_line_is_torn(heaptrack->source)) {
			source_torn(heaptrack->source, heaptrack->composer,
				    "the file ends in the middle of this line");
			break;
		}
		if (!take_line(heaptrack, line, &why)) {
			source_torn(heaptrack->source, heaptrack->composer, "%s", why);
			break;
		}
	}
	tell_rest(heaptrack);
	return err;
}

static struct err *heaptrack_read(struct source *source, struct composer *composer)
{
	struct heaptrack heaptrack = { .source = source, .composer = composer };
	struct err *err = NULL;

	if (heaptrack_texts_push(&heaptrack.strings, "") && vec_u32_push(&heaptrack.frames, 0) &&
	    vec_u32_push(&heaptrack.stacks, COMPOSE_NO_STACK))
		err = read_lines(&heaptrack);
	else
		err = err_nomem();
	arena_deinit(&heaptrack.arena);
	str_deinit(&heaptrack.text);
	heaptrack_texts_deinit(&heaptrack.strings);
	vec_u32_deinit(&heaptrack.frames);
	vec_u32_deinit(&heaptrack.stacks);
	heaptrack_infos_deinit(&heaptrack.infos);
	heaptrack_modules_deinit(&heaptrack.modules);
	return err;
}

/* "v 10400 3", a line by itself. */
static enum importer_match heaptrack_probe(const char *bytes, size_t count)
{
	size_t at = 2;

	if (count < 4 || memcmp(bytes, "v ", 2) != 0)
		return IMPORTER_NO;
	while (at < count && at < 40 && strchr("0123456789abcdef ", bytes[at]))
		at++;
	return bytes[at] == '\n' || bytes[at] == '\r' ? IMPORTER_YES : IMPORTER_NO;
}

const struct importer importer_heaptrack = {
	.name = "heaptrack",
	.title = "heaptrack's recordings, interpreted or raw",
	.recipe = "heaptrack PROGRAM",
	.probe = heaptrack_probe,
	.read = heaptrack_read,
};
