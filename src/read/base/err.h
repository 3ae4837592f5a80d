/*
 * err: errors as values. Functions that can fail return `struct err *`: NULL is success, anything
 * else is owned by the caller, who returns it, wraps it or frees it with err_destroy. Only cli/
 * prints. On failure out-parameters are unchanged.
 *
 * Any thread may use any err, one at a time.
 */
#ifndef MEMTAPE_BASE_ERR_H
#define MEMTAPE_BASE_ERR_H

#include "base/clean.h"

enum err_code {
	ERR_SYSTEM = 1,	     /* a system call failed: err_errno_of says how */
	ERR_NOMEM = 2,	     /* out of memory */
	ERR_FORMAT = 3,	     /* malformed input */
	ERR_LIMIT = 4,	     /* beyond a limit of ours */
	ERR_USAGE = 5,	     /* the user asked for something that does not exist */
	ERR_NOT_FOUND = 6,   /* valid request, but no result */
	ERR_UNSUPPORTED = 7, /* newer version, foreign machine, a part not built in */
	ERR_STATE = 8	     /* not possible in the current state */
};

struct err;

struct err *err_new(enum err_code code, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* ERR_SYSTEM with errno at the time of the call; the text ends in ": " and errno's text. */
struct err *err_errno(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Like err_errno, for calls that return the number instead of setting errno; may be negative. */
struct err *err_errno_new(int number, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* "text: cause". Takes ownership of cause; NULL returns NULL. Code and errno stay. */
struct err *err_wrap(struct err *cause, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * The error is about byte `at` of a text from the user, who may have meant `suggest` (a constant;
 * may be NULL). Returns err, which may be NULL; err_wrap keeps both.
 */
struct err *err_at(struct err *err, size_t at, const char *suggest);

/* A constant: reporting it needs no memory. Destroying it is a no-op. */
struct err *err_nomem(void);

void err_destroy(struct err *err); /* NULL is fine */
CLEAN_DEFINE(err_destroy, struct err *);

/* One line without a full stop or newline; lives as long as err. */
const char *err_message(const struct err *err);
enum err_code err_code_of(const struct err *err);
int err_errno_of(const struct err *err); /* 0 unless ERR_SYSTEM or ERR_NOMEM */
bool err_at_of(const struct err *err, size_t *at_ret, const char **suggest_ret); /* false: unset */

#endif
