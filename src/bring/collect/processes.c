#include "collect/processes.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <time.h>

#include "base/sort.h"
#include "base/str.h"
#include "scan/objects.h"
#include "scan/recording.h"
#include "scan/stop.h"

enum {
	USERS_MAX = 32, /* whose names are looked up once */
	COMMAND_BYTES_MAX = 4096,
	NAME_BYTES_MAX = 4096
};

static const uint64_t NS_PER_S = 1000000000;

struct user {
	uid_t uid;
	const char *name;
};

/* What is looked up once for all of them. */
struct search {
	struct arena *arena;
	struct attach_libcs libcs;
	struct user users[USERS_MAX];
	size_t user_count;
	uint64_t now_boot_ns, now_realtime_ns;
	bool may_not_trace; /* Yama forbids it, but of children */
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* The beginning of /proc/PID/NAME; its length. 0: it cannot be read, or is empty. */
static size_t read_of(pid_t pid, const char *name, char *text, size_t bytes)
{
	char path[64];
	CLEAN(close)
	int fd = open(str_format(path, sizeof(path), "/proc/%d/%s", (int)pid, name),
		      O_RDONLY | O_CLOEXEC);
	const ssize_t got = fd < 0 ? 0 : read(fd, text, bytes - 1);

	text[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

/* --- who --------------------------------------------------------------------------------------- */

static const char *user_lookup(struct arena *arena, uid_t uid)
{
	struct passwd user, *found = NULL;
	char text[4096];

	if (getpwuid_r(uid, &user, text, sizeof(text), &found) == 0 && found)
		return arena_strdup(arena, found->pw_name);
	return arena_printf(arena, "%u", (unsigned)uid);
}

static const char *user_name(struct search *search, uid_t uid)
{
	const char *name;

	for (size_t i = 0; i < search->user_count; i++)
		if (search->users[i].uid == uid)
			return search->users[i].name;
	name = user_lookup(search->arena, uid);
	if (name && search->user_count < USERS_MAX)
		search->users[search->user_count++] = (struct user) { uid, name };
	return name;
}

/* --- what -------------------------------------------------------------------------------------- */

/* The file that it runs; one that was replaced since keeps its name. False: there is none. */
static bool exe_name(pid_t pid, struct arena *arena, const char **name_ret)
{
	static const char gone[] = " (deleted)";
	char link[64], path[NAME_BYTES_MAX];
	ssize_t len = readlink(str_format(link, sizeof(link), "/proc/%d/exe", (int)pid), path,
			       sizeof(path) - 1);
	const char *slash;

	if (len < 0 && errno != EACCES && errno != EPERM)
		return false;
	if (len < 0) { /* of one that may not be looked at: as it calls itself */
		len = (ssize_t)read_of(pid, "comm", path, sizeof(path));
		path[strcspn(path, "\n")] = '\0';
	} else {
		path[len] = '\0';
		if ((size_t)len > strlen(gone) && strcmp(path + len - strlen(gone), gone) == 0)
			path[(size_t)len - strlen(gone)] = '\0';
	}
	slash = strrchr(path, '/');
	*name_ret = arena_strdup(arena, slash ? slash + 1 : path);
	return true;
}

static const char *command_line(pid_t pid, struct arena *arena)
{
	char text[COMMAND_BYTES_MAX];
	size_t len = read_of(pid, "cmdline", text, sizeof(text));

	while (len > 0 && text[len - 1] == '\0')
		len--;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			text[i] = ' ';
	return arena_text(arena, text, len);
}

/* Field 22 of stat; the second is a name in parentheses, in which anything may be. */
static uint64_t start_boot_ns(pid_t pid)
{
	enum { FIELD = 22, AFTER_NAME = 3 };
	char text[1024];
	const char *at;

	read_of(pid, "stat", text, sizeof(text));
	at = strrchr(text, ')');
	for (int field = AFTER_NAME - 1; at && field < FIELD; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at ? strtoull(at, NULL, 10) * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK)) : 0;
}

/* --- how it is to be recorded ------------------------------------------------------------------ */

static bool has_recorder(const struct maps *maps)
{
	for (size_t i = 0; i < maps->entries.count; i++)
		if (objects_is_recorder(maps_name(maps, &maps->entries.items[i])))
			return true;
	return false;
}

static const char *tape_of(pid_t pid, const struct maps *maps, struct arena *arena)
{
	CLEAN(recording_close) struct recording recording = { .fd = -1 };
	struct err *err;

	if (!has_recorder(maps))
		return NULL;
	err = recording_find(pid, maps, &recording);
	if (!err && recording.is_spool && !recording_collector(recording.inode))
		return NULL; /* what is left of one that was killed */
	err_destroy(err);
	return err ? NULL : arena_strdup(arena, recording.tape_path);
}

/* Where ptrace is for parents alone, unless a program has said otherwise, which nobody can ask. */
static bool yama_forbids(void)
{
	enum { SYS_PTRACE = 19 };
	CLEAN(fclose) FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	struct status status;
	int scope = 0;

	if (!file || fscanf(file, "%d", &scope) != 1 || scope == 0)
		return false;
	return scope > 2 || !status_read(&status, getpid(), getpid()) ||
	       !(status_number(&status, "CapEff", 16, 0) >> SYS_PTRACE & 1);
}

static struct err *look(struct search *search, struct process *process)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	struct err *err = maps_read_briefly(process->pid, &maps);

	err_destroy(err); /* attach_check says why */
	process->tape = tape_of(process->pid, &maps, search->arena);
	err = attach_check(process->pid, &maps, &search->libcs, &process->obstacle);
	if (!err && search->may_not_trace) {
		process->obstacle = ATTACH_PRIVILEGES;
		err = stop_refusal(process->pid, EPERM);
	}
	if (!err)
		return NULL;
	process->refusal = arena_strdup(search->arena, err_message(err));
	err_destroy(err);
	return process->refusal ? NULL : err_nomem();
}

/* *has_ret false: it is not to be shown, or is gone. */
static struct err *take(struct search *search, pid_t pid, struct process *process, bool *has_ret)
{
	struct status status;
	uint64_t begin_ns;
	uid_t uid;
	struct err *err;

	*has_ret = false;
	if (pid == getpid() || !status_read(&status, pid, pid) || status_is_dead(&status))
		return NULL;
	uid = (uid_t)status_number(&status, "Uid", 10, UINT32_MAX);
	*process = (struct process) { .pid = pid, .obstacle = ATTACH_OBSTACLES };
	if ((geteuid() != 0 && uid != getuid()) || !exe_name(pid, search->arena, &process->name))
		return NULL;
	process->command = command_line(pid, search->arena);
	process->user = user_name(search, uid);
	process->rss_bytes = status_number(&status, "VmRSS", 10, 0) << 10;
	begin_ns = u64_min(start_boot_ns(pid), search->now_boot_ns);
	process->age_ns = search->now_boot_ns - begin_ns;
	process->start_realtime_ns = search->now_realtime_ns - process->age_ns;
	if (!process->name || !process->command || !process->user)
		return err_nomem();
	err = look(search, process);
	*has_ret = !err && process->obstacle != ATTACH_GONE;
	return err;
}

static int compare(const void *context, const void *a, const void *b)
{
	const struct process *left = a, *right = b;

	(void)context;
	if (left->rss_bytes != right->rss_bytes)
		return sort_compare_u64(right->rss_bytes, left->rss_bytes);
	return sort_compare_u64((uint64_t)left->pid, (uint64_t)right->pid);
}

struct err *processes_find(struct arena *arena, struct process_vec *processes)
{
	struct search search = {
		.arena = arena,
		.now_boot_ns = clock_ns(CLOCK_BOOTTIME),
		.now_realtime_ns = clock_ns(CLOCK_REALTIME),
		.may_not_trace = yama_forbids(),
	};
	CLEAN(closedir) DIR *folder = opendir("/proc");
	struct err *err = folder ? NULL : err_errno("/proc");
	struct process process;
	bool has;

	for (struct dirent *entry; !err && (entry = readdir(folder));) {
		const long pid = strtol(entry->d_name, NULL, 10);

		if (pid <= 0)
			continue;
		err = take(&search, (pid_t)pid, &process, &has);
		if (!err && has && !process_vec_push(processes, process))
			err = err_nomem();
	}
	if (!err &&
	    !sort_stable(processes->items, processes->count, sizeof(process), compare, NULL))
		err = err_nomem();
	return err;
}
