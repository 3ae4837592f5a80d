#include "collect/before.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>

#include "base/str.h"
#include "collect/walked.h"
#include "scan/snapshot.h"
#include "tape/codec.h"

struct before {
	struct attach_report report; /* with the copy */
	uint64_t ticks;
	uint32_t *wake;
	pthread_t thread;
	bool has_thread;
	struct walked walked;
	struct err *err; /* why nothing was found */
	bool is_found;	 /* atomic; then the thread does not touch it any more */
};

static void *look(void *context)
{
	struct before *before = context;
	const struct memory memory = memory_of_process(before->report.copy);
	CLEAN(maps_deinit) struct maps maps = { 0 };
	char root[64] = "";

	if (before->report.is_apart)
		str_format(root, sizeof(root), "/proc/%d/root", (int)before->report.copy);
	before->err = maps_read(before->report.copy, &maps);
	if (!before->err)
		before->err = walked_read_blocks("the process", root, &maps, &memory,
						 &before->report.stop, &before->walked);
	__atomic_store_n(&before->is_found, true, __ATOMIC_RELEASE);
	spool_poke(before->wake);
	return NULL;
}

/* Signals are for the collector's first thread. */
static void start(struct before *before)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	before->has_thread = pthread_create(&before->thread, NULL, look, before) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!before->has_thread)
		before->err = err_nomem();
}

struct before *before_begin(struct attach_report *report, uint64_t ticks, uint32_t *wake)
{
	struct before *before = calloc(1, sizeof(*before));

	if (!before)
		return NULL;
	before->report = *report;
	report->copy = 0;
	report->copy_err = NULL;
	report->stop = (struct stop) { 0 };
	before->ticks = ticks;
	before->wake = wake;
	if (before->report.copy)
		start(before);
	else
		before->err = steal(before->report.copy_err);
	if (!before->has_thread)
		before->is_found = true;
	return before;
}

bool before_is_found(const struct before *before)
{
	return __atomic_load_n(&before->is_found, __ATOMIC_ACQUIRE);
}

/* --- on the tape ------------------------------------------------------------------------------- */

/* A chunk of events. */
struct page {
	struct stream stream;
	struct tape_codec_state codec;
};

static void page_begin(struct page *page, uint32_t number, uint32_t seq, uint64_t ticks)
{
	stream_begin(&page->stream, number, seq);
	page->stream.chunk.begin_ticks = ticks;
	tape_codec_reset(&page->codec, ticks);
}

/* A thread's name, by which reports, groups and filters tell these blocks from others. */
static void page_name(struct page *page, uint64_t ticks)
{
	const struct tape_thread nobody = { 0 };

	stream_add(&page->stream, TAPE_EXT_THREAD, ticks, &nobody, sizeof(nobody), "before attach");
}

/* False: it is full. */
static bool page_add(struct page *page, uint64_t ticks, const struct living_block *block)
{
	struct stream *stream = &page->stream;
	uint8_t *at = stream->bytes + sizeof(stream->chunk) + stream->chunk.used;

	if (at + TAPE_EVENT_ROOM > stream->bytes + sizeof(stream->bytes))
		return false;
	at = tape_event_encode(&page->codec, at, TAPE_FN_MALLOC, ticks, block->address,
			       block->size_bytes, block->size_bytes, TAPE_NODE_NONE);
	stream->chunk.used = (uint32_t)(at - stream->bytes - sizeof(stream->chunk));
	stream->chunk.event_count++;
	return true;
}

static struct err *page_write(struct page *page, struct collector *collector)
{
	struct err *err = drain_append(&collector->drain, &page->stream.chunk,
				       sizeof(page->stream.bytes), WRITER_NORMAL);

	collector->drain.event_count += err ? 0 : page->stream.chunk.event_count;
	return err;
}

static struct err *write_blocks(const struct before *before, struct collector *collector)
{
	const struct living_blocks *blocks = &before->walked.living.blocks;
	const uint32_t number = __atomic_fetch_add(&spool_live(&collector->spool)->next_stream, 1,
						   __ATOMIC_RELAXED);
	CLEAN(free) struct page *page = malloc(sizeof(*page));
	struct err *err = NULL;
	uint32_t seq = 0;

	if (!page)
		return err_nomem();
	page_begin(page, number, seq++, before->ticks);
	page_name(page, before->ticks);
	for (size_t i = 0; i < blocks->count && !err;) {
		if (page_add(page, before->ticks, &blocks->items[i])) {
			i++;
			continue;
		}
		err = page_write(page, collector);
		page_begin(page, number, seq++, before->ticks);
	}
	return err || page->stream.chunk.used == 0 ? err : page_write(page, collector);
}

/* What the walk did not understand. */
static bool is_complete(const struct before *before)
{
	const struct heap *heap = &before->walked.heap;

	return before->report.is_quiet && !before->walked.beside && heap->broken_lists == 0 &&
	       heap->undecoded_count == 0 && heap->is_expected &&
	       heap->mapped_count == heap->expected_count;
}

static void write_found(struct before *before, struct collector *collector)
{
	const struct living_blocks *blocks = &before->walked.living.blocks;
	struct tape_attached record = {
		.ticks = before->ticks,
		.pause_ns = before->report.pause_ns,
		.places = before->report.places,
		.other_places = before->report.other_places,
		.functions = before->report.functions,
	};

	if (!before->err)
		before->err = write_blocks(before, collector);
	if (!before->err) {
		record.flags =
			TAPE_ATTACHED_BEFORE | (is_complete(before) ? TAPE_ATTACHED_COMPLETE : 0);
		record.before_count = blocks->count;
		for (size_t i = 0; i < blocks->count; i++)
			record.before_bytes += blocks->items[i].size_bytes;
	}
	collector_note(collector, TAPE_EXT_ATTACHED, &record, sizeof(record),
		       before->err		 ? err_message(before->err)
		       : before->report.is_quiet ? NULL
						 : "a thread was in the allocator at that moment");
}

void before_end(struct before *before, struct collector *collector)
{
	if (before->has_thread)
		pthread_join(before->thread, NULL);
	if (collector->has_header && !collector->drain.fault)
		write_found(before, collector);
	err_destroy(before->err);
	walked_deinit(&before->walked);
	attach_report_deinit(&before->report);
	free(before);
}
