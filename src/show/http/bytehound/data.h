/*
 * data: shared by the answers of /data/...: memory-profiler's format of times, frames and stacks
 * (docs/http-api.md). Internal to http.
 */
#ifndef MEMTAPE_HTTP_BYTEHOUND_DATA_H
#define MEMTAPE_HTTP_BYTEHOUND_DATA_H

#include "http/call.h"

struct data {
	struct call *call;
	struct names *names;
	struct emit *emit;
	uint64_t *counts; /* by stack: allocations made through it */
};

/* Begins a JSON answer of a RAW route. Lives in the call's arena, except the emit. */
struct err *data_begin(struct call *call, struct data *data_ret);
struct err *data_end(struct data *data, struct err *err); /* takes the error of the writer */

/* {"secs", "fract_nsecs"} */
void data_timeval(struct data *data, const char *key, uint64_t ns);

/* KEY since 1970, KEY_relative since recording began, KEY_relative_p as a fraction of the run. */
void data_moment(struct data *data, const char *key, uint64_t ns);
void data_no_moment(struct data *data, const char *key); /* the same members, all null */

/* KEY as a number and KEY_s as 16 hexadecimal digits, because JavaScript rounds the former. */
void data_address(struct data *data, const char *key, uint64_t address);

void data_thread(struct data *data, const char *key, uint64_t thread); /* nothing if unknown */

/* "backtrace_id" and "backtrace": frames from the outermost to the innermost. */
void data_backtrace(struct data *data, uint64_t stack);

#endif
