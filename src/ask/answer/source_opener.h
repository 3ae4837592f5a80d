/*
 * source_opener: how reports open source files; supplied by whoever decides what may be read.
 */
#ifndef MEMTAPE_ANSWER_SOURCE_OPENER_H
#define MEMTAPE_ANSWER_SOURCE_OPENER_H

#include <sys/stat.h>

struct source_opener {
	/*
	 * Returns a file descriptor, owned by the caller, and the file's status; -1: not found or
	 * not permitted. NULL: any regular file may be read. Called on the report's thread.
	 */
	int (*open)(const void *context, const char *path, struct stat *status_ret);
	const void *context;
};

#endif
