#include "collect/asking.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#include "base/str.h"
#include "collect/spool.h"
#include "scan/status.h"

enum { PAUSE_NS = 2 * 1000 * 1000 };

/* Who asks, whom, and what they share. */
struct asking {
	pid_t pid, collector;
	const struct recording *recording;
	uint32_t heuristics;
	struct tape_header *header; /* of the spool */
	struct tape_live *live;
	uint64_t asked;
	int spool_fd; /* a copy of the collector's; -1: none */
};

static void asking_deinit(struct asking *asking)
{
	if (asking->header)
		munmap(asking->header, TAPE_HEADER_BYTES);
	if (asking->spool_fd >= 0)
		close(asking->spool_fd);
}
CLEAN_DEFINE_DEINIT(asking_deinit, struct asking);

static pid_t tracer_of(pid_t pid)
{
	struct status status;

	return status_read(&status, pid, pid) ? (pid_t)status_number(&status, "TracerPid", 10, 0)
					      : 0;
}

/* The collector, if it traces the program now; else 0. */
static pid_t tracing_collector(pid_t pid, const struct recording *recording, struct tape_live *live)
{
	const pid_t tracer = recording->is_spool ? tracer_of(pid) : 0;
	struct err *err = tracer ? recording_live(recording, live) : NULL;
	const bool is_collector = tracer && !err &&
				  live->collector_state == TAPE_COLLECTOR_RUNNING &&
				  live->collector_pid == (uint32_t)tracer;

	err_destroy(err);
	return is_collector ? tracer : 0;
}

bool asking_is_collector(pid_t pid, const struct recording *recording)
{
	struct tape_live live;

	return tracing_collector(pid, recording, &live) != 0;
}

pid_t asking_whom(pid_t pid, const struct recording *recording)
{
	struct tape_live live;
	const pid_t collector = tracing_collector(pid, recording, &live);

	return collector && live.scan_asks ? collector : 0;
}

static struct err *map_header(struct asking *asking)
{
	char path[STR_SHORT_BYTES];
	CLEAN(close)
	int fd = open(str_format(path, sizeof(path), "/proc/self/fd/%d", asking->recording->fd),
		      O_RDWR | O_CLOEXEC);
	void *map =
		fd < 0 ? MAP_FAILED
		       : mmap(NULL, TAPE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return err_errno("%s" TAPE_SPOOL_SUFFIX, asking->recording->tape_path);
	asking->header = map;
	asking->live = (struct tape_live *)asking->header->live;
	return NULL;
}

static void ask(struct asking *asking)
{
	uint64_t *word = &asking->live->scan_asked, seen = __atomic_load_n(word, __ATOMIC_RELAXED);

	do
		asking->asked = tape_scan_ask(seen, asking->heuristics);
	while (!__atomic_compare_exchange_n(word, &seen, asking->asked, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED));
	spool_poke(&asking->live->sealed_count);
}

static struct err *gone(const struct asking *asking)
{
	return err_new(
		ERR_STATE,
		"process %d, or its recording, ended before the scan was done; what there is of "
		"it is on %s",
		(int)asking->pid, asking->recording->tape_path);
}

static struct err *await(const struct asking *asking, uint64_t *answered_ret)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	for (;;) {
		*answered_ret = __atomic_load_n(&asking->live->scan_answered, __ATOMIC_ACQUIRE);
		if (tape_scan_ask_is_covered(asking->asked, *answered_ret))
			return NULL;
		if (tracer_of(asking->pid) != asking->collector)
			return gone(asking);
		nanosleep(&pause, NULL);
	}
}

/*
 * The descriptor is the answer's if the answer is still the last one when it has been opened: only
 * then may the collector close it. False: look again.
 */
static bool take(struct asking *asking, uint64_t answered, struct tape_live *answer)
{
	const struct tape_live *live = asking->live;
	char path[STR_SHORT_BYTES];

	answer->scan_answer_id = __atomic_load_n(&live->scan_answer_id, __ATOMIC_ACQUIRE);
	answer->scan_answer_bytes = __atomic_load_n(&live->scan_answer_bytes, __ATOMIC_ACQUIRE);
	answer->scan_answer_fd = __atomic_load_n(&live->scan_answer_fd, __ATOMIC_ACQUIRE);
	if (answer->scan_answer_fd >= 0)
		asking->spool_fd = open(str_format(path, sizeof(path), "/proc/%d/fd/%d",
						   (int)asking->collector, answer->scan_answer_fd),
					O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (__atomic_load_n(&live->scan_answered, __ATOMIC_ACQUIRE) == answered &&
	    __atomic_load_n(&live->scan_answer_fd, __ATOMIC_ACQUIRE) == answer->scan_answer_fd)
		return true;
	if (asking->spool_fd >= 0)
		close(asking->spool_fd);
	asking->spool_fd = -1;
	return false;
}

/* Until there is an answer to just this: others may ask for another set of heuristics. */
static struct err *get_answer(struct asking *asking, struct tape_live *answer)
{
	struct err *err = NULL;
	uint64_t answered;

	ask(asking);
	for (;;) {
		err = await(asking, &answered);
		if (err)
			return err;
		if ((uint32_t)answered != asking->heuristics)
			ask(asking);
		else if (take(asking, answered, answer))
			return NULL;
	}
}

static struct err *why_not(const struct asking *asking, const struct tape_live *answer)
{
	if (answer->scan_answer_id == 0)
		return err_new(
			ERR_STATE,
			"process %d is about to end, or is not recorded any more; what there is "
			"of it is on %s",
			(int)asking->pid, asking->recording->tape_path);
	return err_new(
		ERR_STATE,
		"process %d could not be scanned; `memtape report %s leak-classes --scan %u` "
		"says why",
		(int)asking->pid, asking->recording->tape_path, answer->scan_answer_id);
}

struct err *asking_scan(pid_t pid, const struct recording *recording, uint32_t heuristics,
			struct asking_answer *answer_ret)
{
	CLEAN(asking_deinit)
	struct asking asking = { .pid = pid,
				 .collector = asking_whom(pid, recording),
				 .recording = recording,
				 .heuristics = heuristics,
				 .spool_fd = -1 };
	struct tape_live answer;
	struct err *err;

	assert(recording->is_spool);
	err = map_header(&asking);
	if (!err)
		err = get_answer(&asking, &answer);
	if (!err && asking.spool_fd < 0)
		err = why_not(&asking, &answer);
	if (!err)
		err = capture_open_moment(recording->tape_path, asking.spool_fd,
					  answer.scan_answer_bytes, &answer_ret->capture);
	if (!err)
		answer_ret->scan_id = answer.scan_answer_id;
	return err;
}
