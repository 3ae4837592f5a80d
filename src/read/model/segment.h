/*
 * segment: 65,536 rows of an index, packed. Internal to model.
 *
 * A column of a segment is an array of numbers of 0, 1, 2, 4 or 8 bytes: the offset from its
 * minimum ("frame of reference", Goldstein, Ramakrishnan & Shaft, ICDE 1998). If a column has a
 * value that means "none", the number 0 stands for it and offsets begin at 1.
 *
 * A segment is written once. Later changes to its rows - a block freed long after its allocation -
 * are a list of patches, sorted by row, which override the columns.
 */
#ifndef MEMTAPE_MODEL_SEGMENT_H
#define MEMTAPE_MODEL_SEGMENT_H

#include "model/clock.h"
#include "model/model.h"

enum { ROW_NONE = UINT32_MAX, SEGMENT_ALIGN = 64, SEGMENT_BITS = 16 };
static_assert(1 << SEGMENT_BITS == MODEL_SEGMENT, "rows of a segment");

/* An allocation in memory, while it may still be freed: one cache line. */
struct row {
	uint64_t address;
	uint64_t size;
	uint64_t time;	    /* ticks, then ns */
	uint64_t free_time; /* MODEL_NEVER */
	uint32_t slack;	    /* usable - size, saturated */
	uint32_t stack;
	uint32_t free_stack;
	uint32_t thread;
	uint32_t free_thread;
	uint32_t realloc_distance; /* to the row that it continues; 0: none */
	uint32_t chain;		   /* ROW_NONE */
	uint8_t fn;
	uint8_t free_fn;
	uint8_t flags;
	uint8_t reserved;
};

static_assert(sizeof(struct row) == 64, "a cache line");

/* What a free changes in a row. */
struct patch {
	uint64_t time; /* ticks, then ns */
	uint32_t row;  /* of all; in a file: of the segment */
	uint32_t stack;
	uint32_t thread;
	uint32_t chain; /* ROW_NONE: unchanged */
	uint8_t fn;
	uint8_t flags;
	uint8_t reserved[6];
};

static_assert(sizeof(struct patch) == 32, "format of the index");

/*
 * USABLE holds the slack (usable - size). FLAGS are without MODEL_ALLOCATION_PEAK. REALLOC_OF and
 * CHAIN, which few rows have, are not columns but links.
 */
struct segment_column {
	uint64_t offset; /* of its numbers in the file */
	uint64_t bias;	 /* value - number */
	uint8_t width;
	uint8_t has_none; /* number 0 is the column's "none" */
	uint8_t reserved[6];
};

/* The membership of a row in a chain of reallocs; sorted by row. */
struct link {
	uint32_t row;		   /* of the segment */
	uint32_t realloc_distance; /* to the row it continues; 0: none */
	uint32_t chain;
};

static_assert(sizeof(struct link) == 12, "format of the index");

struct segment {
	struct segment_column columns[MODEL_COLUMNS];
	struct model_bounds bounds[MODEL_COLUMNS]; /* of the values model.h shows */
	uint64_t patches_offset;
	uint64_t patched_offset; /* a bit for each row: whether it has a patch; with patches only */
	uint64_t links_offset;
	uint32_t patch_count;
	uint32_t link_count;
	uint32_t row_count;
	uint32_t reserved;
};

enum { PATCHED_BYTES = MODEL_SEGMENT / 8 };

static_assert(sizeof(struct segment) == MODEL_COLUMNS * 40 + 40, "format of the index");

/* Upper bound for a segment of this many rows. */
size_t segment_room(uint32_t row_count);

/*
 * Packs rows to out, which has segment_room(count) bytes. `prepare` is called once for every row,
 * in order, in batches, before they are packed. Offsets are from out's beginning, until
 * segment_move. Returns the size.
 */
size_t segment_pack(struct row *rows, uint32_t count,
		    void (*prepare)(void *context, struct row *rows, size_t count), void *context,
		    uint8_t *out, struct segment *segment_ret);
void segment_move(struct segment *segment, uint64_t offset);

/* Bounds of a segment with patches applied (times in ns), and the bits of their rows. */
void segment_bound_patches(struct segment *segment, const struct patch *patches, uint8_t *patched);

/* Whether everything a segment refers to is within a file of this size. */
bool segment_is_sound(const struct segment *segment, uint64_t file_bytes);

/* Functions for single columns, used by others as well. */
uint8_t segment_width(uint64_t number);
bool segment_column_is_sound(const struct segment_column *column, uint64_t count,
			     uint64_t file_bytes);
void segment_column_read(const struct segment_column *column, const uint8_t *file, uint64_t first,
			 size_t count, uint64_t *values);

/* Stored values of rows first .. first + count - 1 of the segment; file is the mapped file. */
void segment_read(const struct segment *segment, const uint8_t *file, enum model_column column,
		  uint32_t first, size_t count, uint64_t *values);
/* REALLOC_OF as the distance, 0: none. */
uint64_t segment_get(const struct segment *segment, const uint8_t *file, enum model_column column,
		     uint32_t row);

#endif
