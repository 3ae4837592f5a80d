#include "capture/rotate_plan.h"

#include <assert.h>

#include "tape/tape_thread.h"
#include "tape/tape_scan.h"

enum { SAMPLES = 1024 }; /* of memory use that are kept of old times, and as many clocks */

static const uint64_t NO_RECORD = UINT64_MAX;

static struct err *keep(struct rotate_records *records, uint32_t stream, uint64_t number)
{
	return number == NO_RECORD
		       ? NULL
		       : rotate_bit_set(&records->plan->streams[stream].records, number);
}

static void leave_out(struct rotate_records *records, const struct rotate_record *record)
{
	rotate_bit_clear(&records->plan->streams[record->stream].records, record->number);
}

static bool payload_get(const struct tape_extended_record *record, void *to, size_t bytes)
{
	if (record->payload_bytes < bytes)
		return false;
	memcpy(to, record->payload, bytes);
	return true;
}

/* --- threads --------------------------------------------------------------------------------- */

static struct err *tenure_begin(struct rotate_records *records, uint32_t stream)
{
	struct rotate_tenures *tenures = &records->tenures;
	const struct rotate_tenure tenure = { .stream = stream,
					      .end_count = UINT64_MAX,
					      .thread = NO_RECORD,
					      .name = NO_RECORD,
					      .birth = NO_RECORD,
					      .end = NO_RECORD };

	if (tenures->count > 0 && tenures->items[records->tenure[stream]].stream == stream)
		tenures->items[records->tenure[stream]].end_count = records->event_counts[stream];
	if (tenures->count == UINT32_MAX || !rotate_tenures_push(tenures, tenure))
		return err_nomem();
	records->tenure[stream] = (uint32_t)tenures->count - 1;
	return NULL;
}

struct err *rotate_records_init(struct rotate_records *records, struct rotate_plan *plan)
{
	struct err *err = NULL;

	*records = (struct rotate_records) {
		.plan = plan,
		.numbers = calloc(plan->stream_count + 1, sizeof(uint64_t)),
		.event_counts = calloc(plan->stream_count + 1, sizeof(uint64_t)),
		.tenure = calloc(plan->stream_count + 1, sizeof(uint32_t)),
		.tag = calloc(plan->stream_count + 1, sizeof(uint32_t)),
	};
	if (!records->numbers || !records->event_counts || !records->tenure || !records->tag)
		return err_nomem();
	for (uint32_t i = 0; i < plan->stream_count && !err; i++)
		err = tenure_begin(records, i); /* of nobody, until it is introduced */
	return err;
}

void rotate_records_deinit(struct rotate_records *records)
{
	free(records->numbers);
	free(records->event_counts);
	free(records->tenure);
	free(records->tag);
	rotate_tags_deinit(&records->tags);
	rotate_tenures_deinit(&records->tenures);
	rotate_creations_deinit(&records->creations);
	map_deinit(&records->mappings);
	rotate_record_vec_deinit(&records->mapped);
	rotate_record_vec_deinit(&records->space);
	*records = (struct rotate_records) { 0 };
}

static uint64_t creation_key(uint64_t handle, bool is_birth)
{
	return is_birth ? handle | UINT64_C(1) << 63 : handle;
}

static struct err *take_thread(struct rotate_records *records, uint32_t stream, uint64_t number,
			       const struct tape_extended_record *record)
{
	struct err *err = tenure_begin(records, stream);
	struct rotate_tenure *tenure;
	struct tape_thread thread;

	if (err || !payload_get(record, &thread, sizeof(thread)))
		return err;
	tenure = &records->tenures.items[records->tenure[stream]];
	tenure->thread = number;
	tenure->keys[0] = creation_key(thread.handle, false);
	return NULL;
}

static struct err *take_of_thread(struct rotate_records *records, uint32_t stream, uint64_t number,
				  const struct tape_extended_record *record)
{
	struct rotate_tenure *tenure = &records->tenures.items[records->tenure[stream]];
	struct tape_thread_birth birth;

	switch (record->type) {
	case TAPE_EXT_THREAD_NAME:
		if (stream == records->plan->collector) /* of the thread that it names */
			return keep(records, stream, number);
		tenure->name = number;
		break;
	case TAPE_EXT_THREAD_END:
		tenure->end = number;
		break;
	case TAPE_EXT_THREAD_BIRTH:
		tenure->birth = number;
		if (payload_get(record, &birth, sizeof(birth)))
			tenure->keys[1] = creation_key(birth.number, true);
		break;
	default:
		break;
	}
	return NULL;
}

static struct err *take_tag(struct rotate_records *records, uint32_t stream, uint64_t number)
{
	const struct rotate_tag tag = { .stream = stream,
					.before = records->tag[stream],
					.record = number,
					.end_count = UINT64_MAX };

	if (tag.before)
		records->tags.items[tag.before - 1].end_count = records->event_counts[stream];
	if (records->tags.count == UINT32_MAX - 1 || !rotate_tags_push(&records->tags, tag))
		return err_nomem();
	records->tag[stream] = (uint32_t)records->tags.count;
	return NULL;
}

/* The tags of events that are kept, and what ended them. */
static struct err *tags_keep(struct rotate_records *records)
{
	struct err *err = NULL;

	for (size_t i = 0; i < records->tags.count && !err; i++) {
		struct rotate_tag *tag = &records->tags.items[i];
		const bool has_end = tag->before && records->tags.items[tag->before - 1].is_kept;

		if (tag->end_count >= records->plan->streams[tag->stream].old_count)
			tag->is_kept = true;
		if (tag->is_kept || has_end)
			err = keep(records, tag->stream, tag->record);
	}
	return err;
}

static struct err *take_creation(struct rotate_records *records, uint32_t stream, uint64_t number,
				 const struct tape_extended_record *record)
{
	struct tape_thread_create create;

	if (!payload_get(record, &create, sizeof(create)))
		return NULL;
	return rotate_creations_push(
		       &records->creations,
		       (struct rotate_creation) {
			       .key = creation_key(create.handle, create.is_birth != 0),
			       .record = number,
			       .tenure = records->tenure[stream] })
		       ? NULL
		       : err_nomem();
}

static struct err *tenure_keep(struct rotate_records *records, const struct rotate_tenure *tenure)
{
	const uint64_t numbers[] = { tenure->thread, tenure->name, tenure->birth, tenure->end };
	struct err *err = NULL;

	for (size_t i = 0; i < array_size(numbers) && !err; i++)
		err = keep(records, tenure->stream, numbers[i]);
	return err;
}

/* Who created a thread that is kept. */
static struct err *creations_keep(struct rotate_records *records)
{
	CLEAN(map_deinit) struct map keys = { 0 };
	struct err *err = NULL;

	for (size_t i = 0; i < records->tenures.count; i++) {
		const struct rotate_tenure *tenure = &records->tenures.items[i];

		for (size_t k = 0; k < array_size(tenure->keys) && tenure->is_kept; k++)
			if (tenure->keys[k] && !map_put(&keys, tenure->keys[k], NULL))
				return err_nomem();
	}
	for (size_t i = 0; i < records->creations.count && !err; i++) {
		const struct rotate_creation *creation = &records->creations.items[i];
		struct rotate_tenure *tenure = &records->tenures.items[creation->tenure];

		if (!map_find(&keys, creation->key))
			continue;
		tenure->is_kept = true;
		err = keep(records, tenure->stream, creation->record);
	}
	return err;
}

struct err *rotate_records_finish(struct rotate_records *records)
{
	struct err *err = NULL;

	for (size_t i = 0; i < records->tenures.count; i++) {
		struct rotate_tenure *tenure = &records->tenures.items[i];

		/* whose the events are that stay where they are */
		if (tenure->end_count >= records->plan->streams[tenure->stream].old_count)
			tenure->is_kept = true;
	}
	err = creations_keep(records);
	for (size_t i = 0; i < records->tenures.count && !err; i++)
		if (records->tenures.items[i].is_kept)
			err = tenure_keep(records, &records->tenures.items[i]);
	return err ? err : tags_keep(records);
}

/* --- memory ---------------------------------------------------------------------------------- */

static struct err *take_mmap(struct rotate_records *records, const struct rotate_record *record,
			     const struct tape_map *map)
{
	uint64_t *place = map_put(&records->mappings, map->address, NULL);

	if (!place || !rotate_record_vec_push(&records->mapped, *record))
		return err_nomem();
	*place = (uint64_t)(records->mapped.count - 1) << 24 |
		 u64_min(map->bytes >> 12, (1 << 24) - 1);
	return keep(records, record->stream, record->number);
}

/* What is unmapped as it was mapped leaves nothing. */
static struct err *take_munmap(struct rotate_records *records, const struct rotate_record *record,
			       const struct tape_map *map)
{
	const uint64_t *place = map_find(&records->mappings, map->address);
	const uint64_t pages = u64_min(map->bytes >> 12, (1 << 24) - 1);

	if (!place || (*place & ((1 << 24) - 1)) != pages)
		return keep(records, record->stream, record->number);
	leave_out(records, &records->mapped.items[*place >> 24]);
	map_remove(&records->mappings, map->address, NULL);
	return NULL;
}

/* The first and the last one: between them the end of the heap was anywhere. */
static struct err *take_break(struct rotate_records *records, const struct rotate_record *record)
{
	if (records->has_break && records->last_break.number != NO_RECORD)
		leave_out(records, &records->last_break);
	records->last_break =
		records->has_break ? *record : (struct rotate_record) { .number = NO_RECORD };
	records->has_break = true;
	return keep(records, record->stream, record->number);
}

static struct err *take_map(struct rotate_records *records, const struct rotate_record *record,
			    const struct tape_extended_record *extended)
{
	struct tape_map map;

	if (!payload_get(extended, &map, sizeof(map)) || map.address == UINT64_MAX)
		return NULL;
	if (extended->type == TAPE_EXT_MMAP)
		return take_mmap(records, record, &map);
	if (extended->type == TAPE_EXT_MUNMAP)
		return take_munmap(records, record, &map);
	if (extended->type == TAPE_EXT_BRK)
		return take_break(records, record);
	return keep(records, record->stream, record->number);
}

/* Of the address space: all since the last snapshot that was whole. */
static struct err *take_space(struct rotate_records *records, const struct rotate_record *record,
			      const struct tape_extended_record *extended)
{
	struct tape_space space;

	if (!payload_get(extended, &space, sizeof(space)))
		return NULL;
	if (space.part == 0 && space.flags & TAPE_SPACE_WHOLE &&
	    extended->ticks <= records->plan->old_ticks) {
		for (size_t i = 0; i < records->space.count; i++)
			leave_out(records, &records->space.items[i]);
		records->space.count = 0;
	}
	if (!rotate_record_vec_push(&records->space, *record))
		return err_nomem();
	return keep(records, record->stream, record->number);
}

/* --- records --------------------------------------------------------------------------------- */

/* As many as can be seen on a chart of all the time. */
static struct err *take_sample(struct rotate_records *records, const struct rotate_record *record,
			       uint64_t ticks, uint64_t *last_ticks)
{
	const uint64_t step = (records->plan->old_ticks - records->first_ticks) / SAMPLES;

	if (*last_ticks && ticks - *last_ticks < step)
		return NULL;
	*last_ticks = ticks;
	return keep(records, record->stream, record->number);
}

/* The totals of what was lost: the latest ones. */
static struct err *take_lost(struct rotate_records *records, const struct rotate_record *record)
{
	if (records->has_lost)
		leave_out(records, &records->last_lost);
	records->last_lost = *record;
	records->has_lost = true;
	return keep(records, record->stream, record->number);
}

static void take_rotated(struct rotate_records *records, const struct tape_extended_record *record)
{
	struct tape_rotated *sums = &records->plan->sums;
	struct tape_rotated before;

	if (!payload_get(record, &before, sizeof(before)))
		return;
	sums->rotation_count += before.rotation_count;
	sums->allocated_count += before.allocated_count;
	sums->allocated_bytes += before.allocated_bytes;
	sums->freed_count += before.freed_count;
	sums->freed_bytes += before.freed_bytes;
	sums->realloc_count += before.realloc_count;
	sums->failed_count += before.failed_count;
	sums->unknown_free_count += before.unknown_free_count;
	sums->lost_free_count += before.lost_free_count;
	sums->record_count += before.record_count;
	records->before = before;
}

/* A scan names blocks that are not there any more. */
static bool is_of_old_scan(struct rotate_records *records,
			   const struct tape_extended_record *record, bool is_old)
{
	uint32_t id = 0; /* the first field of both */

	if (record->payload_bytes < sizeof(id))
		return false;
	memcpy(&id, record->payload, sizeof(id));
	if (record->type == TAPE_EXT_SCAN_BEGIN && is_old)
		records->old_scan = (uint32_t)u64_max(records->old_scan, id);
	return id <= records->old_scan;
}

static struct err *take_paused(struct rotate_records *records, const struct rotate_record *record,
			       const struct tape_extended_record *extended)
{
	struct tape_paused paused;

	if (payload_get(extended, &paused, sizeof(paused))) {
		records->is_paused = paused.is_paused != 0;
		records->was_paused |= records->is_paused;
	}
	return keep(records, record->stream, record->number);
}

/* Of old times. Types that later versions have are kept. */
static struct err *take_old(struct rotate_records *records, const struct rotate_record *record,
			    const struct tape_extended_record *extended)
{
	switch ((enum tape_extended)extended->type) {
	case TAPE_EXT_MMAP:
	case TAPE_EXT_MUNMAP:
	case TAPE_EXT_MREMAP:
	case TAPE_EXT_BRK:
		return take_map(records, record, extended);
	case TAPE_EXT_USAGE:
		return take_sample(records, record, extended->ticks, &records->sample_ticks);
	case TAPE_EXT_SYSTEM:
		return take_sample(records, record, extended->ticks, &records->system_ticks);
	case TAPE_EXT_CLOCK:
		return take_sample(records, record, extended->ticks, &records->clock_ticks);
	case TAPE_EXT_MPROTECT:
	case TAPE_EXT_MADVISE:
	case TAPE_EXT_MALLOC_TRIM:
	case TAPE_EXT_FORK:
	case TAPE_EXT_MARK:
	case TAPE_EXT_STACK_DEPTH:
	case TAPE_EXT_STRIPPED:
	case TAPE_EXT_STACK_USE: /* is written again at the end */
	case TAPE_EXT_TOUCHED:
	case TAPE_EXT_KERNEL:
	case TAPE_EXT_HUGE_LOST:
	case TAPE_EXT_NODE_USE: /* processor time is a total so far */
		return NULL;
	default:
		return keep(records, record->stream, record->number);
	}
}

static struct err *take(struct rotate_records *records, const struct rotate_record *record,
			const struct tape_extended_record *extended)
{
	const bool is_old = extended->ticks < records->plan->old_ticks;

	switch ((enum tape_extended)extended->type) {
	case TAPE_EXT_THREAD:
		return take_thread(records, record->stream, record->number, extended);
	case TAPE_EXT_THREAD_NAME:
	case TAPE_EXT_THREAD_END:
	case TAPE_EXT_THREAD_BIRTH:
		return take_of_thread(records, record->stream, record->number, extended);
	case TAPE_EXT_THREAD_CREATE:
		return take_creation(records, record->stream, record->number, extended);
	case TAPE_EXT_TAG:
		return take_tag(records, record->stream, record->number);
	case TAPE_EXT_LOST:
		return take_lost(records, record);
	case TAPE_EXT_SPACE:
		return take_space(records, record, extended);
	case TAPE_EXT_PAUSE:
		return take_paused(records, record, extended);
	case TAPE_EXT_ROTATED:
		take_rotated(records, extended);
		return NULL;
	case TAPE_EXT_SCAN_BEGIN:
	case TAPE_EXT_SCAN:
		return is_of_old_scan(records, extended, is_old)
			       ? NULL
			       : keep(records, record->stream, record->number);
	default:
		return is_old ? take_old(records, record, extended)
			      : keep(records, record->stream, record->number);
	}
}

struct err *rotate_records_take(struct rotate_records *records, const struct capture_event *event)
{
	const struct tape_extended_record extended = capture_event_extended(event);
	const struct rotate_record record = { event->stream, records->numbers[event->stream]++ };

	if (records->first_ticks == 0)
		records->first_ticks = extended.ticks;
	return take(records, &record, &extended);
}
