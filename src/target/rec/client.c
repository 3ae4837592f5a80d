/* client: the functions that a program calls on its recorder, see include/memtape/memtape.h. */
#include "rec/other.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "core/poison.h"

enum { MARK_BYTES_MAX = 255 };

void memtape_client_mark(const char *text);
int memtape_client_is_recording(void);

REC_EXPORT void memtape_client_mark(const char *text)
{
	struct rec_frame caller = REC_CALLER();
	const int saved_errno = errno;
	struct tape_mark record = { .kind = 0 };
	struct other other = other_begin(&caller);

	if (other.lane) {
		record.node = other_stack(&other, &caller);
		rec_note(other.lane, TAPE_EXT_MARK, &record, sizeof(record), text,
			 text ? strnlen(text, MARK_BYTES_MAX) : 0);
	}
	other_end(&other);
	errno = saved_errno;
}

REC_EXPORT int memtape_client_is_recording(void)
{
	return atomic_load(&rec.state) == REC_ON;
}
