/*
 * anonymous: replacement names for an anonymised tape: "function-12", "/anonymous/module-3".
 *
 * Numbers are assigned in order of first lookup, so they reveal nothing about the name; equal names
 * get equal replacements. Public names are kept: listed system libraries and their functions.
 * Allocator and program-start functions keep their role.
 */
#ifndef MEMTAPE_CLI_ANONYMOUS_H
#define MEMTAPE_CLI_ANONYMOUS_H

#include "base/map.h"
#include "capture/anonymise.h"
#include "select/regex.h"
#include "symbol/rename.h"

struct anonymous {
	const char *keep_modules; /* "libc,libm": names of files up to ".so" or "-"; all borrowed */
	const struct regex *keep_names; /* functions to keep; NULL: none */
	FILE *map; /* writes old and new names, for the tape's owner; NULL: not wanted */
	/* private from here */
	struct interner paths;
	struct interner functions;
	struct interner arguments;
	struct interner threads;
	struct interner marks;
	struct interner variables;
	struct interner sources;
	struct interner build_ids;
	struct vec_u64 random_ids; /* by build-id number: offset of its bytes */
	struct arena arena;
	struct str out;
	struct str path_out;
	struct str object_path; /* the word for the object whose names are being replaced */
	bool is_kept_module;	/* of the object whose names are being replaced */
	const char *module;	/* its original path */
};

/* The libraries whose names stay by default. */
extern const char ANONYMOUS_KEEP_MODULES[];

void anonymous_deinit(struct anonymous *anonymous);
CLEAN_DEFINE_DEINIT(anonymous_deinit, struct anonymous);

/* Callbacks for anonymise_settings; context is the struct anonymous. */
const char *anonymous_text(void *context, enum anonymise_kind kind, const char *text);
const uint8_t *anonymous_build_id(void *context, const char *path, const uint8_t *build_id,
				  size_t count);
void anonymous_tell(void *context, const char *what, const char *before, const char *after);

/* Names that are, or would be, embedded in a tape, with their replacements. */
struct err *anonymous_names(struct anonymous *anonymous, const struct embedded *embedded,
			    struct vec_u8 *out);

#endif
