#include "collect/threads.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/str.h"
#include "collect/clock.h"
#include "collect/space_runs.h"

enum {
	PERIOD_NS = 20 * 1000 * 1000,
	COST_FACTOR = 400, /* a quarter of a percent */
	PAGE = 4096,
	HUGE_PAGE = 2 << 20, /* is touched as a whole */
	READ_BYTES = 64 << 10,
	LOOKED_AT_MAX = 256 << 20,  /* larger stacks are not examined */
	FIRST_BYTES_MAX = 128 << 20 /* no mapping is nearer than this to the first thread's stack */
};

static const uint64_t UNKNOWN = UINT64_MAX;

void threads_open(struct threads *threads, pid_t pid, const struct tape_live *live)
{
	assert(pid > 0);
	assert(live);
	*threads = (struct threads) {
		.pid = pid,
		.live = live,
		.places = calloc(STACK_BOARD_PLACES, sizeof(*threads->places)),
		.again = calloc(STACK_BOARD_PLACES, sizeof(*threads->again)),
		.told = calloc(STACK_BOARD_PLACES, sizeof(*threads->told)),
	};
	if (!threads->places || !threads->again || !threads->told)
		threads_close(threads);
}

void threads_close(struct threads *threads)
{
	free(threads->places);
	free(threads->again);
	free(threads->told);
	*threads = (struct threads) { 0 };
}

static bool read_memory(pid_t pid, uint64_t address, void *memory, size_t bytes)
{
	const struct iovec here = { .iov_base = memory, .iov_len = bytes };
	const struct iovec there = { .iov_base = (void *)(uintptr_t)address, .iov_len = bytes };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static bool read_board(const struct threads *threads, struct stack_place *places)
{
	return threads->count > 0 && read_memory(threads->pid, threads->live->stack_board, places,
						 threads->count * sizeof(*places));
}

/* Where writes begin: a page that is part of a larger one may be present but untouched. */
static uint64_t written_from(pid_t pid, uint64_t begin, uint64_t end)
{
	uint64_t words[READ_BYTES / sizeof(uint64_t)];

	while (begin < end) {
		const size_t bytes = u64_min(end - begin, sizeof(words));

		if (!read_memory(pid, begin, words, bytes))
			return 0;
		for (size_t i = 0; i < bytes / sizeof(*words); i++)
			if (words[i])
				return (begin + i * sizeof(*words)) & -(uint64_t)PAGE;
		begin += bytes;
	}
	return 0;
}

/* Bytes from the top down to the lowest page that was touched, or UNKNOWN. */
static uint64_t touched_bytes(const struct threads *threads, int pagemap,
			      const struct stack_place *place)
{
	const uint64_t end = place->top & -(uint64_t)PAGE;
	uint64_t begin = align_up(place->limit, PAGE), first;

	if (place->grows && end > FIRST_BYTES_MAX)
		begin = u64_max(begin, end - FIRST_BYTES_MAX);
	if (begin == 0 || begin >= end || end - begin > LOOKED_AT_MAX ||
	    !space_first(pagemap, begin, end, &first) || first >= end)
		return UNKNOWN;
	if (first % HUGE_PAGE == 0 || first == begin)
		first = written_from(threads->pid, first, end);
	return first ? place->top - first : UNKNOWN;
}

static uint64_t reserved_bytes(const struct threads *threads, const struct stack_place *place)
{
	struct rlimit limit;

	if (!place->grows)
		return place->top - place->limit;
	if (prlimit(threads->pid, RLIMIT_STACK, NULL, &limit) < 0 ||
	    limit.rlim_cur == RLIM_INFINITY)
		return UNKNOWN;
	return limit.rlim_cur & -(uint64_t)PAGE;
}

static bool is_same(const struct stack_place *a, const struct stack_place *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static void tell_stack(const struct threads *threads, const struct stack_place *place,
		       struct threads_told *told, uint64_t touched, bool is_last,
		       const struct threads_visitor *visitor)
{
	const struct tape_stack_use use = {
		.tid = place->tid,
		.flags = is_last ? TAPE_STACK_USE_FINAL : 0,
		.top = place->top,
		.reserved_bytes = reserved_bytes(threads, place),
		.seen_bytes = UNKNOWN,
		.touched_bytes = touched,
		.before_bytes = place->top - place->before,
	};

	if (touched == UNKNOWN || touched <= use.before_bytes ||
	    (touched <= told->touched_bytes && !is_last))
		return;
	told->touched_bytes = touched;
	visitor->stack(visitor->context, &use);
}

/* --- what /proc says of a thread --------------------------------------------------------------- */

enum { STATUS_BYTES = 4096 };

static uint32_t number_in(const char *status, const char *name)
{
	const char *found = strstr(status, name);

	return found ? (uint32_t)strtoul(found + strlen(name), NULL, 10) : 0;
}

/*
 * /proc/TID/status, NUL-terminated. False: it is no thread of the program. Not below /proc/PID/task,
 * where the kernel would remember for the program what we looked at: each thread throws its part away
 * as it dies, and whoever reaps the program meanwhile spins until that thread gets a processor.
 */
static bool read_status(const struct threads *threads, uint32_t tid, char *status)
{
	char path[64];
	ssize_t n;

	str_format(path, sizeof(path), "/proc/%u/status", tid);
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC);

	n = fd < 0 ? 0 : read(fd, status, STATUS_BYTES - 1);
	status[n > 0 ? n : 0] = '\0';
	return number_in(status, "\nTgid:\t") == (uint32_t)threads->pid;
}

/* The kernel writes a line feed as \n, and a backslash twice. False: there is no name. */
static bool name_in(const char *status, char *name, size_t bytes)
{
	const char *at = status + strlen("Name:\t");
	size_t len = 0;

	if (strncmp(status, "Name:\t", strlen("Name:\t")) != 0)
		return false;
	while (*at && *at != '\n' && len + 1 < bytes) {
		const bool is_escaped = *at == '\\' && (at[1] == 'n' || at[1] == '\\');

		at += is_escaped;
		name[len++] = is_escaped && *at == 'n' ? '\n' : *at;
		at++;
	}
	name[len] = '\0';
	return len > 0;
}

static void tell_name(uint32_t tid, const char *status, struct threads_told *told,
		      const struct threads_visitor *visitor)
{
	char name[sizeof(told->name)] = "";

	if (!name_in(status, name, sizeof(name)) || strcmp(name, told->name) == 0)
		return;
	memcpy(told->name, name, sizeof(name));
	visitor->name(visitor->context, tid, name);
}

/* Counted as the recorder does: before Linux 5.9 it is only known whether there are any. */
static bool has_filter(const struct threads *threads, const char *status)
{
	return u64_max(number_in(status, "\nSeccomp:\t") != 0,
		       number_in(status, "\nSeccomp_filters:\t")) > threads->live->filter_count;
}

/* Of all threads, for those that the recorder has not seen yet. */
static bool any_has_filter(const struct threads *threads)
{
	char path[64], status[STATUS_BYTES];
	struct dirent *entry;

	str_format(path, sizeof(path), "/proc/%d/task", (int)threads->pid);
	CLEAN(closedir) DIR *dir = opendir(path);

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    read_status(threads, (uint32_t)strtoul(entry->d_name, NULL, 10), status) &&
		    has_filter(threads, status))
			return true;
	return false;
}

/* --- passes ---------------------------------------------------------------------------------- */

/* Name and filters of a thread that the recorder knows. False: it is gone. */
static bool look_at(struct threads *threads, uint32_t tid, struct threads_told *told,
		    const struct threads_visitor *visitor)
{
	char status[STATUS_BYTES];

	if (!read_status(threads, tid, status))
		return false;
	tell_name(tid, status, told, visitor);
	threads->has_filter = threads->has_filter || has_filter(threads, status);
	return true;
}

/*
 * A result belongs to the thread of its place only if that thread is still there afterwards. Returns how
 * many threads were looked at.
 */
static uint32_t look(struct threads *threads, bool is_last, const struct threads_visitor *visitor)
{
	CLEAN(free) uint64_t *touched = calloc(STACK_BOARD_PLACES, sizeof(*touched));
	uint32_t seen = 0;
	char path[64];

	threads->count = (uint32_t)u64_min(threads->live->stack_count, STACK_BOARD_PLACES);
	if (!touched || !read_board(threads, threads->places))
		return 0;
	str_format(path, sizeof(path), "/proc/%d/pagemap", (int)threads->pid);
	CLEAN(close) int pagemap = open(path, O_RDONLY | O_CLOEXEC);

	for (size_t i = 0; i < threads->count; i++)
		if (threads->places[i].tid && threads->places[i].top)
			touched[i] = touched_bytes(threads, pagemap, &threads->places[i]);
	if (!read_board(threads, threads->again))
		return 0;
	for (size_t i = 0; i < threads->count; i++) {
		const struct stack_place *place = &threads->places[i];
		struct threads_told *told = &threads->told[i];

		if (!place->tid || !is_same(place, &threads->again[i]))
			continue;
		if (told->tid != place->tid)
			*told = (struct threads_told) { .tid = place->tid };
		if (place->top)
			tell_stack(threads, place, told, touched[i], is_last, visitor);
		seen += look_at(threads, place->tid, told, visitor);
	}
	return seen;
}

const struct stack_place *threads_places(struct threads *threads, size_t *count_ret)
{
	assert(count_ret);
	*count_ret = 0;
	if (!threads->places || !threads->live->stack_board)
		return NULL;
	threads->count = (uint32_t)u64_min(threads->live->stack_count, STACK_BOARD_PLACES);
	if (read_board(threads, threads->places))
		*count_ret = threads->count;
	return threads->places;
}

void threads_look(struct threads *threads, uint64_t now_ns, const struct threads_visitor *visitor)
{
	char status[STATUS_BYTES];
	uint64_t begun_ns;

	assert(visitor);
	if (!threads->places || !threads->live->stack_board)
		return;
	if (read_status(threads, (uint32_t)threads->pid, status))
		threads->has_filter = threads->has_filter || has_filter(threads, status);
	if (now_ns < threads->due_ns)
		return;
	begun_ns = clock_cpu_ns();
	if (look(threads, false, visitor) < number_in(status, "\nThreads:\t"))
		threads->has_filter = threads->has_filter || any_has_filter(threads);
	threads->due_ns = now_ns + u64_max(PERIOD_NS, (clock_cpu_ns() - begun_ns) * COST_FACTOR);
}

void threads_look_last(struct threads *threads, const struct threads_visitor *visitor)
{
	if (threads->places && threads->live->stack_board)
		look(threads, true, visitor);
}
