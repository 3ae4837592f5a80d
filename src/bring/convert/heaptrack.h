/*
 * heaptrack: what its two kinds of files share while they are read. Internal to convert.
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
	uint32_t module; /* of the composer */
};

VEC_DEFINE(heaptrack_infos, struct heaptrack_info);
VEC_DEFINE(heaptrack_modules, struct heaptrack_module);
VEC_DEFINE(heaptrack_texts, const char *);

/* Numbers of strings, addresses and traces begin at 1: their first item stands for none. */
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
	struct heaptrack_modules modules; /* raw: those loaded now, sorted by begin */
	bool are_sorted;
	bool is_raw;
	bool is_known; /* which of the two it is */
	uint64_t unknown_lines;
	uint64_t unmatched_frees;
};

/*
 * A line of that kind of file, without its letter; false: it is not as it should be, and *why
 * (constant) says how.
 */
bool heaptrack_raw_line(struct heaptrack *heaptrack, char letter, struct hex_words words,
			const char **why);
bool heaptrack_interpreted_line(struct heaptrack *heaptrack, char letter, struct hex_words words,
				const char **why);

/* A text that fills the rest of the line, or has its length in front (and may go on after it). */
bool heaptrack_text(struct heaptrack *heaptrack, struct hex_words *words, const char **text_ret);

#endif
