#include "model/image.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/file.h"

enum { COPY_BYTES = 1 << 20 };

static int unnamed_in(const char *folder)
{
	return file_create_unnamed(folder);
}

static int unnamed_beside(const char *path)
{
	CLEAN(str_deinit) struct str folder = { 0 };
	const char *slash = strrchr(path, '/');

	if (!slash)
		return unnamed_in(".");
	str_add_bytes(&folder, path, (size_t)(slash - path) + 1);
	return folder.failed ? -1 : unnamed_in(str_text(&folder));
}

static int unnamed_at(enum image_place place, const char *path)
{
	const char *temporary = getenv("TMPDIR");

	switch (place) {
	case IMAGE_BESIDE:
	case IMAGE_OTHER:
		return path ? unnamed_beside(path) : -1;
	case IMAGE_TMPDIR:
		return temporary && *temporary ? unnamed_in(temporary) : -1;
	case IMAGE_VAR_TMP:
		return unnamed_in("/var/tmp");
	case IMAGE_TMP:
		return unnamed_in("/tmp");
	case IMAGE_MEMORY:
		break;
	}
	return file_create_in_memory("memtape index");
}

struct err *image_create(struct image *image, const char *path, bool is_small)
{
	*image = (struct image) { .fd = -1,
				  .end = IMAGE_HEADER_BYTES,
				  .lock = PTHREAD_RWLOCK_INITIALIZER };
	if (path)
		image->fd = unnamed_at(IMAGE_BESIDE, path);
	if (image->fd < 0 && is_small) {
		image->place = IMAGE_MEMORY;
		image->fd = unnamed_at(IMAGE_MEMORY, NULL);
	}
	for (unsigned place = IMAGE_TMPDIR; image->fd < 0 && place <= IMAGE_MEMORY; place++) {
		image->place = place;
		image->fd = unnamed_at(place, NULL);
	}
	return image->fd < 0 ? err_errno("create a temporary file") : NULL;
}

void image_deinit(struct image *image)
{
	if (image->fd >= 0)
		close(image->fd);
	image->fd = -1;
}

static struct err *write_at(int fd, const void *data, size_t bytes, uint64_t offset)
{
	const uint8_t *ptr = data;

	while (bytes > 0) {
		ssize_t done = pwrite(fd, ptr, bytes, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return err_errno("write the index");
		ptr += done;
		bytes -= (size_t)done;
		offset += (uint64_t)done;
	}
	return NULL;
}

struct err *image_read(const struct image *image, void *data, size_t bytes, uint64_t offset)
{
	uint8_t *ptr = data;

	assert(image->fd >= 0);
	while (bytes > 0) {
		ssize_t done = pread(image->fd, ptr, bytes, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? err_errno("read the index")
					: err_new(ERR_FORMAT, "the index ends early");
		ptr += done;
		bytes -= (size_t)done;
		offset += (uint64_t)done;
	}
	return NULL;
}

static bool errno_lacks_room(int number)
{
	return number == ENOSPC || number == EDQUOT || number == EFBIG;
}

bool image_lacks_room(const struct err *err)
{
	return err && errno_lacks_room(err_errno_of(err));
}

static struct err *copy_all(const struct image *image, int fd)
{
	CLEAN(free) uint8_t *buf = malloc(COPY_BYTES);
	const uint64_t end = __atomic_load_n(&image->end, __ATOMIC_RELAXED);
	struct stat status;
	struct err *err = NULL;
	uint64_t bytes;

	if (!buf)
		return err_nomem();
	if (fstat(image->fd, &status) != 0)
		return err_errno("read the index");
	bytes = u64_min(end, (uint64_t)status.st_size); /* future space may be reserved */
	/* Detected before a disk is completely full; not every file system can report it. */
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) != 0 && errno_lacks_room(errno))
		return err_errno("write the index");
	for (uint64_t at = 0; at < bytes && !err; at += COPY_BYTES) {
		const size_t part = u64_min(COPY_BYTES, bytes - at);

		err = image_read(image, buf, part, at);
		if (!err)
			err = write_at(fd, buf, part, at);
	}
	return err;
}

/* To a place with room for everything written so far. Never from a disk to memory. */
static bool move_on(struct image *image)
{
	for (unsigned place = image->place + 1; place < IMAGE_MEMORY; place++) {
		CLEAN(close) int fd = unnamed_at(place, image->other_path);
		struct err *err = fd < 0 ? NULL : copy_all(image, fd);

		if (fd >= 0 && !err && dup3(fd, image->fd, O_CLOEXEC) >= 0) {
			image->place = place;
			return true;
		}
		err_destroy(err);
	}
	return false;
}

/* False: no room anywhere. Another writer may have moved it already. */
static bool move_from(struct image *image, enum image_place full)
{
	bool has_moved;

	pthread_rwlock_wrlock(&image->lock);
	has_moved = image->place != full || move_on(image);
	pthread_rwlock_unlock(&image->lock);
	return has_moved;
}

struct err *image_write(struct image *image, const void *data, size_t bytes, uint64_t offset)
{
	assert(image->fd >= 0);
	for (;;) {
		enum image_place place;
		struct err *err;

		pthread_rwlock_rdlock(&image->lock);
		place = image->place;
		err = write_at(image->fd, data, bytes, offset);
		pthread_rwlock_unlock(&image->lock);
		if (!image_lacks_room(err) || !move_from(image, place))
			return err;
		err_destroy(err);
	}
}

struct err *image_append(struct image *image, const void *data, size_t bytes, uint64_t *offset_ret)
{
	uint64_t taken = (bytes + IMAGE_ALIGN - 1) / IMAGE_ALIGN * IMAGE_ALIGN;

	*offset_ret = __atomic_fetch_add(&image->end, taken, __ATOMIC_RELAXED);
	return image_write(image, data, bytes, *offset_ret);
}

const uint8_t *image_map(const struct image *image)
{
	void *file = file_map(image->fd, image->end, MAP_SHARED);

	assert(image->end >= IMAGE_HEADER_BYTES);
	return file == MAP_FAILED ? NULL : file;
}

void image_unmap(const uint8_t *file, uint64_t bytes)
{
	assert(file && bytes > 0);
	munmap((void *)(uintptr_t)file, bytes);
}

/* For file systems that cannot name an unnamed file. */
static struct err *copy_to(const struct image *image, const char *name, unsigned mode)
{
	CLEAN(close) int fd = file_create(name);

	if (fd >= 0)
		fchmod(fd, mode);
	return fd < 0 ? err_errno("create %s", name) : copy_all(image, fd);
}

static struct err *name_it(const struct image *image, const char *name, const char *path,
			   unsigned mode)
{
	struct err *err = NULL;
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", image->fd);
	if (linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) != 0)
		err = copy_to(image, name, mode);
	if (!err && rename(name, path) != 0)
		err = err_errno("name %s", path);
	if (err)
		unlink(name);
	return err;
}

struct err *image_commit(const struct image *image, const char *path, unsigned mode)
{
	CLEAN(str_deinit) struct str name = { 0 };
	sigset_t all, old;
	struct err *err;

	assert(image->fd >= 0);
	str_printf(&name, "%s.%d-%d", path, (int)getpid(), image->fd); /* of this process alone */
	if (name.failed)
		return err_nomem();
	/* The file has a wrong name for a moment, during which we must not be killed. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	unlink(name.ptr); /* of a process that had our pid and was killed here */
	fchmod(image->fd, mode);
	err = ftruncate(image->fd, (off_t)image->end) == 0 ? name_it(image, name.ptr, path, mode)
							   : err_errno("write %s", path);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}
