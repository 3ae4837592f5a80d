/*
 * symbol: address -> function, file, line, inlined calls, module.
 *
 * A symbolizer knows *objects*: files on disk, as they were when the program ran (path and
 * build-id). It opens an object when it is first needed, and each address is looked up once.
 * Names that it found are kept in a cache on disk, by build-id, so that the next run finds them
 * at once. It shows no name it is not sure of: where the file on disk is another one than was
 * recorded, names come from a debug file with the right build-id or not at all.
 *
 * One thread at a time may use a symbolizer; symbolizer_resolve uses more on its own. Touches the
 * network only when it is given a debuginfod. All it returns lives as long as the symbolizer.
 */
#ifndef MEMTAPE_SYMBOL_SYMBOL_H
#define MEMTAPE_SYMBOL_SYMBOL_H

#include "base/err.h"
#include "symbol/cache.h"
#include "symbol/debuginfod.h"
#include "symbol/embedded.h"
#include "symbol/pack.h"
#include "symbol/paths.h"

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
	uint16_t column;      /* from 1; 0: not known */
	bool is_inlined;      /* into the frame after this one */
	bool is_known;	      /* function is a name */
	const char *module;   /* path of the object, as recorded */
};

struct symbol_frames {
	const struct symbol_frame *frames; /* innermost first; at least one */
	size_t count;
};

/* How function names are shown; they are found and kept in full. */
enum symbol_spelling {
	SYMBOL_SPELL_SHORT, /* std::string, not std::__cxx11::basic_string<char, ...> */
	SYMBOL_SPELL_FULL,
	SYMBOL_SPELL_NO_ARGUMENTS /* short, and template arguments are <...> */
};

/* All that is pointed to outlives the symbolizer. */
struct symbol_options {
	const char *const
		*debug_dirs;	      /* searched before /usr/lib/debug; NULL-terminated, or NULL */
	const struct path_map *paths; /* NULL: files are where they were */
	struct debuginfod *debuginfod;	 /* NULL: ask nobody */
	const struct cache *cache;	 /* NULL: none */
	const struct embedded *embedded; /* names that the tape has; NULL: none */
	enum symbol_spelling spelling;
	unsigned thread_count; /* of symbolizer_resolve; 0: as many as there are processors */
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

struct symbol_request {
	uint64_t address; /* in the object: pc - bias */
	uint32_t object;
};

/* For sort_stable(), without a context: by object, then by address. */
int symbol_request_compare(const void *context, const void *a, const void *b);

/*
 * Looks up many addresses at once, objects side by side on several threads, so that
 * symbolizer_frames has them ready. Sorts requests. Equal ones are looked up once.
 */
void symbolizer_resolve(struct symbolizer *symbolizer, struct symbol_request *requests,
			size_t count);

/* What is known at an address of the object. Out of memory it is the unknown frame. */
struct symbol_frames symbolizer_frames(struct symbolizer *symbolizer, uint32_t object,
				       uint64_t address);

/* SYMBOL_UNREAD as long as no address of it was asked for. */
enum symbol_state symbolizer_object_state(const struct symbolizer *symbolizer, uint32_t object);

/* Where names of an object come from. Texts live as long as the symbolizer. */
struct symbol_source {
	enum symbol_state state;
	const char *object_path; /* where the object is here; NULL: it is gone, or another */
	const char *debug_path;	 /* separate debug file in use; NULL: none */
	bool is_fetched;	 /* that came from a debuginfod server */
	bool is_embedded;	 /* names are on the tape */
	size_t cached_count;	 /* addresses that the cache knew */
};

/* Opens the object, if that was not done yet; reads no tables. */
struct symbol_source symbolizer_source(struct symbolizer *symbolizer, uint32_t object);

/* Adds what is known at the address; flags tell what is a name. */
void symbol_frames_pack(const struct symbol_frames *frames, uint64_t address,
			struct pack_builder *builder);

/* A few words for people: "changed on disk since it was recorded". */
const char *symbol_state_text(enum symbol_state state);

#endif
