#include "select/peaks.h"

#include <assert.h>

static void play(struct keyed *keyed, uint64_t *live, struct peak *peaks)
{
	struct keyed_event event;

	while (keyed_next(keyed, &event)) {
		const uint32_t key = event.key;

		if (event.is_free) {
			live[key] -= event.bytes;
			continue;
		}
		live[key] += event.bytes;
		if (live[key] > peaks[key].bytes || peaks[key].ns == UINT64_MAX)
			peaks[key] = (struct peak) { live[key], event.ns };
	}
}

struct err *peaks_find(const struct facts *facts, keyed_keys *keys, const void *context,
		       size_t group_count, struct peak *peaks)
{
	CLEAN(keyed_destroy) struct keyed *keyed = keyed_create(facts, keys, context);
	CLEAN(free) uint64_t *live = calloc(group_count + 1, sizeof(*live));

	assert(peaks || group_count == 0);
	if (!keyed || !live)
		return err_nomem();
	for (size_t i = 0; i < group_count; i++)
		peaks[i] = (struct peak) { 0, UINT64_MAX };
	play(keyed, live, peaks);
	return keyed->err;
}
