#include "collect/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "host/process_fd.h"

static bool names_variable(const char *entry, const struct child_variable *variable)
{
	size_t len = strlen(variable->name);

	return strncmp(entry, variable->name, len) == 0 && entry[len] == '=';
}

static bool is_replaced(const char *entry, const struct child_variable *variables, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (names_variable(entry, &variables[i]))
			return true;
	return false;
}

char **child_environment(const struct child_variable *variables, size_t count, struct arena *arena)
{
	size_t inherited = 0;
	size_t at = 0;
	char **environment;

	assert(variables || count == 0);
	while (environ[inherited])
		inherited++;
	environment = arena_array(arena, inherited + count + 1, sizeof(*environment));
	if (!environment)
		return NULL;
	for (size_t i = 0; i < inherited; i++)
		if (!is_replaced(environ[i], variables, count))
			environment[at++] = environ[i];
	for (size_t i = 0; i < count; i++) {
		environment[at] =
			arena_printf(arena, "%s=%s", variables[i].name, variables[i].value);
		if (!environment[at++])
			return NULL;
	}
	return environment;
}

static const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static _Noreturn void child_main(const struct child *child, const struct program *program,
				 char *const *environment, const struct signals *signals)
{
	char go;
	int error;

	while (read(child->gate, &go, 1) != 1)
		if (errno != EINTR)
			_exit(0); /* cancelled, or memtape is gone */
	signals_restore(signals);
	execve(program->path, program->argv, environment);
	error = errno;
	if (write(child->status, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

struct err *child_fork(struct child *child, const struct program *program, char *const *environment,
		       const struct signals *signals)
{
	int gate[2] = { -1, -1 };
	int status[2] = { -1, -1 };
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC) < 0)
		return err_errno("pipe");
	if (pipe2(status, O_CLOEXEC) < 0) {
		close(gate[0]);
		close(gate[1]);
		return err_errno("pipe");
	}
	pid = fork();
	if (pid == 0) {
		close(gate[1]);
		close(status[0]);
		*child = (struct child) { .gate = gate[0], .status = status[1] };
		child_main(child, program, environment, signals);
	}
	close(gate[0]);
	close(status[1]);
	*child = (struct child) { .pid = pid, .gate = gate[1], .status = status[0] };
	str_format(child->name, sizeof(child->name), "%s", path_name(program->path));
	if (pid > 0)
		return NULL;
	close(gate[1]);
	close(status[0]);
	return err_errno("fork");
}

static void reap(const struct child *child)
{
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* /proc/PID/stat of a zombie still has its name and times: proc(5). */
static void read_last_state(struct child *child)
{
	enum { STATE = 3, OWN_USER = 14, CHILDREN_SYSTEM = 17 };
	uint64_t ticks[CHILDREN_SYSTEM - OWN_USER + 1] = { 0 };
	char text[1024];
	char *name, *at;
	ssize_t n;

	str_format(text, sizeof(text), "/proc/%d/stat", (int)child->pid);
	CLEAN(close) int fd = open(text, O_RDONLY | O_CLOEXEC);

	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	name = strchr(text, '(');
	at = strrchr(text, ')'); /* the name may contain anything */
	if (!name || !at)
		return;
	*at = '\0';
	str_format(child->last_name, sizeof(child->last_name), "%s", name + 1);
	at += 2;
	for (int field = STATE; at && field <= CHILDREN_SYSTEM; field++) {
		if (field >= OWN_USER)
			ticks[field - OWN_USER] = strtoull(at, NULL, 10);
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	child->own_cpu_ticks = ticks[0] + ticks[1];
	child->children_cpu_ticks = ticks[2] + ticks[3];
}

void child_name_take(struct child *child)
{
	char path[64];
	char name[CHILD_NAME_BYTES];
	ssize_t n;

	assert(child->pid > 0);
	str_format(path, sizeof(path), "/proc/%d/comm", (int)child->pid);
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC);

	n = fd < 0 ? 0 : read(fd, name, sizeof(name));
	if (n > 1 && name[n - 1] == '\n') {
		name[n - 1] = '\0';
		str_format(child->name, sizeof(child->name), "%s", name);
	}
}

int child_go(struct child *child)
{
	int error = 0;
	ssize_t n;

	assert(child->pid > 0 && child->gate >= 0);
	if (write(child->gate, "g", 1) != 1)
		error = errno;
	close(child->gate);
	do
		n = read(child->status, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(child->status);
	if (error)
		reap(child);
	return error;
}

void child_cancel(struct child *child)
{
	assert(child->pid > 0 && child->gate >= 0);
	close(child->gate);
	close(child->status);
	reap(child);
}

struct err *child_adopt(struct child *child, pid_t pid)
{
	*child = (struct child) { .pid = pid, .gate = -1, .status = -1, .is_adopted = true };
	child->pidfd = process_fd_open(pid);
	if (child->pidfd < 0)
		return errno == ESRCH ? err_new(ERR_NOT_FOUND, "there is no process %d", (int)pid)
				      : err_errno("process %d", (int)pid);
	child_name_take(child);
	return NULL;
}

void child_let_go(struct child *child)
{
	if (child->is_adopted && child->pidfd >= 0)
		close(child->pidfd);
	child->pidfd = -1;
}

static enum child_event poll_adopted(struct child *child, int *wait_status_ret,
				     struct rusage *usage_ret)
{
	if (!process_fd_has_ended(child->pidfd))
		return CHILD_NOTHING;
	read_last_state(child);
	*wait_status_ret = 0;
	*usage_ret = (struct rusage) { 0 };
	return CHILD_ENDED;
}

enum child_event child_poll(struct child *child, int *wait_status_ret, struct rusage *usage_ret)
{
	assert(child->pid > 0);
	siginfo_t info = { 0 };

	if (child->is_adopted)
		return poll_adopted(child, wait_status_ret, usage_ret);

	/* Peek first: a zombie's /proc entry is still readable. */
	if (waitid(P_PID, (id_t)child->pid, &info,
		   WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) < 0 ||
	    info.si_pid != child->pid)
		return CHILD_NOTHING;
	if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
		read_last_state(child);
	if (wait4(child->pid, wait_status_ret, WNOHANG | WUNTRACED | WCONTINUED, usage_ret) !=
	    child->pid)
		return CHILD_NOTHING;
	if (WIFSTOPPED(*wait_status_ret))
		return info.si_code == CLD_TRAPPED ? CHILD_TRAPPED : CHILD_STOPPED;
	return WIFCONTINUED(*wait_status_ret) ? CHILD_CONTINUED : CHILD_ENDED;
}
