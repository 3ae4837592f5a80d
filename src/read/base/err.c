#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>

enum { MESSAGE_BYTES_MAX = 2048, ERRNO_TEXT_BYTES = 128 };

struct err {
	enum err_code code;
	int number;
	size_t at_next;	     /* position in a text, plus 1; 0: none */
	const char *suggest; /* NULL: none */
	char message[];
};

/* A flexible array member cannot be initialised with a constant, so the code selects the text. */
static const struct err NOMEM = { .code = ERR_NOMEM, .number = ENOMEM };

struct err *err_nomem(void)
{
	/* Never written: err_destroy and err_wrap know it by its address. */
	return (struct err *)(uintptr_t)&NOMEM;
}

static struct err *err_make(enum err_code code, int number, const char *message)
{
	size_t len = strlen(message) + 1;
	struct err *err = malloc(sizeof(*err) + len);

	if (!err)
		return err_nomem();
	err->code = code;
	err->number = number;
	err->at_next = 0;
	err->suggest = NULL;
	memcpy(err->message, message, len);
	return err;
}

struct err *err_new(enum err_code code, const char *fmt, ...)
{
	char message[MESSAGE_BYTES_MAX];
	va_list args;

	assert(code >= ERR_SYSTEM && code <= ERR_STATE);
	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	return err_make(code, 0, message);
}

static struct err *err_make_errno(int number, const char *message)
{
	char text[MESSAGE_BYTES_MAX + ERRNO_TEXT_BYTES];
	char buf[ERRNO_TEXT_BYTES];

	snprintf(text, sizeof(text), "%s: %s", message, strerror_r(number, buf, sizeof(buf)));
	return err_make(ERR_SYSTEM, number, text);
}

struct err *err_errno(const char *fmt, ...)
{
	char message[MESSAGE_BYTES_MAX];
	int number = errno;
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	return err_make_errno(number, message);
}

struct err *err_errno_new(int number, const char *fmt, ...)
{
	char message[MESSAGE_BYTES_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	return err_make_errno(number < 0 ? -number : number, message);
}

struct err *err_wrap(struct err *cause, const char *fmt, ...)
{
	char message[MESSAGE_BYTES_MAX];
	struct err *err;
	va_list args;
	int len;

	if (!cause || cause == err_nomem())
		return cause;
	va_start(args, fmt);
	len = vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	if (len >= 0 && (size_t)len < sizeof(message))
		snprintf(message + len, sizeof(message) - (size_t)len, ": %s", err_message(cause));
	err = err_make(cause->code, cause->number, message);
	if (cause->at_next)
		err_at(err, cause->at_next - 1, cause->suggest);
	err_destroy(cause);
	return err;
}

struct err *err_at(struct err *err, size_t at, const char *suggest)
{
	assert(at < SIZE_MAX);
	if (err && err != err_nomem()) {
		err->at_next = at + 1;
		err->suggest = suggest;
	}
	return err;
}

bool err_at_of(const struct err *err, size_t *at_ret, const char **suggest_ret)
{
	if (err->at_next == 0)
		return false;
	*at_ret = err->at_next - 1;
	*suggest_ret = err->suggest;
	return true;
}

void err_destroy(struct err *err)
{
	if (err != err_nomem())
		free(err);
}

const char *err_message(const struct err *err)
{
	return err == &NOMEM ? "out of memory" : err->message;
}

enum err_code err_code_of(const struct err *err)
{
	assert(err->code >= ERR_SYSTEM && err->code <= ERR_STATE);
	return err->code;
}

int err_errno_of(const struct err *err)
{
	assert(err->number == 0 || err->code == ERR_SYSTEM || err->code == ERR_NOMEM);
	return err->number;
}
