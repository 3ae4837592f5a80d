/*
 * exec: what the hooks of exec (exec_hooks.c) do around the call.
 */
#ifndef MEMTAPE_REC_EXEC_H
#define MEMTAPE_REC_EXEC_H

#include "rec/rec.h"

/* How the environment is changed for a program of the other word size, or one that inherits nothing. */
struct exec_swap {
	size_t bytes;	      /* that it takes; 0: it is not changed */
	size_t count;	      /* variables */
	size_t preload;	      /* index of LD_PRELOAD; count: there is none */
	size_t preload_bytes; /* of its value */
	size_t begin; /* of this size's library, in the value; SIZE_MAX: all settings lack */
};

struct exec {
	const char *path;  /* or a name to search in PATH, or "" */
	int fd;		   /* -1: given by name */
	bool is_environ;   /* the program's own is handed on, and cannot be another one */
	bool is_searched;  /* in PATH, as execvp does */
	bool is_other;	   /* that program's words have the other size */
	bool is_linked;	   /* it has the recorder in it (linked.c) */
	char *const *envp; /* the program's */
	char **next;	   /* for the next program instead; NULL: the program's own */
	size_t bytes;	   /* of next, if that is mapped */
	struct exec_swap swap;
	enum tape_exec_left left;    /* why there is none */
	enum tape_exec_left counted; /* as that, of a child */
};

enum {
	REC_EXEC_LIBRARY_BYTES =
		REC_PATH_BYTES + sizeof(ARCH_OTHER_LIBRARY) + sizeof(ARCH_OTHER_SYSTEM_LIBRARY)
};

/*
 * The library as this program was given it; "": it was not, and there is nothing to pass on. Written
 * at the start, on one thread.
 */
extern char rec_exec_library[REC_PATH_BYTES];

/*
 * The library for a program that may have words of the other size, with its NUL, into
 * REC_EXEC_LIBRARY_BYTES; returns its length. Any thread.
 */
size_t rec_exec_library_put(char *out, bool is_other);

/* Why the program will not load it, exec->is_other and is_linked. Any thread, and a child of vfork. */
enum tape_exec_left rec_exec_look(struct exec *exec);

/* Notes the call, and sets exec->next if the next program is to be recorded. */
void rec_exec_begin(struct exec *exec, const struct rec_frame *caller);

/*
 * With children followed, their programs inherit the settings, and LD_PRELOAD names the library for
 * words of this size: the dynamic linker of the other size would complain and load nothing. Sets
 * exec->swap if the next program's words are of the other size and the library for them is there, and
 * if envp has no settings at all: some programs give others an environment of their own. The new one
 * is made in the caller's memory of swap.bytes, on its stack: a child of vfork must leave nothing
 * mapped behind. A program that will not be recorded, but would be by its name, is counted for the
 * collector. Any thread, and a child of vfork.
 */
void rec_exec_swap_find(struct exec *exec);
void rec_exec_swap(struct exec *exec, void *memory);

#define REC_EXEC_SWAP(exec)                                                                        \
	do {                                                                                       \
		rec_exec_swap_find(exec);                                                          \
		if ((exec)->swap.bytes)                                                            \
			rec_exec_swap(exec, __builtin_alloca((exec)->swap.bytes));                 \
	} while (0)

/* The call failed: what rec_exec_swap_find() counted was none. Any thread, and a child of vfork. */
void rec_exec_uncount(const struct exec *exec);

/* The same, after rec_exec_begin(). */
void rec_exec_end(struct exec *exec);

#endif
