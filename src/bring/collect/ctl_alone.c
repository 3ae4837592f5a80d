#include "collect/ctl_alone.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "collect/clock.h"
#include "collect/stream.h"
#include "scan/recording.h"

struct alone {
	struct recording recording;
	struct tape_header *header; /* mapped */
	int fd;			    /* of the tape, to write */
};

static void alone_close(struct alone *alone)
{
	if (alone->header)
		munmap(alone->header, TAPE_HEADER_BYTES);
	if (alone->fd >= 0)
		close(alone->fd);
	recording_close(&alone->recording);
}
CLEAN_DEFINE_DEINIT(alone_close, struct alone);

static struct tape_live *live_of(const struct alone *alone)
{
	return (struct tape_live *)alone->header->live;
}

static struct err *find(pid_t pid, struct recording *recording)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	struct err *err = maps_read(pid, &maps);

	if (!err)
		err = recording_find(pid, &maps, recording);
	if (!err && (recording->is_spool || recording->header.pid != (uint32_t)pid))
		err = err_new(ERR_NOT_FOUND, "process %d writes no tape of its own", (int)pid);
	return err;
}

static struct err *alone_open(pid_t pid, struct alone *alone)
{
	char path[STR_SHORT_BYTES];
	struct err *err = find(pid, &alone->recording);
	void *page;

	if (err)
		return err;
	str_format(path, sizeof(path), "/proc/self/fd/%d", alone->recording.fd);
	alone->fd = open(path, O_RDWR | O_CLOEXEC);
	if (alone->fd < 0)
		return err_errno("%s", alone->recording.tape_path);
	page = mmap(NULL, TAPE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, alone->fd, 0);
	if (page == MAP_FAILED)
		return err_errno("%s", alone->recording.tape_path);
	alone->header = page;
	return NULL;
}

bool ctl_alone_is(pid_t pid)
{
	CLEAN(recording_close) struct recording recording = { .fd = -1 };
	struct err *err = find(pid, &recording);

	err_destroy(err);
	return !err;
}

/* A slot of the collector's stream behind all others, as the recorder appends its own. */
static struct err *note(const struct alone *alone, enum tape_extended type, const void *payload,
			size_t bytes, const char *tail)
{
	const struct tape_header *header = &alone->recording.header;
	const uint32_t slot = __atomic_fetch_add(&live_of(alone)->next_slot, 1, __ATOMIC_SEQ_CST);
	const uint64_t ticks =
		clock_raw_ticks((enum tape_clock)header->clock) >> (header->tick_shift & 63);
	const off_t at = (off_t)(TAPE_HEADER_BYTES + (uint64_t)slot * header->chunk_bytes);
	struct stream stream;
	size_t count;

	stream_begin_alone(&stream, slot);
	stream_add(&stream, type, ticks, payload, bytes, tail);
	count = sizeof(stream.chunk) + stream.chunk.used;
	assert(count <= header->chunk_bytes);
	if (pwrite(alone->fd, "", 1, at + header->chunk_bytes - 1) != 1 ||
	    pwrite(alone->fd, stream.bytes, count, at) != (ssize_t)count)
		return err_errno("%s", alone->recording.tape_path);
	return NULL;
}

static struct err *note_pause(const struct alone *alone, bool is_paused)
{
	const struct tape_paused record = { .is_paused = is_paused, .by = TAPE_PAUSED_CONTROL };

	return note(alone, TAPE_EXT_PAUSE, &record, sizeof(record), NULL);
}

/* As ctl_pause: the record is written while allocations are left out. */
static struct err *switch_to(const struct alone *alone, bool is_paused, struct ctl_reply *reply)
{
	uint32_t *paused = &live_of(alone)->paused;
	uint32_t nothing = TAPE_PAUSE_NONE;
	struct err *err = NULL;

	if (!is_paused && __atomic_load_n(paused, __ATOMIC_SEQ_CST) != TAPE_PAUSE_NONE) {
		err = note_pause(alone, false);
		if (!err)
			__atomic_store_n(paused, TAPE_PAUSE_NONE, __ATOMIC_SEQ_CST);
		return err;
	}
	if (is_paused && __atomic_compare_exchange_n(paused, &nothing, TAPE_PAUSE_ALLOCATIONS,
						     false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return note_pause(alone, true);
	reply->result = CTL_UNCHANGED;
	return NULL;
}

static struct err *mark(const struct alone *alone, const char *text)
{
	const struct tape_mark record = { .node = TAPE_NODE_NONE };

	return note(alone, TAPE_EXT_MARK, &record, sizeof(record), text);
}

static void reply_fill(const struct alone *alone, struct ctl_reply *reply)
{
	const struct tape_live *live = live_of(alone);
	const uint64_t now_ns = monotonic_ns();
	struct stat status = { 0 };

	fstat(alone->fd, &status);
	reply->magic = CTL_MAGIC;
	reply->version = CTL_VERSION;
	reply->is_recording = live->recorder_state == TAPE_RECORDER_RUNNING;
	reply->is_paused = __atomic_load_n(&live->paused, __ATOMIC_RELAXED) != TAPE_PAUSE_NONE;
	reply->duration_ns = now_ns - u64_min(alone->header->start_monotonic_ns, now_ns);
	reply->tape_bytes = (uint64_t)status.st_size;
	reply->event_count = reply->rss_bytes = UINT64_MAX;
	for (size_t i = 0; i < array_size(live->lost); i++)
		if (i != TAPE_LOST_TRUNCATED && i < TAPE_SELFCHECKS)
			reply->missing_count += live->lost[i];
	str_format(reply->tape_path, sizeof(reply->tape_path), "%s", alone->recording.tape_path);
}

static struct err *carry_out(const struct alone *alone, const struct ctl_request *request,
			     struct ctl_reply *reply)
{
	switch ((enum ctl_command)request->command) {
	case CTL_STATUS:
	case CTL_SHOW: /* it is up to date always */
		return NULL;
	case CTL_START:
	case CTL_STOP:
		return switch_to(alone, request->command == CTL_STOP, reply);
	case CTL_MARK:
		return mark(alone, request->text);
	case CTL_SNAPSHOT:
	case CTL_LEAK_SCAN:
		break;
	}
	reply->result = CTL_REFUSED;
	str_format(reply->text, sizeof(reply->text),
		   "it writes its tape itself, and no memtape runs beside it that could do this");
	return NULL;
}

struct err *ctl_alone_call(pid_t pid, const struct ctl_request *request, struct ctl_reply *reply)
{
	CLEAN(alone_close) struct alone alone = { .recording.fd = -1, .fd = -1 };
	struct err *err = alone_open(pid, &alone);

	*reply = (struct ctl_reply) { .result = CTL_DONE };
	if (err)
		return err;
	if (request->command != CTL_STATUS &&
	    live_of(&alone)->recorder_state != TAPE_RECORDER_RUNNING) {
		reply->result = CTL_REFUSED;
		str_format(reply->text, sizeof(reply->text),
			   "nothing is being recorded at present");
	} else {
		err = carry_out(&alone, request, reply);
	}
	reply_fill(&alone, reply);
	return err;
}
