#include "memusage/memusage_file.h"

#include "core/core.h"

enum { RECORD_BYTES = 24 };

struct sink {
	FILE *out;
	uint8_t bytes[CALLS_BATCH * RECORD_BYTES];
};

static void put(uint8_t *at, uint64_t heap, uint64_t stack, uint64_t ticks)
{
	store_u64(at, heap);
	store_u64(at + 8, stack);
	store_u32(at + 16, (uint32_t)ticks);
	store_u32(at + 20, (uint32_t)(ticks >> 32));
}

static struct err *sink_flush(struct sink *sink, size_t count)
{
	if (fwrite(sink->bytes, RECORD_BYTES, count, sink->out) != count)
		return err_errno("write");
	return NULL;
}

static struct err *sink_moments(void *context, const struct calls_moment *moments, size_t count)
{
	struct sink *sink = context;

	for (size_t i = 0; i < count; i++)
		put(sink->bytes + i * RECORD_BYTES, moments[i].heap, moments[i].stack,
		    moments[i].ticks);
	return sink_flush(sink, count);
}

static struct err *head_write(struct sink *sink, const struct calls *calls)
{
	put(sink->bytes, 0, calls->total_peak, calls->begin_ticks);
	put(sink->bytes + RECORD_BYTES, calls->heap_peak, calls->stack_peak, calls->end_ticks);
	return sink_flush(sink, 2);
}

struct err *memusage_file_write(const char *tape_path, bool has_mappings, const struct calls *calls,
				FILE *out)
{
	CLEAN(free) struct sink *sink = malloc(sizeof(*sink));
	const struct calls_settings settings = { has_mappings, sink_moments, sink };
	CLEAN(free) struct calls *again = malloc(sizeof(*again));
	struct err *err;

	if (!sink || !again)
		return err_nomem();
	sink->out = out;
	err = head_write(sink, calls);
	return err ? err : calls_count(tape_path, &settings, again);
}

struct err *memusage_file_count(const char *tape_path, bool has_mappings, struct calls *calls_ret,
				FILE *out)
{
	CLEAN(free) struct sink *sink = calloc(1, sizeof(*sink));
	const struct calls_settings settings = { has_mappings, sink_moments, sink };
	struct err *err;

	if (!sink)
		return err_nomem();
	sink->out = out;
	err = sink_flush(sink, 2); /* its position */
	if (!err)
		err = calls_count(tape_path, &settings, calls_ret);
	if (err)
		return err;
	if (fseek(out, 0, SEEK_SET) != 0)
		return err_errno("seek");
	err = head_write(sink, calls_ret);
	if (!err && fflush(out) != 0)
		err = err_errno("write");
	return err;
}
