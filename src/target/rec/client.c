/* client: the functions that a program calls on its recorder, see include/memtape/memtape.h. */
#include "rec/other.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "core/poison.h"

enum { TEXT_BYTES_MAX = 255 };

void memtape_client_mark(const char *text);
int memtape_client_is_recording(void);
const char *memtape_client_tag(const char *text);

REC_EXPORT void memtape_client_mark(const char *text)
{
	struct rec_frame caller = REC_CALLER();
	const int saved_errno = errno;
	struct tape_mark record = { .kind = 0 };
	struct other other = other_begin(&caller);

	if (other.lane) {
		record.node = other_stack(&other, &caller);
		rec_note(other.lane, TAPE_EXT_MARK, &record, sizeof(record), text,
			 text ? strnlen(text, TEXT_BYTES_MAX) : 0);
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
