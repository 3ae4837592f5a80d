/*
 * emit: one writer for three output formats. A report is written once, as objects, lists and tables
 * of typed values, and comes out as aligned text, JSON or CSV. Everything streams: only the first
 * rows of a text table are held back.
 *
 *	emit_object(emit, NULL);			{			top level
 *	emit_u64(emit, "peak", bytes, EMIT_BYTES);	  "peak": 4096,		Peak   4.0 KiB
 *	emit_table(emit, "top", columns, count);	  "top": [
 *	emit_row(emit);					    {
 *	emit_text(emit, "function", name);		      "function": "main"
 *	emit_end(emit);		(the row)		    }
 *	emit_end(emit);		(the table)		  ]
 *	emit_end(emit);					}
 *	err = emit_finish(emit);
 *
 * Keys are JSON names; inside lists (emit_list, emit_table) keys of members are NULL. Which values
 * a face shows:
 *	JSON  all of them; bytes and times as exact integers, addresses as "0x..." strings
 *	text  objects: "Title  value" lines, indented by nesting. Tables: the columns named, in
 *	      their order; a list or object in a cell becomes its texts joined by " < "
 *	CSV   tables: a header row and rows; plain values: lines "path.to.key,value". Bytes and
 *	      times as exact integers
 * Texts may be hostile: each face escapes. An emit belongs to one thread.
 */
#ifndef MEMTAPE_BASE_EMIT_H
#define MEMTAPE_BASE_EMIT_H

#include "base/err.h"

enum emit_format { EMIT_TEXT, EMIT_JSON, EMIT_CSV };

enum emit_unit {
	EMIT_COUNT,    /* 1,234 */
	EMIT_BYTES,    /* 1.2 KiB */
	EMIT_DURATION, /* nanoseconds: 1.20 ms */
	EMIT_PLAIN     /* 1234: ids, ports, line numbers */
};

struct emit_settings {
	enum emit_format format;
	bool colour;	/* text: ANSI colours */
	bool exact;	/* text: exact integers instead of units */
	bool compact;	/* JSON: on one line, without white space */
	unsigned width; /* text: columns of the terminal; 0: unlimited */
};

struct emit_column {
	const char *key;   /* of the cell's value in the row */
	const char *title; /* text: heading; NULL: made from key */
	bool left;	   /* text: left-aligned (texts); numbers are right-aligned */
	bool elastic;	   /* text: may be cut (with "...") so that the line fits the width */
};

struct emit;

/* Writes to out, which the caller keeps. NULL when out of memory. */
struct emit *emit_create(FILE *out, const struct emit_settings *settings);

/* NULL is fine. Discards unfinished output. */
void emit_destroy(struct emit *emit);
CLEAN_DEFINE(emit_destroy, struct emit *);

/* Ends the output and flushes; returns a write error (disk full, broken pipe). Call once. */
struct err *emit_finish(struct emit *emit);

/* Lets a long report stop early when its output is no longer read. */
bool emit_has_failed(const struct emit *emit);
void emit_fail(struct emit *emit); /* out of memory: some output is missing */
enum emit_format emit_format_of(const struct emit *emit);

void emit_object(struct emit *emit, const char *key);
void emit_list(struct emit *emit, const char *key);
/* columns are borrowed until the table ends. title of a text table: see emit_heading. */
void emit_table(struct emit *emit, const char *key, const struct emit_column *columns,
		size_t column_count);
void emit_row(struct emit *emit); /* an object in a table; closed by emit_end */
void emit_end(struct emit *emit); /* of the innermost object, list, table or row */

void emit_u64(struct emit *emit, const char *key, uint64_t value, enum emit_unit unit);
void emit_i64(struct emit *emit, const char *key, int64_t value);
void emit_ratio(struct emit *emit, const char *key, double value, unsigned decimals);
/* A number that is already formatted as JSON. */
void emit_number(struct emit *emit, const char *key, const char *spelled);
void emit_percent(struct emit *emit, const char *key, uint64_t part, uint64_t whole);
void emit_address(struct emit *emit, const char *key, uint64_t address);
void emit_text(struct emit *emit, const char *key, const char *text); /* NULL: like emit_null */
void emit_bool(struct emit *emit, const char *key, bool value);
void emit_null(struct emit *emit, const char *key);

/* Text only: a bold line, a line of prose (not wrapped), an empty line. */
void emit_heading(struct emit *emit, const char *text);
void emit_prose(struct emit *emit, const char *text);
void emit_gap(struct emit *emit);

#endif
