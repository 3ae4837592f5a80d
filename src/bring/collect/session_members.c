#include "collect/session_members.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "collect/session_manifest.h"
#include "host/process_fd.h"

enum {
	LIMIT_MAX = 4096,
	LIMIT_SHARE = 2, /* of the descriptors that this process may have */
	STAT_PARENT = 4, /* fields of /proc/PID/stat, proc(5) */
	STAT_START = 22,
	STAT_EXIT = 52,
	PID_MAX = 1 << 22 /* PID_MAX_LIMIT of the kernel */
};

/* <linux/pidfd.h> of Linux 6.15, as far as it is needed here. */
struct pidfd_about {
	uint64_t mask; /* what is wanted, and then what is there */
	uint64_t cgroup;
	uint32_t pid, tgid, ppid;
	uint32_t ids[8];
	int32_t exit_code; /* as wait(2) has it */
};

static_assert(sizeof(struct pidfd_about) == 64, "PIDFD_INFO_SIZE_VER0");

static const uint64_t ABOUT_EXIT = 1 << 3; /* PIDFD_INFO_EXIT: only of one that was waited for */

#define GET_ABOUT _IOWR(0xff, 11, struct pidfd_about) /* PIDFD_GET_INFO */

void session_members_init(struct session_members *members, int folder_fd, int manifest_fd,
			  pid_t first_pid)
{
	struct rlimit files = { .rlim_cur = 0 };

	getrlimit(RLIMIT_NOFILE, &files);
	*members = (struct session_members) {
		.folder_fd = folder_fd,
		.manifest_fd = manifest_fd,
		.first_pid = first_pid,
		.limit = u64_min(files.rlim_cur / LIMIT_SHARE, LIMIT_MAX),
	};
}

static void process_deinit(struct session_process *process)
{
	close(process->pidfd);
	free(process->name);
}

void session_members_deinit(struct session_members *members)
{
	for (size_t i = 0; i < members->living.count; i++)
		process_deinit(&members->living.items[i]);
	session_processes_deinit(&members->living);
	if (members->is_listening)
		close(members->listening_fd);
	members->is_listening = false;
}

/* --- what /proc says -------------------------------------------------------------------------- */

/* The number of the name before `end`, which is where that begins then. 0: there is none. */
static pid_t number_before(const char *name, const char **end)
{
	const char *at = *end;
	unsigned long number = 0;

	while (at > name && at[-1] != '.')
		at--;
	if (at == name)
		return 0;
	for (const char *digit = at; digit < *end; digit++) {
		if (*digit < '0' || *digit > '9' || number > PID_MAX)
			return 0;
		number = number * 10 + (unsigned long)(*digit - '0');
	}
	*end = at - 1;
	return number <= PID_MAX ? (pid_t)number : 0;
}

/* What is behind the name, which may contain anything: the fields from the third on. */
static const char *stat_read(pid_t pid, char *text, size_t bytes)
{
	char path[64];
	char *end;
	ssize_t count;

	str_format(path, sizeof(path), "/proc/%d/stat", (int)pid);
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC);

	count = fd < 0 ? -1 : read(fd, text, bytes - 1);
	if (count <= 0)
		return NULL;
	text[count] = '\0';
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end + 2 : NULL;
}

/* A number of what stat_read returned; UINT64_MAX: there is none. */
static uint64_t stat_number(const char *fields, int number)
{
	uint64_t value;
	size_t len;
	char word[32];

	for (int field = 3; fields && field < number; field++) {
		fields = strchr(fields, ' ');
		fields += fields != NULL;
	}
	len = fields ? strcspn(fields, " \n") : 0;
	if (len == 0 || len >= sizeof(word))
		return UINT64_MAX;
	memcpy(word, fields, len);
	word[len] = '\0';
	return str_parse_u64(word, &value) ? value : UINT64_MAX;
}

/* Since the machine was started, as /proc has it, on CLOCK_MONOTONIC, which stands in a sleep. */
static uint64_t start_monotonic_ns(uint64_t ticks)
{
	const uint64_t ticks_per_s = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec boot = { 0 };
	uint64_t asleep_ns, ns = ticks * (1000000000 / ticks_per_s);

	clock_gettime(CLOCK_BOOTTIME, &boot);
	asleep_ns = (uint64_t)boot.tv_sec * 1000000000 + (uint64_t)boot.tv_nsec - monotonic_ns();
	return ns > asleep_ns ? ns - asleep_ns : 0;
}

static bool is_mapped(const struct session_process *process)
{
	CLEAN(str_deinit) struct str end = { 0 };
	CLEAN(free) char *line = NULL;
	char path[64];
	size_t room = 0;
	bool is_found = false;
	FILE *maps;

	str_format(path, sizeof(path), "/proc/%d/maps", (int)process->pid);
	maps = fopen(path, "re");
	str_printf(&end, "/%s\n", process->name);
	for (ssize_t len;
	     maps && !end.failed && !is_found && (len = getline(&line, &room, maps)) > 0;)
		is_found =
			(size_t)len > end.len && strcmp(line + (size_t)len - end.len, end.ptr) == 0;
	if (maps)
		fclose(maps);
	return is_found;
}

/* --- those that live -------------------------------------------------------------------------- */

static struct session_process *process_find(struct session_members *members, const char *tape,
					    pid_t pid)
{
	for (size_t i = 0; i < members->living.count; i++)
		if (members->living.items[i].pid == pid &&
		    strcmp(members->living.items[i].name, tape) == 0)
			return &members->living.items[i];
	return NULL;
}

static void process_add(struct session_members *members, const char *tape, pid_t pid)
{
	const bool is_first = pid == members->first_pid;
	struct session_process process = { .pid = pid,
					   .is_sure = is_first,
					   .was_looked_at = is_first };
	char text[1024];
	const char *fields;

	if (pid == 0 || members->living.count >= members->limit || process_find(members, tape, pid))
		return;
	process.pidfd = process_fd_open(pid);
	if (process.pidfd < 0)
		return;
	fields = stat_read(pid, text, sizeof(text));
	process.parent_pid = (uint32_t)stat_number(fields, STAT_PARENT);
	process.start_monotonic_ns = start_monotonic_ns(stat_number(fields, STAT_START));
	process.name = fields ? strdup(tape) : NULL;
	for (size_t i = 0; is_first && i < members->living.count; i++)
		members->living.items[i].is_over |= members->living.items[i].pid == pid;
	if (!process.name || !session_processes_push(&members->living, process))
		process_deinit(&process);
}

void session_members_over(struct session_members *members, const char *tape)
{
	for (size_t i = 0; i < members->living.count; i++)
		members->living.items[i].is_over |=
			strcmp(members->living.items[i].name, tape) == 0;
}

/* "NAME.PID.mtape", or "NAME.PID.2.mtape": then both are looked at until the tape says which. */
void session_members_add(struct session_members *members, const char *tape)
{
	const char *end = strrchr(tape, '.');
	const pid_t last = end ? number_before(tape, &end) : 0;

	process_add(members, tape, last);
	if (last > 0)
		process_add(members, tape, number_before(tape, &end));
}

void session_members_arrived(struct session_members *members, const char *tape, pid_t pid,
			     int pidfd)
{
	struct session_process *known = process_find(members, tape, pid);
	struct session_process process = {
		.pid = pid, .pidfd = pidfd, .is_sure = true, .was_looked_at = true
	};

	assert(pid > 0 && pidfd >= 0);
	if (known)
		known->is_sure = known->was_looked_at = true;
	if (known || pid == members->first_pid) { /* our own child is there until we wait for it */
		close(pidfd);
		return;
	}
	process.name = members->living.count < members->limit ? strdup(tape) : NULL;
	if (!process.name || !session_processes_push(&members->living, process))
		process_deinit(&process);
}

void session_members_wait(const struct session_members *members, int stop_fd, int inotify_fd,
			  int timeout_ms, bool *stop_ret)
{
	const size_t count = members->living.count;
	CLEAN(free) struct pollfd *polled = calloc(count + 3, sizeof(*polled));
	struct pollfd few[3];
	struct pollfd *all = polled ? polled : few;

	all[0] = (struct pollfd) { .fd = stop_fd, .events = POLLIN };
	all[1] = (struct pollfd) { .fd = inotify_fd, .events = POLLIN };
	all[2] = (struct pollfd) { .fd = members->is_listening ? members->listening_fd : -1,
				   .events = POLLIN };
	for (size_t i = 0; polled && i < count; i++)
		all[3 + i] = (struct pollfd) { process_fd_polled(members->living.items[i].pidfd),
					       .events = POLLIN };
	*stop_ret = poll(all, polled ? count + 3 : 3, timeout_ms) > 0 && all[0].revents != 0;
}

/* Whether the tape is this process's by its number; also if it has no header yet. */
static bool has_number(const struct session_members *members, const struct session_process *process,
		       struct tape_header *header)
{
	CLEAN(close)
	int fd = openat(members->folder_fd, process->name,
			O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

	*header = (struct tape_header) { .pid = 0 };
	return fd < 0 || pread(fd, header, sizeof(*header), 0) != sizeof(*header) ||
	       header->pid == 0 || header->pid == (uint32_t)process->pid;
}

void session_members_check(struct session_members *members)
{
	struct session_processes *living = &members->living;
	size_t kept = 0;

	for (size_t i = 0; i < living->count; i++) {
		struct session_process *process = &living->items[i];
		struct tape_header header;

		if (!process->was_looked_at) {
			process->is_sure = is_mapped(process);
			process->was_looked_at = true;
			if (!has_number(members, process, &header)) {
				process_deinit(process);
				continue;
			}
		}
		living->items[kept++] = *process;
	}
	living->count = kept;
}

/* --- how they end ----------------------------------------------------------------------------- */

/* A zombie's; 0 is also what those read who may not know. False: it is none. */
static bool zombie_status(const struct session_process *process, int *status_ret)
{
	char text[1024], path[64];
	const char *fields = stat_read(process->pid, text, sizeof(text));
	const uint64_t status = stat_number(fields, STAT_EXIT);
	struct stat owner;

	str_format(path, sizeof(path), "/proc/%d", (int)process->pid);
	if (!fields || (*fields != 'Z' && *fields != 'X') || status > UINT16_MAX ||
	    stat(path, &owner) != 0)
		return false;
	*status_ret = (int)status;
	return status != 0 || geteuid() == 0 || owner.st_uid == geteuid();
}

/* What wait(2) would say. False: the kernel does not tell us. */
static bool status_find(const struct session_process *process, int *status_ret)
{
	struct pidfd_about about = { .mask = ABOUT_EXIT };
	int status;
	const bool is_zombie = zombie_status(process, &status);

	if (is_zombie && process_fd_has_number(process->pidfd)) {
		*status_ret = status; /* it has not been waited for, so it was read there */
		return true;
	}
	if (ioctl(process->pidfd, GET_ABOUT, &about) != 0 || !(about.mask & ABOUT_EXIT))
		return false;
	*status_ret = about.exit_code;
	return true;
}

/* Whether the tape says of its process what was seen of this one. */
static bool is_its_tape(const struct session_members *members,
			const struct session_process *process, struct tape_header *header)
{
	static const uint64_t coarse_ns = 20000000; /* two ticks of /proc */

	if (!has_number(members, process, header) || header->pid == 0 ||
	    memcmp(header->magic, TAPE_MAGIC, sizeof(header->magic)) != 0)
		return false;
	return process->is_sure ||
	       (header->parent_pid == process->parent_pid &&
		header->start_monotonic_ns + coarse_ns >= process->start_monotonic_ns);
}

static void status_write(const struct session_members *members,
			 const struct session_process *process)
{
	struct session_manifest_end end;
	struct tape_header header;
	int status;

	if (!status_find(process, &status) || !is_its_tape(members, process, &header) ||
	    (!WIFEXITED(status) && !WIFSIGNALED(status)))
		return;
	end = (struct session_manifest_end) {
		.tape = process->name,
		.pid = header.pid,
		.is_signal = WIFSIGNALED(status),
		.number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
		.monotonic_ns = monotonic_ns(),
	};
	err_destroy(session_manifest_status(members->manifest_fd, &end));
}

void session_members_end(struct session_members *members)
{
	struct session_processes *living = &members->living;
	size_t kept = 0;

	for (size_t i = 0; i < living->count; i++) {
		if (!process_fd_has_ended(living->items[i].pidfd)) {
			living->items[kept++] = living->items[i];
			continue;
		}
		status_write(members, &living->items[i]);
		process_deinit(&living->items[i]);
	}
	living->count = kept;
}
