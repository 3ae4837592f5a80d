/*
 * options: table-driven command lines. A command describes its options in rows; parsing, --help and
 * the check against the man page all come from the same rows.
 *
 *	struct settings { const char *output; uint64_t top; bool force; };
 *	static const struct option_row rows[] = {
 *		{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct settings, output),
 *		  "write the tape to FILE" },
 *		{ "force", 'f', NULL, OPTION_FLAG, offsetof(struct settings, force),
 *		  "overwrite an existing FILE" },
 *	};
 *
 * Accepted: --name VALUE, --name=VALUE (an optional value in this way only), unique abbreviations
 * (--out FILE), -o FILE, -oFILE, bundled flags (-fq), "--" before operands; operands and options
 * may mix unless stop_at_operand is set.
 */
#ifndef MEMTAPE_BASE_OPTIONS_H
#define MEMTAPE_BASE_OPTIONS_H

#include "base/err.h"
#include "base/str.h"

enum option_kind {
	OPTION_FLAG,	 /* bool, set to true; takes no argument */
	OPTION_UNFLAG,	 /* bool, set to false; takes no argument */
	OPTION_TEXT,	 /* const char *, borrowed from argv */
	OPTION_OPTIONAL, /* the same, or "" where there is no "=VALUE"; never the next word */
	OPTION_LIST,	 /* struct option_list: may be given several times */
	OPTION_U64,	 /* uint64_t */
	OPTION_BYTES,	 /* uint64_t; "64k", "1.5GiB" */
	OPTION_DURATION, /* uint64_t nanoseconds; "5s", "10ms" */
	OPTION_AGE,	 /* uint64_t nanoseconds; "12h", "30d" */
	OPTION_CHOICE,	 /* int: index into choices */
	OPTION_COUNT	 /* int, incremented by each; takes no argument */
};

/* Texts in the order given, borrowed from argv. */
struct option_list {
	const char *items[16];
	size_t count;
};

struct option_row {
	const char *name; /* without the dashes; never NULL */
	char letter;	  /* or 0 */
	const char *arg;  /* name of the argument in the help; NULL for flags */
	enum option_kind kind;
	size_t offset;		    /* of the target in the settings struct */
	const char *help;	    /* no full stop; one sentence, may be long: it is wrapped */
	const char *const *choices; /* OPTION_CHOICE: NULL-terminated */
};

struct option_table {
	const char *usage; /* "memtape record [options] [--] PROGRAM [ARGS]" */
	const char *about; /* one or more sentences below it */
	const struct option_row *rows;
	size_t row_count;
	int stop_at_operand; /* everything from this one on is operands, 1 is the first; 0: none */
};

/*
 * Parses argv[1 .. argc - 1] into settings. Operands are moved to argv[1 ...] in order, their
 * number is stored in *operand_count_ret; settings hold pointers into argv. On error (ERR_USAGE)
 * settings may be partly written.
 */
struct err *options_parse(const struct option_table *table, int argc, char **argv, void *settings,
			  int *operand_count_ret);

/* Whether --help is among the options: not an operand, nor the argument of an option. */
bool options_ask_for_help(const struct option_table *table, int argc, char *const *argv);

/* The text of --help, for a terminal of `width` columns (0: 80). */
void options_help(const struct option_table *table, unsigned width, struct str *out);

#endif
