/*
 * shape: describes a result as a table of members. Every form of a result is generated from it:
 * JSON, CSV and plain text (answer/speak.h), the schemas of the OpenAPI document and their products
 * (answer/schema.h): the app's types, the shapes in the manual and in docs/http-api.md.
 *
 *	struct mark { uint64_t ns; const char *name; };
 *	static const struct member mark_members[] = {
 *		MEMBER(struct mark, ns, NS, "when", .title = "time"),
 *		MEMBER(struct mark, name, TEXT, "what the program named it", .left = true),
 *	};
 *	static const struct shape mark = SHAPE("Mark", struct mark, mark_members);
 *
 * Results are plain structs in an arena. A member's key is its field's name. Unknown values are
 * SHAPE_NONE or NULL, and are written as null (`nullable`) or left out (`optional`).
 */
#ifndef MEMTAPE_ANSWER_SHAPE_H
#define MEMTAPE_ANSWER_SHAPE_H

#include "base/err.h"

#define SHAPE_NONE UINT64_MAX

/* The field's C type, which MEMBER checks, and its output format. */
enum member_kind {
	MEMBER_COUNT,	/* uint64_t: how many */
	MEMBER_BYTES,	/* uint64_t */
	MEMBER_NS,	/* uint64_t, nanoseconds */
	MEMBER_PLAIN,	/* uint64_t: a number that is not an amount: an id, a line */
	MEMBER_ADDRESS, /* uint64_t; as text, "0x..." */
	MEMBER_HASH,	/* uint64_t; as 16 hexadecimal digits */
	MEMBER_SIGNED,	/* int64_t */
	MEMBER_RATIO,	/* double, to three decimals; NAN: not known */
	MEMBER_AMOUNT,	/* double, written as an integer if whole, else to three decimals */
	MEMBER_SHARE,	/* struct shape_share, in percent */
	MEMBER_FLAG,	/* bool */
	MEMBER_TEXT,	/* const char * */
	MEMBER_TEXTS,	/* struct shape_texts */
	MEMBER_NUMBERS, /* struct shape_numbers */
	MEMBER_HASHES,	/* struct shape_numbers; each as 16 hexadecimal digits */
	MEMBER_INDEXES, /* struct shape_indexes */
	MEMBER_RATIOS,	/* struct shape_ratios */
	MEMBER_CELLS,	/* struct shape_cells */
	MEMBER_CALLS,	/* uint32_t, a stack: names of its functions, innermost first */
	MEMBER_FRAMES,	/* uint32_t, a stack: its frames (answer/frame.h), innermost first */
	MEMBER_OBJECT,	/* the struct of `shape`, or a pointer to it */
	MEMBER_FLAT,	/* the same, but its members are merged into the parent */
	MEMBER_ROWS,	/* struct shape_rows, of `shape` */
	MEMBER_KEYED	/* struct shape_rows, as an object: each row begins with its key, a text */
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

/* Indices into a list; -1: none. Or other small numbers, in large quantity. */
struct shape_indexes {
	const int32_t *items;
	size_t count;
};

struct shape_ratios {
	const double *items;
	size_t count;
	unsigned decimals;
};

/* Rows of values whose kinds are known only at run time. */
struct shape_cell {
	const char *text; /* NULL: none */
	bool is_number;	  /* in JSON syntax */
};

struct shape_cells {
	const struct shape_cell *items; /* in row order */
	size_t row_count, column_count;
};

/* Contiguous rows; or, if next is set, generated one at a time while they are written. */
struct shape_rows {
	const void *items;
	size_t count;
	size_t quiet_count; /* rows at the end that text omits */
	size_t more_count;  /* rows after `count`: for CSV; JSON has them elsewhere */
	/* Fills the row (shape->bytes, zeroed); *has_ret false: no more rows. */
	struct err *(*next)(void *state, void *row, bool *has_ret);
	void *state;
};

struct member {
	const char *key;
	enum member_kind kind;
	size_t offset;
	const char *doc;	   /* plain English, no full stop; NULL: the key is enough */
	const struct shape *shape; /* OBJECT, FLAT, ROWS, KEYED */
	const char *title;	   /* of the text column; NULL: derived from the key */
	unsigned decimals;	   /* RATIO: if not three */
	const char *const *words;  /* TEXT: possible values, NULL-terminated; NULL: any text */
	size_t frames_max;	   /* FRAMES: maximum number; 0: all */
	bool gaps;		   /* TEXTS: items may be NULL, written as null */
	size_t bytes;		   /* of the field */
	bool pointed;		   /* OBJECT, FLAT: the field is a pointer; set by MEMBER */
	bool nullable;
	bool optional;
	bool left;	/* text: aligned left */
	bool elastic;	/* text: may be truncated to fit the line */
	bool is_data;	/* JSON only, not a table column */
	bool is_table;	/* ROWS: the list for CSV if present, instead of the first */
	bool is_wide;	/* not a column of text tables */
	bool is_column; /* only a table column: JSON has it in another form */
	bool is_text;	/* only a column of text tables */
};

struct shape {
	const char *name; /* of the schema: "Mark" */
	size_t bytes;	  /* of the struct */
	const struct member *members;
	size_t member_count;
};

/* Allowed C types of a member's field, by kind. */
#define MEMBER_IS_U64(field)	__builtin_types_compatible_p(__typeof__(field), uint64_t)
#define MEMBER_IS_U32(field)	__builtin_types_compatible_p(__typeof__(field), uint32_t)
#define MEMBER_IS_DOUBLE(field) __builtin_types_compatible_p(__typeof__(field), double)
#define MEMBER_IS_STRUCT(field, name)                                                              \
	__builtin_types_compatible_p(__typeof__(field), struct shape_##name)
/* Accepts pointers to incomplete structs; rejects arrays, which __builtin_classify_type accepts. */
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

/* The same with another key; place: a field, or a field of a field. */
#define MEMBER_AS(key_, type, place, kind_, doc_, ...)                                             \
	{                                                                                          \
		.key = (key_), .kind = MEMBER_##kind_,                                             \
		.offset = offsetof(type, place) + MEMBER_CHECK(kind_, ((type *)NULL)->place),      \
		.bytes = sizeof(((type *)NULL)->place),                                            \
		.pointed = (MEMBER_##kind_ == MEMBER_OBJECT || MEMBER_##kind_ == MEMBER_FLAT) &&   \
			   MEMBER_IS_POINTER(((type *)NULL)->place),                               \
		.doc = (doc_)__VA_OPT__(, ) __VA_ARGS__                                            \
	}

/* The members of another shape of the same struct. */
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
 * The value of the member: the field, or what it points to. NULL: the pointer is NULL.
 */
static inline const void *member_field(const struct member *member, const void *value)
{
	const void *field = (const char *)value + member->offset;

	return member->pointed ? *(const void *const *)field : field;
}

#endif
