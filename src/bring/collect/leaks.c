#include "collect/leaks.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "collect/rotation.h"
#include "scan/leak_scan.h"
#include "scan/recording.h"
#include "scan/snapshot.h"
#include "scan/status.h"

void leaks_begin(struct collector *collector)
{
	struct leaks *leaks = &collector->leaks;

	if (collector->settings->leak_scan == COLLECTOR_NO_SCAN)
		return;
	if (ptrace(PTRACE_SEIZE, collector->child.pid, NULL, NULL) < 0)
		return;
	leaks->kept_tid = collector->child.pid;
	__atomic_store_n(&spool_live(&collector->spool)->scan_asks, 1, __ATOMIC_RELEASE);
}

/* --- the result ------------------------------------------------------------------------------ */

static void write_bytes(struct collector *collector, const struct vec_u8 *bytes)
{
	struct leak_scan_part part;

	for (size_t offset = 0; offset < bytes->count; offset += part.count) {
		leak_scan_part(&part, collector->leaks.count, bytes, offset);
		collector_note(collector, TAPE_EXT_SCAN, &part, leak_scan_part_bytes(&part), NULL);
	}
	collector_flush(collector, WRITER_NORMAL);
}

/* --- scans ----------------------------------------------------------------------------------- */

static uint64_t spool_inode(const struct spool *spool)
{
	struct stat status;

	return fstat(spool->fd, &status) == 0 ? status.st_ino : 0;
}

static void note_begin(struct collector *collector, enum tape_scan_reason reason)
{
	const struct tape_scan_begin begin = { .id = ++collector->leaks.count, .reason = reason };

	collector_note(collector, TAPE_EXT_SCAN_BEGIN, &begin, sizeof(begin), NULL);
	collector_flush(collector, WRITER_NORMAL);
}

/* Everything stands still. */
static struct leak_scan describe(struct collector *collector, enum tape_scan_reason reason)
{
	const struct tape_live *live = spool_live(&collector->spool);
	const bool is_exit = reason == TAPE_SCAN_EXIT;
	struct leak_scan scan = {
		.stop = &collector->leaks.stop,
		.memory_pid = stop_living(&collector->leaks.stop),
		.spool_inode = spool_inode(&collector->spool),
		.exit_tid = is_exit ? (pid_t)live->scan_tid : 0,
		.exit_sp = is_exit ? live->scan_sp : 0,
		.heuristics = collector->settings->leak_heuristics,
	};

	scan.places = threads_places(&collector->threads, &scan.place_count);
	drain_sealed(&collector->drain);
	note_begin(collector, reason);
	scan.until_ticks = collector_ticks(collector);
	return scan;
}

static struct err *scan_now(const struct collector *collector, struct leak_scan *scan,
			    struct scan_image *image)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct err *err =
		capture_open_with_spool(collector->writer.path, collector->spool.fd, &capture);

	scan->capture = capture;
	return err ? err : leak_scan_run(scan, image);
}

static void write_result(struct collector *collector, struct scan_image *image, struct err *err,
			 uint64_t pause_ns)
{
	CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };

	image->facts.pause_ns = collector->leaks.pause_ns = pause_ns;
	str_format(collector->leaks.trouble, sizeof(collector->leaks.trouble), "%s",
		   err ? err_message(err) : "");
	if (err ? scan_image_write_trouble(err_message(err), pause_ns, &bytes)
		: scan_image_write(image, &bytes))
		write_bytes(collector, &bytes);
	err_destroy(err);
}

/* The first thread, stopped by a signal, when there was no scan. */
static void go_on(const struct stop_kept *kept)
{
	if (kept->is_stopped)
		ptrace(PTRACE_CONT, kept->tid, NULL, (long)kept->signal);
}

/* Threads of the last scan that have not stopped yet are waited for until they have. */
static struct err *stop_all(struct leaks *leaks, pid_t pid, const struct stop_kept *kept)
{
	if (stop_late(&leaks->stop))
		return err_new(ERR_STATE, "a thread is in an uninterruptible sleep");
	stop_deinit(&leaks->stop);
	return stop_begin(&leaks->stop, pid, kept);
}

struct err *leaks_stop_all(struct collector *collector)
{
	const struct stop_kept kept = { .tid = collector->leaks.kept_tid };

	return stop_all(&collector->leaks, collector->child.pid, &kept);
}

/* While the program stands still: at its end, when nothing else is left for it to do. */
static void scan_at_end(struct collector *collector, enum tape_scan_reason reason,
			const struct stop_kept *kept)
{
	struct leaks *leaks = &collector->leaks;
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	struct leak_scan scan;
	struct err *err;
	uint64_t pause_ns = 0;

	leaks_end(collector);
	leaks->is_over = true;
	err = leak_scan_check_machine(&collector->header);
	if (!err)
		err = stop_all(leaks, collector->child.pid, kept);
	if (err) {
		note_begin(collector, reason);
		go_on(kept);
	} else {
		scan = describe(collector, reason);
		err = scan_now(collector, &scan, &image);
		pause_ns = stop_end(&leaks->stop);
	}
	write_result(collector, &image, err, pause_ns);
}

/* --- scans of a copy ------------------------------------------------------------------------- */

struct leaks_job {
	struct leak_scan scan;
	struct stop stop; /* this and the places are copied: the collector's change */
	struct stack_place *places;
	int spool_fd; /* a copy */
	const char *tape_path;
	pid_t copy;
	uint64_t pause_ns;
	uint32_t *wake;
	uint64_t tape_bytes; /* when everything stood still */
	pthread_t thread;
	struct scan_image image;
	struct err *err;
	bool is_done; /* atomic; then the thread does not touch it any more */
};

static void *job_main(void *context)
{
	struct leaks_job *job = context;
	CLEAN(capture_destroy) struct capture *capture = NULL;

	job->err = capture_open_with_spool(job->tape_path, job->spool_fd, &capture);
	job->scan.capture = capture;
	if (!job->err)
		job->err = leak_scan_run(&job->scan, &job->image);
	__atomic_store_n(&job->is_done, true, __ATOMIC_RELEASE);
	spool_poke(job->wake);
	return NULL;
}

static void job_destroy(struct leaks_job *job)
{
	if (!job)
		return;
	if (job->copy)
		snapshot_end(job->copy);
	if (job->spool_fd >= 0)
		close(job->spool_fd);
	stop_deinit(&job->stop);
	scan_image_deinit(&job->image);
	err_destroy(job->err);
	free(job->places);
	free(job);
}
CLEAN_DEFINE(job_destroy, struct leaks_job *);

static struct err *copy_spool(const struct collector *collector, int *fd_ret)
{
	const struct recording recording = { .fd = collector->spool.fd,
					     .is_spool = true,
					     .header = collector->header };

	return recording_copy(&recording, fd_ret);
}

/* Nothing may be on the tape in parts later, and in the copy. */
static void take_all(struct collector *collector, uint64_t until_ticks)
{
	drain_sealed(&collector->drain);
	if (drain_is_in_parts(&collector->drain))
		drain_open_ones(&collector->drain, until_ticks);
}

struct err *leaks_copy_spool(struct collector *collector, int *fd_ret, uint64_t *tape_bytes_ret)
{
	struct err *err = leaks_stop_all(collector);

	*fd_ret = -1;
	if (err)
		return err;
	take_all(collector, collector_ticks(collector));
	*tape_bytes_ret = collector->writer.end;
	rotation_wait(collector);
	err = copy_spool(collector, fd_ret);
	stop_end(&collector->leaks.stop);
	return err;
}

/* Everything stands still. */
static struct err *job_fill(struct collector *collector, enum tape_scan_reason reason,
			    uint32_t heuristics, struct leaks_job *job)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	struct err *err = maps_read(stop_living(&collector->leaks.stop), &maps);
	size_t bytes;

	job->scan = describe(collector, reason);
	if (heuristics != CTL_USUAL)
		job->scan.heuristics = heuristics;
	take_all(collector, job->scan.until_ticks);
	job->tape_bytes = collector->writer.end;
	bytes = job->scan.place_count * sizeof(*job->places);
	job->places = malloc(bytes + 1);
	if (!job->places)
		return err_nomem();
	memcpy(job->places, job->scan.places ? job->scan.places : job->places, bytes);
	job->scan.places = job->places;
	job->tape_path = collector->writer.path;
	job->wake = &spool_live(&collector->spool)->sealed_count;
	if (!err)
		err = copy_spool(collector, &job->spool_fd);
	if (!err)
		err = snapshot_take(&collector->leaks.stop, &maps, &job->copy);
	job->scan.memory_pid = job->copy;
	if (!err)
		err = stop_copy(&collector->leaks.stop, &job->stop);
	job->scan.stop = &job->stop;
	return err;
}

/* Signals are for the first thread. */
static struct err *job_start(struct leaks_job *job)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&job->thread, NULL, job_main, job);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error ? err_errno_new(error, "start a thread") : NULL;
}

static void scan_copy(struct collector *collector, enum tape_scan_reason reason,
		      uint32_t heuristics)
{
	struct leaks *leaks = &collector->leaks;
	const struct stop_kept kept = { .tid = leaks->kept_tid };
	CLEAN(job_destroy) struct leaks_job *job = calloc(1, sizeof(*job));
	struct scan_image none = { 0 };
	struct err *err = job ? NULL : err_nomem();

	if (job)
		job->spool_fd = -1;
	if (!err)
		err = leak_scan_check_machine(&collector->header);
	if (!err)
		err = stop_all(leaks, collector->child.pid, &kept);
	if (err) {
		note_begin(collector, reason);
	} else {
		err = job_fill(collector, reason, heuristics, job);
		job->pause_ns = stop_end(&leaks->stop);
		if (!err)
			err = job_start(job);
	}
	if (!err) {
		leaks->job = steal(job);
		return;
	}
	write_result(collector, &none, err, job ? job->pause_ns : 0);
}

static void job_finish(struct collector *collector)
{
	CLEAN(job_destroy) struct leaks_job *job = steal(collector->leaks.job);
	struct ctl_scan scan = { .id = collector->leaks.count,
				 .tape_bytes = job->tape_bytes,
				 .pause_ns = job->pause_ns,
				 .trouble = collector->leaks.trouble };

	pthread_join(job->thread, NULL);
	scan.spool_fd = job->err ? -1 : job->spool_fd;
	write_result(collector, &job->image, steal(job->err), job->pause_ns);
	ctl_scan_done(collector, &scan);
}

void leaks_end(struct collector *collector)
{
	if (collector->leaks.job)
		job_finish(collector);
}

static bool may_scan(const struct collector *collector)
{
	return collector->settings->leak_scan != COLLECTOR_NO_SCAN && !collector->leaks.is_over &&
	       collector_is_recording(collector);
}

bool leaks_request(struct collector *collector, uint32_t heuristics, uint32_t *scan_ret)
{
	struct leaks *leaks = &collector->leaks;

	if (leaks->is_over || !collector_is_recording(collector))
		return false;
	if (!leaks->job)
		scan_copy(collector, TAPE_SCAN_REQUEST, heuristics);
	*scan_ret = leaks->count;
	return true;
}

bool leaks_signal(struct collector *collector)
{
	if (collector->settings->leak_scan != COLLECTOR_SCAN_SIGNAL)
		return false;
	if (may_scan(collector) && !collector->leaks.job)
		scan_copy(collector, TAPE_SCAN_REQUEST, CTL_USUAL);
	return true;
}

static void scan_by_clock(struct collector *collector)
{
	const uint64_t now_ns = monotonic_ns();
	struct leaks *leaks = &collector->leaks;

	if (collector->settings->leak_scan != COLLECTOR_SCAN_PERIOD || !may_scan(collector))
		return;
	if (leaks->due_ns == 0)
		leaks->due_ns = now_ns + collector->settings->leak_period_ns;
	if (now_ns < leaks->due_ns)
		return;
	leaks->due_ns = now_ns + collector->settings->leak_period_ns;
	if (!leaks->job)
		scan_copy(collector, TAPE_SCAN_PERIOD, CTL_USUAL);
}

void leaks_look(struct collector *collector)
{
	struct leaks *leaks = &collector->leaks;
	const struct stop_kept kept = { .tid = leaks->kept_tid };
	uint32_t wanted;

	stop_late(&leaks->stop);
	if (leaks->job && __atomic_load_n(&leaks->job->is_done, __ATOMIC_ACQUIRE))
		job_finish(collector);
	scan_by_clock(collector);
	if (!spool_wants_scan(&collector->spool, &wanted))
		return;
	if (may_scan(collector))
		scan_at_end(collector, TAPE_SCAN_EXIT, &kept);
	spool_scan_done(&collector->spool, wanted);
}

/* --- what a tracer sees ---------------------------------------------------------------------- */

/* Signals whose default action does not end a process: signal(7). */
static bool is_harmless(int number)
{
	static const int harmless[] = { SIGCHLD, SIGCONT, SIGURG,  SIGWINCH,
					SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU };

	for (size_t i = 0; i < array_size(harmless); i++)
		if (number == harmless[i])
			return true;
	return false;
}

/* Whether the process neither handles nor ignores the signal. */
static bool will_end_it(pid_t pid, int number)
{
	struct status status;
	uint64_t spared;

	if (is_harmless(number) || !status_read(&status, pid, pid))
		return false;
	spared = status_number(&status, "SigCgt", 16, UINT64_MAX) |
		 status_number(&status, "SigIgn", 16, UINT64_MAX);
	return !(spared >> (number - 1) & 1);
}

bool leaks_trapped(struct collector *collector, int wait_status)
{
	const pid_t pid = collector->child.pid;
	const int event = wait_status >> 16, number = WSTOPSIG(wait_status);

	if (event == PTRACE_EVENT_STOP) {
		const bool is_job = number != SIGTRAP;

		ptrace(is_job ? PTRACE_LISTEN : PTRACE_CONT, pid, NULL, NULL);
		return is_job;
	}
	if (event == 0 && may_scan(collector) && will_end_it(pid, number)) {
		const struct stop_kept kept = { .tid = pid, .is_stopped = true, .signal = number };

		scan_at_end(collector, TAPE_SCAN_KILLED, &kept);
		return false;
	}
	ptrace(PTRACE_CONT, pid, NULL, (long)(event == 0 ? number : 0));
	return false;
}
