/*
 * memusage: reading the data files of glibc's memusage: heap and stack after every call.
 *
 * A file is records of 24 bytes in the byte order of the machine that wrote it, and has no magic or
 * version: heap and stack (bytes), the low and the high half of the time (ticks of an unnamed
 * clock: on x86 the processor's time stamp counter). The first two are a header - the peak of both
 * together and the start; the peaks of each and the end - which is empty while the program runs,
 * and stays so if it is killed. A file written through a pipe has it at its end.
 *
 * Bytes are untrusted: the worst outcome is an error. The file is only read. A memusage belongs to
 * one thread.
 */
#ifndef MEMTAPE_MEMUSAGE_MEMUSAGE_H
#define MEMTAPE_MEMUSAGE_MEMUSAGE_H

#include "base/err.h"

enum { MEMUSAGE_RECORD_BYTES = 24, MEMUSAGE_BATCH = 4096 };

struct memusage_record {
	uint64_t heap;	/* bytes */
	uint64_t stack; /* bytes, of the thread that made the call */
	uint64_t ticks;
};

struct memusage_head {
	uint64_t record_count; /* without the header */
	uint64_t heap_max;
	uint64_t stack_max;
	uint64_t total_max; /* heap and stack; a lower bound if was_repaired */
	uint64_t begin_ticks;
	uint64_t end_ticks;	 /* not before begin_ticks */
	bool was_repaired;	 /* the header was empty: all this is from the records */
	unsigned trailing_bytes; /* of a truncated record; ignored */
};

struct memusage;

/* path "-": standard input. Pipes are read to their end first. ERR_FORMAT: not such a file. */
struct err *memusage_open(const char *path, struct memusage **memusage_ret);

/* Takes ownership of fd. name: for error messages; copied. */
struct err *memusage_open_fd(int fd, const char *name, struct memusage **memusage_ret);
void memusage_close(struct memusage *memusage); /* NULL is fine */
CLEAN_DEFINE(memusage_close, struct memusage *);

const struct memusage_head *memusage_head(const struct memusage *memusage);

/* All records in the order of the file, at most MEMUSAGE_BATCH at a time. */
struct err *memusage_each(struct memusage *memusage,
			  void (*visit)(void *context, const struct memusage_record *records,
					size_t count),
			  void *context);

#endif
