/*
 * code: which file the code at an address is of, in processes that come and go, and what called it:
 * stacks are unwound with the files' tables, from a copy of their inner part.
 *
 * One thread at a time.
 */
#ifndef MEMTAPE_TRACE_CODE_H
#define MEMTAPE_TRACE_CODE_H

#include <sys/types.h>

#include "arch/native.h"
#include "base/err.h"

struct code;

struct code *code_create(void);	      /* NULL: out of memory */
void code_destroy(struct code *code); /* accepts NULL */
CLEAN_DEFINE(code_destroy, struct code *);

/* A file's code at addresses of a process. */
struct code_module {
	uint64_t begin, end;
	uint64_t bias; /* address in the file = pc - bias; 0 if it has no file to be read */
	const char *path;
	uint32_t file; /* private */
	uint8_t build_id[32];
	size_t build_id_bytes;
};

/* Code that a process maps from a file. */
struct code_mapping {
	uint64_t begin, end;
	uint64_t file_offset;
	const char *path;
	const uint8_t *build_id; /* build_id_bytes; 0: unknown */
	size_t build_id_bytes;
	uint64_t inode; /* of the file, where there is no build-id; 0: unknown */
};

/* --- what happens, in its order; false: out of memory ------------------------------------------- */

/* Whether anything is known of the process. */
bool code_knows(const struct code *code, pid_t pid);
/* What a process has mapped now. One that cannot be read has nothing. */
bool code_read(struct code *code, pid_t pid);
bool code_mapped(struct code *code, pid_t pid, const struct code_mapping *mapping);
bool code_forked(struct code *code, pid_t parent, pid_t pid);
void code_executed(struct code *code, pid_t pid);
/* A thread; with the last one the process. */
void code_ended(struct code *code, pid_t pid);

/* --- stacks ---------------------------------------------------------------------------------- */

struct code_stack {
	const uint64_t *registers; /* ARCH_REGS, by DWARF number */
	const uint8_t *bytes;	   /* the stack, from the stack pointer on */
	size_t byte_count;
	bool is_exact; /* the first pc is the instruction itself, not where a call returns to */
};

enum { CODE_DEPTH_MAX = 512 };

struct code_frame {
	uint64_t pc;
	bool is_exact;
	const struct code_module *module; /* NULL: of no file; valid until the next change */
};

/* The words of a stack on which it depends how it is unwound. */
struct code_word {
	uint64_t address, value;
};

/*
 * What a stack was unwound by: of another one that begins with the same registers, and has the same
 * words, the frames are the same, until code_changes() is another number.
 */
struct code_trail {
	bool is_known; /* else it depends on more */
	size_t count;
	struct code_word words[2 * CODE_DEPTH_MAX];
};

/* Grows with everything that happens to what is mapped. */
uint64_t code_changes(const struct code *code);

/*
 * Fills frames, the innermost first; returns how many there are. *is_whole_ret: the last one is the
 * outermost of the thread; else what called it is not known.
 */
size_t code_unwind(struct code *code, pid_t pid, const struct code_stack *stack,
		   struct code_frame frames[CODE_DEPTH_MAX], bool *is_whole_ret,
		   struct code_trail *trail);

#endif
