/*
 * index_input: an input is a list of edits to a sound index, which is made anew when the target
 * starts: so inputs stay what they are when the layout of an index changes, and the fuzzer does not
 * have to find out where the numbers are. Magic numbers and the checksum are put right afterwards.
 */
#ifndef MEMTAPE_TESTS_FUZZ_INDEX_INPUT_H
#define MEMTAPE_TESTS_FUZZ_INDEX_INPUT_H

#include <sys/mman.h>
#include <unistd.h>

#include "index_base.h"

enum { EDITS_MAX = 64, GROWTH_MAX = 4096, GROWTH_TOTAL_MAX = 64 << 10 };

/* Of a number of 1 << (what & 3) bytes in a part of the file. */
enum edit_what {
	EDIT_WIDTH = 3,
	EDIT_ADD = 4,	 /* value is added, else it is the number */
	EDIT_REPEAT = 8, /* and so on every stride bytes until the part ends */
	EDIT_RESIZE = 16 /* nothing of that: the part has value bytes */
};

struct edit {
	uint8_t part; /* enum index_section, then the header's list of them, then the file */
	uint8_t what; /* enum edit_what */
	uint16_t stride;
	uint32_t at; /* in the part */
	uint64_t value;
};

static_assert(sizeof(struct edit) == 16, "what is in the corpus");

struct index_bytes {
	uint8_t *bytes;
	size_t size;
	size_t room;
};

static inline struct index_part *part_of(struct index_bytes *index, unsigned part)
{
	struct index_header *header = (struct index_header *)(void *)index->bytes;

	return part < INDEX_SECTIONS ? &header->parts[part] : NULL;
}

/* A part that grows moves to the end; what is new there is like what was there before. */
static inline void edit_resize(struct index_bytes *index, struct index_part *part, uint64_t value)
{
	const size_t bytes = value % (part->bytes + GROWTH_MAX), begin = (index->size + 7) / 8 * 8;

	if (begin + bytes > index->room)
		return;
	if (bytes > part->bytes) {
		memset(index->bytes + index->size, 0, begin - index->size);
		for (size_t i = 0; i < bytes; i++)
			index->bytes[begin + i] =
				part->bytes ? index->bytes[part->offset + i % part->bytes] : 0;
		part->offset = begin;
		index->size = begin + bytes;
	}
	part->bytes = bytes;
}

static inline void number_edit(uint8_t *bytes, const struct edit *edit)
{
	const size_t width = (size_t)1 << (edit->what & EDIT_WIDTH);
	uint64_t number = 0;

	memcpy(&number, bytes, width);
	number = edit->what & EDIT_ADD ? number + edit->value : edit->value;
	memcpy(bytes, &number, width);
}

static inline void edit_apply(struct index_bytes *index, const struct edit *edit)
{
	const size_t width = (size_t)1 << (edit->what & EDIT_WIDTH);
	const unsigned number = edit->part % (INDEX_SECTIONS + 2);
	struct index_part *part = part_of(index, number);
	struct index_part bounds = { .bytes = index->size };
	size_t at;

	if (part)
		bounds = *part;
	else if (number == INDEX_SECTIONS)
		bounds = (struct index_part) { offsetof(struct index_header, parts),
					       sizeof(struct index_part) * INDEX_SECTIONS };
	if (bounds.offset > index->size || bounds.bytes > index->size - bounds.offset)
		return;
	if (part && edit->what & EDIT_RESIZE) {
		edit_resize(index, part, edit->value);
		return;
	}
	if (bounds.bytes < width)
		return;
	at = edit->at % (bounds.bytes / width * width) / width * width;
	do {
		number_edit(index->bytes + bounds.offset + at, edit);
		at += u64_max(edit->stride / width * width, width);
	} while (edit->what & EDIT_REPEAT && at + width <= bounds.bytes);
}

static inline void index_put_right(struct index_bytes *index)
{
	struct index_header *header = (struct index_header *)(void *)index->bytes;

	memcpy(header->magic, INDEX_MAGIC, sizeof(header->magic));
	header->version = INDEX_VERSION;
	header->header_bytes = IMAGE_HEADER_BYTES;
	header->layout = index_layout();
	header->file_bytes = index->size;
	for (int i = 0; i < INDEX_SECTIONS; i++)
		if (header->parts[i].offset > index->size ||
		    header->parts[i].bytes > index->size - header->parts[i].offset)
			return;
	header->checksum = index_checksum(header, index->bytes);
}

static inline struct model *index_bytes_read(const struct index_bytes *index)
{
	static int fd = -1;
	struct model *model = NULL;

	if (fd < 0)
		fd = memfd_create("index", MFD_CLOEXEC);
	index_base_check(fd >= 0 && ftruncate(fd, (off_t)index->size) == 0);
	index_base_check(pwrite(fd, index->bytes, index->size, 0) == (ssize_t)index->size);
	err_destroy(index_read(fd, NULL, &model));
	return model;
}

/* The model that comes out of it; NULL: the edits made an index that is refused. */
static inline struct model *index_input_read(uint32_t more_flags, const uint8_t *edits, size_t size)
{
	static struct index_bytes base;
	struct index_bytes index;
	struct model *model;

	if (!base.bytes)
		base.bytes = index_base_make(more_flags, &base.size);
	if (size > EDITS_MAX * sizeof(struct edit))
		return NULL;
	index.bytes = malloc(base.size + GROWTH_TOTAL_MAX);
	index.size = base.size;
	index.room = base.size + GROWTH_TOTAL_MAX;
	index_base_check(index.bytes != NULL);
	memcpy(index.bytes, base.bytes, base.size);
	for (size_t at = 0; at + sizeof(struct edit) <= size; at += sizeof(struct edit)) {
		struct edit edit;

		memcpy(&edit, edits + at, sizeof(edit));
		edit_apply(&index, &edit);
	}
	index_put_right(&index);
	model = index_bytes_read(&index);
	free(index.bytes);
	return model;
}

#endif
