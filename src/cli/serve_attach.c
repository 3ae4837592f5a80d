#include "cli/serve_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "cli/process_list.h"

#define TAPE_NAME "memtape.%e.%p.%n.mtape"

enum { ARGS_MAX = 12, LINE_BYTES = 4096 + 64, PAUSE_MS = 10, PATIENCE_S = 20 };

/* What is prepared before the fork: other threads may hold any lock then. */
struct launch {
	const char *args[ARGS_MAX];
	int out, control;
};

/* In the child. The terminal's Ctrl-C is the server's. */
static _Noreturn void attach_main(const struct launch *launch)
{
	const int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	dup2(null_fd, STDIN_FILENO);
	dup2(launch->out, STDOUT_FILENO);
	dup2(launch->out, STDERR_FILENO);
	fcntl(launch->control, F_SETFD, 0);
	execv("/proc/self/exe", (char *const *)launch->args);
	_exit(127);
}

/* One line without its end; false: there is none. */
static bool line_read(int fd, char line[LINE_BYTES])
{
	size_t len = 0;

	while (len + 1 < LINE_BYTES) {
		const ssize_t got = read(fd, line + len, 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 || line[len] == '\n')
			break;
		len++;
	}
	line[len] = '\0';
	return len > 0;
}

/* A percent sign of the folder's name is none of the pattern. */
static void pattern_add(struct str *pattern, const char *folder)
{
	for (const char *at = folder; *at; at++)
		str_printf(pattern, *at == '%' ? "%%%%" : "%c", *at);
	str_add(pattern, "/" TAPE_NAME);
}

static struct err *launch(const struct serve_attach *attach, uint64_t pid, int out, int control,
			  pid_t *memtape_ret)
{
	CLEAN(str_deinit) struct str pattern = { 0 };
	char number[24], process[24];
	struct launch launch = {
		.args = { "memtape", "attach", "--quiet", "--control",
			  str_format(number, sizeof(number), "%d", control), "--output", NULL, "--",
			  str_format(process, sizeof(process), "%llu", (unsigned long long)pid) },
		.out = out,
		.control = control,
	};

	pattern_add(&pattern, attach->folder);
	if (pattern.failed)
		return err_nomem();
	launch.args[6] = pattern.ptr;
	*memtape_ret = fork();
	if (*memtape_ret == 0)
		attach_main(&launch);
	return *memtape_ret < 0 ? err_errno("fork") : NULL;
}

/* It says its tape's path, and then that it records; or else what is wrong. */
static struct err *wait_for_it(int out, struct control *control, struct arena *arena,
			       struct processes_begun *begun)
{
	static const char own[] = "memtape: ";
	char line[LINE_BYTES];
	struct control_word word;
	struct err *err;

	if (line_read(out, line) && strncmp(line, own, strlen(own)) != 0) {
		begun->path = arena_strdup(arena, line);
		if (!begun->path)
			return err_nomem();
		err = control_begun(control, &word);
		if (!err) {
			begun->pause_ns = word.pause_ns;
			begun->control = control;
			return NULL;
		}
		if (!control_is_open(control) && line_read(out, line) &&
		    strncmp(line, own, strlen(own)) == 0) {
			err_destroy(err);
			return err_new(ERR_STATE, "%s", line + strlen(own));
		}
		return err;
	}
	return err_new(ERR_STATE, "%s",
		       line[0] ? line + strlen(own) : "memtape attach did not start");
}

/* Those that have ended are seen to. */
static void reap(struct serve_attach *attach)
{
	for (size_t i = 0; i < attach->count; i++)
		if (attach->items[i]->memtape > 0 &&
		    waitpid(attach->items[i]->memtape, NULL, WNOHANG) != 0)
			attach->items[i]->memtape = 0;
}

static void wait_for_end(pid_t memtape, uint64_t until_ns)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };

	while (memtape > 0 && waitpid(memtape, NULL, WNOHANG) == 0 && monotonic_ns() < until_ns)
		nanosleep(&pause, NULL);
}

/* ends: of the pipe that it writes to. */
static struct err *begin(struct serve_attach *attach, uint64_t pid, const int ends[2],
			 struct arena *arena, struct processes_begun *begun)
{
	struct serve_attached *item = calloc(1, sizeof(*item));
	int sockets[2];
	struct err *err;

	if (!item)
		return err_nomem();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) {
		free(item);
		return err_errno("socketpair");
	}
	err = control_init(&item->control, sockets[0]);
	if (!err)
		err = launch(attach, pid, ends[1], sockets[1], &item->memtape);
	close(ends[1]);
	close(sockets[1]);
	if (!err)
		err = wait_for_it(ends[0], &item->control, arena, begun);
	close(ends[0]);
	if (!err) {
		attach->items[attach->count++] = item;
		return NULL;
	}
	control_deinit(&item->control);
	wait_for_end(item->memtape, monotonic_ns() + PATIENCE_S * UINT64_C(1000000000));
	free(item);
	return err;
}

static struct err *attach_one(void *context, uint64_t pid, struct arena *arena,
			      struct processes_begun *begun)
{
	struct serve_attach *attach = context;
	int ends[2];

	reap(attach);
	if (attach->count == array_size(attach->items))
		return err_new(ERR_LIMIT, "already %zu recordings", attach->count);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno("pipe");
	return begin(attach, pid, ends, arena, begun);
}

static struct err *list(void *context, struct arena *arena, struct process_list *list)
{
	(void)context;
	return process_list_find(arena, list);
}

void serve_attach_init(struct serve_attach *attach, const char *folder)
{
	*attach = (struct serve_attach) {
		.folder = folder,
		.source = { .list = list, .attach = attach_one, .context = attach },
	};
}

/* Without the server at the other end of its socket each of them ends. */
void serve_attach_deinit(struct serve_attach *attach)
{
	const uint64_t until_ns = monotonic_ns() + PATIENCE_S * UINT64_C(1000000000);

	for (size_t i = 0; i < attach->count; i++)
		control_deinit(&attach->items[i]->control);
	for (size_t i = 0; i < attach->count; i++) {
		wait_for_end(attach->items[i]->memtape, until_ns);
		free(attach->items[i]);
	}
	attach->count = 0;
}
