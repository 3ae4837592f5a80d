#include "triage/triage.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "system/kernel_log.h"
#include "system/lines.h"
#include "triage/parts.h"

enum { NS_PER_S = 1000000000, HUNDREDTH_NS = 10000000 };

/* --- kills ------------------------------------------------------------------------------------ */

/* Of the last look, since the machine was started: "5123.45 9000.12". */
static uint64_t uptime_ns(const struct look *look)
{
	const char *text = look_text(look, "/proc/uptime");
	const char *dot = text ? strchr(text, '.') : NULL;
	uint64_t seconds = line_number(text), hundredths = dot ? line_number(dot + 1) : 0;

	if (seconds >= UINT64_MAX / NS_PER_S)
		return SYSTEM_UNKNOWN;
	hundredths = hundredths >= NS_PER_S / HUNDREDTH_NS ? 0 : hundredths;
	return seconds * NS_PER_S + hundredths * HUNDREDTH_NS;
}

static void kill_fill(const struct oom_kill *kill, uint64_t now_ns, struct triage_kill *row)
{
	*row = (struct triage_kill) {
		.ago_ns = known_minus(now_ns, kill->uptime_ns),
		.pid = kill->pid,
		.name = kill->name,
		.cgroup = kill->is_cgroup && !kill->cgroup ? "?" : kill->cgroup,
		.address_space = kill->address_space,
		.anonymous = kill->rss_anonymous,
		.file = kill->rss_file,
		.shared = kill->rss_shared,
	};
}

/* Each look has what the log got since the one before it. */
struct err *making_kills(struct making *making)
{
	CLEAN(oom_kills_deinit) struct oom_kills kills = { 0 };
	const uint64_t now_ns = uptime_ns(making->last);
	struct triage_kill *rows;
	struct err *err = NULL;

	for (size_t i = 0; i < making->looks->count && !err; i++)
		err = kernel_log_read(look_text(&making->looks->items[i], "/dev/kmsg"),
				      making->arena, &kills);
	if (err)
		return err;
	rows = arena_array(making->arena, kills.count, sizeof(*rows));
	if (!rows)
		return err_nomem();
	for (size_t i = 0; i < kills.count; i++)
		kill_fill(&kills.items[kills.count - 1 - i], now_ns, &rows[i]);
	making->triage->kills = (struct shape_rows) { rows, kills.count };
	return NULL;
}

/* --- what could not be read ------------------------------------------------------------------- */

/* Of files that others may lack, such as a process that has ended. */
static bool is_missed(const struct look_file *file)
{
	static const char *const needed[] = { "/proc/meminfo", "/proc/vmstat",
					      "/proc/pressure/memory", "/dev/kmsg",
					      "/proc/1/status" };

	if (file->text)
		return false;
	for (size_t i = 0; i < array_size(needed); i++)
		if (strcmp(file->path, needed[i]) == 0)
			return true;
	return file->error != ENOENT && file->error != ESRCH;
}

struct err *making_missing(struct making *making)
{
	const struct look *look = making->last;
	struct triage_missing *rows = arena_array(making->arena, look->file_count, sizeof(*rows));
	size_t count = 0;

	if (!rows)
		return err_nomem();
	for (size_t i = 0; i < look->file_count; i++) {
		const struct look_file *file = &look->files[i];
		char reason[STR_SHORT_BYTES * 2];

		if (!is_missed(file))
			continue;
		rows[count].path = file->path;
		rows[count].reason = arena_strdup(making->arena,
						  strerror_r(file->error, reason, sizeof(reason)));
		if (!rows[count++].reason)
			return err_nomem();
	}
	making->triage->missing = (struct shape_rows) { rows, count };
	return NULL;
}

/* --- all of it -------------------------------------------------------------------------------- */

static struct err *making_head(struct making *making)
{
	const char *host = look_text(making->last, "/proc/sys/kernel/hostname");
	struct triage *triage = making->triage;

	triage->time_ns = making->last->realtime_ns;
	triage->look_count = making->looks->count;
	triage->span_ns = making->last->monotonic_ns - making->first->monotonic_ns;
	triage->process_count = making->last->process_count;
	if (!host || !*host)
		return NULL;
	triage->host = line_rest(host, making->arena);
	return triage->host ? NULL : err_nomem();
}

struct err *triage_make(const struct looks *looks, struct arena *arena,
			const struct triage **triage_ret)
{
	struct making making = { .looks = looks, .arena = arena };
	struct err *err;

	assert(looks->count > 0);
	making.triage = arena_new(arena, struct triage);
	if (!making.triage)
		return err_nomem();
	making.first = &looks->items[0];
	making.last = &looks->items[looks->count - 1];
	making.seconds =
		(double)(making.last->monotonic_ns - making.first->monotonic_ns) / NS_PER_S;
	making_memory(&making);
	err = making_head(&making);
	if (!err)
		err = making_cgroups(&making);
	if (!err)
		err = making_processes(&making);
	if (!err)
		err = making_subject(&making);
	if (!err)
		err = making_kills(&making);
	if (!err)
		err = making_missing(&making);
	if (!err)
		err = making_verdicts(&making);
	if (!err)
		*triage_ret = making.triage;
	return err;
}
