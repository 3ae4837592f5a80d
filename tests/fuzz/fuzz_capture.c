/*
 * Any bytes as a tape: opening, verifying and loading it, at both depths, ends in an error or in a
 * model that agrees with itself. Checksums are put right first, or nothing would ever get past
 * them.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/calls.h"
#include "model/pool.h"
#include "no_threads.h"
#include "tape_input.h"

enum {
	BYTES_MAX = 1 << 20,
	CHUNK_BYTES_MAX = 4 * TAPE_CHUNK_BYTES_MIN /* larger ones only take more time */
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void count_chunk(void *context, const struct capture_chunk *chunk, uint64_t event_count,
			const char *error)
{
	uint64_t *sum = context;

	(void)error;
	check(event_count <= chunk->used);
	*sum += event_count;
}

static void check_model(const struct model *model)
{
	const struct model_totals *totals = model_totals(model);
	const struct capture_stack *stacks = model_stacks(model);
	struct model_sum leaked = { 0 };

	check(totals->allocated.count ==
	      totals->freed.count + totals->leaked.count + totals->lost_free_count);
	for (size_t i = 0; i < model_stack_count(model); i++) {
		check(i < CAPTURE_STACK_FIRST || stacks[i].parent < i);
		check(stacks[i].module == CAPTURE_MODULE_NONE ||
		      stacks[i].module < model_module_count(model));
		leaked.count += model_stack_sums(model, i)->leaked.count;
		leaked.bytes += model_stack_sums(model, i)->leaked.bytes;
	}
	check(leaked.count == totals->leaked.count);
	check(leaked.bytes == totals->leaked.bytes);
}

/* What pools have adds up to what all their objects have. */
static void check_pools(const char *path)
{
	const struct model_settings settings = { .subject = MODEL_OF_POOLS };
	struct model_sum allocated = { 0 }, live = { 0 };
	struct model *model = NULL;
	struct err *err = model_load_with(path, MODEL_FULL, &settings, &model);

	for (size_t i = 0; !err && i < model_pool_count(model); i++) {
		const struct model_pool *pool = &model_pools(model)[i];

		check(pool->allocated.count ==
		      pool->freed.count + pool->emptied.count + pool->live.count);
		check(pool->peak.bytes >= pool->live.bytes);
		allocated.count += pool->allocated.count;
		live.count += pool->live.count;
		live.bytes += pool->live.bytes;
	}
	if (!err) {
		check_model(model);
		check(allocated.count == model_totals(model)->allocated.count);
		check(live.count == model_totals(model)->leaked.count);
		check(live.bytes == model_totals(model)->leaked.bytes);
	}
	model_destroy(model);
	err_destroy(err);
}

/* What was given out and what was given back add up; a hostile tape may say anything else. */
static void check_calls(const char *path)
{
	const struct calls_settings settings = { .has_mappings = true };
	struct calls *calls = malloc(sizeof(*calls));
	uint64_t sized_count = 0;
	struct err *err;

	check(calls != NULL);
	err = calls_count(path, &settings, calls);
	for (size_t i = 0; !err && i <= CALLS_BUCKET_COUNT; i++)
		sized_count += calls->buckets[i];
	check(err || sized_count == calls->sized_count);
	err_destroy(err);
	free(calls);
}

static void check_tape(const char *path)
{
	struct model *summary = NULL, *full = NULL;
	struct capture *capture = NULL;
	struct err *err = capture_open(path, &capture);
	uint64_t events = 0;

	if (err) {
		err_destroy(err);
		return;
	}
	check_calls(path);
	check_pools(path);
	err_destroy(capture_verify(capture, count_chunk, &events));
	err_destroy(model_load_capture(capture, MODEL_SUMMARY, &summary));
	err_destroy(model_load_capture(capture, MODEL_FULL, &full));
	if (summary)
		check_model(summary);
	if (summary && full)
		check(memcmp(model_totals(summary), model_totals(full),
			     sizeof(struct model_totals)) == 0);
	model_destroy(summary);
	model_destroy(full);
	capture_destroy(capture);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size + 1);
	int fd = memfd_create("tape", MFD_CLOEXEC);
	char path[32];

	check(bytes != NULL && fd >= 0);
	memcpy(bytes, data, size);
	if (size <= BYTES_MAX && size >= sizeof(struct tape_header)) {
		struct tape_header *header = (void *)bytes;

		header->chunk_bytes = (uint32_t)u64_min(header->chunk_bytes, CHUNK_BYTES_MAX);
		if (header->kind == TAPE_KIND_PACKED)
			put_checksums_right(bytes, size);
		check(write(fd, bytes, size) == (ssize_t)size);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		threads_are_off = true;
		check_tape(path);
		threads_are_off = false;
	}
	close(fd);
	free(bytes);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return tape_mutate(data, size, max_size, seed);
}
