/*
 * reading: what the commands that read tapes have in common.
 */
#ifndef MEMTAPE_CLI_READING_H
#define MEMTAPE_CLI_READING_H

#include "base/emit.h"
#include "symbol/symbol.h"

/* Colours are for terminals, unless NO_COLOR is set (no-color.org) or TERM is dumb. */
bool reading_wants_colour(FILE *out);

/* 0 when out is no terminal: then nothing is cut to fit. */
unsigned reading_width(FILE *out);

/* --json and --csv exclude each other. */
struct err *reading_format(bool json, bool csv, enum emit_format *format_ret);

/* The option of all that show names, and its help. */
#define READING_DEBUGINFOD_OPTION(settings)                                                        \
	{                                                                                          \
		"debuginfod", 0, NULL, OPTION_FLAG, offsetof(settings, debuginfod),                \
			"fetch missing debug information from the servers in DEBUGINFOD_URLS"      \
	}

/* Fills symbols, and makes the client it needs, which is the caller's, when it is wanted. */
struct err *reading_symbols(bool wants_debuginfod, struct symbol_options *symbols,
			    struct debuginfod **debuginfod_ret);

/*
 * Where a command writes: a file beside the final one that takes its name when all is written, or
 * standard output where path is NULL or "-".
 */
struct reading_output {
	FILE *file;
	char *temporary; /* NULL: standard output */
	const char *path;
};

/* Refuses to overwrite tape_path. */
struct err *reading_output_open(struct reading_output *output, const char *path,
				const char *tape_path);

/* Takes the result of writing; on any error the file that may have been there before stays. */
struct err *reading_output_close(struct reading_output *output, struct err *err);

#endif
