#include "cli/session_operand.h"

#include <stdio.h>
#include <unistd.h>

#include "convert/merge.h"
#include "session/session.h"

static struct err *merged_make(const struct session *session, const char *path)
{
	const bool tells = session->count > 100 && isatty(STDERR_FILENO);
	struct merged merged;
	struct err *err;

	if (tells)
		fprintf(stderr, "memtape: reading %zu tapes ...", session->count);
	err = merge_session(session, path, &merged);
	if (tells)
		fputs("\r\x1b[K", stderr);
	return err ? err_wrap(err, "all processes as one tape (--process asks for one of them)")
		   : NULL;
}

struct err *session_operand(const char **path, const char *process, const char *refused,
			    struct arena *arena)
{
	CLEAN(session_close) struct session session = { .count = 0 };
	const struct session_member *member = NULL;
	const char *merged;
	struct err *err;

	if (!session_is(*path))
		return process ? err_new(ERR_USAGE,
					 "--process: %s is not a session, as record --follow makes",
					 *path)
			       : NULL;
	err = session_open(*path, &session);
	if (!err && process)
		err = session_find(&session, process, &member);
	if (err)
		return err;
	if (member) {
		*path = arena_strdup(arena, member->path);
		return *path ? NULL : err_nomem();
	}
	if (refused)
		return err_new(ERR_USAGE,
			       "%s; of a session, --process PID or NAME chooses one, and `memtape "
			       "report %s processes` lists them",
			       refused, *path);
	merged = arena_printf(arena, "%s/" TAPE_SESSION_MERGED, session.path);
	if (!merged)
		return err_nomem();
	if (!merge_is_current(&session, merged))
		err = merged_make(&session, merged);
	if (!err)
		*path = merged;
	return err;
}

struct err *session_operands(char **operands, size_t count, struct arena *arena)
{
	struct err *err = NULL;

	for (size_t i = 0; i < count && !err; i++) {
		const char *path = operands[i];

		err = session_operand(&path, NULL, NULL, arena);
		if (!err && path != operands[i])
			operands[i] = arena_strdup(arena, path);
		if (!err && !operands[i])
			err = err_nomem();
	}
	return err;
}
