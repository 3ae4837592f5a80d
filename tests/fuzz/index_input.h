/*
 * index_input: any bytes as an index that gets past its magic numbers and its checksum, and changes
 * to one that leave its parts where they are.
 */
#ifndef MEMTAPE_TESTS_FUZZ_INDEX_INPUT_H
#define MEMTAPE_TESTS_FUZZ_INDEX_INPUT_H

#include <sys/mman.h>
#include <unistd.h>

#include "model/index.h"
#include "mutate.h"

static inline void index_put_right(uint8_t *bytes, size_t size)
{
	struct index_header header;

	memcpy(&header, bytes, sizeof(header));
	memcpy(header.magic, INDEX_MAGIC, sizeof(header.magic));
	header.version = INDEX_VERSION;
	header.header_bytes = IMAGE_HEADER_BYTES;
	header.layout = index_layout();
	header.file_bytes = size;
	for (int i = 0; i < INDEX_SECTIONS; i++)
		if (header.parts[i].offset > size ||
		    header.parts[i].bytes > size - header.parts[i].offset)
			return;
	header.checksum = index_checksum(&header, bytes);
	memcpy(bytes, &header, sizeof(header));
}

/* The model in the bytes; NULL: they are no index. The caller destroys it. */
static inline struct model *index_input_read(const uint8_t *data, size_t size)
{
	struct model *model = NULL;
	uint8_t *bytes;
	int fd;

	if (size < IMAGE_HEADER_BYTES)
		return NULL;
	bytes = malloc(size);
	fd = memfd_create("index", MFD_CLOEXEC);
	if (!bytes || fd < 0)
		abort();
	memcpy(bytes, data, size);
	index_put_right(bytes, size);
	if (write(fd, bytes, size) != (ssize_t)size)
		abort();
	err_destroy(index_read(fd, NULL, &model));
	close(fd);
	free(bytes);
	return model;
}

/* A part moves to the end, where it has room for items more, or loses the last of them. */
static inline size_t index_resize(struct dice *dice, struct index_part *part, uint8_t *data,
				  size_t size, size_t max_size)
{
	const uint64_t more = (dice_roll(dice, 8) + 1) * 8, bytes = part->bytes;
	const size_t begin = (size + 7) / 8 * 8;

	if (dice_roll(dice, 2) == 0 || begin + bytes + more > max_size) {
		part->bytes -= u64_min(part->bytes, more);
		return size;
	}
	memset(data + size, 0, begin - size);
	memmove(data + begin, data + part->offset, bytes);
	/* one more like those before */
	for (size_t i = 0; i < more; i++)
		data[begin + bytes + i] = bytes < more ? 0 : data[begin + bytes - more + i];
	*part = (struct index_part) { .offset = begin, .bytes = bytes + more };
	return begin + bytes + more;
}

static inline size_t index_mutate(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct dice dice = { .state = seed };
	struct index_header header;
	struct index_part *part;
	uint64_t what;

	if (size < IMAGE_HEADER_BYTES || dice_roll(&dice, 32) == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	memcpy(&header, data, sizeof(header));
	part = &header.parts[dice_roll(&dice, INDEX_SECTIONS)];
	what = dice_roll(&dice, 16);
	if (part->offset > size || part->bytes > size - part->offset || part->bytes == 0 ||
	    what == 0)
		mutate_word(&dice, (uint8_t *)header.parts, sizeof(header.parts));
	else if (what == 1)
		size = index_resize(&dice, part, data, size, max_size);
	else if (what == 2)
		mutate_part(&dice, data + IMAGE_HEADER_BYTES, size - IMAGE_HEADER_BYTES);
	else
		mutate_part(&dice, data + part->offset, part->bytes);
	if (what < 2 || part->bytes == 0)
		memcpy(data, &header, sizeof(header));
	return size;
}

#endif
