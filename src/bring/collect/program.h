/*
 * program: what the user wants to run, found as execvp finds it and looked at before it runs: a
 * library cannot be preloaded into everything, and that is better said at once.
 */
#ifndef MEMTAPE_COLLECT_PROGRAM_H
#define MEMTAPE_COLLECT_PROGRAM_H

#include "base/arena.h"
#include "base/err.h"

struct program {
	const char *path;    /* for execve */
	char *const *argv;   /* NULL-terminated */
	const char *name;    /* last part of the path: %e */
	const char *subject; /* the ELF file that will run: path, or a script's interpreter */
};

/* Why a program cannot be started, as the exit codes of env(1) and shells have it. */
enum program_trouble {
	PROGRAM_FINE,
	PROGRAM_NOT_FOUND,
	PROGRAM_NOT_EXECUTABLE,
	PROGRAM_NOT_RECORDABLE /* static, setuid, another machine */
};

/*
 * argv[0] is a name for PATH or a path. Strings live in arena or are borrowed from argv. A
 * script's `#!/usr/bin/env NAME` is resolved to NAME here, as env would, because what runs after
 * an exec is another program to the recorder.
 */
struct err *program_find(struct program *program, char **argv, struct arena *arena,
			 enum program_trouble *trouble_ret);

/*
 * The recorder's library: MEMTAPE_LIBRARY, or where it was installed or built relative to this
 * executable. An absolute path in arena.
 */
struct err *program_library(struct arena *arena, const char **path_ret);

#endif
