#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/str.h"
#include "base/vec.h"
#include "collect/ctl.h"
#include "collect/ctl_alone.h"
#include "collect/ctl_name.h"

enum { ANSWER_S = 10, SCAN_S = 600 };

socklen_t ctl_name(pid_t pid, struct sockaddr_un *name)
{
	*name = (struct sockaddr_un) { .sun_family = AF_UNIX };
	str_format(name->sun_path + 1, sizeof(name->sun_path) - 1, CTL_NAME_PREFIX "%d", (int)pid);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name->sun_path + 1));
}

bool ctl_is_trusted(int fd)
{
	struct ucred other;
	socklen_t bytes = sizeof(other);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &bytes) == 0 &&
	       (other.uid == 0 || other.uid == geteuid());
}

/* Root may control what others record; whose word it takes does not matter then. */
static struct err *connect_to(pid_t pid, int fd)
{
	struct sockaddr_un name;
	const socklen_t bytes = ctl_name(pid, &name);

	if (connect(fd, (const struct sockaddr *)&name, bytes) < 0)
		return errno == ECONNREFUSED
			       ? err_new(ERR_NOT_FOUND,
					 "process %d is not being recorded, or without a collector",
					 (int)pid)
			       : err_errno("process %d", (int)pid);
	if (geteuid() != 0 && !ctl_is_trusted(fd))
		return err_new(ERR_STATE,
			       "process %d is recorded by another user, who alone may control it",
			       (int)pid);
	return NULL;
}

/* Bytes of the reply, or as recvmsg; *fd_ret: -1: no descriptor came. */
static ssize_t receive(int from, struct ctl_reply *reply, int *fd_ret)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec bytes = { reply, sizeof(*reply) };
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	const struct cmsghdr *head;
	ssize_t got;

	*fd_ret = -1;
	do
		got = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	head = got < 0 ? NULL : CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
	    head->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd_ret, CMSG_DATA(head), sizeof(*fd_ret));
	return got;
}

static struct err *no_answer(pid_t pid, bool is_late)
{
	if (is_late)
		return err_new(ERR_STATE, "who records process %d does not answer", (int)pid);
	return err_new(ERR_STATE,
		       "who records process %d does not answer: its recording has ended, or it is "
		       "another version of memtape, or you are another user",
		       (int)pid);
}

static struct err *exchange(pid_t pid, int to, const struct ctl_request *request,
			    struct ctl_reply *reply, int *fd_ret)
{
	const struct timeval patience = {
		.tv_sec = request->command == CTL_LEAK_SCAN ? SCAN_S : ANSWER_S,
	};
	CLEAN(close) int fd = -1;
	ssize_t got;

	setsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)!send(to, request, sizeof(*request),
		    MSG_NOSIGNAL); /* who does not listen, hangs up */
	got = receive(to, reply, &fd);
	if (got != sizeof(*reply) || reply->magic != CTL_MAGIC || reply->version != CTL_VERSION)
		return no_answer(pid, got < 0 && errno == EAGAIN);
	reply->text[sizeof(reply->text) - 1] = '\0';
	reply->tape_path[sizeof(reply->tape_path) - 1] = '\0';
	if (fd_ret)
		*fd_ret = steal_fd(&fd);
	return NULL;
}

static struct err *call_collector(pid_t pid, const struct ctl_request *request,
				  struct ctl_reply *reply, int *fd_ret)
{
	CLEAN(close) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct err *err;

	if (fd < 0)
		return err_errno("socket");
	err = connect_to(pid, fd);
	return err ? err : exchange(pid, fd, request, reply, fd_ret);
}

/* It may do without a collector: then its own words about that are of no use. */
struct err *ctl_call(pid_t pid, const struct ctl_request *request, struct ctl_reply *reply,
		     int *fd_ret)
{
	struct err *err, *alone;

	assert(pid > 0 && request->command <= CTL_COMMAND_LAST);
	if (fd_ret)
		*fd_ret = -1;
	err = call_collector(pid, request, reply, fd_ret);
	if (!err || err_code_of(err) != ERR_NOT_FOUND)
		return err;
	alone = ctl_alone_call(pid, request, reply);
	if (!alone) {
		err_destroy(err);
		return NULL;
	}
	err_destroy(alone);
	return err;
}

/* The number at the end of a line of /proc/net/unix; 0: it is another socket. */
static pid_t pid_of_line(const char *line)
{
	static const char prefix[] = " @" CTL_NAME_PREFIX;
	const char *at = strstr(line, prefix);
	char *end;
	long number;

	if (!at)
		return 0;
	number = strtol(at + strlen(prefix), &end, 10);
	return (*end == '\n' || !*end) && number > 0 && number <= INT32_MAX ? (pid_t)number : 0;
}

VEC_DEFINE(pid_vec, pid_t);

static bool has_pid(const struct pid_vec *pids, pid_t pid)
{
	for (size_t i = 0; i < pids->count; i++)
		if (pids->items[i] == pid)
			return true;
	return false;
}

static struct err *add_collectors(struct pid_vec *pids)
{
	CLEAN(fclose) FILE *sockets = fopen("/proc/net/unix", "re");
	char line[512];

	if (!sockets)
		return err_errno("/proc/net/unix");
	while (fgets(line, sizeof(line), sockets)) {
		const pid_t pid = pid_of_line(line);

		/* connections have the name, too */
		if (pid != 0 && !has_pid(pids, pid) && !pid_vec_push(pids, pid))
			return err_nomem();
	}
	return NULL;
}

static struct err *add_alone(struct pid_vec *pids)
{
	DIR *processes = opendir("/proc");
	const struct dirent *entry;
	bool has_room = true;

	if (!processes)
		return err_errno("/proc");
	while (has_room && (entry = readdir(processes))) {
		const long pid = strtol(entry->d_name, NULL, 10);

		if (pid > 0 && pid <= INT32_MAX && !has_pid(pids, (pid_t)pid) &&
		    ctl_alone_is((pid_t)pid))
			has_room = pid_vec_push(pids, (pid_t)pid);
	}
	closedir(processes);
	return has_room ? NULL : err_nomem();
}

struct err *ctl_list(pid_t **pids_ret, size_t *count_ret)
{
	CLEAN(pid_vec_deinit) struct pid_vec pids = { 0 };
	struct err *err = add_collectors(&pids);

	if (!err)
		err = add_alone(&pids);
	if (err)
		return err;
	*count_ret = pids.count;
	*pids_ret = pids.items;
	pids = (struct pid_vec) { 0 };
	return NULL;
}
