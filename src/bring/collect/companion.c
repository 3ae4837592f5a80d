#include "collect/companion.h"

#include <assert.h>
#include <sys/mman.h>

#include "collect/companion_state.h"

enum {
	CHUNKS_BYTES_LEAST = 16 << 20, /* in all copies of chunks that wait; more may be, */
	CHUNKS_PART = 8,	       /* of what the player may have */
	THREAD_CHUNKS = 3, /* with fewer chunks it is not worth a thread: the program is short */
	LOOK_PERIOD_NS = 4 * 1000 * 1000,
	/* A record may be this late: its thread was interrupted between clock and record. */
	LATE_NS = 100 * 1000 * 1000,
	/* The same of a thread that waits for a free chunk meanwhile. */
	LATE_WAITING_NS = 2000 * 1000 * 1000,
	PROGRESS_BYTES = 256 /* of a stream: at least one event, not only what goes with a chunk */
};

static void drop(struct companion *companion, const char *reason)
{
	if (!companion->dropped)
		companion->dropped = reason;
	companion_stop(companion);
}

/* Whether the companion still takes part; frees what a dropped one has. */
static bool is_on(struct companion *companion)
{
	if (!companion->dropped && __atomic_load_n(&companion->has_failed, __ATOMIC_ACQUIRE))
		drop(companion, err_message(companion->err));
	if (companion->dropped && companion->chunk_count > 0)
		companion_discard(companion);
	return !companion->dropped;
}

static size_t bytes_in(const struct companion_chunk *chunk)
{
	return chunk->used + chunk->node_count * sizeof(struct tape_node);
}

/* NULL: all are in use. */
static struct companion_chunk *chunk_get(struct companion *companion)
{
	const size_t bytes = (size_t)companion->header.chunk_bytes + CAPTURE_GROWING_PAD;
	struct companion_chunk *chunk;
	void *image;

	while ((chunk = queue_take(&companion->released))) {
		companion->chunks_bytes -= bytes_in(chunk);
		chunk->next = companion->spare;
		companion->spare = chunk;
	}
	if (companion->chunks_bytes >
	    u64_max(__atomic_load_n(&companion->bytes_max, __ATOMIC_RELAXED) / CHUNKS_PART,
		    CHUNKS_BYTES_LEAST))
		return NULL;
	chunk = companion->spare;
	if (chunk) {
		companion->spare = chunk->next;
		return chunk;
	}
	if (companion->chunk_count == COMPANION_CHUNKS)
		return NULL;
	image = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (image == MAP_FAILED)
		return NULL;
	chunk = &companion->chunks[companion->chunk_count++];
	chunk->growing.image = image;
	return chunk;
}

/* The stream's next chunk; NULL: dropped. */
static struct companion_chunk *chunk_begin(struct companion *companion, struct place *place,
					   const struct tape_chunk *header)
{
	struct companion_chunk *chunk;

	if (header->seq != place->next_seq) {
		drop(companion, "chunks of a stream are missing");
		return NULL;
	}
	chunk = chunk_get(companion);
	if (!chunk) {
		drop(companion, "it could not keep up");
		return NULL;
	}
	*chunk = (struct companion_chunk) { .growing.image = chunk->growing.image,
					    .seq = header->seq };
	memcpy(chunk->growing.image, header, sizeof(*header));
	place->next_seq++;
	*(place->first ? &place->last->next : &place->first) = chunk;
	place->last = chunk;
	return chunk;
}

static struct companion_chunk *chunk_find(const struct place *place, uint32_t seq)
{
	for (struct companion_chunk *chunk = place->first; chunk; chunk = chunk->next)
		if (chunk->seq == seq)
			return chunk;
	return NULL;
}

/* Copies what is new of a chunk, and tells the player; NULL: dropped. */
static struct companion_chunk *see(struct companion *companion, const struct tape_chunk *header,
				   const void *slot, uint32_t slot_bytes)
{
	const uint32_t chunk_bytes = companion->header.chunk_bytes;
	const size_t node_bytes = header->node_count * sizeof(struct tape_node);
	struct place *place = &companion->places[header->stream];
	struct companion_chunk *chunk = chunk_find(place, header->seq);
	const bool is_new = !chunk;
	size_t old_node_bytes;
	uint8_t *image;

	if (!chunk)
		chunk = chunk_begin(companion, place, header);
	if (!chunk)
		return NULL;
	if (header->used < chunk->used || header->node_count < chunk->node_count) {
		drop(companion, "a chunk has become smaller");
		return NULL;
	}
	image = (uint8_t *)chunk->growing.image;
	old_node_bytes = chunk->node_count * sizeof(struct tape_node);
	memcpy(image + sizeof(*header) + chunk->used,
	       (const uint8_t *)slot + sizeof(*header) + chunk->used, header->used - chunk->used);
	memcpy(image + chunk_bytes - node_bytes, (const uint8_t *)slot + slot_bytes - node_bytes,
	       node_bytes - old_node_bytes);
	place->bytes += header->used - chunk->used;
	companion->chunks_bytes += header->used - chunk->used + node_bytes - old_node_bytes;
	chunk->used = header->used;
	chunk->node_count = header->node_count;
	__atomic_store_n(&chunk->growing.node_count, chunk->node_count, __ATOMIC_RELEASE);
	__atomic_store_n(&chunk->growing.used, chunk->used, __ATOMIC_RELEASE);
	if (is_new)
		queue_put(&companion->given, chunk);
	companion->has_changed = true;
	return chunk;
}

/* What was seen of a chunk while it was written is the same now. */
static bool is_unchanged(const struct companion *companion, const struct companion_chunk *chunk,
			 const struct tape_chunk *whole, uint32_t slot_bytes)
{
	const uint8_t *image = (const uint8_t *)chunk->growing.image;
	const uint8_t *slot = (const uint8_t *)whole;
	const size_t node_bytes = chunk->node_count * sizeof(struct tape_node);

	return chunk->used <= whole->used && chunk->node_count <= whole->node_count &&
	       memcmp(image + sizeof(*whole), slot + sizeof(*whole), chunk->used) == 0 &&
	       memcmp(image + companion->header.chunk_bytes - node_bytes,
		      slot + slot_bytes - node_bytes, node_bytes) == 0;
}

void companion_keep(struct companion *companion, const struct tape_chunk *chunk,
		    uint32_t slot_bytes, uint32_t used_on_tape)
{
	struct companion_chunk *own;
	struct place *place;

	if (!is_on(companion))
		return;
	if (chunk->stream >= COMPANION_STREAMS || used_on_tape != chunk->used) {
		drop(companion, "a chunk cannot be used");
		return;
	}
	place = &companion->places[chunk->stream];
	own = chunk_find(place, chunk->seq);
	if ((own && !is_unchanged(companion, own, chunk, slot_bytes)) ||
	    (place->first && place->first->seq < chunk->seq)) {
		drop(companion, "a chunk was changed after it was written");
		return;
	}
	own = see(companion, chunk, chunk, slot_bytes);
	if (!own)
		return;
	place->first = own->next;
	__atomic_store_n(&own->growing.is_complete, 1, __ATOMIC_RELEASE);
	companion->kept_count += chunk->stream != TAPE_COLLECTOR_STREAM;
	if (!companion->has_thread && !companion->is_ending &&
	    companion->kept_count >= THREAD_CHUNKS && !companion_thread_start(companion))
		drop(companion, "no thread can be had");
}

void companion_program_ended(struct companion *companion)
{
	companion->is_ending = true;
}

void companion_see_own(struct companion *companion, const struct tape_chunk *chunk,
		       uint32_t slot_bytes)
{
	if (is_on(companion) && chunk->used > 0)
		see(companion, chunk, chunk, slot_bytes);
}

/* --- looking at the spool ------------------------------------------------------------------- */

/*
 * The header of a chunk in a slot, of what is in it by now; false: nothing yet. `used` is read
 * first, see spool_chunk_peek.
 */
static bool slot_peek(const struct spool *spool, uint32_t index, struct tape_chunk *header)
{
	const struct tape_chunk *slot = spool_chunk(spool, index);
	const uint32_t used = __atomic_load_n(&slot->used, __ATOMIC_ACQUIRE);
	const uint32_t state = spool_chunk_state(spool, index);

	if (used == 0 || (state != TAPE_CHUNK_OPEN && state != TAPE_CHUNK_SEALED))
		return false;
	*header = (struct tape_chunk) {
		.magic = slot->magic,
		.header_bytes = slot->header_bytes,
		.stream = slot->stream,
		.seq = slot->seq,
		.used = used,
		.node_count = __atomic_load_n(&slot->node_count, __ATOMIC_RELAXED),
		.first_node = slot->first_node,
		.begin_ticks = slot->begin_ticks,
	};
	return header->magic == TAPE_CHUNK_MAGIC;
}

static bool header_is_usable(const struct companion *companion, const struct tape_chunk *header)
{
	const uint64_t nodes = (uint64_t)header->node_count * sizeof(struct tape_node);

	return header->stream != TAPE_COLLECTOR_STREAM && header->stream < COMPANION_STREAMS &&
	       header->header_bytes == sizeof(*header) &&
	       sizeof(*header) + header->used + nodes <= companion->header.chunk_bytes;
}

/*
 * The chunk before it was not seen: it was empty or not there yet when its slot was looked at. So
 * whatever is in either is from after this look began.
 */
static bool is_ahead(const struct companion *companion, const struct tape_chunk *header)
{
	return header->seq > companion->places[header->stream].next_seq;
}

static void see_slots(struct companion *companion, const struct spool *spool)
{
	struct sort_pair *pairs = companion->pairs;
	struct tape_chunk header;
	size_t count = 0;

	for (uint32_t i = 0; i < spool->chunk_count; i++) {
		const struct tape_chunk *slot = spool_chunk(spool, i);

		if (spool_chunk_state(spool, i) == TAPE_CHUNK_FREE && slot->magic == 0)
			break; /* see gather() in drain.c */
		if (slot_peek(spool, i, &header))
			pairs[count++] = (struct sort_pair) {
				.key = (uint64_t)header.stream << 32 | header.seq, .index = i
			};
	}
	if (!sort_pairs(pairs, count))
		drop(companion, "out of memory");
	for (size_t i = 0; i < count && !companion->dropped; i++) {
		if (!slot_peek(spool, pairs[i].index, &header))
			continue;
		if (header_is_usable(companion, &header) && is_ahead(companion, &header))
			continue;
		if (header_is_usable(companion, &header))
			see(companion, &header, spool_chunk(spool, pairs[i].index),
			    companion->header.chunk_bytes);
		else
			drop(companion, "a chunk cannot be used");
	}
}

static uint64_t ticks_in(const struct companion *companion, uint64_t ns, uint64_t ticks,
			 uint64_t now_ns)
{
	const struct tape_header *header = &companion->header;
	const uint64_t begin_ns = header->start_monotonic_ns;

	if (now_ns <= begin_ns || ticks <= header->start_ticks)
		return UINT64_MAX;
	return (uint64_t)((double)ns * (double)(ticks - header->start_ticks) /
			  (double)(now_ns - begin_ns));
}

/*
 * What a stream may still bring. A record that is being made now has a time after the last one: if
 * there is one that was not there at the anchor, it was written after it. A stream without any for
 * long is believed to be at rest.
 */
static void bound_update(struct companion *companion, uint32_t stream, uint64_t ticks,
			 uint64_t rest_ticks)
{
	struct place *place = &companion->places[stream];
	uint64_t bound = companion->bounds[stream];

	if (place->bytes - place->anchor_bytes >= PROGRESS_BYTES) {
		bound = place->anchor_ticks;
		place->anchor_bytes = place->bytes;
		place->anchor_ticks = ticks;
	}
	bound = u64_max(bound, ticks - u64_min(rest_ticks, ticks));
	__atomic_store_n(&companion->bounds[stream], bound, __ATOMIC_RELEASE);
}

/* stream_count: the streams that there were after `ticks`. */
static void bounds_update(struct companion *companion, const struct spool *spool,
			  uint32_t stream_count, uint64_t ticks, uint64_t now_ns)
{
	const bool is_waiting =
		__atomic_load_n(&spool_live(spool)->recorder_waits, __ATOMIC_RELAXED) > 0;
	const uint64_t late = ticks_in(companion, LATE_NS, ticks, now_ns);
	const uint64_t late_waiting = ticks_in(companion, LATE_WAITING_NS, ticks, now_ns);

	__atomic_store_n(&companion->bounds[TAPE_COLLECTOR_STREAM], ticks, __ATOMIC_RELEASE);
	for (uint32_t i = TAPE_COLLECTOR_STREAM + 1; i < stream_count; i++) {
		const struct place *place = &companion->places[i];
		/* Its chunk is full, and it has no other one yet. */
		const bool is_between = place->next_seq > 0 && !place->first;

		if (i >= companion->bound_count) {
			companion->bounds[i] = companion->look_ticks;
			companion->places[i].anchor_ticks = ticks;
			companion->places[i].anchor_bytes = place->bytes;
		}
		bound_update(companion, i, ticks, is_waiting || is_between ? late_waiting : late);
	}
	__atomic_store_n(&companion->bound_count, stream_count, __ATOMIC_RELEASE);
	__atomic_store_n(&companion->bound_all, ticks, __ATOMIC_RELEASE);
	companion->look_ticks = ticks;
}

/* The thread has chunks to play, and has not played any since the last look. */
static bool is_at_rest(struct companion *companion)
{
	enum { BEHIND_BYTES = 1 << 20 };
	const uint32_t count = __atomic_load_n(&companion->released.put_count, __ATOMIC_RELAXED);
	const bool is_same = count == companion->played_count;

	companion->played_count = count;
	return is_same && companion->chunks_bytes > BEHIND_BYTES;
}

bool companion_look_is_due(struct companion *companion, uint64_t now_ns)
{
	return is_on(companion) && companion->has_thread && now_ns >= companion->look_due_ns;
}

void companion_look(struct companion *companion, const struct spool *spool, uint64_t ticks,
		    uint64_t now_ns)
{
	const uint32_t stream_count =
		__atomic_load_n(&spool_live(spool)->next_stream, __ATOMIC_ACQUIRE);

	assert(ticks >= companion->look_ticks);
	companion->look_due_ns = now_ns + LOOK_PERIOD_NS;
	if (!companion->pairs)
		companion->pairs = calloc(spool->chunk_count, sizeof(*companion->pairs));
	if (!companion->pairs || stream_count > COMPANION_STREAMS) {
		drop(companion, companion->pairs ? "too many threads" : "out of memory");
		return;
	}
	see_slots(companion, spool);
	if (companion->dropped)
		return;
	bounds_update(companion, spool, stream_count, ticks, now_ns);
	if (companion->has_changed)
		sem_post(&companion->wake);
	companion->has_changed = false;
	if (companion->has_thread && is_at_rest(companion))
		companion_thread_move(companion);
}
