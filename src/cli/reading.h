/*
 * reading: what the commands that read tapes have in common.
 */
#ifndef MEMTAPE_CLI_READING_H
#define MEMTAPE_CLI_READING_H

#include "base/emit.h"

/* Colours are for terminals, unless NO_COLOR is set (no-color.org) or TERM is dumb. */
bool reading_wants_colour(FILE *out);

/* 0 when out is no terminal: then nothing is cut to fit. */
unsigned reading_width(FILE *out);

/* --json and --csv exclude each other. */
struct err *reading_format(bool json, bool csv, enum emit_format *format_ret);

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
