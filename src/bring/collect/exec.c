#include "collect/exec.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/str.h"
#include "collect/ending.h"
#include "collect/rotation.h"
#include "collect/staleness.h"

enum { BEFORE_MAX = 100000 }; /* maximum number of kept tapes per name */

/* "a.mtape" becomes "a.before-1.mtape", or the next number not in use. */
static const char *kept_path(const char *path, struct arena *arena)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(path, '.');

	if (!dot || (slash && dot < slash))
		dot = path + strlen(path);
	for (unsigned number = 1; number < BEFORE_MAX; number++) {
		const char *kept = arena_printf(arena, "%.*s.before-%u%s", (int)(dot - path), path,
						number, dot);

		if (!kept || access(kept, F_OK) < 0)
			return kept;
	}
	return NULL;
}

/* If there are too many, the oldest is dropped but counted. */
static struct collector_former *former_add(struct collector *collector,
					   struct collector_result *result)
{
	if (result->former_count == COLLECTOR_FORMERS_MAX) {
		if (collector->former_fds[0] >= 0)
			close(collector->former_fds[0]);
		memmove(result->formers, result->formers + 1,
			(COLLECTOR_FORMERS_MAX - 1) * sizeof(*result->formers));
		memmove(collector->former_fds, collector->former_fds + 1,
			(COLLECTOR_FORMERS_MAX - 1) * sizeof(*collector->former_fds));
		result->former_count--;
		result->former_more++;
	}
	result->formers[result->former_count] = (struct collector_former) { .name = "" };
	return &result->formers[result->former_count++];
}

/* Keeps the current tape: by name, or by a descriptor if another one takes its name. */
static void former_keep(struct collector *collector, struct arena *arena,
			struct collector_result *result)
{
	struct collector_former *former = former_add(collector, result);
	const char *path = collector->former->path;
	const char *kept = collector->settings->follow ? kept_path(path, arena) : NULL;

	collector->former_fds[result->former_count - 1] = open(path, O_RDONLY | O_CLOEXEC);
	if (kept && rename(path, kept) == 0)
		former->path = collector->former->path = kept;
}

static struct err *tape_begin(struct collector *collector, const char *path)
{
	struct err *err = writer_open(&collector->writer, path, true);

	if (!err) {
		writer_lock(&collector->writer);
		collector->writer.bytes_max = collector->settings->tape_bytes_max;
	}
	if (!err)
		err = drain_open(&collector->drain, &collector->spool, &collector->writer,
				 collector->settings->level, collector->settings->live);
	return err;
}

/* Most programs before an exec are short, and their companion has no thread that may go on. */
static void companion_retire(struct collector *collector)
{
	struct companion *companion = steal(collector->companion);

	if (!companion)
		return;
	companion_stop(companion);
	if (companion_has_ended(companion)) {
		companion_destroy(companion);
		return;
	}
	companion_destroy(collector->retired[collector->retired_count % COLLECTOR_RETIRED_MAX]);
	collector->retired[collector->retired_count++ % COLLECTOR_RETIRED_MAX] = companion;
}

/*
 * False: the tape is full or closed; the next program is not recorded.
 *
 * Whenever this process is killed in here, the name refers to a complete tape: the current one is
 * marked complete before the spool is renewed, and gives its name to the next one (header_take)
 * when that program's recorder has the spool.
 */
static bool begin_anew(struct collector *collector, struct arena *arena,
		       struct collector_result *result)
{
	struct collector_result *former = arena_new(arena, struct collector_result);
	const char *path = arena_strdup(arena, collector->writer.path);
	struct err *err;

	if (!former || !path || !collector_is_recording(collector))
		return false;
	rotation_stop(collector);
	drain_rest(&collector->drain);
	ending_write_replaced(collector, arena, former);
	collector->has_ended = !former->path;
	if (collector->has_ended)
		return false;
	companion_retire(collector);
	collector->former = former;
	child_name_take(&collector->child); /* it waits for us, so its name is final */
	former_keep(collector, arena, result);
	memcpy(collector->former_uuid, collector->header.uuid, sizeof(collector->former_uuid));
	collector->has_header = false;
	staleness_end(collector);
	usage_close(&collector->usage);
	huge_deinit(&collector->huge);
	nodes_close(&collector->nodes);
	system_usage_close(&collector->system);
	threads_close(&collector->threads);
	drain_close(&collector->drain);
	err = spool_renew(&collector->spool);
	if (!err)
		err = tape_begin(collector, path);
	collector->has_ended = err != NULL;
	err_destroy(err);
	return !collector->has_ended;
}

void exec_follow(struct collector *collector, struct arena *arena, struct collector_result *result)
{
	if (!collector->settings->follow_exec || !collector->has_header)
		return;
	spool_is_named(&collector->spool);
	if (!spool_is_asked(&collector->spool))
		return;
	if (begin_anew(collector, arena, result)) {
		spool_answer(&collector->spool, TAPE_EXEC_GRANTED);
		return;
	}
	spool_answer(&collector->spool, TAPE_EXEC_REFUSED);
	if (collector->has_ended)
		spool_unlink(&collector->spool);
}

/* Tapes that cannot be read are listed without figures. */
static void look(struct collector *collector, size_t index, struct arena *arena,
		 struct collector_former *former)
{
	int *fd = &collector->former_fds[index];
	char path[64];

	if (*fd < 0)
		return;
	str_format(path, sizeof(path), "/proc/self/fd/%d", *fd);
	if (collector->settings->look)
		err_destroy(collector->settings->look(path, arena, former));
	close(*fd);
	*fd = -1;
}

void exec_note(struct collector *collector, struct arena *arena, struct collector_result *result)
{
	assert(result->former_count <= COLLECTOR_FORMERS_MAX);
	for (uint32_t i = 0; i < result->former_count; i++) {
		struct collector_former *former = &result->formers[i];

		look(collector, i, arena, former);
		collector_note(collector, TAPE_EXT_BEFORE, &former->figures,
			       sizeof(former->figures), former->name);
	}
}

void exec_fall_back(struct collector *collector, struct arena *arena,
		    struct collector_result *result)
{
	const struct collector_result *former = collector->former;

	if (!former)
		return;
	result->path = former->path;
	result->tape_bytes = former->tape_bytes;
	result->event_count = former->event_count;
	result->missing_count = former->missing_count;
	result->truncated_count = former->truncated_count;
	result->collector_cpu_ns = former->collector_cpu_ns;
	result->fault = former->fault;
	result->replaced = "ended before it was recorded";
	result->former_count--; /* this one becomes the main result */
	look(collector, result->former_count, arena, &result->formers[result->former_count]);
	for (uint32_t i = 0; i < result->former_count; i++)
		look(collector, i, arena, &result->formers[i]);
}
