/*
 * Any bytes as a tape that is stripped, anonymised and rotated: it ends in an error, or in a tape
 * that is sound and says what was done.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/anonymise.h"
#include "capture/rotate.h"
#include "capture/strip.h"
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

static uint64_t ticks_as_ns(const void *context, uint64_t ticks)
{
	(void)context;
	return ticks;
}

static const char *other_text(void *context, enum anonymise_kind kind, const char *text)
{
	(void)context;
	(void)kind;
	return text[0] ? "word" : "";
}

static const uint8_t *same_id(void *context, const char *path, const uint8_t *build_id,
			      size_t count)
{
	(void)context;
	(void)path;
	(void)count;
	return build_id;
}

static void chunk_is_sound(void *context, const struct capture_chunk *chunk, uint64_t event_count,
			   const char *error)
{
	(void)context;
	(void)chunk;
	(void)event_count;
	check(!error);
}

static void chunk_may_be_damaged(void *context, const struct capture_chunk *chunk,
				 uint64_t event_count, const char *error)
{
	(void)context;
	(void)chunk;
	(void)event_count;
	(void)error;
}

/* A rotation copies the latest chunks unread, damaged ones, too. */
static void check_rotated(int fd, struct err *err)
{
	struct capture *capture = NULL;
	char path[32];

	if (!err) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		err = capture_open(path, &capture);
		check(!err);
		err = capture_verify(capture, chunk_may_be_damaged, NULL);
		capture_destroy(capture);
	}
	err_destroy(err);
	close(fd);
}

static void check_written(int fd, struct err *err)
{
	struct capture *capture = NULL;
	char path[32];

	if (!err) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		err = capture_open(path, &capture);
		check(!err && capture_damage_count(capture) == 0);
		err = capture_verify(capture, chunk_is_sound, NULL);
		capture_destroy(capture);
	}
	err_destroy(err);
	close(fd);
}

static void rewrite(const struct capture *capture)
{
	const struct strip_settings strip = { .level = 1,
					      .ns = ticks_as_ns,
					      .min_lifetime_ns = 1 << 12,
					      .from_ns = 1 << 8,
					      .until_ns = UINT64_MAX,
					      .drops_free_stacks = true };
	const struct anonymise_settings anonymise = { .level = 1,
						      .text = other_text,
						      .build_id = same_id };
	const struct rotate_settings rotate = { .kept_from = capture_facts(capture)->file_bytes / 2,
						.settled_ticks = 1 << 20,
						.bytes_max = BYTES_MAX,
						.level = 1 };
	int rotated_fd = memfd_create("rotated", MFD_CLOEXEC);
	int stripped_fd = memfd_create("stripped", MFD_CLOEXEC);
	int anonymised_fd = memfd_create("anonymised", MFD_CLOEXEC);
	struct stripped stripped;
	struct rewritten rewritten;
	struct rotated rotated;

	check(stripped_fd >= 0 && anonymised_fd >= 0 && rotated_fd >= 0);
	check_written(stripped_fd, strip_tape(capture, stripped_fd, &strip, &stripped));
	check_rotated(rotated_fd, rotate_tape(capture, rotated_fd, &rotate, &rotated));
	check_written(anonymised_fd,
		      anonymise_tape(capture, anonymised_fd, &anonymise, &rewritten));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size + 1);
	int fd = memfd_create("tape", MFD_CLOEXEC);
	struct capture *capture = NULL;
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
		err_destroy(capture_open(path, &capture));
		if (capture)
			rewrite(capture);
		capture_destroy(capture);
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
