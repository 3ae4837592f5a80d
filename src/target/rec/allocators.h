/*
 * allocators: allocators that calls do not come to by way of us. Their functions have names of
 * their own, like je_malloc and mi_free; or they are the program's own malloc and free, for names
 * of the executable come before those of any library.
 *
 * The former are not interposed by exporting those names: programs look for je_mallctl and its kind
 * to find out what they run on, and would find us. Instead the places through which loaded objects
 * call them (slots.c) are led to functions of ours (allocator_calls.c) that call the real ones. So
 * calls that the linker has bound inside an object are out of reach.
 *
 * What is found and changed is on the tape, in ALLOCATOR records. All of this happens in our
 * constructor and in dlsym(), never at an event; a program without such an allocator, who is not
 * asked for one either, gets nothing changed.
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
	ALLOCATOR_ARGUMENTS = 6	      /* as many as registers have room for */
};

/* Whose functions rows of allocators.def are. */
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
	ALLOCATOR_TEXT,	 /* a copy of a string: as long as it is */
	ALLOCATOR_POSIX, /* the block is put where the pointer points, if the result is 0 */
	ALLOCATOR_REALLOC,
	ALLOCATOR_REALLOC_OR_FREE, /* the old block is freed when that fails */
	ALLOCATOR_RESIZE,	   /* in place; the result is the size that it has now */
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

/* One that was found: an object that exports functions under a prefix. */
struct allocator {
	char name[ALLOCATOR_NAME_BYTES];
	char prefix[ALLOCATOR_NAME_BYTES];
	uint32_t groups;
	bool asked;
	bool is_known;	     /* what it calls in itself stays as it is */
	bool is_programs;    /* malloc and its kin, defined in the executable */
	bool frees_unseen;   /* so it may, then, what the C library has allocated for it */
	bool is_alive;	     /* its object is loaded */
	bool is_told;	     /* as it is now */
	bool is_first;	     /* found at the start: in the order in which names are looked up */
	uint64_t seen;	     /* the last scan that met it */
	struct link_map map; /* its object, as far as names are looked up in it */
	size_t (*usable_size)(const void *ptr); /* NULL: it has none */
	uint32_t functions, objects, places;
	uint64_t counting; /* where the last of these objects is loaded */
};

typedef uint64_t allocator_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

/* What one of our functions stands for. Written under the lock of scans, before its first call. */
struct allocator_binding {
	struct allocator *allocator; /* NULL: nothing yet */
	const struct allocator_call *call;
	allocator_function *real;
};

/* allocator_calls.c */
extern struct allocator_binding rec_allocator_bindings[ALLOCATOR_BINDINGS_MAX];
allocator_function *rec_allocator_stub(size_t index);

/* allocators_wanted.c */
/* What is looked for: what was asked for with a prefix of its own first. */
struct allocator_wanted {
	char name[ALLOCATOR_NAME_BYTES];
	char prefix[ALLOCATOR_NAME_BYTES];
	const char *const *proofs; /* both; NULL: any function that allocates */
	uint8_t groups;
	bool asked;
	bool is_programs; /* only in the executable */
	bool is_found;
};

extern struct allocator_wanted rec_allocators_wanted[ALLOCATORS_WANTED_MAX];
extern size_t rec_allocators_wanted_count;
void rec_allocators_ask(const char *text, size_t len); /* an option's value */
void rec_allocators_want(void);			       /* when all options are known */

/* slots.c: a place of calls. */
struct allocator_slot {
	const char *name; /* of the function */
	uint64_t bound;	  /* its address, or the object's own that looks it up, if it is lazy */
	uint64_t bias;	  /* of the object that calls */
	bool may_be_lazy;
	bool is_first;	 /* all that is loaded was loaded at the start */
	bool has_malloc; /* the object that calls */
	bool is_c_library;
};

/* Whether an object calls one of some functions of others by name. */
bool rec_slots_call(const struct dl_phdr_info *info, const char *const *names, size_t count);
/* All places of an object, which are like that; false: somebody is still loading it. */
bool rec_slots_patch(const struct dl_phdr_info *info, const struct allocator_slot *like);

/* allocators.c. Who is to be called there; NULL: it stays. May bind one more of our functions. */
struct allocator_binding *rec_allocator_for(const struct allocator_slot *slot);
void *rec_allocator_dlsym(void *handle, const char *name); /* what is called for dlsym */
void rec_allocators_ask(const char *text, size_t len);	   /* an option's value */
void rec_allocators_begin(void);			   /* in our constructor */
void rec_allocators_doubt(void);		     /* names are not looked up in order any more */
void rec_allocators_child(void);		     /* in a forked child */
void rec_allocators_note_all(struct rec_lane *lane); /* a new tape */

#endif
