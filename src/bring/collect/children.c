#include "collect/children.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "collect/clock.h"
#include "collect/inherited.h"
#include "scan/leak_scan.h"
#include "scan/recording.h"

enum { AT_ONCE = 2 /* scans */, PAUSE_NS = 2 * 1000 * 1000 };

struct child_scan {
	pid_t pid;
	uint32_t heuristics;
	struct recording recording; /* its tape */
	int fd;			    /* of it, to write */
	struct tape_header *header; /* its first page */
	uint32_t wanted;
	uint64_t ticks;
	struct stop stop;
	struct stream stream; /* what is appended */
	struct err *err;      /* it could not be */
	uint32_t *wake;
	pthread_t thread;
	bool has_thread;
	bool is_done; /* atomic; then the thread does not touch it any more */
};

static struct tape_live *live_of(const struct child_scan *scan)
{
	return (struct tape_live *)scan->header->live;
}

static void child_scan_destroy(struct child_scan *scan)
{
	if (!scan)
		return;
	if (scan->header)
		munmap(scan->header, TAPE_HEADER_BYTES);
	if (scan->fd >= 0)
		close(scan->fd);
	recording_close(&scan->recording);
	stop_deinit(&scan->stop);
	err_destroy(scan->err);
	free(scan);
}
CLEAN_DEFINE(child_scan_destroy, struct child_scan *);

/* --- the result ------------------------------------------------------------------------------ */

/* A slot behind all others: the process appends its own in the same way. */
static struct err *slot_write(struct child_scan *scan)
{
	const uint32_t slot = __atomic_fetch_add(&live_of(scan)->next_slot, 1, __ATOMIC_SEQ_CST);
	const uint32_t chunk_bytes = scan->recording.header.chunk_bytes;
	const off_t at = (off_t)(TAPE_HEADER_BYTES + (uint64_t)slot * chunk_bytes);
	struct stream *stream = &scan->stream;
	const size_t bytes = sizeof(stream->chunk) + stream->chunk.used;

	stream->chunk.seq = slot; /* as in ctl_alone.c */
	stream->chunk.flags = TAPE_CHUNK_JUMP;
	if (bytes > chunk_bytes)
		return err_new(ERR_LIMIT, "a chunk of %u bytes", chunk_bytes);
	if (pwrite(scan->fd, "", 1, at + chunk_bytes - 1) != 1 ||
	    pwrite(scan->fd, stream->bytes, bytes, at) != (ssize_t)bytes)
		return err_errno("%s", scan->recording.tape_path);
	stream_begin(stream, TAPE_COLLECTOR_STREAM, stream->chunk.seq + 1);
	return NULL;
}

static void note(struct child_scan *scan, enum tape_extended type, const void *payload,
		 size_t bytes)
{
	if (scan->err || stream_add(&scan->stream, type, scan->ticks, payload, bytes, NULL))
		return;
	scan->err = slot_write(scan);
	stream_add(&scan->stream, type, scan->ticks, payload, bytes, NULL);
}

static void write_bytes(struct child_scan *scan, const struct vec_u8 *bytes, uint32_t id)
{
	const struct tape_scan_begin begin = { .id = id, .reason = TAPE_SCAN_EXIT };
	struct leak_scan_part part;

	note(scan, TAPE_EXT_SCAN_BEGIN, &begin, sizeof(begin));
	for (size_t offset = 0; offset < bytes->count; offset += part.count) {
		leak_scan_part(&part, id, bytes, offset);
		note(scan, TAPE_EXT_SCAN, &part, leak_scan_part_bytes(&part));
	}
	if (!scan->err)
		scan->err = slot_write(scan);
}

/* --- a scan ---------------------------------------------------------------------------------- */

static struct err *search(struct child_scan *child, struct scan_image *image, uint32_t *id_ret)
{
	const pid_t pid = stop_living(&child->stop);
	CLEAN(capture_destroy) struct capture *capture = NULL;
	CLEAN(living_deinit) struct living living = { 0 };
	CLEAN(maps_deinit) struct maps maps = { 0 };
	const struct leak_scan scan = {
		.stop = &child->stop,
		.spool_inode = child->recording.inode,
		.exit_tid = (pid_t)live_of(child)->scan_tid,
		.exit_sp = live_of(child)->scan_sp,
		.heuristics = child->heuristics,
	};
	const struct leak_scan_view view = { &living, &maps, memory_of_process(pid) };
	struct err *err = maps_read(pid, &maps);

	if (!err)
		err = capture_open(child->recording.tape_path, &capture);
	if (!err)
		err = inherited_read(capture, child->ticks, &maps, &view.memory, &child->stop,
				     &living);
	*id_ret = living.scan_id + 1;
	return err ? err : leak_scan_view(&scan, &view, image);
}

/* The result is on the tape before the process goes on: it has nothing to do but to end. */
static void scan_child(struct child_scan *child)
{
	const struct stop_kept nobody = { .tid = 0 };
	const struct tape_header *header = &child->recording.header;
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	struct err *err = leak_scan_check_machine(header);
	CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };
	uint32_t id = 1;

	if (!err)
		err = stop_begin(&child->stop, child->pid, &nobody);
	child->ticks = clock_raw_ticks((enum tape_clock)header->clock) >> (header->tick_shift & 63);
	if (!err)
		err = search(child, &image, &id);
	image.facts.pause_ns = err ? 0 : monotonic_ns() - child->stop.begin_ns;
	if (err ? scan_image_write_trouble(err_message(err), 0, &bytes)
		: scan_image_write(&image, &bytes))
		write_bytes(child, &bytes, err ? 1 : id);
	stop_end(&child->stop);
	err_destroy(err);
}

static void *child_main(void *context)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct child_scan *scan = context;
	struct tape_live *live = live_of(scan);

	if (__atomic_load_n(&live->scans_done, __ATOMIC_ACQUIRE) != scan->wanted)
		scan_child(scan); /* it has not waited in vain */
	__atomic_store_n(&live->scans_done, scan->wanted, __ATOMIC_RELEASE);
	syscall(SYS_futex, &live->scans_done, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	while (stop_late(&scan->stop))
		nanosleep(&pause, NULL);
	__atomic_store_n(&scan->is_done, true, __ATOMIC_RELEASE);
	spool_poke(scan->wake);
	return NULL;
}

/* --- who asks -------------------------------------------------------------------------------- */

/* NULL: it is none of ours, or gone. */
static struct err *find_tape(struct child_scan *scan, uint64_t session)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	char path[STR_SHORT_BYTES];
	struct err *err = maps_read(scan->pid, &maps);

	if (!err)
		err = recording_find(scan->pid, &maps, &scan->recording);
	if (err)
		return err;
	if (scan->recording.is_spool || scan->recording.header.session != session ||
	    scan->recording.header.pid != (uint32_t)scan->pid)
		return err_new(ERR_STATE, "another recording");
	scan->fd = open(str_format(path, sizeof(path), "/proc/self/fd/%d", scan->recording.fd),
			O_RDWR | O_CLOEXEC);
	if (scan->fd < 0)
		return err_errno("%s", scan->recording.tape_path);
	scan->header =
		mmap(NULL, TAPE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, scan->fd, 0);
	if (scan->header != MAP_FAILED)
		return NULL;
	scan->header = NULL;
	return err_errno("%s", scan->recording.tape_path);
}

static void take_asking(struct collector *collector)
{
	struct tape_live *live = spool_live(&collector->spool);
	const uint32_t pid = __atomic_exchange_n(&live->scan_child, 0, __ATOMIC_SEQ_CST);
	CLEAN(child_scan_destroy) struct child_scan *scan = NULL;
	struct err *err;

	if (pid == 0 || pid > INT32_MAX || !collector->has_header)
		return;
	scan = calloc(1, sizeof(*scan));
	if (!scan)
		return;
	scan->pid = (pid_t)pid;
	scan->fd = scan->recording.fd = -1;
	scan->heuristics = collector->settings->leak_heuristics;
	scan->wake = &live->sealed_count;
	stream_begin(&scan->stream, TAPE_COLLECTOR_STREAM, 0);
	err = find_tape(scan, collector->header.session);
	if (err) {
		err_destroy(err);
		return;
	}
	scan->wanted = __atomic_load_n(&live_of(scan)->scans_wanted, __ATOMIC_ACQUIRE);
	if (!child_scans_push(&collector->child_scans, scan))
		return;
	__atomic_store_n(&live_of(scan)->scan_asks, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &live_of(scan)->scan_asks, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	scan = NULL;
}

/* Signals are for the first thread. Without a thread it is done here. */
static void start(struct child_scan *scan)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	scan->has_thread = pthread_create(&scan->thread, NULL, child_main, scan) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!scan->has_thread)
		child_main(scan);
}

static void forget_done(struct child_scans *scans)
{
	size_t kept = 0;

	for (size_t i = 0; i < scans->count; i++) {
		struct child_scan *scan = scans->items[i];

		if (!__atomic_load_n(&scan->is_done, __ATOMIC_ACQUIRE)) {
			scans->items[kept++] = scan;
			continue;
		}
		if (scan->has_thread)
			pthread_join(scan->thread, NULL);
		child_scan_destroy(scan);
	}
	scans->count = kept;
}

void children_look(struct collector *collector)
{
	struct child_scans *scans = &collector->child_scans;

	if (!collector->settings->follow || collector->settings->leak_scan == COLLECTOR_NO_SCAN)
		return;
	take_asking(collector);
	forget_done(scans);
	for (size_t i = 0; i < scans->count && i < AT_ONCE; i++)
		if (!scans->items[i]->has_thread)
			start(scans->items[i]);
}

void children_end(struct collector *collector)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	children_look(collector);
	while (collector->child_scans.count > 0) {
		nanosleep(&pause, NULL);
		children_look(collector);
	}
	child_scans_deinit(&collector->child_scans);
}
