/*
 * Layout of a packed chunk's payload:
 *
 *	u32 mask		bit i: column i (enum column) exists and is not empty; MIRRORED
 *	for each of them	u32 bytes, u32 stored_bytes
 *	for each of them	stored_bytes: a zstd frame without magic, or the bytes themselves
 *				where stored_bytes == bytes
 *
 * Values of some columns are stored in byte planes: first the lowest byte of each, then the
 * second of each, and so on. High bytes of stack ids repeat, but that does not show with low ones
 * between them.
 *
 * Where many stacks are new, they are *mirrored*: an id above all before it is stored as its
 * excess, counted down from the largest value that fits.
 */
#include "capture/pack.h"

#include <assert.h>

#include "capture/chunk.h"
#include "capture/columns.h"
#include "capture/zst.h"
#include "core/hash.h"

/* Steps through a column so fast that no repetitions are found: only the entropy coder is left. */
enum { LEVEL_ENTROPY_ONLY = -1000 };

enum {
	PREFIX_BYTES_MAX = 4 + 8 * COLUMN_COUNT,
	COMPRESS_BYTES_MIN = 48, /* smaller columns are not compressed, */
	COMPRESS_PART_MAX = 512, /* nor are those smaller than this fraction of the records, */
	SEARCH_PART_MAX = 64,	 /* or not searched: starting a search costs microseconds */
	REST_CHUNKS = 15,
	MIRROR_NODES_MIN = 16 /* at most this many stacks per node */
};

/* A bit of the mask. */
static const uint32_t MIRRORED = UINT32_C(1) << 31;

static_assert(COLUMN_COUNT <= 31, "the mask has a bit for each");

/* How a column is compressed: at the caller's level, or the cheaper of two ways. */
enum effort { EFFORT_LEVEL, EFFORT_ENTROPY, EFFORT_BY_RESULT };

struct capture_packer {
	struct zst_packer *search;
	struct zst_packer *entropy;
	struct zst_unpacker *unpacker;
	bool is_quick;	    /* a collector's level: columns differ in what they are worth */
	uint32_t used;	    /* of the chunk being packed */
	uint32_t repeating; /* bits of columns in which searching for repetitions pays */
	uint8_t resting[COLUMN_COUNT]; /* for how many chunks a column is not worth compressing */
	struct columns columns;
};

struct capture_packer *capture_packer_create(int level)
{
	CLEAN(capture_packer_destroy) struct capture_packer *packer = calloc(1, sizeof(*packer));

	if (!packer)
		return NULL;
	packer->search = zst_packer_create(level);
	packer->entropy = zst_packer_create(LEVEL_ENTROPY_ONLY);
	packer->is_quick = level <= CAPTURE_PACK_LEVEL;
	packer->unpacker = zst_unpacker_create();
	if (!packer->search || !packer->entropy || !packer->unpacker)
		return NULL;
	return steal(packer);
}

void capture_packer_destroy(struct capture_packer *packer)
{
	if (!packer)
		return;
	zst_packer_destroy(packer->search);
	zst_packer_destroy(packer->entropy);
	zst_unpacker_destroy(packer->unpacker);
	columns_deinit(&packer->columns);
	free(packer);
}

size_t capture_pack_bound(uint32_t chunk_bytes)
{
	assert(chunk_bytes <= TAPE_CHUNK_BYTES_MAX);
	/* No column is stored larger than it is, but the compressor needs room to find that out. */
	return sizeof(struct tape_chunk) + PREFIX_BYTES_MAX + zst_bound(chunk_bytes) +
	       (size_t)chunk_bytes;
}

/* Bytes of a value if the column is stored in planes; else 1. */
static uint32_t plane_count(int column)
{
	switch (column) {
	case COLUMN_NODE_PARENT:
		return 4;
	case COLUMN_FIELD + TAPE_FIELD_STACK * 4 + 2:
		return 3;
	case COLUMN_FIELD + TAPE_FIELD_STACK * 4 + 1:
	case COLUMN_LATENCY:
		return 2;
	default:
		return 1;
	}
}

/* Two planes, four values at once; returns how many. */
static uint32_t pairs_split(uint8_t *to, const uint8_t *from, uint32_t count)
{
	uint32_t i = 0;

	for (; i + 4 <= count; i += 4) {
		uint64_t pairs = load_u64(from + i * 2);

		for (unsigned plane = 0; plane < 2; plane++, pairs >>= 8) {
			uint64_t bytes = pairs & UINT64_C(0x00ff00ff00ff00ff);

			bytes = (bytes | bytes >> 8) & UINT64_C(0x0000ffff0000ffff);
			store_u32(to + plane * count + i, (uint32_t)(bytes | bytes >> 16));
		}
	}
	return i;
}

static void planes_split(uint8_t *to, const uint8_t *from, uint32_t bytes, uint32_t planes)
{
	uint32_t count = bytes / planes, done = planes == 2 ? pairs_split(to, from, count) : 0;

	for (uint32_t plane = 0; plane < planes; plane++)
		for (uint32_t i = done; i < count; i++)
			to[plane * count + i] = from[i * planes + plane];
}

static uint32_t pairs_join(uint8_t *to, const uint8_t *from, uint32_t count)
{
	uint32_t i = 0;

	for (; i + 4 <= count; i += 4) {
		uint64_t pairs = 0;

		for (unsigned plane = 0; plane < 2; plane++) {
			uint64_t bytes = load_u32(from + plane * count + i);

			bytes = (bytes | bytes << 16) & UINT64_C(0x0000ffff0000ffff);
			bytes = (bytes | bytes << 8) & UINT64_C(0x00ff00ff00ff00ff);
			pairs |= bytes << plane * 8;
		}
		store_u64(to + i * 2, pairs);
	}
	return i;
}

static void planes_join(uint8_t *to, const uint8_t *from, uint32_t bytes, uint32_t planes)
{
	uint32_t count = bytes / planes, done = planes == 2 ? pairs_join(to, from, count) : 0;

	for (uint32_t plane = 0; plane < planes; plane++)
		for (uint32_t i = done; i < count; i++)
			to[i * planes + plane] = from[plane * count + i];
}

/*
 * Times between events do not repeat: at a collector's level searching them takes three fifths of
 * the time and saves 2 % of the column. Addresses do repeat in some programs.
 */
static enum effort effort_of(int column)
{
	switch (column) {
	case COLUMN_FIELD + TAPE_FIELD_TIME * 4 ... COLUMN_FIELD + TAPE_FIELD_TIME * 4 + 3:
	case COLUMN_NODE_RANK:
	case COLUMN_LATENCY:
		return EFFORT_ENTROPY;
	case COLUMN_FIELD + TAPE_FIELD_ADDRESS * 4 ... COLUMN_FIELD + TAPE_FIELD_ADDRESS * 4 + 3:
		return EFFORT_BY_RESULT;
	default:
		return EFFORT_LEVEL;
	}
}

/* What this compression ratio predicts for the column in the next chunks. */
static void learn(struct capture_packer *packer, int column, bool did_look, size_t stored,
		  uint32_t bytes)
{
	const uint32_t bit = UINT32_C(1) << column;

	packer->repeating &= ~bit;
	if (did_look ? stored < bytes / 2 : stored < bytes / 3 * 2)
		packer->repeating |= bit;
	else if (!did_look && stored > bytes / 16 * 15)
		packer->resting[column] = REST_CHUNKS;
}

/* Zstd's error codes are enormous numbers. */
static size_t compress(struct capture_packer *packer, int index, const uint8_t *from,
		       uint32_t bytes, uint8_t *out)
{
	const enum effort effort = packer->is_quick ? effort_of(index) : EFFORT_LEVEL;
	const bool looks = (effort == EFFORT_LEVEL &&
			    (!packer->is_quick || bytes >= packer->used / SEARCH_PART_MAX)) ||
			   packer->repeating >> index & 1;
	size_t stored;

	if (bytes < COMPRESS_BYTES_MIN || bytes < packer->used / COMPRESS_PART_MAX)
		return bytes;
	if (packer->resting[index] > 0) {
		packer->resting[index]--;
		return bytes;
	}
	stored = zst_pack(looks ? packer->search : packer->entropy, out, zst_bound(bytes), from,
			  bytes);
	if (effort == EFFORT_BY_RESULT)
		learn(packer, index, looks, stored, bytes);
	return stored;
}

/* Stores one column at out, returns its stored size. */
static uint32_t pack_column(struct capture_packer *packer, int index, uint8_t *out)
{
	const struct column_bytes *column = &packer->columns.column[index];
	const uint32_t planes = plane_count(index);
	const uint8_t *from = column->ptr;
	size_t bytes;

	if (planes > 1) {
		planes_split(packer->columns.spare, column->ptr, column->bytes, planes);
		from = packer->columns.spare;
	}
	bytes = compress(packer, index, from, column->bytes, out);
	if (bytes < column->bytes)
		return (uint32_t)bytes;
	memcpy(out, from, column->bytes);
	return column->bytes;
}

/*
 * Mirrors the stacks of a column or puts them back: values above all those before, of which `top`
 * is the largest, change places with the others above it.
 */
static void mirror(struct column_bytes *column, unsigned bytes, uint32_t top, bool is_mirrored)
{
	const uint32_t mask = (UINT32_C(1) << bytes * 8) - 1;

	for (uint8_t *at = column->ptr; at < column->ptr + column->bytes; at += bytes) {
		uint32_t value = load_u32(at) & mask, other;

		if (value <= top)
			continue;
		other = mask - (value - top - 1);
		store_u16(at, (uint16_t)other);
		if (bytes > 2)
			at[2] = (uint8_t)(other >> 16);
		top = is_mirrored ? other : value;
	}
}

static void mirror_stacks(struct columns *columns, uint32_t first_node, bool is_mirrored)
{
	struct column_bytes *stacks = &columns->column[COLUMN_FIELD + TAPE_FIELD_STACK * 4];

	mirror(&stacks[1], 2, first_node - 1, is_mirrored);
	mirror(&stacks[2], 3, first_node - 1, is_mirrored);
}

static bool stacks_are_new(const struct columns *columns, uint32_t node_count)
{
	const struct column_bytes *stacks = &columns->column[COLUMN_FIELD + TAPE_FIELD_STACK * 4];

	return (stacks[1].bytes / 2 + stacks[2].bytes / 3) / MIRROR_NODES_MIN < node_count;
}

static size_t pack_payload(struct capture_packer *packer, const struct tape_chunk *chunk,
			   uint8_t *payload)
{
	const bool mirrored = stacks_are_new(&packer->columns, chunk->node_count);
	uint32_t mask = 0;
	uint8_t *sizes = payload + 4, *out;

	if (mirrored)
		mirror_stacks(&packer->columns, chunk->first_node, false);
	for (int i = 0; i < COLUMN_COUNT; i++)
		mask |= (uint32_t)(packer->columns.column[i].bytes > 0) << i;
	store_u32(payload, mirrored ? mask | MIRRORED : mask);
	out = sizes + 8 * (size_t)__builtin_popcount(mask);
	for (int i = 0; i < COLUMN_COUNT; i++) {
		const struct column_bytes *column = &packer->columns.column[i];
		uint32_t stored;

		if (column->bytes == 0)
			continue;
		stored = pack_column(packer, i, out);
		store_u32(sizes, column->bytes);
		store_u32(sizes + 4, stored);
		sizes += 8;
		out += stored;
	}
	return (size_t)(out - payload);
}

static uint64_t chunk_checksum(const struct tape_chunk *header, const void *payload)
{
	struct tape_chunk zeroed = *header;

	zeroed.checksum = 0;
	return hash_bytes(payload, header->stored_bytes, hash_bytes(&zeroed, sizeof(zeroed), 0));
}

bool capture_checksum_ok(const struct tape_chunk *packed)
{
	return packed->checksum == chunk_checksum(packed, packed + 1);
}

struct err *capture_pack(struct capture_packer *packer, const struct tape_chunk *chunk,
			 uint32_t chunk_bytes, void *out, size_t *bytes_ret,
			 uint32_t *lost_bytes_ret)
{
	uint8_t *payload = (uint8_t *)out + sizeof(*chunk);
	struct tape_chunk header = *chunk;
	struct columns_counts counts;

	assert((const void *)chunk != out);
	assert((uintptr_t)chunk % sizeof(uint64_t) == 0);
	if (chunk_bytes < sizeof(*chunk) || chunk_bytes > TAPE_CHUNK_BYTES_MAX ||
	    !chunk_fits(chunk, chunk_bytes))
		return err_new(ERR_FORMAT, "chunk %u of stream %u: larger than its slot",
			       chunk->seq, chunk->stream);
	if (!columns_reserve(&packer->columns, chunk_bytes))
		return err_nomem();
	counts = columns_split(&packer->columns, chunk, chunk_bytes);
	packer->used = counts.used;
	header.magic = TAPE_CHUNK_MAGIC;
	header.header_bytes = sizeof(header);
	header.codec = TAPE_CODEC_COLUMNS;
	header.state = TAPE_CHUNK_SEALED;
	header.used = counts.used;
	header.event_count = counts.event_count;
	header.stored_bytes = (uint32_t)pack_payload(packer, chunk, payload);
	header.checksum = chunk_checksum(&header, payload);
	memcpy(out, &header, sizeof(header));
	*bytes_ret = sizeof(header) + header.stored_bytes;
	if (lost_bytes_ret)
		*lost_bytes_ret = chunk->used - counts.used;
	return NULL;
}

/* False: the stored bytes do not decode to a column of this size. */
static bool unpack_column(struct capture_packer *packer, int index, uint32_t bytes,
			  const uint8_t *stored, uint32_t stored_bytes)
{
	struct column_bytes *column = &packer->columns.column[index];
	uint32_t planes = plane_count(index);
	uint8_t *to = planes > 1 ? packer->columns.spare : column->ptr;
	size_t done = bytes;

	if (bytes > packer->columns.room - COLUMN_PAD || bytes % planes != 0)
		return false;
	if (stored_bytes == bytes)
		memcpy(to, stored, bytes);
	else
		done = zst_unpack(packer->unpacker, to, bytes, stored, stored_bytes);
	if (planes > 1)
		planes_join(column->ptr, to, bytes, planes);
	column->bytes = bytes;
	return done == bytes;
}

static bool unpack_payload(struct capture_packer *packer, const struct tape_chunk *packed)
{
	const uint8_t *payload = (const uint8_t *)(packed + 1), *sizes = payload + 4;
	size_t rest = packed->stored_bytes, prefix;
	uint32_t mask = rest >= 4 ? load_u32(payload) : UINT32_MAX;
	const bool mirrored = mask & MIRRORED;

	mask &= ~MIRRORED;
	prefix = 4 + 8 * (size_t)__builtin_popcount(mask);
	if (rest < prefix || mask >> COLUMN_COUNT)
		return false;
	payload += prefix;
	rest -= prefix;
	for (int i = 0; i < COLUMN_COUNT; i++) {
		uint32_t bytes, stored;

		packer->columns.column[i].bytes = 0;
		if (!(mask >> i & 1))
			continue;
		bytes = load_u32(sizes);
		stored = load_u32(sizes + 4);
		sizes += 8;
		if (stored > rest || !unpack_column(packer, i, bytes, payload, stored))
			return false;
		payload += stored;
		rest -= stored;
	}
	if (mirrored)
		mirror_stacks(&packer->columns, packed->first_node, true);
	return true;
}

struct err *capture_unpack_columns(struct capture_packer *packer, const struct tape_chunk *packed,
				   uint32_t chunk_bytes, const struct columns **columns_ret)
{
	if (packed->codec != TAPE_CODEC_COLUMNS)
		return err_new(ERR_UNSUPPORTED,
			       "packed by another version of memtape: codec %u, this one reads %u",
			       packed->codec, TAPE_CODEC_COLUMNS);
	if (!columns_reserve(&packer->columns, chunk_bytes))
		return err_nomem();
	if (!unpack_payload(packer, packed))
		return err_new(ERR_FORMAT, "columns are inconsistent");
	*columns_ret = &packer->columns;
	return NULL;
}

struct err *capture_unpack(struct capture_packer *packer, const struct tape_chunk *packed,
			   struct tape_chunk *chunk, uint32_t chunk_bytes)
{
	const struct columns *columns;
	struct err *err = capture_unpack_columns(packer, packed, chunk_bytes, &columns);

	assert((uintptr_t)chunk % sizeof(uint64_t) == 0);
	assert(packed != chunk);
	if (err)
		return err;
	if (!columns_are_sound(columns, packed, chunk_bytes))
		return err_new(ERR_FORMAT, "columns are inconsistent");
	*chunk = *packed;
	chunk->codec = TAPE_CODEC_RAW;
	chunk->checksum = 0;
	chunk->stored_bytes = 0;
	columns_join(columns, chunk);
	if (!columns_join_nodes(columns, chunk, chunk_bytes))
		return err_new(ERR_FORMAT, "stack nodes are inconsistent");
	return NULL;
}
