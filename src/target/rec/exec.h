/*
 * exec: what the hooks of exec (exec_hooks.c) do around the call.
 */
#ifndef MEMTAPE_REC_EXEC_H
#define MEMTAPE_REC_EXEC_H

#include "rec/rec.h"

struct exec {
	const char *path;	  /* or a name for PATH, or "" */
	int fd;			  /* -1: it is named */
	bool is_searched;	  /* in PATH, as execvp does */
	char *const *envp;	  /* the program's */
	char **next;		  /* what the next program gets instead; NULL: the program's */
	size_t bytes;		  /* of next */
	enum tape_exec_left left; /* why there is none */
};

/* Notes the call, and makes exec->next where the next program is to be recorded. */
void rec_exec_begin(struct exec *exec, const struct rec_frame *caller);

/* The call has failed. */
void rec_exec_end(struct exec *exec);

#endif
