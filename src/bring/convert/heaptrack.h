/*
 * heaptrack: shared by the readers of its two kinds of files. Internal to convert.
 */
#ifndef MEMTAPE_CONVERT_HEAPTRACK_H
#define MEMTAPE_CONVERT_HEAPTRACK_H

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "convert/hex_words.h"
#include "convert/importer.h"

struct heaptrack_info {
	uint64_t size;
	uint32_t stack;
};

struct heaptrack_module {
	uint64_t begin;
	uint64_t end;
	uint32_t module; /* the composer's */
};

VEC_DEFINE(heaptrack_infos, struct heaptrack_info);
VEC_DEFINE(heaptrack_modules, struct heaptrack_module);
VEC_DEFINE(heaptrack_texts, const char *);

/* Numbers of strings, addresses and traces begin at 1: item 0 means none. */
struct heaptrack {
	struct source *source;
	struct composer *composer;
	struct arena arena;
	uint64_t version;
	uint64_t page_bytes;
	struct str text; /* of the string being read */
	struct heaptrack_texts strings;
	struct vec_u32 frames;
	struct vec_u32 stacks; /* by trace */
	struct heaptrack_infos infos;
	const char *exe;		  /* raw */
	struct heaptrack_modules modules; /* raw: currently loaded modules, sorted by begin */
	bool are_sorted;
	bool is_raw;
	bool is_known; /* whether the kind is known */
	uint64_t unknown_lines;
	uint64_t unmatched_frees;
};

/*
 * A line of that kind of file, without its letter; false: malformed, and *why (constant) is the
 * reason.
 */
bool heaptrack_raw_line(struct heaptrack *heaptrack, char letter, struct hex_words words,
			const char **why);
bool heaptrack_interpreted_line(struct heaptrack *heaptrack, char letter, struct hex_words words,
				const char **why);

/* A string: the rest of the line, or length-prefixed (and perhaps continued on later lines). */
bool heaptrack_text(struct heaptrack *heaptrack, struct hex_words *words, const char **text_ret);

#endif
