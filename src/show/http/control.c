#include "http/control.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "base/monotonic.h"
#include "base/str.h"

enum { ANSWER_MS = 3000 };

struct err *control_init(struct control *control, int fd)
{
	int kind = 0;
	socklen_t bytes = sizeof(kind);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &bytes) < 0 || kind != SOCK_SEQPACKET)
		return err_new(ERR_USAGE, "--control: %d is not a socket of `memtape record`", fd);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	*control = (struct control) { .fd = fd };
	pthread_mutex_init(&control->lock, NULL);
	return NULL;
}

struct err *control_parse(const char *fd, struct control *control)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(fd, &end, 10);
	if (errno || end == fd || *end || number < 0 || number > INT_MAX)
		return err_new(ERR_USAGE, "--control %s: expected the number of a socket", fd);
	return control_init(control, (int)number);
}

void control_deinit(struct control *control)
{
	close(control->fd);
	pthread_mutex_destroy(&control->lock);
}

bool control_is_open(const struct control *control)
{
	struct pollfd at = { .events = POLLRDHUP };

	if (!control)
		return false;
	at.fd = control->fd;
	return poll(&at, 1, 0) >= 0 && !(at.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static struct err *check_text(const char *text)
{
	const size_t len = strlen(text);

	if (len == 0 || len >= CONTROL_MARK_BYTES)
		return err_new(ERR_USAGE, "a mark has 1 to %d bytes", CONTROL_MARK_BYTES - 1);
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return err_new(ERR_USAGE, "a mark is one line, without control characters");
	}
	return NULL;
}

/* Skips replies to requests whose wait was given up. */
static struct err *word_take(const struct control *control, uint32_t number, int64_t wait_ms,
			     struct control_word *word_ret)
{
	const int64_t until_ms = (int64_t)(monotonic_ns() / 1000000) + wait_ms;
	struct pollfd at = { .fd = control->fd, .events = POLLIN };
	struct control_word word;

	for (int64_t left = wait_ms; left > 0;
	     left = until_ms - (int64_t)(monotonic_ns() / 1000000)) {
		ssize_t got;

		if (poll(&at, 1, (int)left) <= 0)
			continue;
		got = recv(control->fd, &word, sizeof(word), MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
			return err_new(ERR_STATE, "the recording has ended");
		if (got != (ssize_t)sizeof(word) || word.number != number)
			continue;
		if (!word.done)
			return err_new(ERR_STATE, "nothing is being recorded");
		*word_ret = word;
		return NULL;
	}
	return err_new(ERR_STATE, "memtape does not answer: it is stopped or busy; the request may "
				  "still take effect");
}

struct err *control_begun(struct control *control, struct control_word *word_ret)
{
	enum { BEGIN_MS = 25 * 1000 };
	struct err *err;

	pthread_mutex_lock(&control->lock);
	err = word_take(control, 0, BEGIN_MS, word_ret);
	pthread_mutex_unlock(&control->lock);
	return err;
}

static struct err *ask_for(struct control *control, struct control_ask *ask,
			   struct control_word *word_ret)
{
	struct err *err;

	if (!control)
		return err_new(
			ERR_UNSUPPORTED,
			"nothing is being recorded here; this is for `memtape record --serve`, and "
			"for processes that were attached to here");
	pthread_mutex_lock(&control->lock);
	ask->number = ++control->number;
	if (send(control->fd, ask, sizeof(*ask), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(*ask))
		err = word_take(control, ask->number, ANSWER_MS, word_ret);
	else if (errno == EAGAIN)
		err = err_new(ERR_STATE, "memtape does not read requests");
	else
		err = err_new(ERR_STATE, "the recording has ended");
	pthread_mutex_unlock(&control->lock);
	return err;
}

struct err *control_mark(struct control *control, const char *text)
{
	struct control_ask ask = { .kind = CONTROL_MARK };
	struct control_word word;
	struct err *err = check_text(text);

	assert(text);
	if (err)
		return err;
	str_format(ask.mark, sizeof(ask.mark), "%s", text);
	return ask_for(control, &ask, &word);
}

struct err *control_show(struct control *control, struct control_word *word_ret)
{
	struct control_ask ask = { .kind = CONTROL_SHOW };

	return ask_for(control, &ask, word_ret);
}

struct err *control_pause(struct control *control, bool is_paused, bool *has_changed_ret)
{
	struct control_ask ask = { .kind = is_paused ? CONTROL_PAUSE : CONTROL_RESUME };
	struct control_word word;
	struct err *err = ask_for(control, &ask, &word);

	if (!err)
		*has_changed_ret = word.has_changed;
	return err;
}

struct err *control_scan(struct control *control, uint32_t scan, struct control_word *word_ret)
{
	struct control_ask ask = { .kind = CONTROL_SCAN, .scan = scan };
	struct control_word word;
	struct err *err = ask_for(control, &ask, &word);

	if (err)
		return err;
	word.trouble[sizeof(word.trouble) - 1] = '\0';
	if (word.trouble[0])
		return err_new(ERR_STATE, "no leak scan: %s", word.trouble);
	*word_ret = word;
	return NULL;
}

struct err *control_stop(struct control *control, struct control_word *word_ret)
{
	struct control_ask ask = { .kind = CONTROL_STOP };

	return ask_for(control, &ask, word_ret);
}
