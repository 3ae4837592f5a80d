/*
 * columns: the records and nodes of one chunk, split into columns by field, and joined again.
 *
 * Control words are numbered in order of appearance, one byte per record. Each field length has a
 * column (a table of two-byte distances compresses better than a mixture), in record order. Lengths
 * need no columns: the control words name them. Nodes are runs, each node the caller of the next,
 * and addresses are predicted from the caller's. Internal to capture; layout: docs/tape-format.md.
 */
#ifndef MEMTAPE_CAPTURE_COLUMNS_H
#define MEMTAPE_CAPTURE_COLUMNS_H

#include "base/err.h"
#include "tape/codec.h"

enum column {
	COLUMN_WORDS,	  /* u16: control words, in order of first appearance */
	COLUMN_CODES,	  /* one byte per record: its word's index in them; COLUMN_CODE_RARE */
	COLUMN_RARE,	  /* u16: control words that got no index */
	COLUMN_FIELD = 3, /* + field * 4 + length code: 20 columns, some always empty */
	COLUMN_EXTENDED = COLUMN_FIELD + TAPE_FIELD_COUNT * 4, /* without the control word */
	COLUMN_NODE_RUN,    /* lengths of runs of nodes that are children of the node before */
	COLUMN_NODE_PARENT, /* u32: own id - parent, of the other nodes */
	COLUMN_NODE_RANK,   /* two bits per node: which of the last three pcs below that caller */
	COLUMN_NODE_PC_LOW, /* u32, of nodes with another pc */
	COLUMN_NODE_PC_HIGH,
	COLUMN_LATENCY,	     /* u16: durations */
	COLUMN_LATENCY_LONG, /* u64: those that do not fit */
	COLUMN_COUNT
};

enum {
	COLUMN_CODE_RARE = 255,
	COLUMN_PAD = 16,   /* readable and writable bytes after every column */
	COLUMN_OVERRUN = 8 /* readable bytes after all of them, times the room of one */
};

struct column_bytes {
	uint8_t *ptr;
	uint32_t bytes;
};

/* How an event with these length codes is laid out, and where its fields go. */
struct column_shape {
	uint8_t offset[TAPE_FIELD_COUNT]; /* from the control word */
	uint8_t length[TAPE_FIELD_COUNT];
	uint8_t column[TAPE_FIELD_COUNT];
	uint8_t total; /* length of the record */
};

/* Index of a shape: the length codes and whether the function carries a size. Latencies follow. */
enum { COLUMN_SHAPE_LATENCY = 2048, COLUMN_SHAPE_COUNT = COLUMN_SHAPE_LATENCY + 4 };

struct columns {
	struct column_bytes column[COLUMN_COUNT];
	struct column_shape shape[COLUMN_SHAPE_COUNT];
	/* While splitting, by control word: record length << 8 | code + 1; 0: not seen yet. */
	uint16_t entry[UINT16_MAX + 1];
	uint8_t *memory;
	uint8_t *spare; /* room bytes of scratch, in the overrun */
	uint32_t room;	/* of each column */
};

/* Room for the columns of any chunk with slots of chunk_bytes; false: out of memory. */
bool columns_reserve(struct columns *columns, uint32_t chunk_bytes);
void columns_deinit(struct columns *columns);

struct columns_counts {
	uint32_t used;	      /* bytes of records consumed: fewer than given if one is broken */
	uint32_t event_count; /* without extended records and latencies */
};

/* Splits `used` bytes of records and node_count nodes of a slot of chunk_bytes. */
struct columns_counts columns_split(struct columns *columns, const struct tape_chunk *chunk,
				    uint32_t chunk_bytes);
void columns_split_nodes(struct columns *columns, const struct tape_chunk *chunk,
			 uint32_t chunk_bytes);

/*
 * Whether the columns of records hold exactly what their control words and this header require, so
 * that columns_join needs no checks. Columns may be untrusted bytes, but have COLUMN_PAD.
 */
bool columns_are_sound(const struct columns *columns, const struct tape_chunk *header,
		       uint32_t chunk_bytes);

/* Writes the records of valid columns to their places in a slot whose header is filled. */
void columns_join(const struct columns *columns, struct tape_chunk *chunk);

/*
 * Fills decoded->events (with room for every record of the chunk) and its image's extended records
 * from columns, which may be untrusted bytes; the image's header is filled before. False: they are
 * inconsistent, nothing is stored.
 */
struct decoded;
bool columns_decode(const struct columns *columns, uint32_t stream, struct decoded *decoded);

/* Writes the nodes to their places in a slot whose header is filled and valid. False: untrusted
 * bytes that are inconsistent. */
bool columns_join_nodes(const struct columns *columns, struct tape_chunk *chunk,
			uint32_t chunk_bytes);

/* Number of records that are latencies. */
static inline uint32_t columns_latency_count(const struct columns *columns)
{
	return columns->column[COLUMN_LATENCY].bytes / 2 +
	       columns->column[COLUMN_LATENCY_LONG].bytes / 8;
}

/* Length codes of a control word by field; frees have neither size nor slack, whatever it says. */
static inline unsigned column_field_code(unsigned ctrl, enum tape_field field)
{
	unsigned code = ctrl >> (6 + 2 * field) & 3;

	if (field == TAPE_FIELD_SIZE || field == TAPE_FIELD_SLACK)
		code &= 3 * !tape_fn_sizeless(ctrl & 63);
	return code;
}

static inline const struct column_shape *column_shape_of(const struct columns *columns,
							 unsigned ctrl)
{
	if (unlikely((ctrl & 63) == TAPE_FN_LATENCY))
		return &columns->shape[COLUMN_SHAPE_LATENCY | (ctrl >> 6 & 3)];
	return &columns->shape[(ctrl >> 6) << 1 | tape_fn_sizeless(ctrl & 63)];
}

/* Whether records with this control word have a fixed length: events and latencies. */
static inline bool column_is_regular(unsigned ctrl)
{
	return (ctrl & 63) < TAPE_FN_COUNT || tape_latency_bytes(ctrl) > 0;
}

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
