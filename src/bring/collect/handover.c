#include "collect/handover.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clean.h"

static struct err *make_call(const struct handover *handover, struct inject_call *call,
			     const char *name)
{
	struct err *err = inject_call_of(handover->stop, handover->thread, handover->maps, call);

	if (!err && call->result < 0)
		err = err_errno_new((int)-call->result, "%s() in process %d", name,
				    (int)handover->stop->pid);
	return err;
}

static void close_theirs(const struct handover *handover, int fd)
{
	struct inject_call call = { .number = SYS_close, .arguments = { (uint64_t)fd } };

	err_destroy(make_call(handover, &call, "close"));
}

static bool copy(const struct handover *handover, void *bytes, size_t count, bool is_theirs)
{
	const struct iovec local = { bytes, count };
	const struct iovec remote = { (void *)handover->memory, count };
	const pid_t pid = stop_living(handover->stop);

	return (is_theirs ? process_vm_readv(pid, &local, 1, &remote, 1, 0)
			  : process_vm_writev(pid, &local, 1, &remote, 1, 0)) == (ssize_t)count;
}

/* --- the message ------------------------------------------------------------------------------- */

struct control {
	struct cmsghdr header;
	int fds[HANDOVER_MAX];
};

static bool send_to(int socket, const int *ours, size_t count)
{
	struct control control = {
		.header = { CMSG_LEN(count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS },
	};
	char byte = 0;
	struct iovec data = { &byte, 1 };
	const struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_LEN(count * sizeof(int)),
	};

	memcpy(control.fds, ours, count * sizeof(*ours));
	return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

/* As the process has it in its memory. */
struct letter {
	struct msghdr message;
	struct iovec data;
	struct control control;
	char byte;
};

static struct err *receive(struct handover *handover, int socket, size_t count)
{
	const uint64_t at = handover->memory;
	struct letter letter = {
		.message = {
			.msg_iov = (void *)(at + offsetof(struct letter, data)),
			.msg_iovlen = 1,
			.msg_control = (void *)(at + offsetof(struct letter, control)),
			.msg_controllen = sizeof(letter.control),
		},
		.data = { (void *)(at + offsetof(struct letter, byte)), 1 },
	};
	struct inject_call call = { .number = SYS_recvmsg,
				    .arguments = { (uint64_t)socket, at,
						   MSG_CMSG_CLOEXEC | MSG_DONTWAIT } };
	struct err *err;

	if (!copy(handover, &letter, sizeof(letter), false))
		return err_errno("process %d", (int)handover->stop->pid);
	err = make_call(handover, &call, "recvmsg");
	if (err)
		return err;
	if (!copy(handover, &letter, sizeof(letter), true) ||
	    letter.control.header.cmsg_len != CMSG_LEN(count * sizeof(int)))
		return err_new(ERR_STATE, "process %d may not have more open files",
			       (int)handover->stop->pid);
	memcpy(handover->theirs, letter.control.fds, count * sizeof(int));
	handover->count = count;
	return NULL;
}

static int take_end(pid_t pid, int theirs)
{
	CLEAN(close) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	return pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, theirs, 0);
}

struct err *handover_give(struct handover *handover, const int *ours, size_t count)
{
	struct inject_call call = { .number = SYS_socketpair,
				    .arguments = { AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0,
						   handover->memory } };
	struct err *err = make_call(handover, &call, "socketpair");
	int ends[2];

	assert(count > 0 && count <= HANDOVER_MAX);
	handover->count = 0;
	if (err)
		return err;
	if (!copy(handover, ends, sizeof(ends), true))
		return err_errno("process %d", (int)handover->stop->pid);
	CLEAN(close) int end = take_end(handover->stop->pid, ends[0]);

	if (end < 0 && errno == ENOSYS)
		err = err_new(
			ERR_UNSUPPORTED,
			"process %d sees other files: what memtape needs can be handed to it by "
			"Linux 5.6 or later",
			(int)handover->stop->pid);
	else if (end < 0 || !send_to(end, ours, count))
		err = err_errno("hand descriptors to process %d", (int)handover->stop->pid);
	else
		err = receive(handover, ends[1], count);
	close_theirs(handover, ends[0]);
	close_theirs(handover, ends[1]);
	return err;
}

void handover_end(struct handover *handover)
{
	while (handover->count > 0)
		close_theirs(handover, handover->theirs[--handover->count]);
}
