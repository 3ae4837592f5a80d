/*
 * exec: what the hooks of exec (exec_hooks.c) do around the call.
 */
#ifndef MEMTAPE_REC_EXEC_H
#define MEMTAPE_REC_EXEC_H

#include "rec/rec.h"

struct exec {
	const char *path;	  /* or a name to search in PATH, or "" */
	int fd;			  /* -1: given by name */
	bool is_searched;	  /* in PATH, as execvp does */
	bool is_other;		  /* that program's words have the other size */
	char *const *envp;	  /* the program's */
	char **next;		  /* for the next program instead; NULL: the program's own */
	size_t bytes;		  /* of next */
	enum tape_exec_left left; /* why there is none */
};

/* Notes the call, and sets exec->next if the next program is to be recorded. */
void rec_exec_begin(struct exec *exec, const struct rec_frame *caller);

/* The call failed. */
void rec_exec_end(struct exec *exec);

#endif
