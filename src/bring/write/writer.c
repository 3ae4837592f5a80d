#include "write/writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"

static struct err *open_temporary(struct writer *writer, const char *path)
{
	return file_create_temporary(path, &writer->temporary, &writer->fd);
}

static struct err *open_exclusive(struct writer *writer, const char *path)
{
	writer->fd = file_create(path);
	if (writer->fd < 0)
		return err_errno("create %s", path);
	writer->temporary = strdup(path); /* not published: would be removed again */
	return writer->temporary ? NULL : err_nomem();
}

/* A tape may replace a regular file, never a device or a directory. */
static struct err *check_replaceable(const char *path, bool *exists_ret)
{
	struct stat st;

	*exists_ret = lstat(path, &st) == 0;
	if (*exists_ret && !S_ISREG(st.st_mode))
		return err_new(ERR_STATE, "%s is not a regular file", path);
	return NULL;
}

static struct err *write_all(const struct writer *writer, const void *bytes, size_t len,
			     uint64_t offset)
{
	const uint8_t *at = bytes;

	while (len > 0) {
		ssize_t n = pwrite(writer->fd, at, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_errno_new(n ? errno : ENOSPC, "write %s", writer->path);
		at += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return NULL;
}

struct err *writer_header(struct writer *writer, const struct tape_header *header)
{
	union {
		struct tape_header header;
		uint8_t bytes[TAPE_HEADER_BYTES];
	} page = { 0 };

	assert(writer->fd >= 0);
	page.header = *header;
	page.header.kind = TAPE_KIND_PACKED;
	page.header.flags &= ~(uint32_t)TAPE_FLAG_RECORDING;
	page.header.flags |= writer->is_locked ? TAPE_FLAG_RECORDING : 0;
	memset(page.header.live, 0, sizeof(page.header.live));
	return write_all(writer, &page, sizeof(page), 0);
}

void writer_lock(struct writer *writer)
{
	assert(writer->fd >= 0 && !writer->is_locked);
	writer->is_locked = file_lock(writer->fd);
}

void writer_complete(struct writer *writer, const struct tape_header *header)
{
	if (!writer->is_locked || writer->temporary)
		return;
	writer->is_locked = false;
	/* The file does not grow. If it fails after all, the tape says that memtape was killed. */
	err_destroy(writer_header(writer, header));
}

static bool over_file_limit(uint64_t end)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	       end > limit.rlim_cur;
}

/* Returns 0 or an errno: whether the file may and can grow to end. */
static int writer_reserve(struct writer *writer, uint64_t end)
{
	const uint64_t step_end = align_up(end, WRITER_STEP_BYTES);

	if (over_file_limit(end))
		return EFBIG;
	if (end <= writer->reserved_end || writer->cannot_reserve)
		return 0;
	if (fallocate(writer->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)step_end) == 0) {
		writer->reserved_end = step_end;
		return 0;
	}
	if (fallocate(writer->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)end) == 0) {
		writer->reserved_end = end;
		return 0;
	}
	if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
		return errno;
	writer->cannot_reserve = true;
	return 0;
}

struct err *writer_open(struct writer *writer, const char *path, bool overwrite)
{
	bool exists = false;
	struct err *err = overwrite ? check_replaceable(path, &exists) : NULL;

	*writer = (struct writer) { .fd = -1, .end = TAPE_HEADER_BYTES };
	if (err)
		return err;
	writer->path = strdup(path);
	if (!writer->path)
		return err_nomem();
	err = exists ? open_temporary(writer, path) : open_exclusive(writer, path);
	if (!err) {
		int rc = writer_reserve(writer, TAPE_HEADER_BYTES + WRITER_RESERVE_BYTES);

		if (rc)
			err = err_errno_new(rc, "write %s", path);
	}
	if (err)
		writer_close(writer);
	return err;
}

struct err *writer_append(struct writer *writer, const void *chunk, size_t bytes,
			  enum writer_urgency urgency)
{
	struct err *err;
	int rc = 0;

	assert(chunk && bytes > 0);
	assert(writer->end >= TAPE_HEADER_BYTES);
	assert(urgency == WRITER_NORMAL || urgency == WRITER_CLOSING);
	if (urgency == WRITER_NORMAL && writer->bytes_max &&
	    writer->end + bytes + WRITER_RESERVE_BYTES > writer->bytes_max)
		return err_errno_new(EFBIG, "the tape has reached its limit, %llu bytes",
				     (unsigned long long)writer->bytes_max);
	if (urgency == WRITER_NORMAL)
		rc = writer_reserve(writer, writer->end + bytes + WRITER_RESERVE_BYTES);
	if (rc)
		return err_errno_new(rc, "write %s", writer->path);
	err = write_all(writer, chunk, bytes, writer->end);
	if (err) { /* otherwise a torn tail would need recovery */
		if (ftruncate(writer->fd, (off_t)writer->end) < 0)
			return err_wrap(err, "and its end could not be cut");
		return err;
	}
	writer->last_chunk = writer->end;
	writer->last_chunk_bytes = bytes;
	writer->chunk_count++;
	writer->end += bytes;
	return NULL;
}

bool writer_drop_last(struct writer *writer)
{
	assert(!writer->last_chunk_bytes ||
	       writer->last_chunk + writer->last_chunk_bytes == writer->end);
	if (!writer->last_chunk_bytes || ftruncate(writer->fd, (off_t)writer->last_chunk) < 0)
		return false;
	writer->end = writer->last_chunk;
	writer->last_chunk_bytes = 0;
	writer->chunk_count--;
	return true;
}

struct err *writer_publish(struct writer *writer)
{
	assert(writer->fd >= 0);
	if (!writer->temporary)
		return NULL;
	if (strcmp(writer->temporary, writer->path) != 0 &&
	    rename(writer->temporary, writer->path) < 0)
		return err_errno("rename %s to %s", writer->temporary, writer->path);
	free(steal(writer->temporary));
	return NULL;
}

/* A file without a name gets `temporary` first: a link cannot replace a file. */
static struct err *take_name(const struct writer *writer, int fd, const char *temporary)
{
	CLEAN(str_deinit) struct str link = { 0 };
	CLEAN(str_deinit) struct str name = { 0 };
	struct err *err = NULL;

	if (temporary)
		return rename(temporary, writer->path) < 0
			       ? err_errno("rename %s to %s", temporary, writer->path)
			       : NULL;
	str_printf(&link, "/proc/self/fd/%d", fd);
	str_printf(&name, "%s.new", writer->path);
	if (link.failed || name.failed)
		return err_nomem();
	unlink(name.ptr); /* of one that was killed in here */
	if (linkat(AT_FDCWD, link.ptr, AT_FDCWD, name.ptr, AT_SYMLINK_FOLLOW) < 0)
		return err_errno("link %s", name.ptr);
	if (rename(name.ptr, writer->path) < 0) {
		err = err_errno("rename %s to %s", name.ptr, writer->path);
		unlink(name.ptr);
	}
	return err;
}

struct err *writer_replace(struct writer *writer, const struct tape_header *header, int fd,
			   const char *temporary, uint64_t end, uint64_t chunk_count)
{
	struct writer other = *writer;
	struct err *err;
	int rc;

	assert(fd >= 0 && end >= TAPE_HEADER_BYTES);
	assert(!writer->temporary);
	other.fd = fd;
	other.end = end;
	other.chunk_count = chunk_count;
	other.reserved_end = other.last_chunk = other.last_chunk_bytes = 0;
	other.is_locked = false;
	writer_lock(&other);
	rc = writer_reserve(&other, end + WRITER_RESERVE_BYTES);
	err = rc ? err_errno_new(rc, "write %s", writer->path) : writer_header(&other, header);
	if (!err)
		err = take_name(writer, fd, temporary);
	if (err)
		return err;
	/* whoever has opened it a moment ago is not to think that this process was killed */
	writer->is_locked = false;
	err_destroy(writer_header(writer, header));
	close(writer->fd);
	*writer = other;
	return NULL;
}

struct err *writer_remove_old(const struct writer *writer)
{
	const bool has_other_name =
		writer->temporary && strcmp(writer->temporary, writer->path) != 0;

	assert(writer->path);
	if (has_other_name && unlink(writer->path) < 0 && errno != ENOENT)
		return err_errno("remove %s", writer->path);
	return NULL;
}

void writer_close(struct writer *writer)
{
	if (writer->temporary)
		unlink(writer->temporary);
	/* Releases space reserved beyond the end; if that fails, the tape is still valid. */
	if (writer->fd >= 0 && !writer->temporary && ftruncate(writer->fd, (off_t)writer->end) < 0)
		writer->cannot_reserve = true;
	if (writer->fd >= 0)
		close(writer->fd);
	free(writer->temporary);
	free(writer->path);
	*writer = (struct writer) { .fd = -1 };
}
