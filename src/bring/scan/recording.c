#include "scan/recording.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/file.h"
#include "tape/tape_spool.h"

enum { COPY_BYTES = 64 << 10 };

void recording_close(struct recording *recording)
{
	free(recording->tape_path);
	if (recording->fd >= 0)
		close(recording->fd);
	*recording = (struct recording) { .fd = -1 };
}

/* A file of another mount namespace is reached through the process. -1: not there. */
static int open_mapped(pid_t pid, const char *name, struct str *path)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

	str_clear(path);
	str_add(path, name);
	if (fd >= 0)
		return fd;
	str_clear(path);
	str_printf(path, "/proc/%d/root%s", (int)pid, name);
	return path->failed ? -1 : open(path->ptr, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
}

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* False: this mapping is not of a recording. */
static bool take(pid_t pid, const struct maps *maps, const struct maps_entry *entry,
		 struct recording *recording)
{
	CLEAN(str_deinit) struct str path = { 0 };
	CLEAN(close) int fd = -1;
	struct tape_header header;
	struct stat status;

	if (!entry->is_shared || !entry->is_writable || !entry->is_file)
		return false;
	fd = open_mapped(pid, maps_name(maps, entry), &path);
	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    status.st_ino != entry->inode ||
	    pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(header.magic, TAPE_MAGIC, sizeof(header.magic)) != 0 ||
	    header.kind != TAPE_KIND_RAW || header.chunk_bytes < TAPE_CHUNK_BYTES_MIN ||
	    header.chunk_bytes > TAPE_CHUNK_BYTES_MAX)
		return false;
	recording->is_spool = ends_with(path.ptr, TAPE_SPOOL_SUFFIX);
	recording->tape_path = strndup(
		path.ptr, strlen(path.ptr) - (recording->is_spool ? strlen(TAPE_SPOOL_SUFFIX) : 0));
	recording->inode = status.st_ino;
	recording->header = header;
	recording->fd = steal_fd(&fd);
	return recording->tape_path != NULL;
}

struct err *recording_find(pid_t pid, const struct maps *maps, struct recording *recording)
{
	assert(pid > 0);
	*recording = (struct recording) { .fd = -1 };
	for (size_t i = 0; i < maps->entries.count; i++) {
		CLEAN(recording_close) struct recording found = { .fd = -1 };

		if (!take(pid, maps, &maps->entries.items[i], &found))
			continue;
		/* A followed process may have the first one's spool, too. */
		if (recording->fd >= 0 && found.header.pid != (uint32_t)pid)
			continue;
		recording_close(recording);
		*recording = found;
		found = (struct recording) { .fd = -1 };
		if (recording->header.pid == (uint32_t)pid)
			return NULL;
	}
	if (recording->fd >= 0)
		return NULL;
	return err_new(
		ERR_NOT_FOUND,
		"process %d is not being recorded; `memtape record PROGRAM` starts a program "
		"that is",
		(int)pid);
}

pid_t recording_collector(uint64_t inode)
{
	CLEAN(fclose) FILE *locks = fopen("/proc/locks", "re");
	char line[256];

	while (locks && fgets(line, sizeof(line), locks)) {
		unsigned long long number;
		int pid;

		if (sscanf(line, "%*s FLOCK %*s %*s %d %*x:%*x:%llu", &pid, &number) == 2 &&
		    number == inode && pid > 0)
			return pid;
	}
	return 0;
}

struct err *recording_live(const struct recording *recording, struct tape_live *live)
{
	if (pread(recording->fd, live, sizeof(*live), offsetof(struct tape_header, live)) !=
	    (ssize_t)sizeof(*live))
		return err_errno("read the recorder's state");
	return NULL;
}

static struct err *copy_range(int from, int to, uint64_t offset, uint64_t bytes)
{
	uint8_t buffer[COPY_BYTES];

	while (bytes > 0) {
		const ssize_t got =
			pread(from, buffer, u64_min(bytes, sizeof(buffer)), (off_t)offset);

		if (got <= 0)
			return got < 0 ? err_errno("read the spool") : NULL;
		if (pwrite(to, buffer, (size_t)got, (off_t)offset) != got)
			return err_errno("copy the spool");
		offset += (uint64_t)got;
		bytes -= (uint64_t)got;
	}
	return NULL;
}

/* Slots that nobody has ever used are holes. */
static struct err *copy_slot(const struct recording *recording, int to, uint64_t offset)
{
	struct tape_chunk chunk;

	if (pread(recording->fd, &chunk, sizeof(chunk), (off_t)offset) != (ssize_t)sizeof(chunk) ||
	    chunk.magic != TAPE_CHUNK_MAGIC || chunk.state == TAPE_CHUNK_FREE)
		return NULL;
	return copy_range(recording->fd, to, offset, recording->header.chunk_bytes);
}

struct err *recording_copy(const struct recording *recording, int *fd_ret)
{
	CLEAN(close) int fd = file_create_in_memory("memtape-spool");
	const uint64_t step = recording->header.chunk_bytes;
	struct stat status;
	struct err *err = NULL;

	assert(recording->is_spool);
	if (fd < 0 || fstat(recording->fd, &status) < 0 || ftruncate(fd, status.st_size) < 0)
		return err_errno("copy the spool");
	err = copy_range(recording->fd, fd, 0, TAPE_HEADER_BYTES);
	for (uint64_t at = TAPE_HEADER_BYTES; at + step <= (uint64_t)status.st_size && !err;
	     at += step)
		err = copy_slot(recording, fd, at);
	if (!err)
		*fd_ret = steal_fd(&fd);
	return err;
}
