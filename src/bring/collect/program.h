/*
 * program: the program to run, looked up as execvp does and checked before it runs: a library
 * cannot be preloaded into every program, and that is best reported early.
 */
#ifndef MEMTAPE_COLLECT_PROGRAM_H
#define MEMTAPE_COLLECT_PROGRAM_H

#include "base/arena.h"
#include "base/err.h"

struct program {
	const char *path;    /* argument of execve */
	char *const *argv;   /* NULL-terminated */
	const char *name;    /* last part of the path: %e */
	const char *subject; /* the ELF file that will run: path, or a script's interpreter */
	uint16_t machine;    /* e_machine of that; EM_NONE: unknown */
	bool is_narrow;	     /* of 32 bits where memtape has 64: recorded, but not looked into */
};

/* Why a program cannot be started, as in the exit codes of env(1) and shells. */
enum program_trouble {
	PROGRAM_FINE,
	PROGRAM_NOT_FOUND,
	PROGRAM_NOT_EXECUTABLE,
	PROGRAM_NOT_RECORDABLE /* static, setuid, another machine */
};

/*
 * argv[0] is a path, or a name looked up in PATH. Strings live in arena or are borrowed from argv.
 * A script's `#!/usr/bin/env NAME` is resolved to NAME here, as env would, because the recorder
 * treats what runs after an exec as another program.
 */
struct err *program_find(struct program *program, char **argv, struct arena *arena,
			 enum program_trouble *trouble_ret);

/*
 * Path of the recorder's library: MEMTAPE_LIBRARY, or the installed or build location relative to
 * this executable. Absolute, in arena.
 */
struct err *program_library(struct arena *arena, const char **path_ret);

/*
 * That of the library for a program: for one of 32 bits it is in a folder beside the other one that is called
 * as the processor, or where systems with libraries of several processors have it.
 */
struct err *program_library_for(const struct program *program, struct arena *arena,
				const char **path_ret);

#endif
