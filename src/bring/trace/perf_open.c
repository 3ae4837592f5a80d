#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "trace/perf_parts.h"

enum {
	RING_BYTES = 64 << 20,	   /* if there are few processors; */
	RINGS_BYTES = 256 << 20,   /* of all together, */
	RING_BYTES_MIN = 32 << 10, /* but no less of each */
	WAKE_BYTES = 128 << 10,
	FORMAT_LOST = 1 << 4, /* PERF_FORMAT_LOST, from Linux 6.0 on */
	ROUNDS_MAX = 100      /* in which threads are looked for that began meanwhile */
};

VEC_DEFINE(tids, pid_t);

/* --- one event ------------------------------------------------------------------------------- */

static struct perf_event_attr attributes(const struct perf *perf, size_t source)
{
	const bool is_side = source == perf->settings.source_count;
	const struct kinds_source *of = is_side ? NULL : &perf->sources[source];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = of && of->tracepoint ? PERF_TYPE_TRACEPOINT : PERF_TYPE_SOFTWARE,
		.config = of ? of->config : PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_COMMON,
		.read_format = perf->counts_lost ? FORMAT_LOST : 0,
		.disabled = 1,
		.inherit = perf->settings.pid > 0,
		.inherit_thread = perf->only_threads,
		.exclude_kernel = is_side || perf->is_user_only,
		.exclude_hv = 1,
		.enable_on_exec = perf->settings.is_paused_child,
		.watermark = 1,
		.wakeup_watermark = WAKE_BYTES,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	if (is_side) {
		attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 1;
		attr.build_id = perf->tells_build_ids;
		return attr;
	}
	attr.sample_period = of->has_stack ? perf->settings.period : 1;
	attr.sample_type |= of->tracepoint ? PERF_SAMPLE_RAW : PERF_SAMPLE_ADDR;
	if (of->has_stack && perf->settings.stack_bytes > 0) {
		attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr.sample_regs_user = arch_perf_registers;
		attr.sample_stack_user = perf->settings.stack_bytes;
	}
	return attr;
}

static int event_open(const struct perf *perf, size_t source, pid_t tid, int cpu)
{
	struct perf_event_attr attr = attributes(perf, source);

	return (int)syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* An older kernel, or a user who may see less: what goes with these is found once. */
static int event_open_adapting(struct perf *perf, size_t source, pid_t tid, int cpu)
{
	int fd = event_open(perf, source, tid, cpu);

	if (fd < 0 && errno == EINVAL && perf->counts_lost && perf->fds.count == 0) {
		perf->counts_lost = false;
		fd = event_open(perf, source, tid, cpu);
	}
	if (fd < 0 && errno == EINVAL && perf->tells_build_ids && perf->fds.count == 0) {
		perf->tells_build_ids = false;
		fd = event_open(perf, source, tid, cpu);
	}
	if (fd < 0 && errno == EINVAL && perf->only_threads && perf->fds.count == 0) {
		perf->only_threads = false; /* before Linux 5.13 */
		fd = event_open(perf, source, tid, cpu);
	}
	if (fd < 0 && (errno == EACCES || errno == EPERM) && !perf->is_user_only &&
	    source < perf->settings.source_count && !perf->sources[source].tracepoint) {
		perf->is_user_only = true;
		fd = event_open(perf, source, tid, cpu);
	}
	return fd;
}

static struct err *open_error(const struct perf *perf, size_t source, pid_t tid)
{
	const int number = errno;

	if (number == ESRCH)
		return err_new(ERR_NOT_FOUND, "there is no process %d", (int)tid);
	if (number == EMFILE || number == ENFILE)
		return err_new(ERR_LIMIT, "too many open files: each thread takes one for each "
					  "kind of event and processor (ulimit -n)");
	if ((number == EACCES || number == EPERM) && perf->settings.pid < 0)
		return err_new(ERR_STATE, "all processes can be traced by root only "
					  "(kernel.perf_event_paranoid)");
	if (number == EACCES || number == EPERM)
		return err_new(ERR_STATE,
			       "%s may not be traced: root may, or the owner of the "
			       "process where kernel.perf_event_paranoid is 2 or less",
			       source < perf->settings.source_count &&
					       perf->sources[source].tracepoint
				       ? perf->sources[source].tracepoint
				       : "this process");
	if (number == ENOSYS || number == ENOENT || number == EOPNOTSUPP)
		return err_new(ERR_UNSUPPORTED, "this kernel has no perf_event_open(2) for it");
	if (number ==
	    EINVAL) /* a clock of our choice is the newest of what there is no way without */
		return err_new(ERR_UNSUPPORTED,
			       "the kernel refuses these events: tracing takes Linux 4.1 or later");
	errno = number;
	return err_errno("cannot open an event of the kernel");
}

/* --- rings ----------------------------------------------------------------------------------- */

/* As large as we may have it. */
static struct err *ring_map(struct perf *perf, int fd)
{
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	const size_t cpus = (size_t)sysconf(_SC_NPROCESSORS_CONF);
	struct perf_ring ring = { .fd = fd, .size = RING_BYTES };
	void *memory = MAP_FAILED;

	while (ring.size > RING_BYTES_MIN && ring.size > RINGS_BYTES / u64_max(cpus, 1))
		ring.size /= 2;
	while (memory == MAP_FAILED && ring.size >= RING_BYTES_MIN) {
		memory = mmap(NULL, page_bytes + ring.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			      0);
		if (memory == MAP_FAILED)
			ring.size /= 2;
	}
	if (memory == MAP_FAILED)
		return err_errno("no memory for events of the kernel (ulimit -l)");
	ring.page = memory;
	ring.bytes = (const uint8_t *)memory + page_bytes;
	ring.around = malloc(PERF_RECORD_BYTES_MAX);
	if (ring.around && perf_rings_push(&perf->rings, ring))
		return NULL;
	free(ring.around);
	munmap(memory, page_bytes + ring.size);
	return err_nomem();
}

static struct err *add_fd(struct perf *perf, int fd, size_t source)
{
	bool is_new;
	uint64_t id, *place;

	if (!perf_fds_push(&perf->fds, (struct perf_fd) { fd, source })) {
		close(fd);
		return err_nomem();
	}
	if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0)
		return err_errno("cannot number an event of the kernel");
	place = map_put(&perf->source_of, id, &is_new);
	if (!place)
		return err_nomem();
	*place = source;
	return NULL;
}

/* All events of a thread on a processor, which write to its ring. */
static struct err *open_on(struct perf *perf, pid_t tid, int cpu, struct perf_ring **ring)
{
	const bool is_first = !*ring;

	for (size_t i = 0; i <= perf->settings.source_count; i++) {
		/* That of what is mapped first. */
		const size_t source =
			(i + perf->settings.source_count) % (perf->settings.source_count + 1);
		const bool is_of_machine =
			source < perf->settings.source_count && perf->sources[source].is_of_machine;
		struct err *err;
		int fd;

		if (is_of_machine && !is_first)
			continue; /* whatever the number of threads, it is one event */
		fd = event_open_adapting(perf, source, is_of_machine ? -1 : tid, cpu);
		if (fd < 0)
			return open_error(perf, source, tid);
		err = add_fd(perf, fd, source);
		if (!err && source < perf->settings.source_count && perf->sources[source].filter &&
		    ioctl(fd, PERF_EVENT_IOC_SET_FILTER, perf->sources[source].filter) < 0)
			err = err_errno("cannot filter events of the kernel");
		if (!err && !*ring) {
			err = ring_map(perf, fd);
			*ring = err ? NULL : &perf->rings.items[perf->rings.count - 1];
		} else if (!err && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (*ring)->fd) < 0) {
			err = err_errno("cannot join events of the kernel");
		}
		if (err)
			return err;
	}
	return NULL;
}

/* --- threads --------------------------------------------------------------------------------- */

static bool has_tid(const struct tids *tids, pid_t tid)
{
	for (size_t i = 0; i < tids->count; i++)
		if (tids->items[i] == tid)
			return true;
	return false;
}

/* Adds those that were not known. */
static struct err *threads_list(pid_t pid, struct tids *tids, size_t *found_ret)
{
	char path[STR_SHORT_BYTES];
	DIR *folder = opendir(str_format(path, sizeof(path), "/proc/%d/task", (int)pid));
	struct err *err = NULL;

	*found_ret = 0;
	if (!folder)
		return err_new(ERR_NOT_FOUND, "there is no process %d", (int)pid);
	for (struct dirent *entry; !err && (entry = readdir(folder));) {
		const pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid <= 0 || has_tid(tids, tid))
			continue;
		++*found_ret;
		err = tids_push(tids, tid) ? NULL : err_nomem();
	}
	closedir(folder);
	return err;
}

static struct err *open_threads(struct perf *perf, struct tids *tids)
{
	const int cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
	CLEAN(free)
	size_t *ring_of = calloc((size_t)cpus, sizeof(*ring_of)); /* and 1; 0: none yet */
	struct err *err = NULL;
	size_t done = 0, found = tids->count;

	if (!ring_of)
		return err_nomem();
	for (size_t round = 0; round < ROUNDS_MAX && found > 0 && !err; round++) {
		for (; done < tids->count && !err; done++) {
			for (int cpu = 0; cpu < cpus && !err; cpu++) {
				struct perf_ring *ring =
					ring_of[cpu] ? &perf->rings.items[ring_of[cpu] - 1] : NULL;

				err = open_on(perf, tids->items[done], cpu, &ring);
				if (ring && !ring_of[cpu])
					ring_of[cpu] = perf->rings.count;
			}
			if (err && err_code_of(err) == ERR_NOT_FOUND && done > 0) {
				err_destroy(err); /* has ended meanwhile */
				err = NULL;
			}
		}
		found = 0;
		if (!err && perf->settings.pid > 0)
			err = threads_list(perf->settings.pid, tids, &found);
	}
	return err;
}

/* --- all ------------------------------------------------------------------------------------- */

static void allow_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

struct err *perf_open(const struct perf_settings *settings, struct perf **perf_ret)
{
	CLEAN(perf_close) struct perf *perf = calloc(1, sizeof(*perf));
	CLEAN(tids_deinit) struct tids tids = { 0 };
	struct err *err = NULL;
	size_t found;

	assert(settings->source_count > 0 && settings->source_count <= KINDS_EVENTS);
	assert(settings->period > 0);
	assert(settings->stack_bytes % 8 == 0 && settings->stack_bytes <= PERF_STACK_BYTES_MAX);
	if (!perf)
		return err_nomem();
	perf->settings = *settings;
	perf->counts_lost = perf->tells_build_ids = true;
	perf->only_threads = settings->only_threads && settings->pid > 0;
	allow_files();
	for (size_t i = 0; i < settings->source_count && !err; i++) {
		perf->sources[i] = settings->sources[i];
		err = kinds_find(&perf->sources[i]);
	}
	if (!err && settings->pid > 0)
		err = threads_list(settings->pid, &tids, &found);
	else if (!err && !tids_push(&tids, -1))
		err = err_nomem();
	if (!err)
		err = open_threads(perf, &tids);
	if (err)
		return err;
	*perf_ret = steal(perf);
	return NULL;
}

void perf_close(struct perf *perf)
{
	if (!perf)
		return;
	for (size_t i = 0; i < perf->rings.count; i++) {
		free(perf->rings.items[i].around);
		munmap(perf->rings.items[i].page,
		       (size_t)sysconf(_SC_PAGESIZE) + perf->rings.items[i].size);
	}
	for (size_t i = 0; i < perf->fds.count; i++)
		close(perf->fds.items[i].fd);
	for (size_t i = 0; i < perf->settings.source_count; i++)
		if (perf->sources[i].arguments)
			kinds_leave(&perf->sources[i]);
	perf_fds_deinit(&perf->fds);
	perf_rings_deinit(&perf->rings);
	map_deinit(&perf->source_of);
	free(perf);
}

bool perf_is_user_only(const struct perf *perf)
{
	return perf->is_user_only;
}

struct err *perf_begin(struct perf *perf)
{
	for (size_t i = 0; i < perf->fds.count; i++)
		if (ioctl(perf->fds.items[i].fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return err_errno("cannot begin with events of the kernel");
	return NULL;
}

void perf_end(struct perf *perf)
{
	for (size_t i = 0; i < perf->fds.count; i++)
		(void)ioctl(perf->fds.items[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void perf_counts(const struct perf *perf, size_t source, uint64_t *count_ret, uint64_t *lost_ret)
{
	uint64_t values[2] = { 0 };

	*count_ret = 0;
	*lost_ret = perf->lost[source];
	for (size_t i = 0; i < perf->fds.count; i++) {
		if (perf->fds.items[i].source != source)
			continue;
		if (read(perf->fds.items[i].fd, values, sizeof(values)) < (ssize_t)sizeof(*values))
			continue;
		*count_ret += values[0];
		*lost_ret += perf->counts_lost ? values[1] : 0;
	}
}
