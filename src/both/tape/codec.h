/*
 * codec: one allocation or free event <-> a handful of bytes, without a branch.
 *
 * A record is a 16-bit control word and five little-endian fields whose lengths it names:
 *
 *	bits 0-5 fn | 6-7 time | 8-9 address | 10-11 size | 12-13 slack | 14-15 stack
 *
 * time     ticks since the record before
 * address  distance from the address before, sign in bit 0, multiples of 16 made small
 * size     requested bytes; length 0: as in the record before that had a size
 * slack    usable - requested; length 0: what glibc's block layout gives for that request
 * stack    node id; length 0: as in the record before of the same class (alloc or free)
 *
 * Frees have neither size nor slack (length 0, no meaning). The state both sides keep is in
 * struct tape_codec_state, all zeros but the time at a chunk's beginning. The technique - lengths
 * in a control word, whole words stored and the cursor moved by less - is that of group varint
 * (Dean, WSDM 2009) and stream-vbyte (Lemire 2017).
 */
#ifndef MEMTAPE_TAPE_CODEC_H
#define MEMTAPE_TAPE_CODEC_H

#include "tape/tape.h"

enum {
	TAPE_EVENT_BYTES_MAX = 2 + 8 + 8 + 8 + 8 + 4,
	/* Fields are stored as whole words: a writer needs this much room after its cursor. */
	TAPE_EVENT_ROOM = TAPE_EVENT_BYTES_MAX + 8
};

enum tape_field {
	TAPE_FIELD_TIME,
	TAPE_FIELD_ADDRESS,
	TAPE_FIELD_SIZE,
	TAPE_FIELD_SLACK,
	TAPE_FIELD_STACK,
	TAPE_FIELD_COUNT
};

/* Lengths in bytes by code 0..3, one hexadecimal digit each, code 0 lowest. */
enum {
	TAPE_TIME_LENGTHS = 0x8421,
	TAPE_ADDRESS_LENGTHS = 0x8320, /* code 3: the address itself */
	TAPE_SIZE_LENGTHS = 0x8210,
	TAPE_SLACK_LENGTHS = 0x8210,
	TAPE_STACK_LENGTHS = 0x4320
};

static inline unsigned tape_field_bytes(enum tape_field field, unsigned code)
{
	static const uint16_t lengths[TAPE_FIELD_COUNT] = {
		[TAPE_FIELD_TIME] = TAPE_TIME_LENGTHS,
		[TAPE_FIELD_ADDRESS] = TAPE_ADDRESS_LENGTHS,
		[TAPE_FIELD_SIZE] = TAPE_SIZE_LENGTHS,
		[TAPE_FIELD_SLACK] = TAPE_SLACK_LENGTHS,
		[TAPE_FIELD_STACK] = TAPE_STACK_LENGTHS,
	};

	CHECK(field < TAPE_FIELD_COUNT);
	CHECK(code <= 3);
	return lengths[field] >> code * 4 & 15;
}

struct tape_codec_state {
	uint64_t ticks;
	uint64_t address;
	uint64_t size;
	uint32_t node[2]; /* by [carries no size: a free] */
};

/* With TAPE_FN_LATENCY not an event: size is the duration in ticks (not shifted), address 0. */
struct tape_event {
	enum tape_fn fn;
	uint32_t node;	  /* stack, innermost frame; TAPE_NODE_NONE: not recorded */
	uint64_t ticks;	  /* shifted, absolute */
	uint64_t address; /* 0: the call failed */
	uint64_t size;	  /* requested; 0 for frees */
	uint64_t usable;  /* 0 for frees and failed calls */
};

/* Bit set: functions whose records carry no size. */
static const uint64_t TAPE_FN_SIZELESS = 0
#define TAPE_FUNCTION(name, number, word, class, alignment)                                        \
	| (uint64_t)(TAPE_CLASS_##class == TAPE_CLASS_FREE ||                                      \
		     TAPE_CLASS_##class == TAPE_CLASS_REALLOC_OUT)                                 \
			<< (number)
#include "tape/functions.def"
#undef TAPE_FUNCTION
	;

static inline bool tape_fn_sizeless(unsigned fn)
{
	return TAPE_FN_SIZELESS >> (fn & 63) & 1;
}

/* Bit set: functions whose events are allocations, reallocs of a block not among them. */
static const uint64_t TAPE_FN_ALLOCATES = 0
#define TAPE_FUNCTION(name, number, word, class, alignment)                                        \
	| (uint64_t)(TAPE_CLASS_##class == TAPE_CLASS_ALLOC) << (number)
#include "tape/functions.def"
#undef TAPE_FUNCTION
	;

static inline bool tape_fn_allocates(unsigned fn)
{
	return TAPE_FN_ALLOCATES >> (fn & 63) & 1;
}

/* Bit set: functions that take an alignment. */
static const uint64_t TAPE_FN_ALIGNED = 0
#define PLAIN						    UINT64_C(0)
#define ALIGNED						    UINT64_C(1)
#define TAPE_FUNCTION(name, number, word, class, alignment) | (alignment) << (number)
#include "tape/functions.def"
#undef TAPE_FUNCTION
#undef ALIGNED
#undef PLAIN
	;

/* run: contiguous ones. */
static inline bool tape_fn_is_in(unsigned fn, uint64_t run)
{
	return fn - (unsigned)__builtin_ctzll(run) < (unsigned)__builtin_popcountll(run);
}

/*
 * posix_memalign and the like, and the aligned operators new. Two comparisons, because their
 * numbers form two ranges; a third range would fail tests/unit/tape.
 */
static inline bool tape_fn_aligned(unsigned fn)
{
	const uint64_t lowest = TAPE_FN_ALIGNED & -TAPE_FN_ALIGNED;
	const uint64_t lower = TAPE_FN_ALIGNED & ~(TAPE_FN_ALIGNED + lowest);

	return tape_fn_is_in(fn, lower) || tape_fn_is_in(fn, TAPE_FN_ALIGNED - lower);
}

/* Usable bytes of a glibc block for a request of size bytes: a prediction, never trusted. */
static inline uint64_t tape_usable_guess(uint64_t size)
{
	uint64_t usable = ((size + 23) & ~UINT64_C(15)) - 8;

	return usable < 24 ? 24 : usable;
}

/* Distance with its sign in bit 0; the low four bits, nearly always 0, at the top. */
static inline uint64_t tape_distance_fold(uint64_t from, uint64_t to)
{
	uint64_t distance = to - from;
	uint64_t sign = distance >> 63;
	uint64_t length = (distance ^ -sign) + sign;

	return (length >> 4 | (length & 15) << 55) << 1 | sign;
}

static inline uint64_t tape_distance_unfold(uint64_t from, uint64_t folded)
{
	uint64_t sign = folded & 1;
	uint64_t length = folded >> 1;

	length = (length & ((UINT64_C(1) << 55) - 1)) << 4 | length >> 55;
	return from + ((length ^ -sign) + sign);
}

/*
 * Writes one event at out, which has TAPE_EVENT_ROOM bytes, and returns its end. Does not branch
 * on the data: a mispredicted branch costs more than everything here.
 */
static inline __attribute__((always_inline)) uint8_t *
tape_event_encode(struct tape_codec_state *codec, uint8_t *out, unsigned fn, uint64_t ticks,
		  uint64_t address, uint64_t size, uint64_t usable, uint32_t node)
{
	const unsigned sizeless = tape_fn_sizeless(fn);
	uint64_t time = ticks - codec->ticks;
	uint64_t place = tape_distance_fold(codec->address, address);
	uint64_t slack = usable - size;
	unsigned time_code = (time > 0xff) + (time > 0xffff) + (time > 0xffffffff);
	unsigned place_code = (place != 0) + (place > 0xffff) + (place > 0xffffff);
	unsigned size_code = (size != codec->size) * (1 + (size > 0xff) + (size > 0xffff));
	unsigned slack_code =
		(usable != tape_usable_guess(size)) * (1 + (slack > 0xff) + (slack > 0xffff));
	unsigned node_code =
		(node != codec->node[sizeless]) * (1 + (node > 0xffff) + (node > 0xffffff));
	uint8_t *ctrl = out;

	CHECK(fn < TAPE_FN_COUNT);
	if (sizeless) /* fn is a constant where this is inlined */
		size_code = slack_code = 0;
	else
		codec->size = size;
	codec->ticks = ticks;
	codec->address = address;
	codec->node[sizeless] = node;
	store_u16(ctrl, (uint16_t)(fn | time_code << 6 | place_code << 8 | size_code << 10 |
				   slack_code << 12 | node_code << 14));
	out += 2;
	store_u64(out, time);
	out += TAPE_TIME_LENGTHS >> time_code * 4 & 15;
	store_u64(out, place_code == 3 ? address : place);
	out += TAPE_ADDRESS_LENGTHS >> place_code * 4 & 15;
	if (!sizeless) {
		store_u64(out, size);
		out += TAPE_SIZE_LENGTHS >> size_code * 4 & 15;
		store_u64(out, slack);
		out += TAPE_SLACK_LENGTHS >> slack_code * 4 & 15;
	}
	store_u32(out, node);
	out += TAPE_STACK_LENGTHS >> node_code * 4 & 15;
	return out;
}

/*
 * The duration of the call recorded just before: a control word whose time code gives the length of
 * the duration, 2 or 8 bytes (code 1 or 3), then the duration. The state does not change. out has
 * TAPE_LATENCY_BYTES_MAX bytes.
 */
enum { TAPE_LATENCY_BYTES_MAX = 2 + 8 };

static inline uint8_t *tape_latency_encode(uint8_t *out, uint64_t ticks)
{
	const unsigned code = ticks > UINT16_MAX ? 3 : 1;

	store_u16(out, (uint16_t)(TAPE_FN_LATENCY | code << 6));
	store_u64(out + 2, ticks);
	return out + 2 + (TAPE_TIME_LENGTHS >> code * 4 & 15);
}

/* Bytes of the duration in a record with this control word; 0: not a latency record. */
static inline unsigned tape_latency_bytes(unsigned ctrl)
{
	if (ctrl == (TAPE_FN_LATENCY | 1 << 6))
		return 2;
	return ctrl == (TAPE_FN_LATENCY | 3 << 6) ? 8 : 0;
}

/* State at the beginning of a chunk. */
static inline void tape_codec_reset(struct tape_codec_state *codec, uint64_t begin_ticks)
{
	*codec = (struct tape_codec_state) { .ticks = begin_ticks };
}

/* An extended record as it lies in a chunk; payload is borrowed from the chunk. */
struct tape_extended_record {
	enum tape_extended type;
	uint32_t payload_bytes;
	uint64_t ticks;
	const uint8_t *payload;
};

/*
 * Reads records of one decoded chunk, front to back. Hostile bytes are fine: `failed` is set and
 * stays set. Use:
 *	tape_reader_init(&reader, records, used, begin_ticks);
 *	while (tape_reader_next(&reader))
 *		reader.is_extended ? look at reader.extended : look at reader.event;
 *	if (reader.failed) ... reader.offset is where.
 */
struct tape_reader {
	const uint8_t *begin;
	const uint8_t *ptr;
	const uint8_t *end;
	struct tape_codec_state codec;
	bool is_extended;
	bool failed;
	struct tape_event event;
	struct tape_extended_record extended;
};

void tape_reader_init(struct tape_reader *reader, const void *records, size_t used,
		      uint64_t begin_ticks);

/* False at the end and on failure. */
bool tape_reader_next(struct tape_reader *reader);

/* Length of the record read last, and its offset. */
size_t tape_reader_offset(const struct tape_reader *reader);

/*
 * Writes an extended record at out, which has room for TAPE_EXTENDED_BYTES + bytes + tail_bytes;
 * returns its end. The payload is a struct and a tail (text, may be NULL with 0).
 */
uint8_t *tape_extended_encode(uint8_t *out, enum tape_extended type, uint64_t ticks,
			      const void *payload, size_t bytes, const void *tail,
			      size_t tail_bytes);

#endif
