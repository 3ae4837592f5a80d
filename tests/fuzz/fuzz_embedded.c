/*
 * Tapes from hell that say they carry names: the chunks are found and joined, and what they hold is
 * viewed. The header is made a packed tape's with names, so that what follows is looked at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/embedded.h"
#include "symbol/embedded.h"
#include "tape/tape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void names_read(const char *path)
{
	struct embedded embedded;
	uint8_t *bytes = NULL;
	size_t count = 0;
	struct err *err = capture_embedded_read(path, &bytes, &count);

	if (!err && count > 0) {
		err = embedded_view(bytes, count, &embedded);
		if (!err)
			embedded_deinit(&embedded);
	}
	err_destroy(err);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint32_t flags = TAPE_FLAG_SYMBOLS, kind = TAPE_KIND_PACKED;
	char path[64];
	int fd;

	if (size < TAPE_HEADER_BYTES)
		return 0;
	fd = memfd_create("tape", 0);
	if (fd < 0)
		return 0;
	if (write(fd, data, size) == (ssize_t)size &&
	    pwrite(fd, &flags, sizeof(flags), offsetof(struct tape_header, flags)) > 0 &&
	    pwrite(fd, &kind, sizeof(kind), offsetof(struct tape_header, kind)) > 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		names_read(path);
	}
	close(fd);
	return 0;
}
