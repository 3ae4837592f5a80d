/*
 * symbol: address -> function, file, line, inlined calls, module.
 *
 * A symbolizer knows *objects*: files on disk, as they were when the program ran (path and
 * build-id). It opens an object when first asked about it, and each address is looked up once.
 * It shows no name it is not sure of: where the file on disk is another one than was recorded,
 * names come from a debug file with the right build-id or not at all.
 *
 * Not thread-safe. Touches the network only when it is given a debuginfod. All it returns lives as
 * long as the symbolizer.
 */
#ifndef MEMTAPE_SYMBOL_SYMBOL_H
#define MEMTAPE_SYMBOL_SYMBOL_H

#include "base/err.h"
#include "symbol/debuginfod.h"

enum symbol_state {
	SYMBOL_UNREAD,	/* nobody asked yet */
	SYMBOL_LINES,	/* functions, files and lines */
	SYMBOL_NAMES,	/* functions only: no debug information found */
	SYMBOL_EXPORTS, /* only the functions it exports: stripped */
	SYMBOL_NONE,	/* readable, but names nothing */
	SYMBOL_MISSING, /* no such file any more */
	SYMBOL_STALE,	/* the file changed since: its build-id is another */
	SYMBOL_VIRTUAL	/* [vdso] and the like: never was a file */
};

enum { SYMBOL_STATE_COUNT = SYMBOL_VIRTUAL + 1 };

struct symbol_frame {
	const char *function; /* demangled; never NULL: "0x1234 [libfoo.so+0x1234]" when unknown */
	const char *file;     /* as the compiler was told; NULL: not known */
	uint32_t line;	      /* 0: not known */
	bool is_inlined;      /* into the frame after this one */
	bool is_known;	      /* function is a name */
	const char *module;   /* path of the object; NULL: outside of every object */
};

struct symbol_frames {
	const struct symbol_frame *frames; /* innermost first; at least one */
	size_t count;
};

struct symbol_options {
	const char *const *debug_dirs; /* NULL-terminated; NULL: { "/usr/lib/debug" } */
	struct debuginfod *debuginfod; /* NULL: ask nobody; outlives the symbolizer */
};

struct symbolizer;

struct symbolizer *symbolizer_create(const struct symbol_options *options); /* NULL: no memory */
void symbolizer_destroy(struct symbolizer *symbolizer);			    /* accepts NULL */
CLEAN_DEFINE(symbolizer_destroy, struct symbolizer *);

/*
 * The number of an object; equal ones get the same. path and build_id (may be NULL, 0) are copied.
 * UINT32_MAX: no memory.
 */
uint32_t symbolizer_object(struct symbolizer *symbolizer, const char *path, const uint8_t *build_id,
			   size_t build_id_bytes);

/* What is known at an address of the object (pc - bias). Out of memory it is the unknown frame. */
struct symbol_frames symbolizer_frames(struct symbolizer *symbolizer, uint32_t object,
				       uint64_t address);

enum symbol_state symbolizer_object_state(const struct symbolizer *symbolizer, uint32_t object);

/* A few words for people: "changed on disk since it was recorded". */
const char *symbol_state_text(enum symbol_state state);

#endif
