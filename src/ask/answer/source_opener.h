/*
 * source_opener: how a report gets at source files, given by those who choose what may be read.
 */
#ifndef MEMTAPE_ANSWER_SOURCE_OPENER_H
#define MEMTAPE_ANSWER_SOURCE_OPENER_H

#include <sys/stat.h>

struct source_opener {
	/*
	 * A file descriptor, the caller's to close, and the file's status; -1: it is not there, or
	 * not theirs to see. NULL: any plain file may be read. Called by the report's thread.
	 */
	int (*open)(const void *context, const char *path, struct stat *status_ret);
	const void *context;
};

#endif
