#include "collect/rotation.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/monotonic.h"
#include "base/str.h"
#include "capture/rotate.h"
#include "collect/collector_state.h"

enum {
	/* Parts of the limit: when one begins; what is copied unread; what it may make of it. */
	BEGIN_PART = 2,
	DETAIL_PART = 8,
	RESULT_PART = 4,
	SPARE_PART = 16, /* for what is taken of a recorder that waits */
	COPY_BYTES = 1 << 20,
	/* A record may be written this late after its time. */
	LATE_NS = 2000000000,
	OPEN_NS = 2000000000, /* in which a tape whose size was told is opened */
	HELD_NS = 1000000000  /* a recorder that sees no progress for five times that goes alone */
};

struct rotation_job {
	pthread_t thread;
	char *path;
	char *temporary; /* NULL: the new file has no name */
	int fd;
	int spool_fd;
	uint64_t begin_bytes; /* of the tape, that are made smaller; those after it are copied */
	uint64_t event_count; /* on the tape at that time */
	struct rotate_settings settings;
	uint32_t *wake;

	/* atomic */
	uint64_t tape_bytes;
	uint32_t stop;
	uint32_t is_done; /* what follows is the collector's */

	struct rotated rotated;
	uint64_t copied_bytes; /* of the tape */
	struct err *err;
};

/* --- the thread ------------------------------------------------------------------------------ */

static struct err *write_at(int fd, const uint8_t *bytes, size_t len, uint64_t offset)
{
	while (len > 0) {
		const ssize_t done = pwrite(fd, bytes, len, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return err_errno_new(done ? errno : ENOSPC, "write");
		bytes += done;
		len -= (size_t)done;
		offset += (uint64_t)done;
	}
	return NULL;
}

/* Appends what the tape has got since, up to `end`. */
static struct err *copy_tail(struct rotation_job *job, int from, uint64_t end)
{
	CLEAN(free) uint8_t *part = malloc(COPY_BYTES);
	struct err *err = part ? NULL : err_nomem();

	while (!err && job->copied_bytes < end) {
		const size_t want = u64_min(end - job->copied_bytes, COPY_BYTES);
		const ssize_t got = file_read_at(from, part, want, job->copied_bytes);

		if (got <= 0)
			return got ? err_errno("read") : err_new(ERR_STATE, "the tape was cut");
		err = write_at(job->fd, part, (size_t)got,
			       job->rotated.bytes + job->copied_bytes - job->begin_bytes);
		job->copied_bytes += err ? 0 : (uint64_t)got;
	}
	return err;
}

static struct err *make(struct rotation_job *job)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	CLEAN(close) int from = open(job->path, O_RDONLY | O_CLOEXEC);
	struct err *err = from < 0 ? err_errno("open") : NULL;
	uint64_t end;

	if (!err)
		err = capture_open_begin(job->path, job->spool_fd, job->begin_bytes, &capture);
	if (!err)
		err = rotate_tape(capture, job->fd, &job->settings, &job->rotated);
	job->copied_bytes = job->begin_bytes;
	do {
		end = __atomic_load_n(&job->tape_bytes, __ATOMIC_ACQUIRE);
		if (!err && end - job->copied_bytes > COPY_BYTES)
			err = copy_tail(job, from, end);
	} while (!err && __atomic_load_n(&job->tape_bytes, __ATOMIC_ACQUIRE) - end > COPY_BYTES &&
		 !__atomic_load_n(&job->stop, __ATOMIC_RELAXED));
	if (!err && fdatasync(job->fd) < 0) /* before it takes the place of one that is on disk */
		err = err_errno("sync");
	return err;
}

static void *job_run(void *context)
{
	struct rotation_job *job = context;

	job->err = make(job);
	__atomic_store_n(&job->is_done, 1, __ATOMIC_RELEASE);
	spool_poke(job->wake);
	return NULL;
}

/* --- its beginning and end --------------------------------------------------------------------- */

static void job_destroy(struct rotation_job *job)
{
	if (!job)
		return;
	if (job->temporary)
		unlink(job->temporary);
	if (job->fd >= 0)
		close(job->fd);
	if (job->spool_fd >= 0)
		close(job->spool_fd);
	err_destroy(job->err);
	free(job->temporary);
	free(job->path);
	free(job);
}

CLEAN_DEFINE(job_destroy, struct rotation_job *);

/* Without a name, so that nothing is left of it whenever we are killed; with one if it must be. */
static struct err *file_make(struct rotation_job *job)
{
	const char *slash = strrchr(job->path, '/');
	CLEAN(str_deinit) struct str directory = { 0 };
	CLEAN(str_deinit) struct str name = { 0 };

	str_printf(&directory, "%.*s", slash ? (int)(slash - job->path) + 1 : 1,
		   slash ? job->path : ".");
	str_printf(&name, "%s.new", job->path);
	if (directory.failed || name.failed)
		return err_nomem();
	job->fd = open(directory.ptr, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (job->fd >= 0)
		return NULL;
	unlink(name.ptr); /* of a collector that was killed */
	job->fd = file_create(name.ptr);
	if (job->fd < 0)
		return err_errno("create %s", name.ptr);
	job->temporary = strdup(name.ptr);
	return job->temporary ? NULL : err_nomem();
}

/*
 * What is not on the tape yet: a block whose allocation is there is not to be taken for one that
 * was never freed, or the other way round.
 */
struct spool_image {
	int fd;
	uint32_t chunk_bytes;
};

static struct err *copy_slot(void *context, uint32_t index, const struct tape_chunk *chunk)
{
	const struct spool_image *image = context;

	return write_at(image->fd, (const uint8_t *)chunk, image->chunk_bytes,
			TAPE_HEADER_BYTES + (uint64_t)index * image->chunk_bytes);
}

static struct err *spool_copy(struct collector *collector, int *fd_ret)
{
	const struct spool *spool = &collector->spool;
	struct spool_image image = { file_create_in_memory("memtape-rotation"),
				     spool->chunk_bytes };
	struct err *err;

	if (image.fd < 0)
		return err_errno("copy the spool");
	*fd_ret = image.fd; /* the caller's, in any case */
	if (ftruncate(image.fd, (off_t)spool->bytes) < 0)
		return err_errno("copy the spool");
	err = write_at(image.fd, spool->map, TAPE_HEADER_BYTES, 0);
	return err ? err : drain_each(&collector->drain, copy_slot, &image);
}

/* The collector's own slots only: a recorder that thought it dead has written more. */
static bool spool_is_ours(const struct spool *spool)
{
	struct stat status;

	return fstat(spool->fd, &status) == 0 && (uint64_t)status.st_size <= spool->bytes;
}

/* A time of which everything is on the tape or in the spool. */
static uint64_t settled_ticks(const struct collector *collector)
{
	const struct tape_header *header = &collector->header;
	const uint64_t ticks = collector_ticks(collector);
	const uint64_t begin = header->start_ticks;
	const uint64_t ns = monotonic_ns() - header->start_monotonic_ns;

	if (ticks <= begin || ns <= LATE_NS)
		return begin;
	return ticks - (uint64_t)((double)(ticks - begin) / (double)ns * LATE_NS);
}

static struct err *job_begin(struct collector *collector)
{
	struct rotation *rotation = &collector->rotation;
	const uint64_t end = collector->writer.end, limit = collector->settings->tape_bytes_max;
	const uint64_t detail = rotation->keeps_little ? 0 : limit / DETAIL_PART;
	CLEAN(job_destroy) struct rotation_job *job = calloc(1, sizeof(*job));
	struct err *err;
	int rc;

	if (!job)
		return err_nomem();
	*job = (struct rotation_job) {
		.path = strdup(collector->writer.path),
		.fd = -1,
		.spool_fd = -1,
		.begin_bytes = end,
		.tape_bytes = end,
		.event_count = collector->drain.event_count,
		.settings = { .kept_from = end - u64_min(detail, end),
			      .settled_ticks = settled_ticks(collector),
			      .bytes_max = limit / RESULT_PART,
			      .level = collector->settings->level ? collector->settings->level
								  : CAPTURE_PACK_LEVEL,
			      .stop = &job->stop },
		.wake = &spool_live(&collector->spool)->sealed_count,
	};
	err = job->path ? file_make(job) : err_nomem();
	if (!err)
		err = spool_copy(collector, &job->spool_fd);
	if (err)
		return err;
	rc = pthread_create(&job->thread, NULL, job_run, job);
	if (rc)
		return err_errno_new(rc, "start a thread");
	rotation->job = steal(job);
	return NULL;
}

/* Signals are for the collector's thread. */
static struct err *job_begin_quiet(struct collector *collector)
{
	sigset_t all, saved;
	struct err *err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	err = job_begin(collector);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	return err;
}

/* --- the new tape ---------------------------------------------------------------------------- */

/* The sums so far are of more than the tape has: what was played is of no use any more. */
static void companion_drop(struct collector *collector)
{
	collector->drain.companion = NULL;
	companion_destroy(steal(collector->companion));
}

static struct err *take_result(struct collector *collector, struct rotation_job *job)
{
	struct writer *writer = &collector->writer;
	const uint64_t tail_chunks = writer->chunk_count - collector->rotation.chunk_count;
	struct err *err = steal(job->err);

	if (!err)
		err = copy_tail(job, writer->fd, writer->end);
	if (!err)
		err = writer_replace(writer, &collector->header, job->fd, job->temporary,
				     job->rotated.bytes + writer->end - job->begin_bytes,
				     job->rotated.chunk_count + tail_chunks);
	if (err)
		return err;
	job->fd = -1;
	free(steal(job->temporary));
	collector->drain.event_count +=
		job->rotated.event_count - job->event_count; /* modulo 2^64 */
	companion_drop(collector);
	return NULL;
}

/* Too much lives to keep more; or nothing can be done now. */
static void failed(struct collector *collector, struct err *err)
{
	struct rotation *rotation = &collector->rotation;
	const uint64_t limit = collector->settings->tape_bytes_max;
	const uint64_t step = limit / (2 * DETAIL_PART);

	err_destroy(rotation->trouble);
	rotation->trouble = err;
	if (err_errno_of(err) == EFBIG && !rotation->keeps_little) {
		rotation->keeps_little = true; /* at once, and with less */
		return;
	}
	rotation->keeps_little = false;
	rotation->due_bytes = collector->writer.end + step;
	if (rotation->due_bytes > limit / BEGIN_PART + limit / DETAIL_PART)
		rotation->due_bytes = UINT64_MAX; /* for both files there is no room any more */
}

/* The tape's size at which the next one begins. */
static uint64_t begin_at(const struct collector *collector)
{
	const uint64_t limit = collector->settings->tape_bytes_max;
	/* All of the spool may come onto the tape at the end. */
	const uint64_t spool = u64_min(collector->spool.bytes / 2, limit / DETAIL_PART);

	return u64_max(limit / BEGIN_PART - spool, collector->rotation.due_bytes);
}

/* That from which on it waits for one that goes on. What came since its beginning is in both files. */
static uint64_t hold_at(const struct collector *collector)
{
	const uint64_t limit = collector->settings->tape_bytes_max;

	return (limit - limit / RESULT_PART + collector->rotation.job->begin_bytes) / 2 -
	       limit / SPARE_PART;
}

static void job_take(struct collector *collector)
{
	struct rotation *rotation = &collector->rotation;
	struct rotation_job *job = rotation->job;
	struct err *err;

	__atomic_store_n(&job->tape_bytes, collector->writer.end, __ATOMIC_RELEASE);
	if (!__atomic_load_n(&job->is_done, __ATOMIC_ACQUIRE) || collector->leaks.job)
		return;
	/* Who was told a size opens the old file; not at the price of what is recorded. */
	if (monotonic_ns() < rotation->open_until_ns && collector->writer.end < hold_at(collector))
		return;
	pthread_join(job->thread, NULL);
	rotation->job = NULL;
	err = take_result(collector, job);
	job_destroy(job);
	if (err) {
		failed(collector, err);
		return;
	}
	rotation->keeps_little = false;
	rotation->due_bytes = 0;
	err_destroy(steal(rotation->trouble));
}

void rotation_look(struct collector *collector)
{
	struct rotation *rotation = &collector->rotation;
	struct err *err;

	if (!collector->settings->rotates || !collector_is_recording(collector))
		return;
	if (rotation->job) {
		job_take(collector);
		return;
	}
	if (collector->writer.end < begin_at(collector) || !spool_is_ours(&collector->spool))
		return;
	collector_flush(collector, WRITER_NORMAL); /* a first chunk to put its sums in */
	if (collector->drain.fault)
		return;
	rotation->chunk_count = collector->writer.chunk_count;
	err = job_begin_quiet(collector);
	if (err)
		failed(collector, err);
}

bool rotation_has_room(const struct collector *collector)
{
	return !collector->settings->rotates ||
	       collector->writer.end <
		       (collector->rotation.job ? hold_at(collector) : begin_at(collector));
}

uint32_t rotation_drain(struct collector *collector)
{
	struct rotation *rotation = &collector->rotation;
	const uint64_t now_ns = monotonic_ns(), end = collector->writer.end;
	uint64_t next;

	if (!collector->settings->rotates)
		return drain_sealed(&collector->drain);
	next = rotation->job ? hold_at(collector) : begin_at(collector);
	if (end < next)
		return drain_some(&collector->drain,
				  (uint32_t)u64_min((next - end) / collector->spool.chunk_bytes + 1,
						    UINT32_MAX));
	if (rotation->job && now_ns < rotation->held_until_ns)
		return 0;
	rotation->held_until_ns = now_ns + HELD_NS;
	return drain_some(&collector->drain, 1);
}

void rotation_wait(struct collector *collector)
{
	collector->rotation.open_until_ns = monotonic_ns() + OPEN_NS;
}

void rotation_stop(struct collector *collector)
{
	struct rotation *rotation = &collector->rotation;
	struct rotation_job *job = steal(rotation->job);

	if (!job)
		return;
	__atomic_store_n(&job->stop, 1, __ATOMIC_RELAXED);
	pthread_join(job->thread, NULL);
	job_destroy(job);
	if (!rotation->trouble)
		rotation->trouble = err_new(ERR_LIMIT, "there was no time for it");
}

void rotation_end(struct collector *collector)
{
	struct rotation *rotation = &collector->rotation;

	rotation_stop(collector);
	if (rotation->trouble && collector->drain.fault &&
	    err_errno_of(collector->drain.fault) == EFBIG)
		collector->drain.fault = err_wrap(collector->drain.fault,
						  "nothing more can be left out of the tape (%s)",
						  err_message(rotation->trouble));
	err_destroy(steal(rotation->trouble));
	rotation->keeps_little = false;
	rotation->due_bytes = 0;
}
