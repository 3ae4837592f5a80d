/*
 * session_operand: a session in the place of a tape. Commands that read a tape take it as all its
 * processes at once, or as one of them.
 */
#ifndef MEMTAPE_CLI_SESSION_OPERAND_H
#define MEMTAPE_CLI_SESSION_OPERAND_H

#include "base/arena.h"
#include "base/err.h"
#include "base/options.h"

/* clang-format off */
#define SESSION_PROCESS_OPTION(settings, member)                                                   \
	{ "process", 0, "PID|NAME", OPTION_TEXT, offsetof(settings, member),                       \
	  "of a session: only the process with this number, or of the program of this name" }
/* clang-format on */

/*
 * The path of a tape: *path itself, or if it is a session's folder that of all its processes, which
 * is made if it is not there yet, or of the one that `process` names (NULL: all). refused: why what
 * is asked for cannot be asked of several processes, "`rss` is about one process"; NULL: it can.
 * Texts are in the arena.
 */
struct err *session_operand(const char **path, const char *process, const char *refused,
			    struct arena *arena);

/* Likewise all operands that are sessions, in place, each as all its processes at once. */
struct err *session_operands(char **operands, size_t count, struct arena *arena);

#endif
