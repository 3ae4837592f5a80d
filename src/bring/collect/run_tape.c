#include "collect/run_tape.h"

#include <errno.h>

#include "base/str.h"
#include "collect/launch.h"
#include "collect/pattern.h"
#include "collect/repack.h"

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
	struct err *err = launch_output(settings, collector->program, collector->child.pid,
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
