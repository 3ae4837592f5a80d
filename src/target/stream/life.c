#include "stream/life.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "core/random.h"
#include "core/sys.h"

#include "core/poison.h"

enum {
	CLOSE_ON_EXEC = 1, /* of memfd_create() */
	MAY_SEAL = 2,
	NO_EXEC = 8, /* newer kernels may demand it, older ones do not know it */
	DONT_FORK = 10,
	ADD_SEALS = 1033, /* of fcntl(); only the newest headers have them all */
	SEAL_WRITE = 8,
	SET_LEASE = 1024,
	READ_LEASE = 0,
	RANDOM_BYTES = 8,
	PATH_BYTES = 64
};

int life_memory_file(void)
{
	long fd = SYS_CALL2(SYS_memfd_create, "memtape", CLOSE_ON_EXEC | MAY_SEAL | NO_EXEC);

	if (fd == -EINVAL)
		fd = SYS_CALL2(SYS_memfd_create, "memtape", CLOSE_ON_EXEC | MAY_SEAL);
	return (int)fd;
}

static void name_make(const char *folder, const uint8_t random[RANDOM_BYTES], char path[PATH_BYTES])
{
	static const char stem[] = "/.memtape-", digits[] = "0123456789abcdef";
	const size_t bytes = strlen(folder);
	char *at = path + bytes + sizeof(stem) - 1;

	CHECK(bytes + sizeof(stem) + 2 * (size_t)RANDOM_BYTES <= PATH_BYTES);
	memcpy(path, folder, bytes);
	memcpy(path + bytes, stem, sizeof(stem) - 1);
	for (unsigned i = 0; i < 2 * RANDOM_BYTES; i++)
		*at++ = digits[random[i / 2] >> 4 * (i % 2) & 15];
	*at = '\0';
}

/* A file without a name, twice: to be written, and in *reader_ret to be read only. */
static int file_make(const char *folder, int *reader_ret)
{
	uint8_t random[RANDOM_BYTES];
	char path[PATH_BYTES];
	int rc = random_fill(random, sizeof(random)), fd;

	if (rc < 0)
		return rc;
	name_make(folder, random, path);
	fd = sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return fd;
	rc = sys_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
	SYS_CALL3(SYS_unlinkat, AT_FDCWD, path, 0);
	if (rc < 0) {
		sys_close(fd);
		return rc;
	}
	*reader_ret = rc;
	return fd;
}

/* Before Linux 3.17. */
static int file_make_somewhere(int *reader_ret)
{
	const int fd = file_make("/dev/shm", reader_ret);

	return fd < 0 ? file_make("/tmp", reader_ret) : fd;
}

static int page_map(int fd, uint64_t bytes, void **page_ret)
{
	long map = sys_ftruncate(fd, bytes);

	if (map == 0)
		map = sys_mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (sys_failed(map))
		return (int)map;
	sys_madvise((void *)map, (size_t)bytes, DONT_FORK);
	*page_ret = (void *)map;
	return 0;
}

int life_make(struct life *life, uint64_t page_bytes, void **page_ret)
{
	int fd = life_memory_file(), reader = -1, rc;

	if (fd == -ENOSYS && (fd = file_make_somewhere(&reader)) < 0)
		return -ENOSYS;
	if (fd < 0)
		return fd;
	rc = page_map(fd, page_bytes, page_ret);
	*life = (struct life) { reader >= 0 ? reader : fd, reader >= 0 };
	if (reader >= 0 || rc < 0)
		sys_close(fd);
	if (reader >= 0 && rc < 0)
		sys_close(reader);
	if (rc < 0)
		life->fd = -1;
	return rc;
}

/*
 * The kernel forbids that a file be sealed against writing while it is mapped for that, and that one be
 * leased for reading while anybody can write to it.
 */
bool life_is_over(const struct life *life)
{
	return life->is_leased ? SYS_CALL3(SYS_fcntl, life->fd, SET_LEASE, READ_LEASE) == 0
			       : SYS_CALL3(SYS_fcntl, life->fd, ADD_SEALS, SEAL_WRITE) == 0;
}
