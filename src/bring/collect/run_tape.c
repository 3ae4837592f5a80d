#include "collect/run_tape.h"

#include <errno.h>

#include "base/str.h"
#include "collect/launch.h"
#include "collect/pattern.h"
#include "collect/repack.h"

static struct err *session_children(const struct collector *collector, struct arena *arena,
				    struct collector_result *result)
{
	struct session_tapes tapes;
	struct err *err = session_writer_end(collector->session, result->path, arena, &tapes);

	if (err)
		return err;
	result->child_count = tapes.packed_count;
	result->child_raw_count = tapes.left_count;
	result->child_paths = tapes.paths;
	result->child_path_count = tapes.path_count;
	if (result->path || tapes.path_count > 0)
		result->session_path = arena_strdup(arena, session_writer_path(collector->session));
	return NULL;
}

/* Children have written their own tapes next to ours. */
struct err *run_tape_children(const struct collector *collector, struct arena *arena,
			      struct collector_result *result)
{
	const int level =
		collector->settings->level ? collector->settings->level : CAPTURE_PACK_LEVEL;
	CLEAN(str_deinit) struct str directory = { 0 };
	struct tape_header first = collector->header;
	struct repack_children children;
	struct err *err;

	if (collector->session)
		return session_children(collector, arena, result);
	if (!collector->settings->follow || collector->settings->is_passing || !result->path)
		return NULL;
	pattern_directory(&directory, result->path);
	if (directory.failed)
		return err_nomem();
	first.start_realtime_ns = collector->first_realtime_ns;
	err = repack_descendants(directory.ptr, &first, level, arena, &children);
	if (err)
		return err;
	result->child_count = children.packed_count;
	result->child_raw_count = children.left_count;
	result->child_paths = children.paths;
	result->child_path_count = children.count;
	return NULL;
}

/* Next to the tape, so that whoever has one finds the other. */
static struct err *spool_place(struct collector *collector)
{
	CLEAN(free) char *tape = realpath(collector->writer.temporary, NULL);
	const char *slash = strrchr(collector->writer.path, '/');
	CLEAN(str_deinit) struct str path = { 0 };

	if (!tape)
		return err_errno("%s", collector->writer.temporary);
	str_printf(&path, "%.*s/%s" TAPE_SPOOL_SUFFIX, (int)(strrchr(tape, '/') - tape), tape,
		   slash ? slash + 1 : collector->writer.path);
	return path.failed ? err_nomem() : spool_rename(&collector->spool, path.ptr);
}

struct err *run_tape_begin(struct collector *collector)
{
	const struct collector_settings *settings = collector->settings;
	const char *pattern = settings->output;
	struct err *err = NULL;

	if (collector->session)
		err = session_writer_begin(collector->session, collector->program,
					   collector->child.pid);
	if (!err && collector->session)
		pattern = session_writer_pattern(collector->session);
	if (!err)
		err = launch_output(settings, pattern, collector->program, collector->child.pid,
				    &collector->writer);
	if (!err)
		err = spool_place(collector);
	if (!err)
		err = drain_open(&collector->drain, &collector->spool, &collector->writer,
				 settings->level, settings->live);
	if (!err && settings->on_ready)
		err = writer_remove_old(&collector->writer);
	if (!err && settings->on_ready)
		err = settings->on_ready(settings->context, collector->writer.path);
	return err;
}
