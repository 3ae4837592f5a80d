/*
 * Two things of the packed form. Any bytes as the slot of a raw tape: what was packed of it comes
 * back to the byte. Any bytes as a packed payload: an error, or a chunk that both ways of reading
 * agree on. The first byte says which, the next are what a chunk's header says.
 */
#include <stdlib.h>

#include "capture/chunk.h"
#include "capture/columns.h"

enum { CHUNK_BYTES = TAPE_CHUNK_BYTES_MIN, NUMBERS_BYTES = 13 };

struct bench {
	struct capture_packer *packer;
	struct tape_chunk *chunk;
	struct tape_chunk *back;
	struct tape_chunk *packed;
	struct decoded decoded;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void bench_init(struct bench *bench)
{
	bench->packer = capture_packer_create(CAPTURE_PACK_LEVEL);
	bench->chunk = calloc(1, CHUNK_BYTES);
	bench->back = calloc(1, CHUNK_BYTES);
	bench->packed = calloc(1, capture_pack_bound(CHUNK_BYTES));
	bench->decoded.image = calloc(1, CHUNK_BYTES);
	bench->decoded.room = CHUNK_BYTES;
	bench->decoded.events = calloc(bench->decoded.room, sizeof(*bench->decoded.events));
	check(bench->packer && bench->chunk && bench->back && bench->packed &&
	      bench->decoded.image && bench->decoded.events);
}

/* The columns as events; whether they are sound. */
static bool decodes(struct bench *bench, const struct tape_chunk *packed)
{
	const struct columns *columns;
	struct err *err = capture_unpack_columns(bench->packer, packed, CHUNK_BYTES, &columns);
	bool is_sound;

	if (err) {
		err_destroy(err);
		return false;
	}
	*bench->decoded.image = *packed;
	is_sound = columns_join_nodes(columns, bench->decoded.image, CHUNK_BYTES) &&
		   columns_decode(columns, 1, &bench->decoded);
	check(!is_sound || bench->decoded.event_count <= bench->decoded.count);
	return is_sound;
}

static void pack_and_unpack(struct bench *bench)
{
	const size_t nodes = bench->chunk->node_count * sizeof(struct tape_node);
	struct err *err;
	uint32_t lost;
	size_t bytes;

	err = capture_pack(bench->packer, bench->chunk, CHUNK_BYTES, bench->packed, &bytes, &lost);
	if (err) {
		err_destroy(err);
		return;
	}
	check(bytes <= capture_pack_bound(CHUNK_BYTES));
	check(capture_checksum_ok(bench->packed));
	check(capture_unpack(bench->packer, bench->packed, bench->back, CHUNK_BYTES) == NULL);
	check(bench->back->used + lost == bench->chunk->used);
	check(memcmp(bench->back + 1, bench->chunk + 1, bench->back->used) == 0);
	check(memcmp((uint8_t *)bench->back + CHUNK_BYTES - nodes,
		     (uint8_t *)bench->chunk + CHUNK_BYTES - nodes, nodes) == 0);
	check(decodes(bench, bench->packed));
	check(bench->decoded.event_count == bench->packed->event_count);
}

static void unpack(struct bench *bench, size_t payload_bytes)
{
	struct err *err;

	bench->packed->codec = TAPE_CODEC_COLUMNS;
	bench->packed->stored_bytes = (uint32_t)payload_bytes;
	if (!chunk_fits(bench->packed, CHUNK_BYTES)) /* nobody gets that far with these */
		return;
	/* What decoding counts is right: then only unpacking can find fault, and may not. */
	if (decodes(bench, bench->packed))
		bench->packed->event_count = bench->decoded.event_count;
	err = capture_unpack(bench->packer, bench->packed, bench->back, CHUNK_BYTES);
	check(err || decodes(bench, bench->packed));
	err_destroy(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bench bench; /* made once: that takes longer than everything else */
	struct tape_chunk *chunk;
	bool is_raw;
	size_t rest;

	if (size < NUMBERS_BYTES || size > CHUNK_BYTES)
		return 0;
	if (!bench.packer)
		bench_init(&bench);
	memset(bench.chunk, 0, CHUNK_BYTES);
	memset(bench.packed, 0, CHUNK_BYTES);
	is_raw = data[0] & 1;
	rest = size - NUMBERS_BYTES;
	chunk = is_raw ? bench.chunk : bench.packed;
	memcpy(chunk + 1, data + NUMBERS_BYTES,
	       u64_min(rest, CHUNK_BYTES - sizeof(struct tape_chunk)));
	chunk->magic = TAPE_CHUNK_MAGIC;
	chunk->header_bytes = sizeof(*chunk);
	chunk->used = load_u32(data + 1);
	chunk->node_count = load_u32(data + 5);
	chunk->first_node = load_u32(data + 9);
	if (is_raw)
		pack_and_unpack(&bench);
	else
		unpack(&bench, u64_min(rest, CHUNK_BYTES - sizeof(struct tape_chunk)));
	return 0;
}
