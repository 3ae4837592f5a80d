#include "model/image.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/str.h"

enum { COPY_BYTES = 1 << 20, MODE = 0600 };

static int unnamed_in(const char *folder)
{
	return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, MODE);
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

struct err *image_create(struct image *image, const char *path, bool is_small)
{
	const char *temporary = getenv("TMPDIR");

	*image = (struct image) { .fd = -1, .end = IMAGE_HEADER_BYTES };
	if (path)
		image->fd = unnamed_beside(path);
	if (image->fd < 0 && is_small)
		image->fd = memfd_create("memtape index", MFD_CLOEXEC);
	if (image->fd < 0 && temporary && *temporary)
		image->fd = unnamed_in(temporary);
	if (image->fd < 0)
		image->fd = unnamed_in("/var/tmp");
	if (image->fd < 0)
		image->fd = unnamed_in("/tmp");
	if (image->fd < 0)
		image->fd = memfd_create("memtape index", MFD_CLOEXEC);
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

struct err *image_write(const struct image *image, const void *data, size_t bytes, uint64_t offset)
{
	return write_at(image->fd, data, bytes, offset);
}

struct err *image_append(struct image *image, const void *data, size_t bytes, uint64_t *offset_ret)
{
	uint64_t taken = (bytes + IMAGE_ALIGN - 1) / IMAGE_ALIGN * IMAGE_ALIGN;

	*offset_ret = __atomic_fetch_add(&image->end, taken, __ATOMIC_RELAXED);
	return image_write(image, data, bytes, *offset_ret);
}

struct err *image_read(const struct image *image, void *data, size_t bytes, uint64_t offset)
{
	uint8_t *ptr = data;

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

const uint8_t *image_map(const struct image *image)
{
	void *file = mmap(NULL, image->end, PROT_READ, MAP_SHARED, image->fd, 0);

	return file == MAP_FAILED ? NULL : file;
}

void image_unmap(const uint8_t *file, uint64_t bytes)
{
	munmap((void *)(uintptr_t)file, bytes);
}

/* For file systems that cannot give a name to a file without one. */
static struct err *copy_to(const struct image *image, const char *name, unsigned mode)
{
	CLEAN(close) int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	CLEAN(free) uint8_t *buf = malloc(COPY_BYTES);
	struct err *err = NULL;

	if (fd < 0)
		return err_errno("create %s", name);
	if (!buf)
		return err_nomem();
	for (uint64_t at = 0; at < image->end && !err; at += COPY_BYTES) {
		size_t part = u64_min(COPY_BYTES, image->end - at);

		err = image_read(image, buf, part, at);
		if (!err)
			err = write_at(fd, buf, part, at);
	}
	return err;
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

	str_printf(&name, "%s.%d-%d", path, (int)getpid(), image->fd); /* of this process alone */
	if (name.failed)
		return err_nomem();
	/* The file has a wrong name for a moment, in which nothing is to end us. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	unlink(name.ptr); /* of a process that had our number and was killed here */
	fchmod(image->fd, mode);
	err = ftruncate(image->fd, (off_t)image->end) == 0 ? name_it(image, name.ptr, path, mode)
							   : err_errno("write %s", path);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}
