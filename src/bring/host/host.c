#include "host/host.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/sort.h"
#include "host/gathering.h"
#include "system/kernel_log.h"
#include "system/process.h"

enum { FILE_BYTES_MAX = 16 << 20, NS_PER_S = 1000000000, RECORD_BYTES = 8192, LINK_BYTES = 256 };

static const char *const KERNEL_LOG = "/dev/kmsg";

static void gathering_deinit(struct gathering *gathering)
{
	look_files_deinit(&gathering->files);
}

CLEAN_DEFINE_DEINIT(gathering_deinit, struct gathering);

struct host_process {
	uint64_t pid, rss_pages;
};

VEC_DEFINE(host_processes, struct host_process);

/* --- opening ---------------------------------------------------------------------------------- */

int host_file_open(const struct host *host, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC | O_NONBLOCK),
				.resolve = RESOLVE_IN_ROOT };
	int fd;

	assert(path[0] == '/');
	if (host->is_own)
		return open(path, flags | O_CLOEXEC | O_NONBLOCK);
	/* The links of a foreign root lead nowhere but into it. */
	fd = (int)syscall(SYS_openat2, host->root_fd, path + 1, &how, sizeof(how));
	if (fd < 0 && errno == ENOSYS)
		fd = openat(host->root_fd, path + 1, flags | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	return fd;
}

static bool exists(const struct host *host, const char *path)
{
	CLEAN(close) const int fd = host_file_open(host, path, O_RDONLY);

	return fd >= 0;
}

static struct err *check(const struct host *host, const char *root)
{
	char path[STR_SHORT_BYTES];

	if (!exists(host, "/proc/meminfo"))
		return err_new(ERR_NOT_FOUND, "there is no %s/proc/meminfo to read",
			       host->is_own ? "" : root);
	str_format(path, sizeof(path), "/proc/%d/status", (int)host->subject);
	if (host->subject && !exists(host, path))
		return err_new(ERR_NOT_FOUND, "there is no process %d", (int)host->subject);
	return NULL;
}

struct err *host_open(const struct host_settings *settings, struct host **host_ret)
{
	const char *root = settings->root ? settings->root : "/";
	CLEAN(host_close) struct host *host = calloc(1, sizeof(*host));
	struct err *err;

	if (!host)
		return err_nomem();
	host->log_fd = -1;
	host->subject = settings->subject;
	host->is_own = strcmp(root, "/") == 0;
	host->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (host->root_fd < 0)
		return err_errno("%s", root);
	err = check(host, root);
	if (err)
		return err;
	*host_ret = steal(host);
	return NULL;
}

void host_close(struct host *host)
{
	if (!host)
		return;
	if (host->log_fd >= 0)
		close(host->log_fd);
	if (host->root_fd >= 0)
		close(host->root_fd);
	free(host->cgroup);
	free(host);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* What can be read of it, up to its first NUL. 0, or errno. */
static int read_all(int fd, struct str *text)
{
	char buf[RECORD_BYTES];

	while (text->len < FILE_BYTES_MAX) {
		const ssize_t got = read(fd, buf, sizeof(buf));
		const char *nul = got > 0 ? memchr(buf, '\0', (size_t)got) : NULL;

		if (got < 0 && errno != EINTR)
			return errno;
		if (got > 0)
			str_add_bytes(text, buf, nul ? (size_t)(nul - buf) : (size_t)got);
		if (got == 0 || nul)
			break;
	}
	return 0;
}

int host_file_read(const struct host *host, const char *path, struct str *text)
{
	CLEAN(close) const int fd = host_file_open(host, path, O_RDONLY);
	struct stat info;

	if (fd < 0)
		return errno;
	if (fstat(fd, &info) < 0)
		return errno;
	return S_ISREG(info.st_mode) ? read_all(fd, text) : EINVAL;
}

struct err *gathering_keep(struct gathering *gathering, const char *path, const char *text,
			   int error)
{
	struct look_file file = { .error = error };

	file.path = arena_strdup(gathering->arena, path);
	file.text = error ? NULL : arena_strdup(gathering->arena, text);
	if (!file.path || (!error && !file.text))
		return err_nomem();
	return look_files_push(&gathering->files, file) ? NULL : err_nomem();
}

static struct err *keep_file(struct gathering *gathering, const char *path)
{
	CLEAN(str_deinit) struct str text = { 0 };
	const int error = host_file_read(gathering->host, path, &text);

	return text.failed ? err_nomem() : gathering_keep(gathering, path, str_text(&text), error);
}

/* Of the file kept last; NULL: it could not be read. */
static const char *last_text(const struct gathering *gathering)
{
	return gathering->files.items[gathering->files.count - 1].text;
}

static struct err *keep_file_of(struct gathering *gathering, uint64_t pid, const char *name)
{
	char path[STR_SHORT_BYTES];

	str_format(path, sizeof(path), "/proc/%llu/%s", (unsigned long long)pid, name);
	return keep_file(gathering, path);
}

/* What a link says: "cgroup:[4026531835]". */
static struct err *keep_link(struct gathering *gathering, const char *path)
{
	const struct host *host = gathering->host;
	char target[LINK_BYTES];
	const ssize_t len = readlinkat(host->root_fd, path + 1, target, sizeof(target) - 1);

	target[len > 0 ? len : 0] = '\0';
	return gathering_keep(gathering, path, target, len < 0 ? errno : 0);
}

/* --- the system ------------------------------------------------------------------------------- */

static struct err *gather_system(struct gathering *gathering)
{
	static const char *const paths[] = {
		"/proc/sys/kernel/hostname",
		"/proc/uptime",
		"/proc/meminfo",
		"/proc/vmstat",
		"/proc/pressure/memory",
		"/proc/sys/vm/overcommit_memory",
	};
	struct err *err = NULL;

	for (size_t i = 0; i < array_size(paths) && !err; i++)
		err = keep_file(gathering, paths[i]);
	if (!err)
		err = keep_link(gathering, "/proc/self/ns/cgroup");
	return err ? err : keep_link(gathering, "/proc/self/ns/pid");
}

/* --- cgroups ---------------------------------------------------------------------------------- */

/* Only the lines about cgroups: others are nobody's business. */
static struct err *gather_mounts(struct gathering *gathering, const char **text_ret)
{
	static const char *const paths[] = { "/proc/self/mountinfo", "/proc/1/mountinfo" };
	CLEAN(str_deinit) struct str text = { 0 };
	CLEAN(str_deinit) struct str kept = { 0 };
	const char *path = paths[0];
	int error = host_file_read(gathering->host, path, &text);
	struct err *err;

	if (error) {
		path = paths[1];
		error = host_file_read(gathering->host, path, &text);
	}
	for (const char *line = str_text(&text); *line;) {
		const size_t len = strcspn(line, "\n");

		if (memmem(line, len, " - cgroup", strlen(" - cgroup"))) {
			str_add_bytes(&kept, line, len);
			str_add_char(&kept, '\n');
		}
		line += len + (line[len] == '\n');
	}
	if (text.failed || kept.failed)
		return err_nomem();
	err = gathering_keep(gathering, path, str_text(&kept), error);
	if (!err)
		*text_ret = last_text(gathering);
	return err;
}

struct err *gathering_level(struct gathering *gathering, const char *directory, bool is_v1)
{
	struct err *err = NULL;

	for (const char *const *name = cgroup_files(is_v1); *name && !err; name++) {
		CLEAN(str_deinit) struct str path = { 0 };
		CLEAN(str_deinit) struct str text = { 0 };
		int error;

		str_printf(&path, "%s/%s", directory, *name);
		if (path.failed)
			return err_nomem();
		error = host_file_read(gathering->host, path.ptr, &text);
		if (text.failed)
			return err_nomem();
		if (error != ENOENT) /* the top has few files, and older kernels lack some */
			err = gathering_keep(gathering, path.ptr, str_text(&text), error);
	}
	return err;
}

/* Of a process that is ending, the kernel says that it is at the top. */
static bool is_ending(const struct host *host)
{
	CLEAN(str_deinit) struct str text = { 0 };
	char path[STR_SHORT_BYTES];

	str_format(path, sizeof(path), "/proc/%d/status", (int)host->subject);
	return host->subject && host_file_read(host, path, &text) == 0 &&
	       !process_has_memory(str_text(&text));
}

/* Those of the subject, or of this process: limits that hold here. */
static struct err *gather_cgroups(struct gathering *gathering)
{
	struct host *host = gathering->host;
	struct cgroup_places places;
	const char *mountinfo = NULL;
	char path[STR_SHORT_BYTES] = "/proc/self/cgroup";
	const char *cgroup;
	struct err *err;

	if (host->subject)
		str_format(path, sizeof(path), "/proc/%d/cgroup", (int)host->subject);
	err = keep_file(gathering, path);
	cgroup = err ? NULL : last_text(gathering);
	if (!err && !cgroup && !host->subject) { /* this process is not in that root's namespace */
		err = keep_file(gathering, "/proc/1/cgroup");
		cgroup = err ? NULL : last_text(gathering);
	}
	if (cgroup && !is_ending(host)) {
		free(host->cgroup);
		host->cgroup = strdup(cgroup);
		if (!host->cgroup)
			return err_nomem();
	}
	if (!err)
		err = gather_mounts(gathering, &mountinfo);
	if (!err)
		err = cgroup_places_find(host->cgroup, mountinfo, gathering->arena, &places);
	if (err)
		return err;
	for (size_t i = 0; i < places.count && !err; i++)
		err = gathering_level(gathering, places.items[i].directory, places.is_v1);
	if (!err && places.count > 0 && !host->subject)
		err = gathering_limited(gathering, &places);
	return err;
}

/* --- processes -------------------------------------------------------------------------------- */

/* In the order of their resident pages, most first. */
static int compare_rss(const void *context, const void *a, const void *b)
{
	const struct host_process *left = a, *right = b;

	(void)context;
	return sort_compare_u64(right->rss_pages, left->rss_pages);
}

static struct err *list_processes(struct gathering *gathering, struct host_processes *list)
{
	const int fd = host_file_open(gathering->host, "/proc", O_RDONLY | O_DIRECTORY);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!folder) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	while ((entry = readdir(folder))) {
		struct host_process process = { 0 };
		struct process_counts counts;
		char path[STR_SHORT_BYTES];
		CLEAN(str_deinit) struct str text = { 0 };

		if (!str_parse_u64(entry->d_name, &process.pid) || process.pid > INT32_MAX)
			continue;
		str_format(path, sizeof(path), "/proc/%d/stat", (int)process.pid);
		if (host_file_read(gathering->host, path, &text) != 0)
			continue;
		process_counts_read(str_text(&text), &counts);
		process.rss_pages = counts.rss_pages == SYSTEM_UNKNOWN ? 0 : counts.rss_pages;
		if (!host_processes_push(list, process)) {
			closedir(folder);
			return err_nomem();
		}
	}
	closedir(folder);
	return NULL;
}

static struct err *gather_process(struct gathering *gathering, uint64_t pid)
{
	static const char *const names[] = { "status", "stat", "oom_score", "oom_score_adj" };
	struct err *err = NULL;

	for (size_t i = 0; i < array_size(names) && !err; i++)
		err = keep_file_of(gathering, pid, names[i]);
	return err;
}

static bool has_first(const struct host_processes *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].pid == 1)
			return true;
	return false;
}

static struct err *gather_top(struct gathering *gathering, uint64_t *count_ret)
{
	CLEAN(host_processes_deinit) struct host_processes list = { 0 };
	struct err *err = list_processes(gathering, &list);

	if (!err && gathering->host->is_own && !has_first(&list))
		err = keep_file_of(gathering, 1,
				   "status"); /* others are hidden: its error says so */
	if (!err && !sort_stable(list.items, list.count, sizeof(*list.items), compare_rss, NULL))
		err = err_nomem();
	for (size_t i = 0; i < list.count && i < HOST_TOP_PROCESSES && !err; i++)
		if (list.items[i].rss_pages > 0 &&
		    list.items[i].pid != (uint64_t)gathering->host->subject)
			err = gather_process(gathering, list.items[i].pid);
	*count_ret = list.count;
	return err;
}

static struct err *gather_subject(struct gathering *gathering)
{
	const uint64_t pid = (uint64_t)gathering->host->subject;
	struct err *err = pid ? gather_process(gathering, pid) : NULL;

	if (pid && !err)
		err = keep_file_of(gathering, pid, "limits");
	if (pid && !err && gathering->is_last)
		err = keep_file_of(gathering, pid, "smaps_rollup");
	return err;
}

/* --- the kernel's log ------------------------------------------------------------------------- */

/* A record a read; of a saved tree it is a file of lines. */
static int read_records(int fd, struct str *text)
{
	char record[RECORD_BYTES];

	for (;;) {
		const ssize_t got = read(fd, record, sizeof(record) - 1);

		if (got < 0 && (errno == EPIPE || errno == EINTR))
			continue; /* older records were overwritten: the next one is there */
		if (got < 0)
			return errno == EAGAIN ? 0 : errno;
		if (got == 0)
			return 0;
		record[got] = '\0';
		record[strcspn(record, "\n")] = '\0'; /* what follows is about devices */
		if (!kernel_log_is_wanted(record))
			continue;
		str_add(text, record);
		str_add_char(text, '\n');
	}
}

static int log_read(struct host *host, struct str *text)
{
	struct stat info;

	if (host->log_fd < 0)
		host->log_fd = host_file_open(host, KERNEL_LOG, O_RDONLY);
	if (host->log_fd < 0)
		return errno;
	if (fstat(host->log_fd, &info) < 0)
		return errno;
	if (S_ISREG(info.st_mode))
		return read_all(host->log_fd, text);
	return S_ISCHR(info.st_mode) ? read_records(host->log_fd, text) : EINVAL;
}

static struct err *gather_log(struct gathering *gathering)
{
	CLEAN(str_deinit) struct str text = { 0 };
	const int error = log_read(gathering->host, &text);

	return text.failed ? err_nomem()
			   : gathering_keep(gathering, KERNEL_LOG, str_text(&text), error);
}

/* --- a look ----------------------------------------------------------------------------------- */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

struct err *host_look(struct host *host, bool is_last, struct arena *arena, struct look *look_ret)
{
	CLEAN(gathering_deinit)
	struct gathering gathering = { .host = host, .arena = arena, .is_last = is_last };
	struct look look = { .realtime_ns = clock_ns(CLOCK_REALTIME),
			     .monotonic_ns = clock_ns(CLOCK_MONOTONIC) };
	struct look_file *files;
	struct err *err = gather_system(&gathering);

	if (!err)
		err = gather_cgroups(&gathering);
	if (!err)
		err = gather_subject(&gathering);
	if (!err)
		err = gather_top(&gathering, &look.process_count);
	if (!err)
		err = gather_log(&gathering);
	if (err)
		return err;
	look.file_count = gathering.files.count;
	files = arena_array(arena, look.file_count, sizeof(*files));
	if (!files)
		return err_nomem();
	memcpy(files, gathering.files.items, look.file_count * sizeof(*files));
	look.files = files;
	*look_ret = look;
	return NULL;
}
