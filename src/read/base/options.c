#include "base/options.h"
#include "base/str.h"

#include <assert.h>

enum { NAME_COLUMN = 30, WIDTH_DEFAULT = 80, WIDTH_MIN = 50 };

static bool takes_argument(const struct option_row *row)
{
	return row->kind != OPTION_FLAG && row->kind != OPTION_UNFLAG &&
	       row->kind != OPTION_COUNT && row->kind != OPTION_OPTIONAL;
}

static struct err *choice_find(const struct option_row *row, const char *text, int *index_ret)
{
	CLEAN(str_deinit) struct str known = { 0 };
	size_t len = strlen(text);
	int found = -1;

	for (int i = 0; row->choices[i]; i++) {
		str_printf(&known, "%s%s", i ? ", " : "", row->choices[i]);
		if (strncmp(row->choices[i], text, len) != 0)
			continue;
		if (found >= 0 && row->choices[i][len])
			return err_new(ERR_USAGE, "--%s %s: ambiguous", row->name, text);
		found = i;
		if (!row->choices[i][len])
			break;
	}
	if (found < 0 || len == 0)
		return err_new(ERR_USAGE, "--%s %s: expected one of %s", row->name, text,
			       str_text(&known));
	*index_ret = found;
	return NULL;
}

static struct err *number_set(const struct option_row *row, const char *text, uint64_t *value_ret)
{
	bool ok = row->kind == OPTION_U64     ? str_parse_u64(text, value_ret)
		  : row->kind == OPTION_BYTES ? str_parse_bytes(text, value_ret)
		  : row->kind == OPTION_AGE   ? str_parse_age(text, value_ret)
					      : str_parse_duration(text, value_ret);

	if (ok)
		return NULL;
	return err_new(ERR_USAGE, "--%s %s: expected %s", row->name, text,
		       row->kind == OPTION_U64	   ? "a number"
		       : row->kind == OPTION_BYTES ? "a size like 4096, 64k or 1.5GiB"
		       : row->kind == OPTION_AGE   ? "an age like 90min, 12h, 30d or 2w"
						   : "a duration like 5s or 10ms");
}

static struct err *list_add(const struct option_row *row, const char *text,
			    struct option_list *list)
{
	if (list->count == array_size(list->items))
		return err_new(ERR_USAGE, "--%s given more than %zu times", row->name,
			       array_size(list->items));
	list->items[list->count++] = text;
	return NULL;
}

static struct err *option_set(const struct option_row *row, const char *text, void *settings)
{
	void *target = (char *)settings + row->offset;

	switch (row->kind) {
	case OPTION_FLAG:
	case OPTION_UNFLAG:
		*(bool *)target = row->kind == OPTION_FLAG;
		return NULL;
	case OPTION_COUNT:
		++*(int *)target;
		return NULL;
	case OPTION_OPTIONAL:
		*(const char **)target = text ? text : "";
		return NULL;
	case OPTION_TEXT:
		*(const char **)target = text;
		return NULL;
	case OPTION_LIST:
		return list_add(row, text, target);
	case OPTION_U64:
	case OPTION_BYTES:
	case OPTION_DURATION:
	case OPTION_AGE:
		return number_set(row, text, target);
	case OPTION_CHOICE:
		return choice_find(row, text, target);
	}
	return NULL;
}

static struct err *row_by_name(const struct option_table *table, const char *name, size_t len,
			       const struct option_row **row_ret)
{
	const struct option_row *found = NULL;

	for (size_t i = 0; i < table->row_count; i++) {
		const struct option_row *row = &table->rows[i];

		if (strncmp(row->name, name, len) != 0)
			continue;
		if (!row->name[len]) {
			*row_ret = row;
			return NULL;
		}
		if (found)
			return err_new(ERR_USAGE, "--%.*s: ambiguous (--%s, --%s)", (int)len, name,
				       found->name, row->name);
		found = row;
	}
	if (!found || len == 0)
		return err_new(ERR_USAGE, "--%.*s: unknown option; see --help", (int)len, name);
	*row_ret = found;
	return NULL;
}

struct parse {
	const struct option_table *table;
	int argc;
	char **argv;
	void *settings;
	int at; /* index of the current argument */
};

/* The word after the current one. */
static struct err *next_word(struct parse *parse, const struct option_row *row,
			     const char **word_ret)
{
	if (parse->at + 1 >= parse->argc)
		return err_new(ERR_USAGE, "--%s: needs %s", row->name, row->arg);
	*word_ret = parse->argv[++parse->at];
	return NULL;
}

static struct err *parse_long(struct parse *parse, const char *name)
{
	const char *value = strchr(name, '=');
	const struct option_row *row = NULL;
	struct err *err;

	err = row_by_name(parse->table, name, value ? (size_t)(value - name) : strlen(name), &row);
	if (err)
		return err;
	if (!takes_argument(row) && row->kind != OPTION_OPTIONAL && value)
		return err_new(ERR_USAGE, "--%s: takes no argument", row->name);
	if (row->kind == OPTION_OPTIONAL && value && !value[1])
		return err_new(ERR_USAGE, "--%s=: needs %s", row->name, row->arg);
	if (value)
		value++;
	else if (takes_argument(row))
		err = next_word(parse, row, &value);
	return err ? err : option_set(row, value, parse->settings);
}

static const struct option_row *row_by_letter(const struct option_table *table, char letter)
{
	for (size_t i = 0; i < table->row_count; i++)
		if (table->rows[i].letter == letter)
			return &table->rows[i];
	return NULL;
}

/* letters: "fq" or "oFILE". */
static struct err *parse_letters(struct parse *parse, const char *letters)
{
	struct err *err = NULL;

	for (; *letters && !err; letters++) {
		const struct option_row *row = row_by_letter(parse->table, *letters);
		const char *value = letters + 1;

		if (!row)
			return err_new(ERR_USAGE, "-%c: unknown option; see --help", *letters);
		if (!takes_argument(row)) {
			err = option_set(row, NULL, parse->settings);
			continue;
		}
		if (!*value)
			err = next_word(parse, row, &value);
		return err ? err : option_set(row, value, parse->settings);
	}
	return err;
}

struct err *options_parse(const struct option_table *table, int argc, char **argv, void *settings,
			  int *operand_count_ret)
{
	struct parse parse = { table, argc, argv, settings, 1 };
	struct err *err = NULL;
	bool only_operands = false;
	int operand_count = 0;

	assert(argc > 0);
	assert(table->rows || table->row_count == 0);
	for (; parse.at < argc && !err; parse.at++) {
		char *word = argv[parse.at];

		if (only_operands || word[0] != '-' || !word[1]) {
			argv[1 + operand_count++] = word;
			only_operands |= operand_count == table->stop_at_operand;
		} else if (word[1] != '-') {
			err = parse_letters(&parse, word + 1);
		} else if (!word[2]) {
			only_operands = true;
		} else {
			err = parse_long(&parse, word + 2);
		}
	}
	if (!err)
		*operand_count_ret = operand_count;
	return err;
}

/* Whether the argument of the option that is `word` is the next word. */
static bool takes_next_word(const struct option_table *table, const char *word)
{
	CLEAN(err_destroy) struct err *unknown = NULL;
	const struct option_row *row = NULL;

	if (word[1] == '-') {
		if (strchr(word, '='))
			return false;
		unknown = row_by_name(table, word + 2, strlen(word + 2), &row);
		return row && takes_argument(row);
	}
	for (word++; *word; word++) {
		row = row_by_letter(table, *word);
		if (!row)
			return false;
		if (takes_argument(row))
			return !word[1];
	}
	return false;
}

bool options_ask_for_help(const struct option_table *table, int argc, char *const *argv)
{
	int operand_count = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0)
			return true;
		if (strcmp(argv[i], "--") == 0)
			return false;
		if (argv[i][0] != '-' || !argv[i][1])
			operand_count++;
		else if (takes_next_word(table, argv[i]))
			i++;
		if (table->stop_at_operand && operand_count == table->stop_at_operand)
			return false;
	}
	return false;
}

/* Words of text, wrapped at width, continued at indent; the cursor is at column `at`. */
static void add_wrapped(struct str *out, const char *text, size_t indent, size_t at, size_t width)
{
	while (*text) {
		size_t len = strcspn(text, " \n");

		if (at > indent && at + 1 + len > width) {
			str_add_char(out, '\n');
			str_add_repeated(out, ' ', indent);
			at = indent;
		} else if (at > indent) {
			str_add_char(out, ' ');
			at++;
		}
		str_add_bytes(out, text, len);
		at += len;
		text += len;
		text += strspn(text, " \n");
	}
	str_add_char(out, '\n');
}

static void add_row(struct str *out, const struct option_row *row, size_t width)
{
	CLEAN(str_deinit) struct str help = { 0 };
	size_t begin = out->len;
	size_t at;

	if (row->letter)
		str_printf(out, "  -%c, --%s", row->letter, row->name);
	else
		str_printf(out, "      --%s", row->name);
	if (row->arg)
		str_printf(out, row->kind == OPTION_OPTIONAL ? "[=%s]" : " %s", row->arg);
	at = out->len - begin;
	if (at + 2 > NAME_COLUMN) {
		str_add_char(out, '\n');
		at = 0;
	}
	str_add_repeated(out, ' ', NAME_COLUMN - at);
	str_add(&help, row->help);
	for (int i = 0; row->choices && row->choices[i]; i++)
		str_printf(&help, "%s%s", i ? ", " : " (", row->choices[i]);
	str_add(&help, row->choices ? ")" : "");
	add_wrapped(out, str_text(&help), NAME_COLUMN, NAME_COLUMN, width);
}

void options_help(const struct option_table *table, unsigned width, struct str *out)
{
	CLEAN(str_deinit) struct str usage = { 0 };

	assert(table->rows || table->row_count == 0);
	width = width == 0 ? WIDTH_DEFAULT : (unsigned)u64_max(width, WIDTH_MIN);
	str_printf(&usage, "usage: %s\n\n", table->usage);
	str_add_wrapped(out, str_text(&usage), width);
	if (table->about) {
		add_wrapped(out, table->about, 0, 0, width);
		str_add_char(out, '\n');
	}
	for (size_t i = 0; i < table->row_count; i++)
		add_row(out, &table->rows[i], width);
}
