#include "core/random.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "core/hash.h"
#include "core/sys.h"

#include "core/poison.h"

static long call(void *ptr, size_t bytes)
{
	return SYS_CALL3(SYS_getrandom, ptr, bytes, 0);
}

static int fill_from_file(uint8_t *at, size_t bytes)
{
	const int fd = sys_open("/dev/urandom", O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
	long got = 1;

	if (fd < 0)
		return fd;
	while (bytes > 0 && (got > 0 || got == -EINTR)) {
		got = sys_read(fd, at, bytes);
		at += got > 0 ? got : 0;
		bytes -= got > 0 ? (size_t)got : 0;
	}
	sys_close(fd);
	if (bytes == 0)
		return 0;
	return got < 0 ? (int)got : -EIO;
}

int random_fill(void *ptr, size_t bytes)
{
	uint8_t *at = ptr;

	CHECK(ptr || bytes == 0);
	while (bytes > 0) {
		const long got = call(at, bytes);

		if (got == -EINTR)
			continue;
		if (got == -ENOSYS)
			return fill_from_file(at, bytes);
		if (got <= 0)
			return got < 0 ? (int)got : -EIO;
		at += got;
		bytes -= (size_t)got;
	}
	return 0;
}

void random_distinct(void *ptr, size_t bytes)
{
	struct sys_time now = { 0 };
	uint64_t word;

	if (random_fill(ptr, bytes) == 0)
		return;
	sys_clock(CLOCK_REALTIME, &now);
	word = (uint64_t)now.seconds << 30 ^ (uint64_t)now.nanoseconds ^
	       (uint64_t)sys_getpid() << 40;
	for (size_t i = 0; i < bytes; i++) {
		word = i % 8 == 0 ? hash_mix(word ^ (uintptr_t)&now) : word >> 8 | word << 56;
		((uint8_t *)ptr)[i] = (uint8_t)word;
	}
}
