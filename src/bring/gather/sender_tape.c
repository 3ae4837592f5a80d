#include <errno.h>
#include <fcntl.h>

#include "base/file.h"
#include "base/monotonic.h"
#include "gather/sender_state.h"
#include "tape/tape_spool.h"

bool tape_has_writer(int fd, const uint8_t *page)
{
	return (load_u32(page + offsetof(struct tape_header, flags)) & TAPE_FLAG_RECORDING) &&
	       file_is_locked(fd);
}

struct err *tape_final(struct sender *sender, struct err *err)
{
	sender->is_final = err != NULL;
	return err_wrap(err, "%s", sender->settings->path);
}

/* Rotation and exec put another file in the tape's place; the same tape, or the next one. */
struct err *tape_follow_name(struct sender *sender)
{
	uint8_t page[TAPE_HEADER_BYTES];
	struct stat status;
	CLEAN(close) int fd = -1;

	if (stat(sender->settings->path, &status) != 0 ||
	    (status.st_ino == sender->status.st_ino && status.st_dev == sender->status.st_dev))
		return NULL;
	fd = open(sender->settings->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) != 0 ||
	    file_read_at(fd, page, sizeof(page), 0) != sizeof(page) ||
	    memcmp(page, TAPE_MAGIC, strlen(TAPE_MAGIC)) != 0)
		return NULL;
	if (memcmp(page + offsetof(struct tape_header, uuid), sender->header.uuid,
		   TAPE_UUID_BYTES) != 0) {
		sender->is_replaced = true;
		return NULL;
	}
	close(sender->fd);
	sender->fd = steal_fd(&fd);
	sender->status = status;
	sender->file_count++;
	sender->sent_end = 0; /* nothing of the new file is there */
	return NULL;
}

/*
 * Whether it grows no more. Whoever puts another file in its place ends this one after that, so the name
 * is looked at then: a tape that was rotated goes on in the other file.
 */
static struct err *tape_end_look(struct sender *sender)
{
	bool has_writer = false;
	struct err *err = NULL;
	uint32_t file_count;

	do {
		file_count = sender->file_count;
		if (file_read_at(sender->fd, sender->page, sizeof(sender->page), 0) !=
		    sizeof(sender->page))
			return tape_final(sender, err_new(ERR_FORMAT, "it has become shorter"));
		has_writer = !sender->is_replaced && tape_has_writer(sender->fd, sender->page);
		if (!has_writer && sender->settings->follows)
			err = tape_follow_name(sender);
	} while (!err && sender->file_count != file_count);
	if (has_writer)
		sender->ended_ns = 0;
	else if (!sender->ended_ns)
		sender->ended_ns = monotonic_ns();
	return err;
}

/* How the tape is now. Whether it grows is asked first: if not, its page and size are its last. */
struct err *tape_look(struct sender *sender)
{
	struct err *err = tape_end_look(sender);
	struct stat status;

	if (err)
		return err;
	if (file_read_at(sender->fd, sender->page, sizeof(sender->page), 0) !=
		    sizeof(sender->page) ||
	    fstat(sender->fd, &status) != 0)
		return tape_final(sender, err_new(ERR_FORMAT, "it cannot be read any more"));
	sender->bytes = (uint64_t)status.st_size;
	sender->result->tape_bytes = sender->bytes;
	return NULL;
}

static struct err *tape_goes_on(void)
{
	return err_new(ERR_STATE, "it is being recorded: use --follow");
}

/* A recording holds its file from the first, and its header is there once the program is. */
static struct err *tape_not_begun(int fd)
{
	return file_is_locked(fd) ? tape_goes_on() : err_new(ERR_FORMAT, "not a tape");
}

/* Without --follow a tape is sent as it is, and is complete then: it has to be one that stays so. */
static struct err *tape_check_whole(const struct sender *sender, int fd)
{
	const uint32_t flags = load_u32(sender->page + offsetof(struct tape_header, flags));
	CLEAN(str_deinit) struct str spool = { 0 };

	if (sender->settings->follows || !(flags & TAPE_FLAG_RECORDING))
		return NULL;
	if (tape_has_writer(fd, sender->page))
		return tape_goes_on();
	str_printf(&spool, "%s" TAPE_SPOOL_SUFFIX, sender->settings->path);
	if (spool.failed)
		return err_nomem();
	return access(spool.ptr, F_OK) == 0
		       ? err_new(ERR_STATE,
				 "its recorder was killed, and a part of it is in %s: "
				 "`memtape repack` it first",
				 spool.ptr)
		       : NULL;
}

/* False: it is not there yet. */
struct err *tape_open(struct sender *sender, bool *is_there_ret)
{
	CLEAN(close) int fd = open(sender->settings->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct err *err;

	*is_there_ret = false;
	if (fd < 0)
		return sender->settings->follows && errno == ENOENT
			       ? NULL
			       : tape_final(sender, err_errno("open"));
	if (fstat(fd, &sender->status) != 0 || !S_ISREG(sender->status.st_mode))
		return tape_final(sender, err_new(ERR_FORMAT, "not a regular file"));
	if (file_read_at(fd, sender->page, sizeof(sender->page), 0) != sizeof(sender->page) ||
	    (sender->page[0] == 0 && sender->settings->follows))
		return sender->settings->follows ? NULL : tape_final(sender, tape_not_begun(fd));
	err = wire_page_check(sender->page, NULL);
	if (!err)
		err = tape_check_whole(sender, fd);
	if (err)
		return tape_final(sender, err);
	memcpy(&sender->header, sender->page, sizeof(sender->header));
	sender->fd = steal_fd(&fd);
	sender->ended_ns = sender->progress_ns = 0;
	sender->is_replaced = false;
	sender->unequal_count = 0;
	sender->result->tape_count++;
	sender->result->there_bytes = 0;
	*is_there_ret = true;
	return tape_look(sender);
}
