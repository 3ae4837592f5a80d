/*
 * Layout of a packed chunk's payload:
 *
 *	u32 mask		bit i: column i (enum column) is there, and not empty
 *	for each of them	u32 bytes, u32 stored_bytes
 *	for each of them	stored_bytes: a zstd frame without magic, or the bytes themselves
 *				where stored_bytes == bytes
 *
 * Values of some columns are stored in byte planes: first the lowest byte of each, then the
 * second of each, and so on. High bytes of distances and stack ids repeat, but that does not show
 * with low ones between them.
 */
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_f_zstd1_magicless */
#include "capture/pack.h"

#include <assert.h>
#include <zstd.h>

#include "capture/columns.h"
#include "core/hash.h"

/* Steps through a column so fast that it finds no repetitions: what is left is its entropy coder.
 */
enum { LEVEL_ENTROPY_ONLY = -1000 };

enum {
	PREFIX_BYTES_MAX = 4 + 8 * COLUMN_COUNT,
	COMPRESS_BYTES_MIN = 48,
	WINDOW_BITS = 17,
	HASH_BITS = 13
};

static_assert(COLUMN_COUNT <= 32, "the mask has a bit for each");

struct capture_packer {
	ZSTD_CCtx *cctx;
	ZSTD_CCtx *times_cctx;
	ZSTD_DCtx *dctx;
	struct columns columns;
};

static ZSTD_CCtx *context_create(int level)
{
	ZSTD_CCtx *cctx = ZSTD_createCCtx();

	if (!cctx)
		return NULL;
	ZSTD_CCtx_setParameter(cctx, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(cctx, ZSTD_c_format, ZSTD_f_zstd1_magicless);
	ZSTD_CCtx_setParameter(cctx, ZSTD_c_contentSizeFlag, 0);
	ZSTD_CCtx_setParameter(cctx, ZSTD_c_literalCompressionMode, ZSTD_ps_enable);
	return cctx;
}

/*
 * Times between events repeat nothing: at a collector's level looking for it takes three fifths of
 * the time and saves 2 % of the column.
 */
struct capture_packer *capture_packer_create(int level)
{
	CLEAN(capture_packer_destroy) struct capture_packer *packer = calloc(1, sizeof(*packer));

	if (!packer)
		return NULL;
	packer->cctx = context_create(level);
	packer->times_cctx =
		context_create(level > CAPTURE_PACK_LEVEL ? level : LEVEL_ENTROPY_ONLY);
	packer->dctx = ZSTD_createDCtx();
	if (!packer->cctx || !packer->times_cctx || !packer->dctx)
		return NULL;
	ZSTD_DCtx_setParameter(packer->dctx, ZSTD_d_format, ZSTD_f_zstd1_magicless);
	return steal(packer);
}

void capture_packer_destroy(struct capture_packer *packer)
{
	if (!packer)
		return;
	ZSTD_freeCCtx(packer->cctx);
	ZSTD_freeCCtx(packer->times_cctx);
	ZSTD_freeDCtx(packer->dctx);
	columns_deinit(&packer->columns);
	free(packer);
}

size_t capture_pack_bound(uint32_t chunk_bytes)
{
	/* No column is stored larger than it is, but the compressor wants room to find that out. */
	return sizeof(struct tape_chunk) + PREFIX_BYTES_MAX + ZSTD_compressBound(chunk_bytes) +
	       (size_t)chunk_bytes;
}

/* Bytes of a value where the column is stored in planes; 1 where it is not. */
static uint32_t plane_count(int column)
{
	switch (column) {
	case COLUMN_FIELD + TAPE_FIELD_ADDRESS * 4 + 2:
	case COLUMN_FIELD + TAPE_FIELD_STACK * 4 + 2:
		return 3;
	case COLUMN_FIELD + TAPE_FIELD_STACK * 4 + 1:
		return 2;
	default:
		return 1;
	}
}

static void planes_split(uint8_t *to, const uint8_t *from, uint32_t bytes, uint32_t planes)
{
	uint32_t count = bytes / planes;

	for (uint32_t plane = 0; plane < planes; plane++)
		for (uint32_t i = 0; i < count; i++)
			to[plane * count + i] = from[i * planes + plane];
}

static void planes_join(uint8_t *to, const uint8_t *from, uint32_t bytes, uint32_t planes)
{
	uint32_t count = bytes / planes;

	for (uint32_t plane = 0; plane < planes; plane++)
		for (uint32_t i = 0; i < count; i++)
			to[i * planes + plane] = from[plane * count + i];
}

/* Stores one column at out, returns how many bytes that took. */
static uint32_t pack_column(struct capture_packer *packer, int index, uint8_t *out)
{
	const struct column_bytes *column = &packer->columns.column[index];
	const bool is_time = index >= COLUMN_FIELD + TAPE_FIELD_TIME * 4 &&
			     index < COLUMN_FIELD + (TAPE_FIELD_TIME + 1) * 4;
	const uint32_t planes = plane_count(index);
	const uint8_t *from = column->ptr;
	size_t bytes = ZSTD_CONTENTSIZE_ERROR;

	if (planes > 1) {
		planes_split(packer->columns.spare, column->ptr, column->bytes, planes);
		from = packer->columns.spare;
	}
	if (column->bytes >= COMPRESS_BYTES_MIN)
		bytes = ZSTD_compress2(is_time ? packer->times_cctx : packer->cctx, out,
				       ZSTD_compressBound(column->bytes), from, column->bytes);
	if (bytes < column->bytes)
		return (uint32_t)bytes;
	/* did not shrink, or could not: errors of zstd are enormous numbers */
	memcpy(out, from, column->bytes);
	return column->bytes;
}

static size_t pack_payload(struct capture_packer *packer, uint8_t *payload)
{
	uint32_t mask = 0;
	uint8_t *sizes = payload + 4, *out;

	for (int i = 0; i < COLUMN_COUNT; i++)
		mask |= (uint32_t)(packer->columns.column[i].bytes > 0) << i;
	store_u32(payload, mask);
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

	if (chunk_bytes < sizeof(*chunk) || chunk_bytes > TAPE_CHUNK_BYTES_MAX ||
	    !chunk_fits(chunk, chunk_bytes))
		return err_new(ERR_FORMAT, "chunk %u of stream %u: larger than its slot",
			       chunk->seq, chunk->stream);
	if (!columns_reserve(&packer->columns, chunk_bytes))
		return err_nomem();
	counts = columns_split(&packer->columns, chunk, chunk_bytes);
	header.magic = TAPE_CHUNK_MAGIC;
	header.header_bytes = sizeof(header);
	header.codec = TAPE_CODEC_COLUMNS;
	header.state = TAPE_CHUNK_SEALED;
	header.used = counts.used;
	header.event_count = counts.event_count;
	header.stored_bytes = (uint32_t)pack_payload(packer, payload);
	header.reserved0 = 0;
	header.reserved1 = 0;
	header.checksum = chunk_checksum(&header, payload);
	memcpy(out, &header, sizeof(header));
	*bytes_ret = sizeof(header) + header.stored_bytes;
	if (lost_bytes_ret)
		*lost_bytes_ret = chunk->used - counts.used;
	return NULL;
}

/* False: the stored bytes are not what a column of this size is. */
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
		done = ZSTD_decompressDCtx(packer->dctx, to, bytes, stored, stored_bytes);
	if (planes > 1)
		planes_join(column->ptr, to, bytes, planes);
	column->bytes = bytes;
	return done == bytes;
}

static bool unpack_payload(struct capture_packer *packer, const uint8_t *payload, size_t rest)
{
	uint32_t mask = rest >= 4 ? load_u32(payload) : UINT32_MAX;
	size_t prefix = 4 + 8 * (size_t)__builtin_popcount(mask);
	const uint8_t *sizes = payload + 4;

	if (rest < prefix || (COLUMN_COUNT < 32 && mask >> COLUMN_COUNT))
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
	return true;
}

struct err *capture_unpack_columns(struct capture_packer *packer, const struct tape_chunk *packed,
				   uint32_t chunk_bytes, const struct columns **columns_ret)
{
	const uint8_t *payload = (const uint8_t *)(packed + 1);

	if (packed->codec != TAPE_CODEC_COLUMNS)
		return err_new(ERR_UNSUPPORTED, "codec %u is not known", packed->codec);
	if (!columns_reserve(&packer->columns, chunk_bytes))
		return err_nomem();
	if (!unpack_payload(packer, payload, packed->stored_bytes))
		return err_new(ERR_FORMAT, "columns do not fit together");
	*columns_ret = &packer->columns;
	return NULL;
}

struct err *capture_unpack(struct capture_packer *packer, const struct tape_chunk *packed,
			   struct tape_chunk *chunk, uint32_t chunk_bytes)
{
	const struct columns *columns;
	struct err *err = capture_unpack_columns(packer, packed, chunk_bytes, &columns);

	if (err)
		return err;
	if (!columns_are_sound(columns, packed, chunk_bytes))
		return err_new(ERR_FORMAT, "columns do not fit together");
	*chunk = *packed;
	chunk->codec = TAPE_CODEC_RAW;
	chunk->checksum = 0;
	chunk->stored_bytes = 0;
	columns_join(columns, chunk, chunk_bytes);
	return NULL;
}
