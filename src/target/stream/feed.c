#include "stream/feed.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "core/hash.h"
#include "core/sys.h"
#include "tape/codec.h"

#include "core/poison.h"

enum { FUTEX_WAKE = 1, ROOM_FIRST = 1024, LIVE_AT = offsetof(struct tape_header, live) };

static bool raw_read(const struct feed *feed, uint64_t offset, void *bytes, size_t len)
{
	uint8_t *at = bytes;

	if (feed->region) {
		memcpy(bytes, feed->region + offset, len);
		return true;
	}
	while (len > 0) {
		const long got = sys_pread(feed->fd, at, len, offset);

		if (got <= 0)
			return false;
		at += got;
		offset += (uint64_t)got;
		len -= (size_t)got;
	}
	return true;
}

static uint64_t slot_offset(const struct feed *feed, uint32_t slot)
{
	return TAPE_HEADER_BYTES + (uint64_t)slot * feed->chunk_bytes;
}

/* --- the page ------------------------------------------------------------------------------ */

static bool page_look(struct feed *feed, bool is_over, struct tape_live *live_ret)
{
	struct tape_header header;
	uint8_t raw[sizeof(header)];

	if (!raw_read(feed, 0, raw, sizeof(raw)))
		return false;
	memcpy(live_ret, raw + LIVE_AT, sizeof(*live_ret));
	memcpy(&header, raw, sizeof(header));
	if (memcmp(header.magic, TAPE_MAGIC, sizeof(header.magic)) != 0 || !header.pid)
		return false;
	header.kind = TAPE_KIND_PACKED;
	header.flags &= ~(uint32_t)TAPE_FLAG_RECORDING;
	header.flags |= is_over ? 0 : TAPE_FLAG_RECORDING;
	memset(header.live, 0, sizeof(header.live));
	memcpy(feed->page, &header, sizeof(header));
	return true;
}

bool feed_init(struct feed *feed, int fd, uint8_t *region, uint64_t region_bytes)
{
	struct tape_live live;

	feed->fd = fd;
	feed->region = region;
	if (!page_look(feed, false, &live))
		return false;
	feed->chunk_bytes = load_u32(feed->page + offsetof(struct tape_header, chunk_bytes));
	feed->base = feed->end = feed->at_begin = TAPE_HEADER_BYTES;
	sha256_init(&feed->digest);
	if (feed->chunk_bytes < TAPE_CHUNK_BYTES_MIN || feed->chunk_bytes > STREAM_SLOT_BYTES)
		return false;
	if (region)
		feed->slot_count =
			(uint32_t)((region_bytes - TAPE_HEADER_BYTES) / feed->chunk_bytes);
	return true;
}

/* --- chunks -------------------------------------------------------------------------------- */

static bool room_make(struct feed *feed)
{
	const size_t room = feed->chunk_room ? 2 * feed->chunk_room : ROOM_FIRST;
	const size_t before = feed->chunk_room * sizeof(*feed->chunks);
	long at;

	if (feed->chunk_count < feed->chunk_room)
		return true;
	at = before ? SYS_CALL4(SYS_mremap, feed->chunks, before, room * sizeof(*feed->chunks),
				MREMAP_MAYMOVE)
		    : sys_mmap(NULL, room * sizeof(*feed->chunks), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sys_failed(at))
		return false;
	feed->chunks = (struct feed_chunk *)at;
	feed->chunk_room = room;
	return true;
}

static uint64_t chunk_size(const struct feed_chunk *chunk)
{
	return sizeof(chunk->head) + chunk->head.stored_bytes;
}

static uint64_t events_count(const struct tape_chunk *head, const uint8_t *records)
{
	struct tape_reader reader;
	uint64_t count = 0;

	tape_reader_init(&reader, records, head->used, head->begin_ticks);
	while (tape_reader_next(&reader))
		count += !reader.is_extended && reader.event.fn != TAPE_FN_LATENCY;
	return count;
}

/* head: as in the slot; payload: of the packed chunk. */
static bool chunk_append(struct feed *feed, uint32_t slot, const struct tape_chunk *head,
			 const uint8_t *payload)
{
	struct feed_chunk *chunk;

	if (!room_make(feed))
		return false;
	chunk = &feed->chunks[feed->chunk_count];
	chunk->slot = slot;
	chunk->head = *head;
	chunk->head.state = TAPE_CHUNK_SEALED;
	chunk->head.stored_bytes =
		head->used + head->node_count * (uint32_t)sizeof(struct tape_node);
	chunk->head.event_count = events_count(head, payload);
	chunk->head.checksum = 0;
	chunk->head.checksum = hash_bytes(payload, chunk->head.stored_bytes,
					  hash_bytes(&chunk->head, sizeof(chunk->head), 0));
	sha256_add(&feed->digest, &chunk->head, sizeof(chunk->head));
	sha256_add(&feed->digest, payload, chunk->head.stored_bytes);
	feed->chunk_count++;
	feed->end += chunk_size(chunk);
	return true;
}

static uint64_t nodes_bytes(const struct tape_chunk *head)
{
	return (uint64_t)head->node_count * sizeof(struct tape_node);
}

/* A program may have written anything there. */
static bool head_is_sane(const struct feed *feed, const struct tape_chunk *head)
{
	return head->magic == TAPE_CHUNK_MAGIC && head->header_bytes == sizeof(*head) &&
	       head->codec == TAPE_CODEC_RAW &&
	       sizeof(*head) + (uint64_t)head->used + nodes_bytes(head) <= feed->chunk_bytes;
}

/* What is not sane is left out, as a reader of the file does. */
static bool chunk_take(struct feed *feed, uint32_t slot, const struct tape_chunk *head)
{
	const uint64_t at = slot_offset(feed, slot);
	const size_t nodes = (size_t)nodes_bytes(head);

	if (!head_is_sane(feed, head) || (head->used == 0 && head->node_count == 0))
		return true;
	return raw_read(feed, at + sizeof(*head), feed->image, head->used) &&
	       raw_read(feed, at + feed->chunk_bytes - nodes, feed->image + head->used, nodes) &&
	       chunk_append(feed, slot, head, feed->image);
}

/* --- what is new --------------------------------------------------------------------------- */

static bool slot_is_held(const struct feed *feed, uint32_t slot)
{
	for (size_t i = 0; i < feed->chunk_count; i++)
		if (feed->chunks[i].slot == slot)
			return true;
	return false;
}

/* Slots in memory are used again and again, those of a file once. */
static void pending_add(struct feed *feed, uint32_t next_slot)
{
	if (feed->region) {
		feed->pending_count = 0;
		for (uint32_t i = 0; i < feed->slot_count && i < FEED_PENDING_MAX; i++)
			if (!slot_is_held(feed, i))
				feed->pending[feed->pending_count++] = i;
		return;
	}
	while (feed->slots_seen < next_slot && feed->pending_count < FEED_PENDING_MAX)
		feed->pending[feed->pending_count++] = feed->slots_seen++;
}

static void pending_remove(struct feed *feed, uint32_t index)
{
	feed->pending_count--;
	memmove(&feed->pending[index], &feed->pending[index + 1],
		(feed->pending_count - index) * sizeof(feed->pending[0]));
}

/*
 * The recorder counts a slot before the file has its place, and where the disk is full it never has: then
 * nothing is in it.
 */
static bool head_read(const struct feed *feed, uint32_t slot, struct tape_chunk *head)
{
	const uint64_t at = slot_offset(feed, slot);
	long got;

	if (feed->region)
		return raw_read(feed, at, head, sizeof(*head));
	got = sys_pread(feed->fd, head, sizeof(*head), at);
	if (got == 0)
		*head = (struct tape_chunk) { .state = TAPE_CHUNK_FREE };
	return got == 0 || got == (long)sizeof(*head);
}

/* Chunks of a stream are taken one after the other: a later one may be found first. */
static bool is_due(const struct feed *feed, const struct tape_chunk *head)
{
	return head->state == TAPE_CHUNK_SEALED &&
	       (head->stream >= FEED_STREAMS || head->seq == feed->next_seq[head->stream]);
}

/* A pass over all that are pending; *found_ret: another one may find more. */
static bool pass(struct feed *feed, bool *found_ret)
{
	*found_ret = false;
	for (uint32_t i = 0; i < feed->pending_count;) {
		const uint32_t slot = feed->pending[i];
		struct tape_chunk head;

		if (!head_read(feed, slot, &head))
			return false;
		atomic_thread_fence(memory_order_acquire);
		if (!is_due(feed, &head)) {
			i++;
			continue;
		}
		if (!head_read(feed, slot, &head) || !chunk_take(feed, slot, &head))
			return false;
		if (head.stream < FEED_STREAMS)
			feed->next_seq[head.stream]++;
		pending_remove(feed, i);
		*found_ret = true;
	}
	return true;
}

/* At the end, sealed or not: of those of a stream the lowest number first. */
static bool rest_take(struct feed *feed)
{
	while (feed->pending_count > 0) {
		struct tape_chunk head, lowest = { .seq = UINT32_MAX };
		uint32_t index = 0;
		bool is_any = false;

		for (uint32_t i = 0; i < feed->pending_count; i++) {
			if (!head_read(feed, feed->pending[i], &head))
				return false;
			if (head.state == TAPE_CHUNK_FREE || head.state > TAPE_CHUNK_SEALED ||
			    (is_any && head.seq >= lowest.seq))
				continue;
			lowest = head;
			index = i;
			is_any = true;
		}
		if (!is_any)
			return true;
		if (!chunk_take(feed, feed->pending[index], &lowest))
			return false;
		pending_remove(feed, index);
	}
	return true;
}

/* Losses and why it ended are in the raw tape's page: the collector's stream has them in a packed one. */
static bool closing_add(struct feed *feed, const struct tape_live *live)
{
	struct tape_chunk head = { .magic = TAPE_CHUNK_MAGIC,
				   .header_bytes = sizeof(head),
				   .stream = TAPE_COLLECTOR_STREAM,
				   .begin_ticks = live->exit_ticks };
	const struct tape_fault_record fault = { .fault = live->fault, .error = live->fault_errno };
	struct tape_lost lost;
	uint8_t *end = feed->closing;

	memcpy(lost.lost, live->lost, sizeof(lost.lost));
	end = tape_extended_encode(end, TAPE_EXT_LOST, live->exit_ticks, &lost, sizeof(lost), NULL,
				   0);
	if (live->fault != TAPE_FAULT_NONE)
		end = tape_extended_encode(end, TAPE_EXT_FAULT, live->exit_ticks, &fault,
					   sizeof(fault), NULL, 0);
	head.used = (uint32_t)(end - feed->closing);
	return chunk_append(feed, (uint32_t)FEED_SLOT_CLOSING, &head, feed->closing);
}

bool feed_look(struct feed *feed, bool is_over)
{
	struct tape_live live;
	bool is_more = true;

	if (!page_look(feed, is_over, &live))
		return false;
	while (is_more) {
		pending_add(feed, live.next_slot);
		if (!pass(feed, &is_more))
			return false;
	}
	return !is_over || (rest_take(feed) && closing_add(feed, &live));
}

/* --- reading ------------------------------------------------------------------------------- */

static void seek(struct feed *feed, uint64_t offset)
{
	CHECK(offset >= feed->base && offset < feed->end);
	if (offset < feed->at_begin || feed->at_index >= feed->chunk_count) {
		feed->at_index = 0;
		feed->at_begin = feed->base;
	}
	while (offset - feed->at_begin >= chunk_size(&feed->chunks[feed->at_index]))
		feed->at_begin += chunk_size(&feed->chunks[feed->at_index++]);
}

/* `skip` bytes into its payload; not across the border between records and nodes. */
static size_t payload_read(const struct feed *feed, const struct feed_chunk *chunk, uint64_t skip,
			   uint8_t *bytes, size_t len)
{
	const uint64_t used = chunk->head.used, stored = chunk->head.stored_bytes;
	const size_t part = (size_t)u64_min(len, (skip < used ? used : stored) - skip);
	uint64_t at;

	if (chunk->slot == (uint32_t)FEED_SLOT_CLOSING) {
		memcpy(bytes, feed->closing + skip, part);
		return part;
	}
	at = slot_offset(feed, chunk->slot);
	at += skip < used ? sizeof(chunk->head) + skip : feed->chunk_bytes - (stored - skip);
	return raw_read(feed, at, bytes, part) ? part : 0;
}

size_t feed_read(struct feed *feed, uint64_t offset, uint8_t *bytes, size_t len)
{
	size_t done = 0;

	while (done < len && offset < feed->end) {
		const struct feed_chunk *chunk;
		uint64_t skip;
		size_t part;

		seek(feed, offset);
		chunk = &feed->chunks[feed->at_index];
		skip = offset - feed->at_begin;
		if (skip < sizeof(chunk->head)) {
			part = (size_t)u64_min(len - done, sizeof(chunk->head) - skip);
			memcpy(bytes + done, (const uint8_t *)&chunk->head + skip, part);
		} else {
			part = payload_read(feed, chunk, skip - sizeof(chunk->head), bytes + done,
					    len - done);
		}
		if (part == 0)
			return 0;
		done += part;
		offset += part;
	}
	return done;
}

static void slot_free(struct feed *feed, uint32_t slot)
{
	struct tape_live *live = (struct tape_live *)(feed->region + LIVE_AT);
	struct tape_chunk *chunk = (struct tape_chunk *)(feed->region + slot_offset(feed, slot));

	CHECK(atomic_load(ARCH_LITTLE_WORD(chunk, state)) == arch_little_u32(TAPE_CHUNK_SEALED));
	chunk->used = chunk->node_count = 0; /* whoever takes it may be killed before it begins */
	atomic_store(ARCH_LITTLE_WORD(chunk, state), arch_little_u32(TAPE_CHUNK_FREE));
	atomic_fetch_add((_Atomic uint32_t *)&live->freed_count, 1);
	sys_call6(SYS_futex, (long)&live->freed_count, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
}

void feed_release(struct feed *feed, uint64_t end)
{
	size_t count = 0;

	while (feed->region && count < feed->chunk_count &&
	       feed->base + chunk_size(&feed->chunks[count]) <= end) {
		feed->base += chunk_size(&feed->chunks[count]);
		if (feed->chunks[count].slot != (uint32_t)FEED_SLOT_CLOSING)
			slot_free(feed, feed->chunks[count].slot);
		count++;
	}
	if (count == 0)
		return;
	feed->chunk_count -= count;
	memmove(feed->chunks, feed->chunks + count, feed->chunk_count * sizeof(*feed->chunks));
	feed->at_index = 0;
	feed->at_begin = feed->base;
}
