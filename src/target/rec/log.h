/*
 * log: what the recorder decides and why, one line each, where MEMTAPE_LOG says:
 *
 *	MEMTAPE_LOG=LEVEL         on standard error
 *	MEMTAPE_LOG=LEVEL:FILE    appended to FILE, a pattern as in path.h
 *	MEMTAPE_LOG_BYTES=BYTES   once FILE has as many it becomes FILE.old; default 16 MiB, 0: never
 *
 * LEVEL is error, warning, info or debug, each with those before it. Nothing is written by default.
 * The target comes first: a line is left out (and the next one says how many were) when it would
 * have to wait for a reader, when standard error has become another file, when no file can be
 * written, and in a sandbox, where system calls are not made. No signal comes of it either.
 */
#ifndef MEMTAPE_REC_LOG_H
#define MEMTAPE_REC_LOG_H

#include "core/core.h"
#include "tape/tape.h"

enum rec_log_level {
	REC_LOG_OFF = 0,
	REC_LOG_ERROR,	 /* recording has ended or has not begun, against what was asked for */
	REC_LOG_WARNING, /* something is lost, ignored or done in another way */
	REC_LOG_INFO,	 /* what has been decided */
	REC_LOG_DEBUG	 /* for each object and each setting */
};

/* Everything at most as bad as that is written. Set at the start, on one thread. */
extern enum rec_log_level rec_log_level;

/* Reads the environment; again in a forked child, whose pid may be in the file's name. */
void rec_log_init(void);

/*
 * A line, at most some 500 bytes of it. Formats: %s, %d, %u, %lu, %lx and %%. Async-signal-safe;
 * threads may call it at once. errno is left alone.
 */
void rec_log_write(enum rec_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3), cold));

#define REC_LOG(level, ...)                                                                        \
	do {                                                                                       \
		if (unlikely(rec_log_level >= (level)))                                            \
			rec_log_write(level, __VA_ARGS__);                                         \
	} while (0)

/* log_lines.c */
void rec_log_begun(void);
void rec_log_end(int status); /* -1: unknown */
void rec_log_lost(enum tape_loss kind);
void rec_log_stop(enum tape_fault fault, int error); /* a positive errno, or 0 */

#endif
