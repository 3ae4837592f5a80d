#include "collect/ctl.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "collect/collector_state.h"
#include "collect/ctl_name.h"
#include "collect/leaks.h"
#include "tape/tape_scan.h"

bool ctl_request_is_valid(const void *bytes, size_t count)
{
	struct ctl_request request;

	assert(bytes || count == 0);
	if (count != sizeof(request))
		return false;
	memcpy(&request, bytes, sizeof(request));
	return request.magic == CTL_MAGIC && request.version == CTL_VERSION &&
	       request.command <= CTL_COMMAND_LAST && request.wants_copy <= 1 &&
	       (request.heuristics == CTL_USUAL || request.heuristics <= TAPE_SCAN_HEURISTICS) &&
	       memchr(request.text, '\0', sizeof(request.text));
}

/* --- the socket ------------------------------------------------------------------------------ */

/* The kernel sends SIGIO when something arrives. */
static bool notify(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fcntl(fd, F_SETOWN, getpid()) == 0 &&
	       fcntl(fd, F_SETFL, flags | O_ASYNC | O_NONBLOCK) == 0;
}

void ctl_open(struct ctl *ctl, pid_t pid)
{
	struct sockaddr_un name;
	const socklen_t bytes = ctl_name(pid, &name);

	assert(pid > 0);
	for (size_t i = 0; i < array_size(ctl->pending); i++)
		ctl->pending[i].fd = -1;
	ctl->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (ctl->fd >= 0 && bind(ctl->fd, (const struct sockaddr *)&name, bytes) == 0 &&
	    listen(ctl->fd, CTL_PENDING_MAX) == 0 && notify(ctl->fd))
		return;
	ctl_close(ctl);
}

static void hang_up(struct ctl_pending *pending)
{
	close(pending->fd);
	*pending = (struct ctl_pending) { .fd = -1 };
}

void ctl_close(struct ctl *ctl)
{
	for (size_t i = 0; i < array_size(ctl->pending); i++)
		if (ctl->pending[i].fd >= 0)
			hang_up(&ctl->pending[i]);
	if (ctl->fd >= 0)
		close(ctl->fd);
	ctl->fd = -1;
}

/* --- what is requested ----------------------------------------------------------------------- */

static void note_pause(struct collector *collector, bool is_paused, uint32_t by)
{
	const struct tape_paused record = { .is_paused = is_paused, .by = by };

	collector_note(collector, TAPE_EXT_PAUSE, &record, sizeof(record), NULL);
}

/* The record is written while allocations are left out: none from before it is recorded. */
bool ctl_pause(struct collector *collector, bool is_paused, uint32_t by)
{
	uint32_t *paused = &spool_live(&collector->spool)->paused;
	uint32_t nothing = TAPE_PAUSE_NONE;

	if (!is_paused && __atomic_load_n(paused, __ATOMIC_SEQ_CST) != TAPE_PAUSE_NONE) {
		note_pause(collector, false, by);
		__atomic_store_n(paused, TAPE_PAUSE_NONE, __ATOMIC_SEQ_CST);
		return true;
	}
	if (is_paused && __atomic_compare_exchange_n(paused, &nothing, TAPE_PAUSE_ALLOCATIONS,
						     false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		note_pause(collector, true, by);
		return true;
	}
	return false;
}

static void mark(struct collector *collector, const char *text)
{
	const struct tape_mark record = { .node = TAPE_NODE_NONE };

	collector_note(collector, TAPE_EXT_MARK, &record, sizeof(record), text);
}

static void reply_fill(const struct collector *collector, struct ctl_reply *reply)
{
	const struct tape_live *live = spool_live(&collector->spool);
	const uint64_t now_ns = monotonic_ns();

	*reply = (struct ctl_reply) {
		.magic = CTL_MAGIC,
		.version = CTL_VERSION,
		.is_recording = collector_is_recording(collector),
		.is_paused = __atomic_load_n(&live->paused, __ATOMIC_RELAXED) != TAPE_PAUSE_NONE,
		.is_attached = collector->attached.is_attached,
		.scan_count = collector->leaks.count,
		.collector_pid = (uint32_t)getpid(),
		.tape_bytes = collector->writer.end,
		.event_count = collector->drain.event_count,
		.missing_count = collector->drain.missing_count,
		.rss_bytes = USAGE_UNKNOWN,
	};
	if (!collector->has_header)
		return;
	reply->duration_ns = now_ns - u64_min(collector->header.start_monotonic_ns, now_ns);
	if (collector->sample_written_ns)
		reply->rss_bytes = collector->usage.last.rss_bytes;
}

/* With a descriptor, -1: none. Who does not read it, gets none. */
static void send_reply(int to, const struct ctl_reply *reply, int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec bytes = { (void *)reply, sizeof(*reply) };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };

	if (fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		control.head = (struct cmsghdr) { .cmsg_len = CMSG_LEN(sizeof(int)),
						  .cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	(void)!sendmsg(to, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* scan: NULL, except for the one that was requested. */
static void answer(const struct collector *collector, struct ctl_pending *pending,
		   enum ctl_result result, const char *text, const struct ctl_scan *scan)
{
	CLEAN(free) char *path = realpath(collector->writer.path, NULL);
	struct ctl_reply reply;

	reply_fill(collector, &reply);
	reply.result = result;
	str_format(reply.text, sizeof(reply.text), "%s", text);
	str_format(reply.tape_path, sizeof(reply.tape_path), "%s",
		   path ? path : collector->writer.path);
	if (scan) {
		reply.pause_ns = scan->pause_ns;
		reply.copy_bytes = scan->tape_bytes;
		reply.scan_id = scan->id;
	}
	send_reply(pending->fd, &reply, scan && pending->request.wants_copy ? scan->spool_fd : -1);
	hang_up(pending);
}

static void switch_to(struct collector *collector, struct ctl_pending *pending, bool is_paused)
{
	const bool has_changed = ctl_pause(collector, is_paused, TAPE_PAUSED_CONTROL);

	answer(collector, pending, has_changed ? CTL_DONE : CTL_UNCHANGED, "", NULL);
}

/* Without a copy where none is wanted: then the program does not stand still. */
static void snapshot(struct collector *collector, struct ctl_pending *pending)
{
	CLEAN(close) int spool_fd = -1;
	struct ctl_scan copy = { .trouble = "" };
	struct err *err = NULL;

	mark(collector, pending->request.text);
	collector_snapshot(collector);
	if (pending->request.wants_copy)
		err = leaks_copy_spool(collector, &spool_fd, &copy.tape_bytes);
	copy.spool_fd = spool_fd;
	answer(collector, pending, err ? CTL_REFUSED : CTL_DONE, err ? err_message(err) : "",
	       &copy);
	err_destroy(err);
}

static bool is_waiting(const struct ctl_pending *pending, uint32_t heuristics)
{
	return pending->fd >= 0 && pending->is_scan && pending->scan == 0 &&
	       pending->request.heuristics == heuristics;
}

/* One scan for all who want the same and wait for it to begin. */
static void begin_scan(struct collector *collector, uint32_t heuristics)
{
	struct ctl *ctl = &collector->ctl;
	uint32_t id = 0;
	const bool may = leaks_request(collector, heuristics, &id);
	const bool has_begun = may && collector->leaks.job;
	const struct ctl_scan failed = { .id = id,
					 .spool_fd = -1,
					 .pause_ns = collector->leaks.pause_ns,
					 .trouble = collector->leaks.trouble };

	for (size_t i = 0; i < array_size(ctl->pending); i++) {
		struct ctl_pending *pending = &ctl->pending[i];

		if (!is_waiting(pending, heuristics))
			continue;
		pending->scan = id;
		if (!may)
			answer(collector, pending, CTL_REFUSED,
			       "the program is about to end, or is not recorded any more", NULL);
		else if (!has_begun)
			answer(collector, pending, CTL_REFUSED, failed.trouble, &failed);
	}
}

static void begin_scans(struct collector *collector)
{
	const struct ctl *ctl = &collector->ctl;

	for (size_t i = 0; i < array_size(ctl->pending) && !collector->leaks.job; i++)
		if (is_waiting(&ctl->pending[i], ctl->pending[i].request.heuristics))
			begin_scan(collector, ctl->pending[i].request.heuristics);
}

void ctl_scan_done(struct collector *collector, const struct ctl_scan *scan)
{
	for (size_t i = 0; i < array_size(collector->ctl.pending); i++) {
		struct ctl_pending *pending = &collector->ctl.pending[i];

		if (pending->fd >= 0 && pending->is_scan && pending->scan == scan->id)
			answer(collector, pending, *scan->trouble ? CTL_REFUSED : CTL_DONE,
			       scan->trouble, scan);
	}
}

static void carry_out(struct collector *collector, struct ctl_pending *pending,
		      const struct ctl_request *request)
{
	const enum ctl_command command = (enum ctl_command)request->command;

	if (command == CTL_STATUS) {
		answer(collector, pending, CTL_DONE, "", NULL);
		return;
	}
	if (!collector_is_recording(collector)) {
		answer(collector, pending, CTL_REFUSED, "nothing is being recorded at present",
		       NULL);
		return;
	}
	switch (command) {
	case CTL_START:
	case CTL_STOP:
		switch_to(collector, pending, command == CTL_STOP);
		return;
	case CTL_MARK:
		mark(collector, request->text);
		answer(collector, pending, CTL_DONE, "", NULL);
		return;
	case CTL_SNAPSHOT:
		pending->request = *request;
		snapshot(collector, pending);
		return;
	case CTL_LEAK_SCAN:
		pending->request = *request;
		pending->is_scan = true;
		return;
	case CTL_SHOW:
		collector_show_now(collector);
		answer(collector, pending, CTL_DONE, "", NULL);
		return;
	case CTL_STATUS:
		return;
	}
}

/* --- connections ----------------------------------------------------------------------------- */

static struct ctl_pending *vacancy(struct ctl *ctl)
{
	for (size_t i = 0; i < array_size(ctl->pending); i++)
		if (ctl->pending[i].fd < 0)
			return &ctl->pending[i];
	return NULL;
}

static void let_in(struct ctl *ctl)
{
	struct ctl_pending *pending;

	while ((pending = vacancy(ctl))) {
		const int fd = accept4(ctl->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		pending->fd = fd;
		if (!ctl_is_trusted(fd) || !notify(fd))
			hang_up(pending);
	}
}

/* Something that is no request, or the end of the connection, ends it. */
static void hear(struct collector *collector, struct ctl_pending *pending)
{
	struct ctl_request request;
	const ssize_t got = recv(pending->fd, &request, sizeof(request), MSG_DONTWAIT | MSG_TRUNC);

	if (got < 0)
		return;
	if (!ctl_request_is_valid(&request, (size_t)got))
		hang_up(pending);
	else
		carry_out(collector, pending, &request);
}

void ctl_look(struct collector *collector)
{
	struct ctl *ctl = &collector->ctl;

	if (ctl->fd < 0)
		return;
	let_in(ctl);
	for (size_t i = 0; i < array_size(ctl->pending); i++) {
		struct ctl_pending *pending = &ctl->pending[i];

		if (pending->fd >= 0 && !pending->is_scan)
			hear(collector, pending);
	}
	begin_scans(collector);
}
