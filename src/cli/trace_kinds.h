/*
 * trace_kinds: what of the kernel is to be traced, in words.
 */
#ifndef MEMTAPE_CLI_TRACE_KINDS_H
#define MEMTAPE_CLI_TRACE_KINDS_H

#include "base/err.h"

struct trace_kinds {
	uint32_t set; /* of 1 << enum tape_kernel_kind */
	bool is_all;  /* those that there are: it is no error if some cannot be traced */
};

/* "brk,mmap" or "all". ERR_USAGE: something else. */
struct err *trace_kinds_parse(const char *text, struct trace_kinds *kinds_ret);

/*
 * Those of the kinds that may be traced by this user; unless is_quiet it is said which may not. An
 * error says why none may be.
 */
struct err *trace_kinds_allowed(uint32_t kinds, bool is_quiet, uint32_t *kinds_ret);

/* Says that these kinds are not traced, and why. */
void trace_kinds_print_missing(uint32_t kinds, const char *why);

/* Says that of page faults those within system calls are not seen. */
void trace_kinds_print_user_only(void);

#endif
