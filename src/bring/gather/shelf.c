#include "gather/shelf.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "gather/crypto.h"

enum { NUMBER_MAX = 1000, PART_BYTES = 48 };

struct err *shelf_open(struct shelf *shelf, const char *path, uint64_t tape_bytes_max)
{
	int dir;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return err_errno("%s", path);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_errno("%s", path);
	if (faccessat(dir, ".", W_OK, AT_EACCESS) != 0) {
		close(dir);
		return err_errno("write to %s", path);
	}
	*shelf = (struct shelf) { dir, tape_bytes_max };
	return NULL;
}

void shelf_close(struct shelf *shelf)
{
	if (shelf->dir >= 0)
		close(shelf->dir);
	shelf->dir = -1;
}

/* --- names --------------------------------------------------------------------------------- */

static bool is_harmless(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '.';
}

/* One part of a name: never hidden, never a way up. */
static void part_make(const char *text, char part[PART_BYTES])
{
	size_t len = 0;

	for (; text[len] && len < PART_BYTES - 1; len++) {
		const bool is_kept = is_harmless(text[len]) && (len > 0 || text[len] != '.');

		part[len] = '_';
		if (is_kept)
			part[len] = text[len];
	}
	if (len == 0)
		part[len++] = '_';
	part[len] = '\0';
}

void shelf_name(const struct wire_tape *tape, unsigned number, char name[WIRE_NAME_BYTES_MAX + 1])
{
	const time_t seconds = (time_t)(tape->header.start_realtime_ns / 1000000000);
	char host[PART_BYTES], program[PART_BYTES], count[16] = "";
	struct tm utc;

	part_make(tape->host, host);
	part_make(tape->program, program);
	gmtime_r(&seconds, &utc);
	if (number > 1)
		str_format(count, sizeof(count), ".%u", number);
	str_format(name, WIRE_NAME_BYTES_MAX + 1, "%s.%s.%u.%04d%02d%02d-%02d%02d%02d%s.mtape",
		   host, program, tape->header.pid, utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
		   utc.tm_hour, utc.tm_min, utc.tm_sec, count);
	assert(!strchr(name, '/'));
}

/* --- the file ------------------------------------------------------------------------------ */

static struct err *write_at(int fd, const uint8_t *bytes, size_t len, uint64_t offset)
{
	while (len > 0) {
		const ssize_t n = pwrite(fd, bytes, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_errno_new(n ? errno : ENOSPC, "the gatherer cannot write");
		bytes += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return NULL;
}

/* The sender's page; marked as being recorded until all of the tape is there. */
static struct err *page_write(const struct shelved *shelved, bool is_complete)
{
	uint8_t page[TAPE_HEADER_BYTES];
	const size_t at = offsetof(struct tape_header, flags);

	memcpy(page, shelved->page, sizeof(page));
	if (!is_complete)
		store_u32(page + at, load_u32(page + at) | TAPE_FLAG_RECORDING);
	return write_at(shelved->fd, page, sizeof(page), 0);
}

static bool is_of_tape(int fd, const struct wire_tape *tape, uint64_t *end_ret,
		       uint8_t page[TAPE_HEADER_BYTES])
{
	struct stat status;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1 ||
	    status.st_uid != geteuid() ||
	    file_read_at(fd, page, TAPE_HEADER_BYTES, 0) != TAPE_HEADER_BYTES)
		return false;
	*end_ret = (uint64_t)status.st_size;
	return memcmp(page + offsetof(struct tape_header, uuid), tape->header.uuid,
		      TAPE_UUID_BYTES) == 0 &&
	       memcmp(page, TAPE_MAGIC, strlen(TAPE_MAGIC)) == 0;
}

/* The file that has the name already: *found_ret says whether it is this tape's. */
static struct err *take_old(int dir, const struct wire_tape *tape, struct shelved *shelved,
			    bool *found_ret)
{
	CLEAN(close)
	int fd =
		openat(dir, shelved->name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	uint8_t page[TAPE_HEADER_BYTES];

	if (fd < 0 || !is_of_tape(fd, tape, &shelved->end, page))
		return NULL;
	if (!file_lock(fd))
		return err_new(ERR_STATE, "the tape is being written by another process there");
	if (!is_of_tape(fd, tape, &shelved->end, page)) /* what was locked, as it is now */
		return NULL;
	shelved->is_complete =
		!(load_u32(page + offsetof(struct tape_header, flags)) & TAPE_FLAG_RECORDING);
	shelved->is_resumed = true;
	shelved->fd = steal_fd(&fd);
	*found_ret = true;
	return NULL;
}

static struct err *take_new(int dir, struct shelved *shelved)
{
	struct err *err;

	if (!file_lock(shelved->fd))
		err = err_errno("the gatherer cannot lock the tape");
	else
		err = page_write(shelved, false);
	if (err) {
		unlinkat(dir, shelved->name, 0);
		shelved_close(shelved);
	}
	return err;
}

struct err *shelf_take(const struct shelf *shelf, const struct wire_tape *tape,
		       struct shelved *shelved)
{
	*shelved = (struct shelved) { .fd = -1, .end = TAPE_HEADER_BYTES };
	memcpy(shelved->page, tape->page, sizeof(shelved->page));
	memcpy(shelved->uuid, tape->header.uuid, sizeof(shelved->uuid));
	for (unsigned number = 1; number <= NUMBER_MAX; number++) {
		bool found = false;
		struct err *err;

		shelf_name(tape, number, shelved->name);
		shelved->fd = openat(shelf->dir, shelved->name,
				     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (shelved->fd >= 0)
			return take_new(shelf->dir, shelved);
		if (errno != EEXIST)
			return err_errno("the gatherer cannot create a file");
		err = take_old(shelf->dir, tape, shelved, &found);
		if (err || found)
			return err;
		shelved->end = TAPE_HEADER_BYTES;
	}
	return err_new(ERR_LIMIT, "the gatherer has %d tapes of this name", NUMBER_MAX);
}

void shelved_close(struct shelved *shelved)
{
	if (shelved->fd >= 0)
		close(shelved->fd);
	shelved->fd = -1;
}

struct err *shelved_tail(const struct shelved *shelved, struct wire_ready *ready)
{
	const uint64_t len = u64_min(shelved->end - TAPE_HEADER_BYTES, WIRE_TAIL_BYTES_MAX);

	assert(shelved->end >= TAPE_HEADER_BYTES);
	*ready = (struct wire_ready) { .end = shelved->end, .tail_bytes = (uint32_t)len };
	return crypto_digest(shelved->fd, shelved->end - len, shelved->end, ready->digest);
}

static struct err *check_open(const struct shelved *shelved)
{
	return shelved->is_complete
		       ? err_new(ERR_STATE,
				 "%s is complete there, and another; remove it there to send the "
				 "tape again",
				 shelved->name)
		       : NULL;
}

struct err *shelved_append(const struct shelf *shelf, struct shelved *shelved, uint64_t offset,
			   const uint8_t *bytes, size_t len)
{
	struct err *err = check_open(shelved);

	if (err)
		return err;
	if (offset != shelved->end)
		return err_new(ERR_FORMAT, "bytes that do not follow what is there");
	if (shelf->tape_bytes_max &&
	    len > shelf->tape_bytes_max - u64_min(offset, shelf->tape_bytes_max))
		return err_new(ERR_STATE, "the gatherer takes tapes of at most %llu bytes",
			       (unsigned long long)shelf->tape_bytes_max);
	err = write_at(shelved->fd, bytes, len, offset);
	if (!err)
		shelved->end += len;
	else if (ftruncate(shelved->fd, (off_t)shelved->end) != 0)
		return err_wrap(err, "and its end could not be cut");
	return err;
}

struct err *shelved_header(struct shelved *shelved, const uint8_t page[TAPE_HEADER_BYTES])
{
	struct err *err = wire_page_check(page, shelved->uuid);

	if (err)
		return err;
	memcpy(shelved->page, page, TAPE_HEADER_BYTES);
	return shelved->is_complete ? NULL : page_write(shelved, false);
}

struct err *shelved_rewind(struct shelved *shelved, uint64_t end)
{
	struct err *err = check_open(shelved);

	if (err)
		return err;
	if (end < TAPE_HEADER_BYTES || end > shelved->end)
		return err_new(ERR_FORMAT, "a way back to where nothing is");
	if (ftruncate(shelved->fd, (off_t)end) != 0)
		return err_errno("the gatherer cannot write");
	shelved->end = end;
	return NULL;
}

struct err *shelved_finish(struct shelved *shelved, const struct wire_end *end, bool *is_equal_ret)
{
	uint8_t digest[WIRE_DIGEST_BYTES];
	uint8_t page[TAPE_HEADER_BYTES];
	struct err *err;

	*is_equal_ret = false;
	if (end->end != shelved->end)
		return check_open(shelved);
	err = crypto_digest(shelved->fd, TAPE_HEADER_BYTES, shelved->end, digest);
	if (err || !crypto_equal(digest, end->digest, sizeof(digest)))
		return err ? err : check_open(shelved);
	if (!shelved->is_complete)
		err = page_write(shelved, true);
	else if (file_read_at(shelved->fd, page, sizeof(page), 0) != sizeof(page) ||
		 memcmp(page, shelved->page, sizeof(page)) != 0)
		return check_open(shelved);
	if (!err && fsync(shelved->fd) != 0)
		err = err_errno("the gatherer cannot write");
	if (!err)
		*is_equal_ret = true;
	return err;
}
