/*
 * expr: the filter language, from text to a tree. docs/man/memtape-filter.7 is its manual.
 *
 *	size >= 4KiB and lifetime < 1ms and function ~ "^parse" and not module = "libc.so.6"
 *
 * A tree consists of tests and of and, or, not. It knows fields, not models: whatever can be said
 * of a text alone is checked here. Errors are ERR_USAGE and show the place in the text:
 *
 *	filter: 'banana' is not a value; size expects a size like 4KiB
 *	  size >= banana
 *	          ^
 *
 * Nothing recurses deeper than EXPR_DEPTH_MAX, whatever the text, and neither need those who walk
 * the tree.
 */
#ifndef MEMTAPE_SELECT_EXPR_H
#define MEMTAPE_SELECT_EXPR_H

#include "base/arena.h"
#include "base/err.h"
#include "select/fields.h"

enum {
	EXPR_BYTES_MAX = 64 << 10,
	EXPR_DEPTH_MAX = 100,  /* of parentheses and `not` */
	EXPR_NODES_MAX = 4096, /* tests and list values */
};

enum expr_number {
	EXPR_PLAIN,   /* bytes, nanoseconds ... */
	EXPR_PERCENT, /* of the field's whole; in thousandths of a percent */
	EXPR_PEAK,    /* moments: when live bytes were highest, */
	EXPR_END,     /* the end of the recording, */
	EXPR_MARK,    /* the first mark called `text` */
	EXPR_FIELD    /* value of `field`, which has the same type */
};

struct expr_value {
	enum expr_number kind;
	uint64_t number;
	const char *text; /* EXPR_MARK, and values of texts */
	const struct field *field;
	size_t at; /* byte offset in the expression */
};

/* low .. high, inclusive unless open; or a text, in low; or none. */
struct expr_item {
	bool is_none; /* the word `none`: no value */
	bool has_low; /* false: no lower bound */
	bool has_high;
	bool low_is_open; /* excludes low itself */
	bool high_is_open;
	struct expr_value low;
	struct expr_value high;
};

enum expr_kind {
	EXPR_AND,   /* of at least two parts */
	EXPR_OR,    /* of at least two parts */
	EXPR_NOT,   /* of one part */
	EXPR_ALL,   /* always true */
	EXPR_IN,    /* the field's value is in one of the items; for a bool: it is true */
	EXPR_MATCH, /* the field's text matches the pattern */
	EXPR_ALIVE  /* alive at items[0].low and still at items[0].high */
};

struct expr {
	enum expr_kind kind;
	size_t at; /* start offset in the text */
	const struct expr *const *parts;
	size_t part_count;
	const struct field *field; /* IN, MATCH */
	const struct expr_item *items;
	size_t item_count;
	const char *pattern; /* MATCH */
	size_t pattern_at;
};

/* The tree lives in the arena. An empty text is EXPR_ALL. */
struct err *expr_parse(const char *text, struct arena *arena, const struct expr **expr_ret);

/* Whether a test or a value in it reads the field. */
bool expr_reads(const struct expr *expr, const struct field *field);

/* Operators of the field, NULL-terminated; empty for bools. */
const char *const *expr_operators(const struct field *field);

/* A moment alone: "10s", "75%", "peak", "mark(loaded)"; what --from and --until take. */
struct err *expr_parse_moment(const char *text, struct arena *arena, struct expr_value *value_ret);

/* ERR_USAGE: the problem, the text, and a caret under byte `at`. */
struct err *expr_error(const char *text, size_t at, const char *fmt, ...) PRINTF_LIKE(3, 4);

/*
 * Possible words at the end of the text, or completions of the last one: fields, operators, units.
 * doc may be NULL. Stops when visit returns false.
 */
void expr_complete(const char *text,
		   bool (*visit)(void *context, const char *word, const char *doc), void *context);

#endif
