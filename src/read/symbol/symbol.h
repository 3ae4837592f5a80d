/*
 * symbol: address -> function, file, line, inlined calls, module.
 *
 * A symbolizer knows *objects*: files on disk, as they were when the program ran (path and
 * build-id). It opens an object when it is first needed, and each address is looked up once. Names
 * it found are cached on disk, by build-id, for the next run. It never shows a doubtful name: if
 * the file on disk differs from the recorded one, names come from a debug file with the right
 * build-id or not at all.
 *
 * One thread at a time may use a symbolizer; symbolizer_resolve uses more on its own. Touches the
 * network only if given a debuginfod. Everything it returns lives as long as the symbolizer.
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
	SYMBOL_UNREAD,	/* not looked up yet */
	SYMBOL_LINES,	/* functions, files and lines */
	SYMBOL_NAMES,	/* functions only: no debug information found */
	SYMBOL_EXPORTS, /* only the functions it exports: stripped */
	SYMBOL_NONE,	/* readable, but without names */
	SYMBOL_MISSING, /* the file no longer exists */
	SYMBOL_STALE,	/* the file has changed: its build-id is another */
	SYMBOL_VIRTUAL	/* [vdso] and the like: never was a file */
};

enum { SYMBOL_STATE_COUNT = SYMBOL_VIRTUAL + 1 };

struct symbol_frame {
	const char *function; /* demangled; never NULL: "0x1234 [libfoo.so+0x1234]" when unknown */
	const char *file;     /* as passed to the compiler; NULL: unknown */
	uint32_t line;	      /* 0: unknown */
	uint16_t column;      /* from 1; 0: unknown */
	bool is_inlined;      /* into the frame after this one */
	bool is_known;	      /* function is a name */
	const char *module;   /* path of the object, as recorded */
};

struct symbol_frames {
	const struct symbol_frame *frames; /* innermost first; at least one */
	size_t count;
};

/* How function names are shown; they are looked up and kept in full. */
enum symbol_spelling {
	SYMBOL_SPELL_SHORT, /* std::string, not std::__cxx11::basic_string<char, ...> */
	SYMBOL_SPELL_FULL,
	SYMBOL_SPELL_NO_ARGUMENTS /* short, and template arguments are <...> */
};

/* Whose functions are (model/roles.h). */
struct role_rules;

/* Everything pointed to outlives the symbolizer. */
struct symbol_options {
	const char *const
		*debug_dirs;	      /* searched before /usr/lib/debug; NULL-terminated, or NULL */
	const struct path_map *paths; /* NULL: paths are unchanged */
	struct debuginfod *debuginfod;	 /* NULL: no server */
	const struct cache *cache;	 /* NULL: none */
	const struct embedded *embedded; /* names on the tape; NULL: none */
	const struct role_rules *roles;	 /* what the user says; NULL: nothing */
	enum symbol_spelling spelling;
	unsigned thread_count; /* of symbolizer_resolve; 0: one per processor */
};

struct symbolizer;

struct symbolizer *symbolizer_create(const struct symbol_options *options); /* NULL: no memory */
void symbolizer_destroy(struct symbolizer *symbolizer);			    /* accepts NULL */
CLEAN_DEFINE(symbolizer_destroy, struct symbolizer *);

/*
 * The number of an object; equal ones get the same. The texts and build_id (may be NULL, 0) are
 * copied. path names it; file is where it was, NULL: at path. UINT32_MAX: out of memory.
 */
uint32_t symbolizer_object(struct symbolizer *symbolizer, const char *path, const char *file,
			   const uint8_t *build_id, size_t build_id_bytes);

struct symbol_request {
	uint64_t address; /* in the object: pc - bias */
	uint32_t object;
};

/* For sort_stable(), without a context: by object, then by address. */
int symbol_request_compare(const void *context, const void *a, const void *b);

/*
 * Looks up many addresses at once, objects in parallel on several threads, so that
 * symbolizer_frames has them ready. Sorts requests. Equal ones are looked up once.
 */
void symbolizer_resolve(struct symbolizer *symbolizer, struct symbol_request *requests,
			size_t count);

/* Frames at an address of the object. If out of memory, the unknown frame. */
struct symbol_frames symbolizer_frames(struct symbolizer *symbolizer, uint32_t object,
				       uint64_t address);

/* A variable, as debug information has it. Texts live as long as the symbolizer. */
struct symbol_variable {
	const char *type; /* in full (symbol/spell.h); NULL: unknown */
	const char *file; /* as passed to the compiler; NULL: unknown */
	uint32_t line;	  /* 0: unknown */
};

/* The variable that begins at an address of the object. All zeros: nothing is known of it. */
struct symbol_variable symbolizer_variable(struct symbolizer *symbolizer, uint32_t object,
					   uint64_t address);

/* SYMBOL_UNREAD until an address of it was looked up. */
enum symbol_state symbolizer_object_state(const struct symbolizer *symbolizer, uint32_t object);

/* Sources of an object's names. Texts live as long as the symbolizer. */
struct symbol_source {
	enum symbol_state state;
	const char *object_path; /* the object's path here; NULL: missing, or changed */
	const char *debug_path;	 /* separate debug file in use; NULL: none */
	bool is_fetched;	 /* that came from a debuginfod server */
	bool is_embedded;	 /* names are on the tape */
	size_t cached_count;	 /* addresses found in the cache */
};

/* Opens the object, if not done yet; reads no tables. */
struct symbol_source symbolizer_source(struct symbolizer *symbolizer, uint32_t object);

/* Adds the frames at the address; flags select what is named. */
void symbol_frames_pack(const struct symbol_frames *frames, uint64_t address,
			struct pack_builder *builder);

/* A short description: "changed on disk since it was recorded". */
const char *symbol_state_text(enum symbol_state state);

#endif
