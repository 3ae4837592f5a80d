#include "cli/memusage_options.h"

#include <assert.h>

#include "core/core.h"

#define AT(member) offsetof(struct memusage_options, member)

const struct option_row memusage_option_rows[MEMUSAGE_OPTION_ROWS] = {
	{ "progname", 'n', "NAME", OPTION_TEXT, AT(name),
	  "report processes of that name only, as they were called, without the path" },
	{ "png", 'p', "FILE", OPTION_TEXT, AT(png),
	  "draw a picture, as memusagestat does, into FILE, or FILE.png; of further processes into "
	  "FILE.PID.png" },
	{ "data", 'd', "FILE", OPTION_TEXT, AT(data),
	  "write the data file of memusage to FILE; of further processes to FILE.PID; a FILE that "
	  "ends in .mtape is the tape itself" },
	{ "unbuffered", 'u', NULL, OPTION_FLAG, AT(is_unbuffered),
	  "accepted and of no effect: nothing is lost with a buffer" },
	{ "buffer", 'b', "SIZE", OPTION_TEXT, AT(buffer), "accepted and of no effect" },
	{ "no-timer", 0, NULL, OPTION_FLAG, AT(has_no_timer),
	  "accepted and of no effect: no timer is used" },
	{ "mmap", 'm', NULL, OPTION_FLAG, AT(has_mappings), "count mmap, mremap and munmap, too" },
	{ "time-based", 't', NULL, OPTION_FLAG, AT(is_by_time), "the picture is linear in time" },
	{ "total", 'T', NULL, OPTION_FLAG, AT(shows_total),
	  "the picture shows heap and stack together, too" },
	{ "title", 0, "STRING", OPTION_TEXT, AT(title), "the title of the picture" },
	{ "x-size", 'x', "SIZE", OPTION_TEXT, AT(width), "how many pixels wide the picture is" },
	{ "y-size", 'y', "SIZE", OPTION_TEXT, AT(height), "how many pixels high it is" },
	{ "stacks", 0, NULL, OPTION_FLAG, AT(has_stacks),
	  "record call stacks, too; for -d FILE.mtape" },
	{ "color", 0, "WHEN", OPTION_TEXT, AT(colour),
	  "auto (the default: on a terminal, without NO_COLOR), always or never" },
	{ "usage", 0, NULL, OPTION_FLAG, AT(shows_usage), "show the options in short" },
	{ "version", 'V', NULL, OPTION_FLAG, AT(shows_version), "show the version" },
};

static const struct option_row help_row = { "help", '?', NULL, OPTION_FLAG, AT(shows_help), "" };

/* An empty variable counts as unset. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* Variables that glibc's library reads apply to us too. */
static void environment_read(struct memusage_options *options)
{
	options->name = variable("MEMUSAGE_PROG_NAME");
	options->data = variable("MEMUSAGE_OUTPUT");
	options->has_mappings = getenv("MEMUSAGE_TRACE_MMAP") != NULL;
}

static const struct option_row *row_get(size_t index)
{
	return index < MEMUSAGE_OPTION_ROWS ? &memusage_option_rows[index] : &help_row;
}

static const struct option_row *letter_find(const char *word)
{
	for (size_t i = 0; i <= MEMUSAGE_OPTION_ROWS; i++)
		if (row_get(i)->letter && row_get(i)->letter == word[1] && !word[2])
			return row_get(i);
	return NULL;
}

/* The option that starts with the first len bytes of name; *count_ret: number of such options. */
static const struct option_row *name_find(const char *name, size_t len, size_t *count_ret)
{
	const struct option_row *found = NULL;

	*count_ret = 0;
	for (size_t i = 0; i <= MEMUSAGE_OPTION_ROWS; i++) {
		if (strncmp(row_get(i)->name, name, len) != 0)
			continue;
		found = row_get(i);
		++*count_ret;
		if (!found->name[len]) {
			*count_ret = 1;
			break;
		}
	}
	return found;
}

static void set(struct memusage_options *options, const struct option_row *row, const char *value)
{
	uint8_t *place = (uint8_t *)options + row->offset;

	if (row->arg)
		*(const char **)place = value;
	else
		*(bool *)place = true;
}

static struct err *long_parse(char **argv, int *at, struct memusage_options *options)
{
	const char *word = argv[*at];
	const char *name = word + 2;
	const size_t len = strcspn(name, "=");
	size_t count;
	const struct option_row *row = name_find(name, len, &count);

	if (count > 1)
		return err_new(ERR_USAGE, "memusage: option `--%.*s' is ambiguous", (int)len, name);
	if (!row || (name[len] && !row->arg))
		return err_new(ERR_USAGE, "memusage: unrecognized option `%s'", word);
	if (name[len])
		set(options, row, name + len + 1);
	else if (!row->arg)
		set(options, row, NULL);
	else if (argv[*at + 1])
		set(options, row, argv[++*at]);
	else
		return err_new(ERR_USAGE, "memusage: option '%s' requires an argument", word);
	return NULL;
}

static struct err *letter_parse(const struct option_row *row, char **argv, int *at,
				struct memusage_options *options)
{
	const char *word = argv[*at];

	if (row->arg && !argv[*at + 1])
		return err_new(ERR_USAGE, "memusage: option '%s' requires an argument", word);
	set(options, row, row->arg ? argv[++*at] : NULL);
	return NULL;
}

static struct err *colour_check(const struct memusage_options *options)
{
	const char *word = options->colour;

	if (!word || strcmp(word, "auto") == 0 || strcmp(word, "always") == 0 ||
	    strcmp(word, "never") == 0)
		return NULL;
	return err_new(ERR_USAGE, "memusage: --color must be auto, always or never");
}

struct err *memusage_options_parse(int argc, char **argv, struct memusage_options *options,
				   int *first_ret)
{
	struct err *err = NULL;
	int at = 1;

	assert(argc >= 1);
	*options = (struct memusage_options) { 0 };
	environment_read(options);
	for (; !err && at < argc && argv[at][0] == '-'; at++) {
		const struct option_row *row = letter_find(argv[at]);

		if (strcmp(argv[at], "--") == 0) {
			at++;
			break;
		}
		if (row)
			err = letter_parse(row, argv, &at, options);
		else if (argv[at][1] == '-')
			err = long_parse(argv, &at, options);
		else
			break; /* maybe a program of that name */
		if (options->shows_help || options->shows_usage || options->shows_version)
			return err;
	}
	assert(at <= argc);
	*first_ret = at;
	if (!err)
		err = colour_check(options);
	if (!err && at >= argc)
		err = err_new(ERR_USAGE, "No program name given");
	return err;
}

void memusage_options_usage(struct str *text)
{
	size_t column = 0;

	str_add(text, "Syntax: memusage");
	for (size_t i = 0; i < MEMUSAGE_OPTION_ROWS; i++) {
		const struct option_row *row = &memusage_option_rows[i];
		const size_t begin = text->len;

		str_printf(text, " [--%s%s%s]", row->name, row->arg ? "=" : "",
			   row->arg ? row->arg : "");
		column += text->len - begin;
		if (column > 50) {
			str_add(text, "\n\t");
			column = 0;
		}
	}
	str_add(text, " PROGRAM [PROGRAMOPTION]...\n");
}
