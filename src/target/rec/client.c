/* client: the functions that a program calls on its recorder, see include/memtape/memtape.h. */
#include "rec/event.h"
#include "rec/other.h"
#include "rec/sandbox.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "tape/tape_allocator.h"

#include "core/poison.h"

enum { TEXT_BYTES_MAX = 255 };

void memtape_client_mark(const char *text);
int memtape_client_is_recording(void);
const char *memtape_client_tag(const char *text);
void memtape_client_snapshot(const char *text);
int memtape_client_leak_scan(void);
void memtape_client_thread_name(const char *name);
void memtape_client_pool(int what, const void *pool, const void *object, const void *old,
			 size_t size, const char *name);

static void mark(const char *text, const struct rec_frame *caller)
{
	struct tape_mark record = { .kind = 0 };
	struct other other = other_begin(caller);

	if (other.lane) {
		record.node = other_stack(&other, caller);
		rec_note(other.lane, TAPE_EXT_MARK, &record, sizeof(record), text,
			 text ? strnlen(text, TEXT_BYTES_MAX) : 0);
	}
	other_end(&other);
}

REC_EXPORT void memtape_client_mark(const char *text)
{
	struct rec_frame caller = REC_CALLER();
	const int saved_errno = errno;

	mark(text, &caller);
	errno = saved_errno;
}

REC_EXPORT void memtape_client_snapshot(const char *text)
{
	struct rec_frame caller = REC_CALLER();
	const int saved_errno = errno;

	mark(text && *text ? text : "snapshot", &caller);
	rec_board_snapshot();
	errno = saved_errno;
}

REC_EXPORT int memtape_client_leak_scan(void)
{
	const int saved_errno = errno;
	const int has_begun = rec_board_ask_scan();

	errno = saved_errno;
	return has_begun;
}

/* Of this thread; "" is none. */
REC_EXPORT void memtape_client_thread_name(const char *name)
{
	struct rec_frame caller = REC_CALLER();
	const int saved_errno = errno;
	struct tape_thread thread = { .lane = 2 };
	struct other other = other_begin(&caller);

	if (other.lane && name && *name) {
		thread.tid = other.lane->tid;
		rec_note(other.lane, TAPE_EXT_THREAD_NAME, &thread, sizeof(thread), name,
			 strnlen(name, TEXT_BYTES_MAX));
	}
	other_end(&other);
	errno = saved_errno;
}

REC_EXPORT int memtape_client_is_recording(void)
{
	return atomic_load(&rec.state) == REC_ON;
}

void rec_tag_note(struct rec_lane *lane, const char *tag)
{
	const struct tape_tag record = { .is_set = tag != NULL };

	rec_note(lane, TAPE_EXT_TAG, &record, sizeof(record), tag,
		 tag ? strnlen(tag, TEXT_BYTES_MAX) : 0);
}

REC_EXPORT const char *memtape_client_tag(const char *text)
{
	struct rec_frame caller = REC_CALLER();
	const char *before = rec_tls.tag;
	const int saved_errno = errno;
	struct other other;

	rec_tls.tag = text;
	if (text == before)
		return before;
	other = other_begin(&caller);
	if (other.lane)
		rec_tag_note(other.lane, text);
	other_end(&other);
	errno = saved_errno;
	return before;
}

/* What is written of a call while recording is paused: see rec_pause_omits(). False: nothing. */
static bool pool_paused(uint32_t what, uint32_t paused)
{
	if (what == TAPE_POOL_CREATE || what == TAPE_POOL_DESTROY)
		return true;
	return paused != TAPE_PAUSE_EVENTS && what != TAPE_POOL_ALLOC;
}

/* Frees have stacks only where those of the heap have. */
static bool pool_wants_stack(uint32_t what)
{
	return what == TAPE_POOL_ALLOC || what == TAPE_POOL_REALLOC || what == TAPE_POOL_CREATE ||
	       rec.options.free_stacks;
}

static void pool_note(struct other *other, struct tape_pool record, const char *name,
		      const struct rec_frame *caller)
{
	const bool has_name = record.what == TAPE_POOL_CREATE && name;

	if (rec.options.counts || (rec_paused() && !pool_paused(record.what, rec_paused())))
		return;
	record.node = pool_wants_stack(record.what) ? other_stack(other, caller)
						    : (uint32_t)TAPE_NODE_NONE;
	rec_note(other->lane, TAPE_EXT_POOL, &record, tape_pool_bytes(record.what), name,
		 has_name ? strnlen(name, TEXT_BYTES_MAX) : 0);
}

REC_EXPORT void memtape_client_pool(int what, const void *pool, const void *object, const void *old,
				    size_t size, const char *name)
{
	struct rec_frame caller = REC_CALLER();
	const int saved_errno = errno;
	struct tape_pool record = { .what = (uint32_t)what,
				    .pool = (uintptr_t)pool,
				    .address = (uintptr_t)object,
				    .bytes = size,
				    .old_address = (uintptr_t)old };
	struct other other;

	if (tape_pool_bytes(record.what) == 0)
		return;
	other = other_begin(&caller);
	if (other.lane)
		pool_note(&other, record, name, &caller);
	other_end(&other);
	errno = saved_errno;
}
