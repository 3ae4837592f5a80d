/*
 * made: a folder with tapes of nothing but a header, each as old as is asked for.
 */
#ifndef MEMTAPE_TESTS_UNIT_FOLDER_MADE_H
#define MEMTAPE_TESTS_UNIT_FOLDER_MADE_H

#include "../test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/str.h"
#include "folder/folder.h"

#define MADE_FOLDER "/tmp/memtape-unit-XXXXXX"

enum { MADE_NOW_S = 1000000000, DAY_S = 24 * 3600 };
static const uint64_t NS_PER_S = 1000000000;

static inline char *made_path(const char *folder, const char *name)
{
	struct str path = { 0 };

	str_printf(&path, "%s/%s", folder, name);
	assert_false(path.failed);
	return path.ptr;
}

/* bytes: of its header that are there. */
static inline void made_tape(const char *folder, const char *name, uint8_t uuid, int age_days,
			     size_t bytes)
{
	struct tape_header header = { .magic = TAPE_MAGIC,
				      .version = TAPE_VERSION,
				      .header_bytes = TAPE_HEADER_BYTES,
				      .kind = TAPE_KIND_PACKED,
				      .chunk_bytes = TAPE_CHUNK_BYTES_MIN,
				      .clock = TAPE_CLOCK_MONOTONIC,
				      .pid = 42,
				      .start_realtime_ns = MADE_NOW_S * NS_PER_S };
	const struct timespec time = { .tv_sec = MADE_NOW_S - (time_t)age_days * DAY_S };
	CLEAN(free) char *path = made_path(folder, name);
	CLEAN(close) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	header.uuid[0] = uuid;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &header, bytes), bytes);
	if (bytes == sizeof(header))
		assert_int_equal(ftruncate(fd, TAPE_HEADER_BYTES), 0);
	assert_int_equal(futimens(fd, (const struct timespec[]) { time, time }), 0);
}

static inline void made_remove(const char *folder)
{
	CLEAN(str_deinit) struct str command = { 0 };

	str_printf(&command, "rm -r '%s'", folder);
	assert_int_equal(system(command.ptr), 0);
}

static inline bool made_exists(const char *folder, const char *name)
{
	CLEAN(free) char *path = made_path(folder, name);
	struct stat status;

	return lstat(path, &status) == 0;
}

#endif
