/*
 * fields: properties of an allocation, by name. One table; the filter language, its help, the
 * columns of SQL and the sort keys are all derived from it. Documented in
 * docs/man/memtape-filter.7.
 *
 * Values are 64 bits: bytes, nanoseconds since recording began, counts, addresses, numbers of
 * threads and stacks, 0 or 1. FIELD_NONE is "no value": the free time of a block that was never
 * freed. A text field's values are ids; field_text returns the texts. A field of type FIELD_TEXTS
 * has as many values as the stack has frames: it can be compared but not read.
 */
#ifndef MEMTAPE_SELECT_FIELDS_H
#define MEMTAPE_SELECT_FIELDS_H

#include "select/batch.h"
#include "select/facts.h"

enum field_type {
	FIELD_BYTES,
	FIELD_COUNT,
	FIELD_MOMENT,	/* nanoseconds since recording began */
	FIELD_DURATION, /* nanoseconds */
	FIELD_ADDRESS,
	FIELD_ID, /* a number used as a name: of a thread, a stack */
	FIELD_BOOL,
	FIELD_TEXT,
	FIELD_TEXTS /* one per frame of a stack; a test holds if it holds for any of them */
};

/* What a field is a property of: tests of anything but the row are evaluated once, not per row. */
enum field_scope {
	FIELD_OF_ROW,	     /* the allocation itself */
	FIELD_OF_STACK,	     /* the stack that allocated */
	FIELD_OF_FREE_STACK, /* the stack that freed */
	FIELD_OF_GROUP	     /* all allocations by the same stack, filtered or not */
};

/* When a text equals the value in a test. */
enum field_text_rule {
	FIELD_TEXT_EXACT,
	FIELD_TEXT_FUNCTION, /* also without its parameters */
	FIELD_TEXT_PATH	     /* also its last part alone */
};

static const uint64_t FIELD_NONE = UINT64_MAX;

struct field {
	const char *name;
	const char *aliases; /* other names, separated by spaces; "" */
	enum field_type type;
	enum field_scope scope;
	const char *doc;     /* one sentence with a full stop */
	const char *none;    /* when it has no value; NULL: it always has a value */
	const char *percent; /* what a percentage of it refers to; NULL: no percentages */
	uint64_t (*whole)(const struct facts *facts, uint32_t stack); /* 100 %; NULL: the run */
	unsigned column; /* the enum model_column with exactly these values, plus 1; 0: none */
	unsigned facts;	 /* enum fact bits to prepare before it is read */

	/* Exactly one of these is set, for texts also `text`; use field_read and field_text. */
	void (*of_rows)(struct batch *batch, uint64_t *values);
	uint64_t (*of_stack)(const struct facts *facts, uint32_t stack);
	const char *(*of_frame)(const struct facts *facts, const struct name_frame *frame);

	const char *(*text)(const struct facts *facts, uint64_t id);
	size_t (*id_count)(
		const struct facts *facts); /* upper bound of ids, exclusive; NULL: unbounded */
	enum field_text_rule rule;
	/* Another text that stands for the same; NULL: there is none, of this text or at all. */
	const char *(*other)(const struct facts *facts, const char *text);
};

/* In the order of the manual. */
extern const struct field field_table[];
extern const size_t field_count;

/* By name or alias, ignoring case; NULL: not found. */
const struct field *field_find(const char *name, size_t len);

/* The field with the most similar name; NULL if none is similar. */
const struct field *field_guess(const char *name, size_t len);

/* "bytes", "duration" ...; the words of field_type. */
const char *field_type_word(enum field_type type);

/* "allocation", "stack", "free stack", "group". */
const char *field_scope_word(enum field_scope scope);

/*
 * The field's value in every row of the batch, to values[0 .. batch->count - 1]. Not for
 * FIELD_TEXTS. Needs facts_prepare(facts, field->facts) first.
 */
void field_read(const struct field *field, struct batch *batch, uint64_t *values);

/* The text of a FIELD_TEXT value; NULL for FIELD_NONE. Lives as long as model and names. */
const char *field_text(const struct field *field, const struct facts *facts, uint64_t value);

#endif
