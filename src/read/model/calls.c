#include "model/calls.h"

#include "base/number.h"
#include "capture/realloc_half.h"
#include "model/blocks.h"
#include "model/calls_records.h"
#include "model/mapped.h"

enum {
	PAGE_BYTES_LEAST = 4096,
	ANONYMOUS = 0x20 /* MAP_ANONYMOUS */,
	WRITABLE = 2 /* PROT_WRITE */
};

static const double NS_PER_S = 1e9;

/* A realloc between its two records. */
struct calls_stream {
	struct realloc_half half;
	uint64_t old_bytes; /* removed from the table, if has_old */
	uint64_t stack_bytes;
	bool has_old;
};

struct counter {
	const struct calls_settings *settings;
	struct calls *calls;
	struct blocks blocks;
	struct mapped mapped;
	struct calls_stream *streams;
	struct tape_clock_pair first_clock;
	unsigned tick_shift;
	size_t collector_stream; /* it also reports what it saw after the program had ended */
	uint64_t end_ticks;	 /* shifted */
	uint64_t moment_ticks;	 /* shifted, of the last moment */
	uint64_t heap;
	uint8_t row_of[TAPE_FN_COUNT];
	uint8_t class_of[TAPE_FN_COUNT];
	size_t moment_count;
	struct calls_moment moments[CALLS_BATCH];
};

static struct err *moments_flush(struct counter *counter)
{
	const size_t count = counter->moment_count;

	counter->moment_count = 0;
	if (count == 0 || !counter->settings->moments)
		return NULL;
	return counter->settings->moments(counter->settings->context, counter->moments, count);
}

static struct err *moment_add(struct counter *counter, const struct capture_event *event)
{
	struct calls *calls = counter->calls;
	const uint64_t stack = counter->streams[event->stream].stack_bytes;

	/* An event that had to wait for space is reported slightly late. */
	counter->moment_ticks = u64_max(counter->moment_ticks, event->ticks);
	calls->heap_peak = u64_max(calls->heap_peak, counter->heap);
	calls->total_peak = u64_max(calls->total_peak, counter->heap + stack);
	counter->moments[counter->moment_count++] = (struct calls_moment) {
		.heap = counter->heap,
		.stack = stack,
		.ticks = counter->moment_ticks << counter->tick_shift,
	};
	return counter->moment_count == CALLS_BATCH ? moments_flush(counter) : NULL;
}

static void count_size(struct calls *calls, uint64_t bytes)
{
	calls->buckets[u64_min(bytes / CALLS_BUCKET_BYTES, CALLS_BUCKET_COUNT)]++;
	calls->sized_count++;
}

static void grow(struct counter *counter, struct calls_row *row, uint64_t bytes)
{
	row->bytes += bytes;
	counter->calls->heap_total += bytes;
	counter->heap += bytes;
}

static struct err *block_add(struct counter *counter, uint64_t address, uint64_t bytes)
{
	const struct block value = { .address = address, .size = bytes };
	struct block *block;

	if (!blocks_make_room(&counter->blocks))
		return err_nomem();
	block = blocks_find(&counter->blocks, address);
	if (block_is_live(block)) { /* its free was not seen */
		counter->heap -= block->size;
		blocks_end(&counter->blocks, block);
	}
	blocks_fill(&counter->blocks, block, value);
	return NULL;
}

/* False: unknown. */
static bool block_take(struct counter *counter, uint64_t address, uint64_t *bytes_ret)
{
	struct block *block = address ? blocks_find(&counter->blocks, address) : NULL;

	if (!block || !block_is_live(block))
		return false;
	*bytes_ret = block->size;
	blocks_end(&counter->blocks, block);
	return true;
}

static struct err *on_alloc(struct counter *counter, const struct capture_event *event)
{
	struct calls_row *row = &counter->calls->rows[counter->row_of[event->fn]];
	struct err *err;

	row->calls++;
	if (event->address == 0) {
		row->failed++;
		return NULL;
	}
	err = block_add(counter, event->address, event->size);
	if (err)
		return err;
	count_size(counter->calls, event->size);
	grow(counter, row, event->size);
	return moment_add(counter, event);
}

static struct err *on_free(struct counter *counter, const struct capture_event *event)
{
	struct calls_row *row = &counter->calls->rows[CALLS_FREE];
	uint64_t bytes;

	row->calls++;
	if (!block_take(counter, event->address, &bytes))
		return NULL;
	row->bytes += bytes;
	counter->heap -= bytes;
	return moment_add(counter, event);
}

/* Another thread may get the address before the second record: removed from the table now. */
static void on_realloc_out(struct counter *counter, const struct capture_event *event)
{
	struct calls_stream *stream = &counter->streams[event->stream];

	realloc_half_open(&stream->half, event);
	stream->old_bytes = 0;
	stream->has_old = block_take(counter, event->address, &stream->old_bytes);
}

static struct err *on_realloc_in(struct counter *counter, const struct capture_event *event)
{
	struct calls_stream *stream = &counter->streams[event->stream];
	struct calls *calls = counter->calls;
	struct calls_row *row = &calls->rows[CALLS_REALLOC];
	struct err *err = block_add(counter, event->address, event->size);
	const bool is_whole = realloc_half_close(&stream->half);
	const uint64_t old_bytes = is_whole ? stream->old_bytes : 0;

	row->calls++;
	calls->realloc_nomove += is_whole && event->address == stream->half.out.address;
	calls->realloc_dec += event->size < old_bytes;
	count_size(calls, event->size);
	if (event->size > old_bytes)
		grow(counter, row, event->size - old_bytes);
	else
		counter->heap -= old_bytes - event->size;
	return err ? err : moment_add(counter, event);
}

static struct err *on_realloc_fail(struct counter *counter, const struct capture_event *event)
{
	struct calls_stream *stream = &counter->streams[event->stream];
	struct calls_row *row = &counter->calls->rows[CALLS_REALLOC];

	row->calls++;
	row->failed++;
	if (!realloc_half_close(&stream->half) || !stream->has_old)
		return NULL;
	return block_add(counter, stream->half.out.address, stream->old_bytes);
}

/* realloc(p, 0) that freed p: a call of realloc; its bytes count as free's. */
static struct err *on_realloc_free(struct counter *counter, const struct capture_event *event)
{
	struct calls_stream *stream = &counter->streams[event->stream];
	struct calls *calls = counter->calls;

	calls->rows[CALLS_REALLOC].calls++;
	calls->realloc_free++;
	if (!realloc_half_close(&stream->half) || !stream->has_old)
		return NULL;
	calls->rows[CALLS_FREE].bytes += stream->old_bytes;
	counter->heap -= stream->old_bytes;
	return moment_add(counter, event);
}

static enum calls_row_id map_row(const struct tape_map *map)
{
	if (map->flags & ANONYMOUS)
		return CALLS_MMAP_ANONYMOUS;
	return map->prot & WRITABLE ? CALLS_MMAP_WRITE : CALLS_MMAP_READ;
}

static struct err *mapping_put(struct counter *counter, uint64_t begin, uint64_t bytes)
{
	uint64_t replaced;

	if (!mapped_remove(&counter->mapped, begin, bytes, &replaced) ||
	    !mapped_add(&counter->mapped, begin, bytes))
		return err_nomem();
	counter->heap -= replaced; /* MAP_FIXED */
	return NULL;
}

static struct err *on_mmap(struct counter *counter, const struct capture_event *event,
			   const struct tape_map *map)
{
	struct calls_row *row = &counter->calls->rows[map_row(map)];
	struct err *err;

	row->calls++;
	if (map->address == UINT64_MAX) {
		row->failed++;
		return NULL;
	}
	err = mapping_put(counter, map->address, map->bytes);
	count_size(counter->calls, map->bytes);
	grow(counter, row, map->bytes);
	return err ? err : moment_add(counter, event);
}

static struct err *on_mremap(struct counter *counter, const struct capture_event *event,
			     const struct tape_map *map)
{
	struct calls *calls = counter->calls;
	struct calls_row *row = &calls->rows[CALLS_MREMAP];
	uint64_t old_bytes;
	struct err *err;

	row->calls++;
	if (map->address == UINT64_MAX) {
		row->failed++;
		return NULL;
	}
	calls->mremap_nomove += map->address == map->old_address;
	calls->mremap_dec += map->bytes < map->old_bytes;
	count_size(calls, map->bytes);
	if (!mapped_remove(&counter->mapped, map->old_address, map->old_bytes, &old_bytes))
		return err_nomem();
	counter->heap -= old_bytes;
	err = mapping_put(counter, map->address, map->bytes);
	counter->heap += map->bytes;
	if (map->bytes > map->old_bytes) {
		row->bytes += map->bytes - map->old_bytes;
		calls->heap_total += map->bytes - map->old_bytes;
	}
	return err ? err : moment_add(counter, event);
}

/* The record was written before the call, so causes of failure are checked here. */
static struct err *on_munmap(struct counter *counter, const struct capture_event *event,
			     const struct tape_map *map)
{
	struct calls_row *row = &counter->calls->rows[CALLS_MUNMAP];
	uint64_t bytes;

	row->calls++;
	if (map->address % u64_max(counter->calls->page_bytes, PAGE_BYTES_LEAST) != 0 ||
	    map->bytes == 0) {
		row->failed++;
		return NULL;
	}
	row->bytes += map->bytes;
	if (!mapped_remove(&counter->mapped, map->address, map->bytes, &bytes))
		return err_nomem();
	counter->heap -= bytes;
	return moment_add(counter, event);
}

static struct err *on_mapping(struct counter *counter, const struct capture_event *event,
			      const struct tape_extended_record *record)
{
	struct tape_map map;

	if (!counter->settings->has_mappings || record->payload_bytes < sizeof(map))
		return NULL;
	memcpy(&map, record->payload, sizeof(map));
	if (record->type == TAPE_EXT_MMAP)
		return on_mmap(counter, event, &map);
	if (record->type == TAPE_EXT_MREMAP)
		return on_mremap(counter, event, &map);
	return on_munmap(counter, event, &map);
}

/* Maps the clock to nanoseconds, from the first pair to the last. */
static void on_clock(struct counter *counter, const struct tape_extended_record *record)
{
	struct tape_clock_pair pair;
	uint64_t ns;

	if (record->payload_bytes < sizeof(pair))
		return;
	memcpy(&pair, record->payload, sizeof(pair));
	if (counter->first_clock.monotonic_ns == 0)
		counter->first_clock = pair;
	ns = pair.monotonic_ns - counter->first_clock.monotonic_ns;
	if (pair.monotonic_ns > counter->first_clock.monotonic_ns &&
	    pair.raw_ticks > counter->first_clock.raw_ticks)
		counter->calls->clock_hz =
			u64_of_double((double)(pair.raw_ticks - counter->first_clock.raw_ticks) /
				      (double)ns * NS_PER_S);
}

static void on_depth(struct counter *counter, const struct capture_event *event,
		     const struct tape_extended_record *record)
{
	struct tape_stack_depth depth;

	if (record->payload_bytes < sizeof(depth))
		return;
	memcpy(&depth, record->payload, sizeof(depth));
	counter->streams[event->stream].stack_bytes = depth.bytes;
	counter->calls->stack_peak = u64_max(counter->calls->stack_peak, depth.bytes);
	counter->calls->knows_stack = true;
}

static struct err *on_extended(struct counter *counter, const struct capture_event *event)
{
	const struct tape_extended_record record = capture_event_extended(event);

	switch ((unsigned)record.type) {
	case TAPE_EXT_PROCESS:
		calls_add_process(counter->calls, &record);
		break;
	case TAPE_EXT_CLOCK:
		on_clock(counter, &record);
		break;
	case TAPE_EXT_STACK_DEPTH:
		on_depth(counter, event, &record);
		break;
	case TAPE_EXT_IMPORT:
		calls_add_import(counter->calls, &record);
		break;
	case TAPE_EXT_CALLS:
		calls_add_counts(counter->calls, &record);
		break;
	case TAPE_EXT_CALL_SIZES:
		calls_add_sizes(counter->calls, &record);
		break;
	case TAPE_EXT_EXEC:
		counter->calls->was_replaced = true;
		break;
	case TAPE_EXT_END: /* so that exec failed */
		counter->calls->was_replaced &= event->stream == counter->collector_stream;
		break;
	case TAPE_EXT_MMAP:
	case TAPE_EXT_MUNMAP:
	case TAPE_EXT_MREMAP:
		return on_mapping(counter, event, &record);
	default:
		break;
	}
	return NULL;
}

static struct err *on_event(struct counter *counter, const struct capture_event *event)
{
	switch ((enum tape_event_class)counter->class_of[event->fn]) {
	case TAPE_CLASS_ALLOC:
		return on_alloc(counter, event);
	case TAPE_CLASS_FREE:
		return realloc_half_is_free(event) ? on_realloc_free(counter, event)
						   : on_free(counter, event);
	case TAPE_CLASS_REALLOC_OUT:
		on_realloc_out(counter, event);
		return NULL;
	case TAPE_CLASS_REALLOC_IN:
		return on_realloc_in(counter, event);
	case TAPE_CLASS_REALLOC_FAIL:
		return on_realloc_fail(counter, event);
	case TAPE_CLASS_LATENCY:
	case TAPE_CLASS_EXTENDED:
	case TAPE_CLASS_INVALID:
		break;
	}
	return NULL;
}

static struct err *on_events(void *context, const struct capture_event *events, size_t count)
{
	enum { FAR = 16, NEAR = 8 }; /* as in replay.c */
	struct counter *counter = context;
	uint64_t end_ticks = counter->end_ticks;
	struct err *err = NULL;

	for (size_t i = 0; i < count && !err; i++) {
		if (i + FAR < count)
			blocks_prefetch(&counter->blocks, events[i + FAR].address);
		if (i + NEAR < count)
			blocks_prefetch_guess(&counter->blocks, events[i + NEAR].address);
		if (unlikely(events[i].fn == TAPE_FN_LATENCY))
			continue;
		if (events[i].stream != counter->collector_stream)
			end_ticks = u64_max(end_ticks, events[i].ticks);
		if (unlikely(events[i].fn == TAPE_FN_EXTENDED)) {
			err = on_extended(counter, &events[i]);
		} else {
			counter->calls->was_replaced = false;
			err = on_event(counter, &events[i]);
		}
	}
	counter->end_ticks = end_ticks;
	return err;
}

static enum calls_row_id row_of(enum tape_fn fn)
{
	switch (tape_fn_class(fn)) {
	case TAPE_CLASS_FREE:
		return CALLS_FREE;
	case TAPE_CLASS_ALLOC:
		break;
	case TAPE_CLASS_REALLOC_OUT:
	case TAPE_CLASS_REALLOC_IN:
	case TAPE_CLASS_REALLOC_FAIL:
	case TAPE_CLASS_LATENCY:
	case TAPE_CLASS_EXTENDED:
	case TAPE_CLASS_INVALID:
		return CALLS_REALLOC;
	}
	if (fn == TAPE_FN_REALLOC || fn == TAPE_FN_REALLOCARRAY)
		return CALLS_REALLOC;
	if (tape_fn_aligned(fn))
		return CALLS_ALIGNED;
	return fn == TAPE_FN_CALLOC ? CALLS_CALLOC : CALLS_MALLOC;
}

static struct err *counter_init(struct counter *counter, const struct capture *capture)
{
	const struct tape_header *header = capture_header(capture);

	for (unsigned fn = 0; fn < TAPE_FN_COUNT; fn++) {
		counter->row_of[fn] = (uint8_t)row_of((enum tape_fn)fn);
		counter->class_of[fn] = (uint8_t)tape_fn_class((enum tape_fn)fn);
	}
	counter->tick_shift = header->tick_shift & 63;
	counter->calls->is_forked = header->flags & TAPE_FLAG_FORKED;
	counter->calls->begin_ticks = header->start_ticks << counter->tick_shift;
	counter->end_ticks = header->start_ticks;
	counter->collector_stream = SIZE_MAX;
	for (size_t i = 0; i < capture_stream_count(capture); i++)
		if (capture_stream_id(capture, i) == TAPE_COLLECTOR_STREAM)
			counter->collector_stream = i;
	counter->streams = calloc(capture_stream_count(capture) + 1, sizeof(*counter->streams));
	return counter->streams && blocks_init(&counter->blocks) ? NULL : err_nomem();
}

static void counter_destroy(struct counter *counter)
{
	if (!counter)
		return;
	blocks_deinit(&counter->blocks);
	mapped_deinit(&counter->mapped);
	free(counter->streams);
	free(counter);
}
CLEAN_DEFINE(counter_destroy, struct counter *);

struct err *calls_count(const char *tape_path, const struct calls_settings *settings,
			struct calls *calls_ret)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	CLEAN(capture_stacks_deinit) struct capture_stacks stacks;
	CLEAN(counter_destroy) struct counter *counter = calloc(1, sizeof(*counter));
	const struct capture_player player = { on_events, counter, 0 };
	struct capture_played played;
	struct err *err;

	if (!capture_stacks_init(&stacks) || !counter)
		return err_nomem();
	*calls_ret = (struct calls) { 0 };
	counter->settings = settings;
	counter->calls = calls_ret;
	err = capture_open(tape_path, &capture);
	if (!err)
		err = counter_init(counter, capture);
	if (!err)
		err = capture_play(capture, &stacks, &player, &played);
	calls_ret->end_ticks = counter->end_ticks << counter->tick_shift;
	return err ? err : moments_flush(counter);
}
