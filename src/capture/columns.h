/*
 * columns: the records and nodes of one chunk, taken apart by field, and put together again.
 *
 * Fields of one length are one column each (a table of two-byte distances compresses better than a
 * mixture), in record order. Lengths need no columns: the control words name them. Internal to
 * capture; layout of the packed form: pack.c.
 */
#ifndef MEMTAPE_CAPTURE_COLUMNS_H
#define MEMTAPE_CAPTURE_COLUMNS_H

#include "base/err.h"
#include "tape/codec.h"

enum column {
	COLUMN_CONTROL_LOW = 0,	 /* function and length of time */
	COLUMN_CONTROL_HIGH = 1, /* the other lengths, or the rest of an extended type */
	COLUMN_FIELD = 2,	 /* + field * 4 + length code: 20 columns, some always empty */
	COLUMN_EXTENDED = COLUMN_FIELD + TAPE_FIELD_COUNT * 4, /* without the control word */
	COLUMN_NODE_PARENT,				       /* own id - parent, in byte planes */
	COLUMN_NODE_PC_LOW,
	COLUMN_NODE_PC_HIGH,
	COLUMN_COUNT
};

enum {
	COLUMN_PAD = 16,   /* readable and writable bytes after every column */
	COLUMN_OVERRUN = 8 /* readable bytes behind them all, times the room of one */
};

struct column_bytes {
	uint8_t *ptr;
	uint32_t bytes;
};

/* How an event with these length codes lies in a record, and where its fields go. */
struct column_shape {
	uint8_t offset[TAPE_FIELD_COUNT]; /* from the control word */
	uint8_t length[TAPE_FIELD_COUNT];
	uint8_t column[TAPE_FIELD_COUNT];
	uint8_t total; /* length of the record */
};

/* Index of a shape: the length codes and whether the function carries a size. */
enum { COLUMN_SHAPE_COUNT = 2048 };

struct columns {
	struct column_bytes column[COLUMN_COUNT];
	struct column_shape shape[COLUMN_SHAPE_COUNT];
	uint8_t *memory;
	uint8_t *spare; /* room bytes of scratch, in the overrun */
	uint32_t room;	/* of each column */
};

/* Room for the columns of any chunk with slots of chunk_bytes; false: out of memory. */
bool columns_reserve(struct columns *columns, uint32_t chunk_bytes);
void columns_deinit(struct columns *columns);

struct columns_counts {
	uint32_t used;	      /* bytes of the records taken: less than asked when one is broken */
	uint32_t event_count; /* without extended records */
};

/* Takes `used` bytes of records and node_count nodes of a slot of chunk_bytes apart. */
struct columns_counts columns_split(struct columns *columns, const struct tape_chunk *chunk,
				    uint32_t chunk_bytes);

/*
 * Whether the columns hold exactly what their control words and this header call for, so that
 * columns_join and decoding need no checks. Columns may be foreign bytes, but have COLUMN_PAD.
 */
bool columns_are_sound(const struct columns *columns, const struct tape_chunk *header,
		       uint32_t chunk_bytes);

/*
 * Fills decoded->events (with room for every record of the chunk) and its image's extended records
 * from columns, which may be foreign bytes; the image's header is filled before. False:
 * they do not fit together, nothing is there.
 */
struct decoded;
bool columns_decode(const struct columns *columns, uint32_t stream, struct decoded *decoded);

/* Nodes alone; their columns have the bytes that node_count calls for. */
void columns_join_nodes(const struct columns *columns, struct tape_chunk *chunk,
			uint32_t chunk_bytes);

/* Writes records and nodes of sound columns to their places in a slot whose header is filled. */
void columns_join(const struct columns *columns, struct tape_chunk *chunk, uint32_t chunk_bytes);

/* First record byte and first node of a slot image. */
static inline const uint8_t *chunk_records(const struct tape_chunk *chunk)
{
	return (const uint8_t *)(chunk + 1);
}

static inline const struct tape_node *chunk_node(const struct tape_chunk *chunk,
						 uint32_t chunk_bytes, uint32_t index)
{
	const uint8_t *end = (const uint8_t *)chunk + chunk_bytes;

	return (const struct tape_node *)(const void *)(end -
							(index + 1) * sizeof(struct tape_node));
}

/* Whether records and nodes of this header fit a slot. */
static inline bool chunk_fits(const struct tape_chunk *chunk, uint32_t chunk_bytes)
{
	uint64_t nodes = (uint64_t)chunk->node_count * sizeof(struct tape_node);

	return sizeof(*chunk) + chunk->used + nodes <= chunk_bytes &&
	       (uint64_t)chunk->first_node + chunk->node_count <= UINT32_MAX;
}

#endif
