/*
 * allocators: allocators whose calls do not pass through our hooks. Their functions have their own
 * names, like je_malloc and mi_free; or they are the program's own malloc and free, for names of
 * the executable come before those of any library.
 *
 * The former are not interposed by exporting those names: programs look for je_mallctl and its kind
 * to find out what they run on, and would find us. Instead the places through which loaded objects
 * call them (slots.c) are redirected to functions of ours (allocator_calls.c) that call the real
 * ones. So calls bound by the linker inside an object are out of reach.
 *
 * What was found and changed is on the tape, in ALLOCATOR records. All of this happens in our
 * constructor and in dlsym(), never at an event; without such an allocator, and without a request
 * for one, nothing in the program is changed.
 */
#ifndef MEMTAPE_REC_ALLOCATORS_H
#define MEMTAPE_REC_ALLOCATORS_H

#include <link.h>

#include "rec/rec.h"

enum {
	ALLOCATOR_NAME_BYTES = 32, /* of a name, a prefix, a suffix, each with its NUL */
	ALLOCATORS_WANTED_MAX = 16,
	ALLOCATORS_MAX = 16,	      /* at once */
	ALLOCATOR_BINDINGS_MAX = 128, /* functions of all of them */
	ALLOCATOR_ARGUMENTS = 6	      /* as many as registers can hold */
};

/* The allocators that have the functions in rows of allocators.def. */
enum allocator_group {
	ALLOCATOR_STANDARD = 1,
	ALLOCATOR_JEMALLOC = 2,
	ALLOCATOR_MIMALLOC = 4,
	ALLOCATOR_TCMALLOC = 8,
	ALLOCATOR_TBB = 16,
	ALLOCATOR_RUST = 32,
	ALLOCATOR_MOZILLA = 64
};

enum allocator_kind {
	ALLOCATOR_ALLOC,
	ALLOCATOR_TEXT,	 /* a copy of a string: its length is the size */
	ALLOCATOR_POSIX, /* the block is stored at the pointer if the result is 0 */
	ALLOCATOR_REALLOC,
	ALLOCATOR_REALLOC_OR_FREE, /* the old block is freed when that fails */
	ALLOCATOR_RESIZE,	   /* in place; the result is the new size */
	ALLOCATOR_FREE
};

/* A row of allocators.def. */
struct allocator_call {
	const char *suffix;
	uint8_t groups;
	uint8_t kind;
	uint8_t fn;
	uint8_t ptr_place, size_place, count_place; /* ALLOCATOR_NO: none */
};

enum { ALLOCATOR_NO = 255 };

/* An allocator found: an object that exports functions under a prefix. */
struct allocator {
	char name[ALLOCATOR_NAME_BYTES];
	char prefix[ALLOCATOR_NAME_BYTES];
	uint32_t groups;
	bool asked;
	bool is_known;	     /* its calls within itself stay as they are */
	bool is_programs;    /* malloc and the like, defined in the executable */
	bool frees_unseen;   /* so it may free, unseen, what the C library allocated for it */
	bool is_alive;	     /* its object is loaded */
	bool is_told;	     /* in its present state */
	bool is_first;	     /* found at the start: in symbol lookup order */
	uint64_t seen;	     /* the last scan that found it */
	struct link_map map; /* its object, as far as needed for symbol lookup */
	size_t (*usable_size)(const void *ptr); /* NULL: it has none */
	uint32_t functions, objects, places;
	uint64_t counting; /* where the last of these objects is loaded */
};

typedef arch_word allocator_function(arch_word, arch_word, arch_word, arch_word, arch_word,
				     arch_word);

/* What one of our functions stands for. Written under the scan lock, before its first call. */
struct allocator_binding {
	struct allocator *allocator; /* NULL: nothing yet */
	const struct allocator_call *call;
	allocator_function *real;
};

/* allocator_calls.c */
extern struct allocator_binding rec_allocator_bindings[ALLOCATOR_BINDINGS_MAX];
allocator_function *rec_allocator_stub(size_t index);

/* allocators_wanted.c */
/* What is searched for: requests with their own prefix first. */
struct allocator_wanted {
	char name[ALLOCATOR_NAME_BYTES];
	char prefix[ALLOCATOR_NAME_BYTES];
	const char *const *proofs; /* both required; NULL: any function that allocates */
	uint8_t groups;
	bool asked;
	bool is_programs; /* only in the executable */
	bool is_found;
};

extern struct allocator_wanted rec_allocators_wanted[ALLOCATORS_WANTED_MAX];
extern size_t rec_allocators_wanted_count;
void rec_allocators_ask(const char *text, size_t len); /* an option's value */
void rec_allocators_want(void);			       /* after all options are known */

/* slots.c: a call place. */
struct allocator_slot {
	const char *name; /* of the function */
	arch_word bound;  /* its address, or the object's own lookup code if it is lazy */
	uint64_t bias;	  /* of the calling object */
	bool may_be_lazy;
	bool is_first;	 /* everything loaded was loaded at the start */
	bool has_malloc; /* the calling object */
	bool is_c_library;
};

/* Whether the kernel allows writing a page; nothing is written. */
bool rec_is_writable(uint64_t address);
/* Whether an object calls some of these external functions by name. */
bool rec_slots_call(const struct dl_phdr_info *info, const char *const *names, size_t count);
/* All places of an object, with `like` as template; false: it is still being loaded. */
bool rec_slots_patch(const struct dl_phdr_info *info, const struct allocator_slot *like);

/* allocators.c. The function to call there; NULL: unchanged. May bind one more of ours. */
struct allocator_binding *rec_allocator_for(const struct allocator_slot *slot);
void *rec_allocator_dlsym(void *handle, const char *name); /* our replacement for dlsym */
void rec_allocators_ask(const char *text, size_t len);	   /* an option's value */
void rec_allocators_begin(void);			   /* in our constructor */
void rec_allocators_doubt(void);			   /* lookup order is unknown from now on */
void rec_allocators_child(void);			   /* in a forked child */
void rec_allocators_note_all(struct rec_lane *lane);	   /* a new tape */

#endif
