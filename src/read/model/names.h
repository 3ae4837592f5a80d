/*
 * names: the frames of a model's stacks, as a programmer wrote them.
 *
 * The only lazy part of a model: when frames are first requested, all code addresses of the model
 * are symbolized at once, modules in parallel. A names object belongs to one thread, while any
 * number of threads may read its model. Everything it returns lives as long as it does.
 *
 * Frames of the same function of the same object share a *name*, a small number by which trees are
 * merged. A name has a role, by which runtime and allocator frames can be folded away.
 */
#ifndef MEMTAPE_MODEL_NAMES_H
#define MEMTAPE_MODEL_NAMES_H

#include "model/model.h"
#include "symbol/symbol.h"

enum name_role {
	NAME_MINE,	/* everything else: what the user wrote */
	NAME_ALLOCATOR, /* between the caller and malloc: std::allocator, __rust_alloc, ... */
	NAME_START,	/* before main or a thread's function: _start, clone, ... */
	NAME_LIBRARY	/* of a library or a language's runtime: std::vector, libc, ... */
};

/* Names that do not stand for a function. */
enum {
	NAME_OUT_OF_MEMORY = 0,
	NAME_TRUNCATED = 1, /* frames further out could not be found */
	NAME_NO_STACK = 2   /* no stack was recorded */
};

/* The module of code generated at run time. */
#define NAMES_JIT_MODULE "[jit]"

struct name {
	const char *function;	  /* as shown; "0x1234 [libfoo.so+0x1234]" if unknown */
	const char *module;	  /* path; "" outside of every object */
	const char *module_short; /* its last part */
	enum name_role role;
	bool is_known;
	const char *full;  /* the function in full, without elisions */
	const char *brief; /* for people to read (spell_function); several may be alike */
};

struct name_frame {
	uint32_t name;
	uint32_t line;	  /* 0: unknown */
	const char *file; /* path of the source here, after --path-map; NULL: unknown */
	uint16_t column;  /* column, from 1; 0: unknown */
	bool is_inlined;  /* into the frame after this one */
	bool is_glue;	  /* made by the compiler to call what is inside it, and nothing else */
};

struct name_frames {
	const struct name_frame *frames; /* innermost first; at least one */
	size_t count;
};

struct names;

/* The model must outlive it, and so must what options point to. NULL: out of memory. */
struct names *names_create(const struct model *model, const struct symbol_options *options);
/*
 * From now on of a later model of the same tape, with the same stacks and modules and perhaps more: only
 * what is new is looked up. The former model may be gone. Not of a view, nor with any. False: out of
 * memory, and nothing has changed.
 */
bool names_follow(struct names *names, const struct model *model);
void names_destroy(struct names *names); /* accepts NULL */
CLEAN_DEFINE(names_destroy, struct names *);

/* Frames of the stack's innermost address alone; stack >= CAPTURE_STACK_FIRST. */
struct name_frames names_frames(struct names *names, uint32_t stack);

/* The same for callers that do not show it: names_module_state does not count it. */
struct name_frames names_look(struct names *names, uint32_t stack);

/*
 * Whether a frame of names_frames(names, stack) is called, directly or not, by a function of the
 * user's.
 */
bool names_is_called_by_mine(struct names *names, uint32_t stack, const struct name_frame *frame);

const struct name *names_get(const struct names *names, uint32_t name);
size_t names_count(const struct names *names);

/*
 * The function of a frame that a leak scan found; what is inlined into it stands before it. False:
 * unknown.
 */
struct model_scan_frame;
bool names_scan_frame(struct names *names, const struct model_scan_frame *frame,
		      struct name_frames *frames_ret);

/* A variable that a leak scan found. */
struct name_variable {
	const char *name;   /* demangled; without a symbol the module's; "" if unknown */
	const char *type;   /* NULL: unknown */
	const char *module; /* path; NULL: outside of every module */
	const char *file;   /* of its declaration here; NULL: unknown */
	uint32_t line;	    /* 0: unknown */
};

/*
 * The variable at an address, with the name of its symbol. After names_settle only those of the
 * model's scans have a type and a file.
 */
struct name_variable names_variable(struct names *names, uint64_t address, const char *symbol);

/* The symbolizer behind it, and its number of a module: for queries about files. */
struct symbolizer *names_symbolizer(struct names *names);
uint32_t names_object(struct names *names, size_t module);

/* The module's path; of a program without a name on the tape its exe. */
const char *names_module_path(const struct names *names, size_t module);

/* Symbolizes all addresses of the model now; names_frames does so automatically. */
void names_prepare(struct names *names);

/*
 * Resolves the frames of all stacks. From then on nothing is looked up any more: names_frames,
 * names_get, names_count and names_module_path only read, and are thread-safe.
 */
void names_settle(struct names *names);

/*
 * The same names for one more thread, after names_settle: they share everything except
 * names_module_state's record of what was shown. Must be destroyed before names. NULL: out of
 * memory.
 */
struct names *names_view(const struct names *names);

/* Resets names_module_state: nothing of any module was shown yet. */
void names_show_anew(struct names *names);

/* How well a module of the model could be read; SYMBOL_UNREAD: nothing of it was shown. */
enum symbol_state names_module_state(const struct names *names, size_t module);

/* Path without its folders. */
const char *names_short_path(const char *path);

#endif
