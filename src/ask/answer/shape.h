/*
 * shape: what a result consists of, as a table of members. All that is said about a result comes
 * from it: JSON, CSV and plain text (answer/speak.h), the schemas of the OpenAPI document and what
 * is made of them (answer/schema.h): the app's types, the shapes in the manual and in
 * docs/http-api.md.
 *
 *	struct mark { uint64_t ns; const char *name; };
 *	static const struct member mark_members[] = {
 *		MEMBER(struct mark, ns, NS, "when", .title = "time"),
 *		MEMBER(struct mark, name, TEXT, "what the program named it", .left = true),
 *	};
 *	static const struct shape mark = SHAPE("Mark", struct mark, mark_members);
 *
 * Results are plain structs, which live in an arena. A member's key is its field's name. What is
 * not known is SHAPE_NONE or NULL, and is null where that may be (`nullable`), or not there at all
 * (`optional`).
 */
#ifndef MEMTAPE_ANSWER_SHAPE_H
#define MEMTAPE_ANSWER_SHAPE_H

#include "base/err.h"

#define SHAPE_NONE UINT64_MAX

/* First what the field is in C, to which MEMBER holds it; then how it is said. */
enum member_kind {
	MEMBER_COUNT,	/* uint64_t: how many */
	MEMBER_BYTES,	/* uint64_t */
	MEMBER_NS,	/* uint64_t, nanoseconds */
	MEMBER_PLAIN,	/* uint64_t: a number that is no amount: an id, a line */
	MEMBER_ADDRESS, /* uint64_t; a text, "0x..." */
	MEMBER_HASH,	/* uint64_t; a text of 16 hexadecimal digits */
	MEMBER_SIGNED,	/* int64_t */
	MEMBER_RATIO,	/* double, to three decimals; NAN is not known */
	MEMBER_AMOUNT,	/* double, an integer where it is whole, else to three decimals */
	MEMBER_SHARE,	/* struct shape_share, in percent */
	MEMBER_FLAG,	/* bool */
	MEMBER_TEXT,	/* const char * */
	MEMBER_TEXTS,	/* struct shape_texts */
	MEMBER_NUMBERS, /* struct shape_numbers */
	MEMBER_HASHES,	/* struct shape_numbers; each a text of 16 hexadecimal digits */
	MEMBER_INDEXES, /* struct shape_indexes */
	MEMBER_RATIOS,	/* struct shape_ratios */
	MEMBER_CELLS,	/* struct shape_cells */
	MEMBER_CALLS,	/* uint32_t, a stack: names of its functions, innermost first */
	MEMBER_FRAMES,	/* uint32_t, a stack: its frames (answer/frame.h), innermost first */
	MEMBER_OBJECT,	/* the struct of `shape`, or a pointer to it */
	MEMBER_FLAT,	/* the same, but its members stand among those around it */
	MEMBER_ROWS,	/* struct shape_rows, of `shape` */
	MEMBER_KEYED /* struct shape_rows, said as an object: each row begins with its key, a text */
};

struct shape_share {
	uint64_t part, whole;
};

struct shape_texts {
	const char *const *items;
	size_t count;
};

struct shape_numbers {
	const uint64_t *items;
	size_t count;
};

/* Places in a list; -1: in none. Or other small numbers, in great number. */
struct shape_indexes {
	const int32_t *items;
	size_t count;
};

struct shape_ratios {
	const double *items;
	size_t count;
	unsigned decimals;
};

/* Rows of values of any kind, which is known only when they are there. */
struct shape_cell {
	const char *text; /* NULL: none */
	bool is_number;	  /* as JSON spells it */
};

struct shape_cells {
	const struct shape_cell *items; /* row by row */
	size_t row_count, column_count;
};

/* Rows one behind the other, or, where next is set, made one at a time while they are written. */
struct shape_rows {
	const void *items;
	size_t count;
	size_t quiet_count; /* text leaves the last so many out */
	size_t more_count;  /* behind `count`: CSV has them too, JSON says them elsewhere */
	/* Fills the row (of shape->bytes, zeroed); *has_ret false: there are no more. */
	struct err *(*next)(void *state, void *row, bool *has_ret);
	void *state;
};

struct member {
	const char *key;
	enum member_kind kind;
	size_t offset;
	const char *doc;	   /* plain English, no full stop; NULL: the key says it */
	const struct shape *shape; /* OBJECT, FLAT, ROWS, KEYED */
	const char *title;	   /* of the column in text; NULL: made of the key */
	unsigned decimals;	   /* RATIO: other than three */
	const char *const *words;  /* TEXT: what it can be, NULL at the end; NULL: anything */
	size_t frames_max;	   /* FRAMES: so many at most; 0: all */
	bool gaps;		   /* TEXTS: an item may be NULL, which is null */
	size_t bytes;		   /* of the field */
	bool pointed;		   /* OBJECT, FLAT: the field is a pointer; MEMBER says it */
	bool nullable;
	bool optional;
	bool left;	/* text: aligned left */
	bool elastic;	/* text: may be cut so that the line fits */
	bool is_data;	/* no column of a table: JSON alone has it */
	bool is_table;	/* ROWS: CSV has this list if it is there, not the first */
	bool is_wide;	/* no column of a text table */
	bool is_column; /* nothing but a column of tables: JSON says it otherwise */
	bool is_text;	/* nothing but a column of a text table */
};

struct shape {
	const char *name; /* of the schema: "Mark" */
	size_t bytes;	  /* of the struct */
	const struct member *members;
	size_t member_count;
};

/* What the field of a member may be in C, by its kind. */
#define MEMBER_IS_U64(field)	__builtin_types_compatible_p(__typeof__(field), uint64_t)
#define MEMBER_IS_U32(field)	__builtin_types_compatible_p(__typeof__(field), uint32_t)
#define MEMBER_IS_DOUBLE(field) __builtin_types_compatible_p(__typeof__(field), double)
#define MEMBER_IS_STRUCT(field, name)                                                              \
	__builtin_types_compatible_p(__typeof__(field), struct shape_##name)
/* Also to a struct that is only declared; no array, which __builtin_classify_type takes for one. */
#define MEMBER_IS_POINTER(field)                                                                   \
	__builtin_types_compatible_p(                                                              \
		__typeof__(field),                                                                 \
		__typeof__(&*__builtin_choose_expr(__builtin_classify_type(field) == 5, (field),   \
						   (char *)NULL)))
#define MEMBER_IS_OBJECT(field) (MEMBER_IS_POINTER(field) || __builtin_classify_type(field) == 12)

#define MEMBER_FITS_COUNT(field)   MEMBER_IS_U64(field)
#define MEMBER_FITS_BYTES(field)   MEMBER_IS_U64(field)
#define MEMBER_FITS_NS(field)	   MEMBER_IS_U64(field)
#define MEMBER_FITS_PLAIN(field)   MEMBER_IS_U64(field)
#define MEMBER_FITS_ADDRESS(field) MEMBER_IS_U64(field)
#define MEMBER_FITS_HASH(field)	   MEMBER_IS_U64(field)
#define MEMBER_FITS_SIGNED(field)  __builtin_types_compatible_p(__typeof__(field), int64_t)
#define MEMBER_FITS_RATIO(field)   MEMBER_IS_DOUBLE(field)
#define MEMBER_FITS_AMOUNT(field)  MEMBER_IS_DOUBLE(field)
#define MEMBER_FITS_SHARE(field)   MEMBER_IS_STRUCT(field, share)
#define MEMBER_FITS_FLAG(field)	   __builtin_types_compatible_p(__typeof__(field), bool)
#define MEMBER_FITS_TEXT(field)                                                                    \
	(__builtin_types_compatible_p(__typeof__(field), const char *) ||                          \
	 __builtin_types_compatible_p(__typeof__(field), char *))
#define MEMBER_FITS_TEXTS(field)   MEMBER_IS_STRUCT(field, texts)
#define MEMBER_FITS_NUMBERS(field) MEMBER_IS_STRUCT(field, numbers)
#define MEMBER_FITS_HASHES(field)  MEMBER_IS_STRUCT(field, numbers)
#define MEMBER_FITS_INDEXES(field) MEMBER_IS_STRUCT(field, indexes)
#define MEMBER_FITS_RATIOS(field)  MEMBER_IS_STRUCT(field, ratios)
#define MEMBER_FITS_CELLS(field)   MEMBER_IS_STRUCT(field, cells)
#define MEMBER_FITS_CALLS(field)   MEMBER_IS_U32(field)
#define MEMBER_FITS_FRAMES(field)  MEMBER_IS_U32(field)
#define MEMBER_FITS_OBJECT(field)  MEMBER_IS_OBJECT(field)
#define MEMBER_FITS_FLAT(field)	   MEMBER_IS_OBJECT(field)
#define MEMBER_FITS_ROWS(field)	   MEMBER_IS_STRUCT(field, rows)
#define MEMBER_FITS_KEYED(field)   MEMBER_IS_STRUCT(field, rows)

/* 0, or does not compile. */
#define MEMBER_CHECK(kind, field)                                                                  \
	(0 * sizeof(struct {                                                                       \
		 _Static_assert(MEMBER_FITS_##kind(field),                                         \
				"the C type of the field is not that of MEMBER_" #kind);           \
		 char unused;                                                                      \
	 }))

#define MEMBER(type, field, kind_, doc_, ...)                                                      \
	MEMBER_AS(#field, type, field, kind_, doc_ __VA_OPT__(, ) __VA_ARGS__)

/* The same with a key of its own; place: a field, or a field of a field. */
#define MEMBER_AS(key_, type, place, kind_, doc_, ...)                                             \
	{                                                                                          \
		.key = (key_), .kind = MEMBER_##kind_,                                             \
		.offset = offsetof(type, place) + MEMBER_CHECK(kind_, ((type *)NULL)->place),      \
		.bytes = sizeof(((type *)NULL)->place),                                            \
		.pointed = (MEMBER_##kind_ == MEMBER_OBJECT || MEMBER_##kind_ == MEMBER_FLAT) &&   \
			   MEMBER_IS_POINTER(((type *)NULL)->place),                               \
		.doc = (doc_)__VA_OPT__(, ) __VA_ARGS__                                            \
	}

/* The members that another shape has of the same struct. */
#define MEMBER_ALL_OF(type, shape_)                                                                \
	{                                                                                          \
		.kind = MEMBER_FLAT, .bytes = sizeof(type), .shape = &(shape_)                     \
	}

#define SHAPE(name_, type, members_)                                                               \
	{                                                                                          \
		.name = (name_), .bytes = sizeof(type), .members = (members_),                     \
		.member_count = array_size(members_)                                               \
	}

/*
 * What of the struct the member means: the field, or what it points to. NULL: a pointer without
 * anything behind it.
 */
static inline const void *member_field(const struct member *member, const void *value)
{
	const void *field = (const char *)value + member->offset;

	return member->pointed ? *(const void *const *)field : field;
}

#endif
