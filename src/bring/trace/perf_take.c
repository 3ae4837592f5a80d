#include <assert.h>
#include <poll.h>
#include <stdlib.h>

#include "base/monotonic.h"
#include "trace/perf_parts.h"

enum { TRAILER_BYTES = 24 }; /* of records that are no samples: thread, time and number */

/* --- reading a record ------------------------------------------------------------------------ */

/* The rest of a record. What is too short is zeros. */
struct cursor {
	const uint8_t *at;
	size_t left;
};

static const uint8_t *take(struct cursor *cursor, size_t bytes)
{
	const uint8_t *at = cursor->at;

	if (bytes > cursor->left) {
		cursor->left = 0;
		return NULL;
	}
	cursor->at += bytes;
	cursor->left -= bytes;
	return at;
}

static uint64_t take_u64(struct cursor *cursor)
{
	const uint8_t *at = take(cursor, 8);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t take_u32(struct cursor *cursor)
{
	const uint8_t *at = take(cursor, 4);
	uint32_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

static const char *take_text(struct cursor *cursor)
{
	const char *text = (const char *)cursor->at;

	return memchr(text, '\0', cursor->left) ? text : "";
}

static void take_registers(struct cursor *cursor, struct perf_record *record)
{
	const uint64_t abi = take_u64(cursor);

	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t value;

		if (!(arch_perf_registers >> bit & 1))
			continue;
		value = take_u64(cursor);
		for (size_t i = 0; i < ARCH_REGS; i++)
			if (arch_perf_place[i] == bit)
				record->registers[i] = value;
	}
	record->has_registers = abi == PERF_SAMPLE_REGS_ABI_64;
}

static void take_stack(struct cursor *cursor, struct perf_record *record)
{
	const uint64_t bytes = take_u64(cursor);
	const uint8_t *stack = bytes > 0 ? take(cursor, bytes) : NULL;

	if (stack) {
		record->stack = stack;
		record->stack_bytes = u64_min(take_u64(cursor), bytes);
	}
}

/*
 * Where others trace page faults of the same thread, Linux 6.1 and later put the number of their
 * event into records of ours. If we trace all faults and the major ones, too, these count as faults.
 */
static bool source_find(const struct perf *perf, uint64_t number, size_t *source_ret)
{
	const uint64_t *source = map_find(&perf->source_of, number);

	if (source)
		*source_ret = (size_t)*source;
	for (size_t i = 0; !source && i < perf->settings.source_count; i++) {
		if (perf->sources[i].tracepoint)
			continue;
		*source_ret = i;
		return true;
	}
	return source && *source_ret < perf->settings.source_count;
}

/* False: it is of no event of ours. */
static bool sample_read(const struct perf *perf, struct cursor *cursor, uint16_t misc,
			struct perf_record *record)
{
	const struct kinds_source *of;

	if (!source_find(perf, take_u64(cursor), &record->source))
		return false;
	record->what = PERF_EVENT;
	of = &perf->sources[record->source];
	record->pid = take_u32(cursor);
	record->tid = take_u32(cursor);
	record->ns = take_u64(cursor);
	record->is_in_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	if (of->tracepoint) {
		record->field_bytes = u64_min(take_u32(cursor), cursor->left);
		record->fields = take(cursor, record->field_bytes);
	} else {
		record->address = take_u64(cursor);
	}
	if (of->has_stack && perf->settings.stack_bytes > 0) {
		take_registers(cursor, record);
		take_stack(cursor, record);
	}
	return true;
}

static bool mapping_read(struct cursor *cursor, uint16_t misc, struct perf_record *record)
{
	enum { FILE_BYTES = 24, BUILD_ID_AT = 4, PROTECTION_BYTES = 8 };
	const uint8_t *file;

	record->what = PERF_MAPPED;
	record->pid = take_u32(cursor);
	record->tid = take_u32(cursor);
	record->begin = take_u64(cursor);
	record->end = record->begin + take_u64(cursor);
	record->file_offset = take_u64(cursor);
	file = take(cursor, FILE_BYTES + PROTECTION_BYTES);
	if (!file)
		return false;
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		record->build_id = file + BUILD_ID_AT;
		record->build_id_bytes = u64_min(file[0], FILE_BYTES - BUILD_ID_AT);
	}
	record->name = take_text(cursor);
	return record->end > record->begin;
}

static bool task_read(struct cursor *cursor, bool is_fork, struct perf_record *record)
{
	record->what = is_fork ? PERF_FORKED : PERF_ENDED;
	record->pid = take_u32(cursor);
	record->parent = take_u32(cursor);
	record->tid = take_u32(cursor);
	return true;
}

static bool name_read(struct cursor *cursor, uint16_t misc, struct perf_record *record)
{
	record->what = PERF_NAMED;
	record->pid = take_u32(cursor);
	record->tid = take_u32(cursor);
	record->name = take_text(cursor);
	record->is_exec = misc & PERF_RECORD_MISC_COMM_EXEC;
	return true;
}

/* False: it says nothing of interest. */
static bool record_read(const struct perf *perf, const uint8_t *bytes, struct perf_record *record)
{
	struct perf_event_header header;
	struct cursor cursor, trailer;

	memcpy(&header, bytes, sizeof(header));
	cursor = (struct cursor) { bytes + sizeof(header), header.size - sizeof(header) };
	if (header.type == PERF_RECORD_SAMPLE)
		return sample_read(perf, &cursor, header.misc, record);
	if (cursor.left < TRAILER_BYTES)
		return false;
	cursor.left -= TRAILER_BYTES;
	trailer = (struct cursor) { cursor.at + cursor.left + 8, TRAILER_BYTES - 8 };
	record->ns = take_u64(&trailer);
	switch (header.type) {
	case PERF_RECORD_MMAP2:
		return mapping_read(&cursor, header.misc, record);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return task_read(&cursor, header.type == PERF_RECORD_FORK, record);
	case PERF_RECORD_COMM:
		return name_read(&cursor, header.misc, record);
	default:
		return false;
	}
}

/* --- rings ----------------------------------------------------------------------------------- */

/* The time of a record, as far as it counts for the order. */
static uint64_t time_of(const uint8_t *bytes, const struct perf_event_header *header)
{
	const size_t at = header->type == PERF_RECORD_SAMPLE ? sizeof(*header) + 16
							     : (size_t)header->size - 16;
	uint64_t ns = 0;

	if (at >= sizeof(*header) && at + sizeof(ns) <= header->size)
		memcpy(&ns, bytes + at, sizeof(ns));
	return ns;
}

/* Where the kernel counts what is lost, it is not counted here again. */
static void see_loss(struct perf *perf, const uint8_t *bytes,
		     const struct perf_event_header *header)
{
	struct cursor cursor = { bytes + sizeof(*header), header->size - sizeof(*header) };
	const uint64_t *source = map_find(&perf->source_of, take_u64(&cursor));

	if (!perf->counts_lost && source && *source < perf->settings.source_count)
		perf->lost[*source] += take_u64(&cursor);
}

static void ring_copy(const struct perf_ring *ring, uint64_t from, uint8_t *to, size_t bytes)
{
	const size_t at = (size_t)from & (ring->size - 1);
	const size_t first = u64_min(bytes, ring->size - at);

	memcpy(to, ring->bytes + at, first);
	memcpy(to + first, ring->bytes, bytes - first);
}

/* Its next record, where it is or, around the end of the ring, in `around`. False: none. */
static bool ring_look(struct perf *perf, struct perf_ring *ring)
{
	struct perf_event_header header;

	while (ring->tail < ring->head) {
		ring_copy(ring, ring->tail, (uint8_t *)&header, sizeof(header));
		if (header.size < sizeof(header) || header.size > ring->head - ring->tail) {
			ring->tail = ring->head; /* never, if the kernel keeps its word */
			break;
		}
		ring->record = ring->bytes + (ring->tail & (ring->size - 1));
		if ((ring->tail & (ring->size - 1)) + header.size > ring->size) {
			ring_copy(ring, ring->tail, ring->around, header.size);
			ring->record = ring->around;
		}
		ring->record_bytes = header.size;
		ring->record_ns = time_of(ring->record, &header);
		if (header.type != PERF_RECORD_LOST)
			return true;
		see_loss(perf, ring->record, &header);
		ring->tail += header.size;
	}
	return false;
}

/* The ring with the earliest record; NULL: there is none. */
static struct perf_ring *ring_choose(struct perf *perf)
{
	struct perf_ring *chosen = NULL;

	for (size_t i = 0; i < perf->rings.count; i++) {
		struct perf_ring *ring = &perf->rings.items[i];

		if (ring->record_bytes == 0 && !ring_look(perf, ring))
			continue;
		if (!chosen || ring->record_ns < chosen->record_ns)
			chosen = ring;
	}
	return chosen;
}

/* The kernel may use its room again. */
static void ring_pass(struct perf_ring *ring)
{
	ring->tail += ring->record_bytes;
	ring->record_bytes = 0;
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}

struct err *perf_take(struct perf *perf, bool is_end,
		      struct err *(*visit)(void *context, const struct perf_record *record),
		      void *context)
{
	static const uint64_t settled_ns =
		1000000; /* a record is in its ring soon after its time */
	const uint64_t safe_ns = is_end ? UINT64_MAX : monotonic_ns() - settled_ns;
	struct perf_ring *ring;
	struct err *err = NULL;

	for (size_t i = 0; i < perf->rings.count; i++)
		perf->rings.items[i].head =
			__atomic_load_n(&perf->rings.items[i].page->data_head, __ATOMIC_ACQUIRE);
	while (!err && (ring = ring_choose(perf)) && ring->record_ns <= safe_ns) {
		struct perf_record record = { 0 };

		if (record_read(perf, ring->record, &record))
			err = visit(context, &record);
		ring_pass(ring);
	}
	return err;
}

uint64_t perf_field(const struct perf *perf, const struct perf_record *record, size_t field)
{
	assert(record->source < perf->settings.source_count && field < KINDS_FIELDS);
	return kinds_field_value(&perf->sources[record->source].fields[field], record->fields,
				 record->field_bytes);
}

void perf_wait(const struct perf *perf, int ms)
{
	CLEAN(free) struct pollfd *fds = calloc(perf->rings.count + 1, sizeof(*fds));

	for (size_t i = 0; fds && i < perf->rings.count; i++)
		fds[i] = (struct pollfd) { .fd = perf->rings.items[i].fd, .events = POLLIN };
	(void)poll(fds, fds ? perf->rings.count : 0, ms);
}
