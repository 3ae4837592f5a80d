/*
 * debug_info: debug information of one object: address -> source lines and inlined calls.
 *
 * Everything is looked up lazily and kept: the first lookup in a compilation unit costs a pass over
 * its functions, later ones little. Not thread-safe.
 */
#ifndef MEMTAPE_SYMBOL_DEBUG_INFO_H
#define MEMTAPE_SYMBOL_DEBUG_INFO_H

#include "base/arena.h"
#include "base/err.h"
#include "symbol/elf_names.h"

struct debug_info;

/* The file of functions that nobody wrote: the copy constructor of a struct that has none. */
#define DEBUG_FILE_IMPLICIT "<implicit>"

struct debug_frame {
	const char *function; /* linkage name if there is one, or the plain one; NULL: unknown */
	const char *file;     /* NULL: unknown */
	uint32_t line;	      /* 0: unknown */
	uint16_t column;      /* from 1; 0: unknown */
	bool is_inlined;      /* into the frame after this one */
};

/* A column that is too large becomes 0. */
static inline uint16_t debug_column(uint32_t column)
{
	return column <= UINT16_MAX ? (uint16_t)column : 0;
}

/*
 * path: an object with .debug_info. dirs, NULL-terminated: where its dwz files are searched by
 * build-id, besides the recorded path. Texts in frames live as long as the debug_info.
 */
struct err *debug_info_open(const char *path, const char *const *dirs,
			    struct debug_info **info_ret);
void debug_info_close(struct debug_info *info); /* accepts NULL */
CLEAN_DEFINE(debug_info_close, struct debug_info *);

/*
 * Frames at an address of the file (pc - bias), innermost first, at most `max`; returns their
 * number. 0: the address is in no unit with debug information.
 */
size_t debug_info_frames(struct debug_info *info, uint64_t address, struct debug_frame *frames,
			 size_t max);

/*
 * Adds the names of .gnu_debugdata, a compressed symbol table that some distributions leave in
 * stripped objects; texts are kept in the arena. Adds nothing if it cannot be read.
 */
void debug_info_mini_names(struct elf_names *names, const char *path, struct arena *arena);

#endif
