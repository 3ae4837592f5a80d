/*
 * index_reader: a model being made of an index file. Internal to model.
 */
#ifndef MEMTAPE_MODEL_INDEX_READER_H
#define MEMTAPE_MODEL_INDEX_READER_H

#include "model/index.h"

struct index_reader {
	const uint8_t *file;
	struct index_header header;
	struct model *model;
	uint64_t text_bytes;
	bool failed; /* sticky */
};

/* The items of a section. */
const void *index_items(struct index_reader *reader, enum index_section section, size_t item_bytes,
			size_t *count_ret);

/* A copy of them in memory; NULL: out of memory. */
void *index_copy(struct index_reader *reader, enum index_section section, size_t item_bytes,
		 size_t *count_ret);

/* Replaces the offset of a text by its pointer. */
const char *index_text(struct index_reader *reader, const void *stored);

struct err *index_read_scans(struct index_reader *reader);

/* Every row of a model of pools has one. */
struct err *index_read_pools(struct index_reader *reader);

#endif
