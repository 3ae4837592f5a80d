/*
 * Tapes from hell that say they carry names: the chunks are found and joined, and what they hold is
 * viewed. The header is made a packed tape's with names and checksums are put right, so that what
 * follows is looked at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/embedded.h"
#include "symbol/embedded.h"
#include "tape_input.h"

enum { CHUNK_BYTES_MAX = 4 * TAPE_CHUNK_BYTES_MIN /* larger ones only take more time */ };

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
	struct tape_header *header;
	uint8_t *bytes;
	char path[64];
	int fd;

	if (size < TAPE_HEADER_BYTES)
		return 0;
	bytes = malloc(size);
	fd = memfd_create("tape", MFD_CLOEXEC);
	if (!bytes || fd < 0)
		abort();
	memcpy(bytes, data, size);
	header = (struct tape_header *)(void *)bytes;
	header->flags = TAPE_FLAG_SYMBOLS;
	header->kind = TAPE_KIND_PACKED;
	header->chunk_bytes = (uint32_t)u64_min(header->chunk_bytes, CHUNK_BYTES_MAX);
	put_checksums_right(bytes, size);
	if (write(fd, bytes, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	names_read(path);
	close(fd);
	free(bytes);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return tape_mutate(data, size, max_size, seed);
}
