/*
 * A tape whose collector was killed and any bytes as its spool: opening, verifying and packing both
 * ends in an error or in a capture of which each chunk is there once. The input is the tape's size
 * (u32), the tape, and the spool; the tape is made to belong to the spool.
 */
#include <stdlib.h>
#include <unistd.h>

#include "capture/capture.h"
#include "no_threads.h"
#include "tape_input.h"

enum { BYTES_MAX = 1 << 20, CHUNK_BYTES_MAX = 4 * TAPE_CHUNK_BYTES_MIN };

static void check(bool holds)
{
	if (!holds)
		abort();
}

static char directory[] = "/dev/shm/fuzz-spool-XXXXXX";

static void directory_remove(void)
{
	rmdir(directory);
}

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
	FILE *file = fopen(path, "we");

	check(file != NULL);
	check(fwrite(bytes, 1, size, file) == size);
	check(fclose(file) == 0);
}

static void count_chunk(void *context, const struct capture_chunk *chunk, uint64_t event_count,
			const char *error)
{
	(void)context;
	(void)error;
	check(event_count <= chunk->used);
	check(chunk->taken_used < chunk->used || chunk->taken_used == 0);
}

static struct err *count_events(void *context, const struct capture_event *events, size_t count)
{
	(void)events;
	*(uint64_t *)context += count;
	return NULL;
}

static void check_tape(const char *path)
{
	struct capture *capture = NULL;
	struct err *err = capture_open(path, &capture);
	struct capture_stacks stacks;
	struct capture_played played;
	uint64_t count = 0;
	const struct capture_player player = { .events = count_events, .context = &count };

	if (err) {
		err_destroy(err);
		return;
	}
	err_destroy(capture_verify(capture, count_chunk, NULL));
	check(capture_stacks_init(&stacks));
	err = capture_play(capture, &stacks, &player, &played);
	if (!err)
		check(played.event_count <= count);
	err_destroy(err);
	capture_stacks_deinit(&stacks);
	capture_destroy(capture);
}

/* They belong together, or nothing would ever get past that. */
static void make_pair(uint8_t *tape, size_t tape_size, uint8_t *spool)
{
	struct tape_header *header = (void *)spool;

	header->chunk_bytes = (uint32_t)u64_min(header->chunk_bytes, CHUNK_BYTES_MAX);
	header->kind = TAPE_KIND_RAW;
	if (tape_size < sizeof(*header))
		return;
	memcpy(((struct tape_header *)(void *)tape)->uuid, header->uuid, TAPE_UUID_BYTES);
	((struct tape_header *)(void *)tape)->chunk_bytes = header->chunk_bytes;
	((struct tape_header *)(void *)tape)->kind = TAPE_KIND_PACKED;
	((struct tape_header *)(void *)tape)->flags |= TAPE_FLAG_RECORDING;
	put_checksums_right(tape, tape_size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[64], spool_path[72];
	uint32_t tape_size;
	uint8_t *bytes;

	if (!path[0]) {
		check(mkdtemp(directory) != NULL && atexit(directory_remove) == 0);
		snprintf(path, sizeof(path), "%s/tape", directory);
		snprintf(spool_path, sizeof(spool_path), "%s.spool", path);
	}
	if (size > BYTES_MAX || size < sizeof(tape_size))
		return 0;
	memcpy(&tape_size, data, sizeof(tape_size));
	data += sizeof(tape_size);
	size -= sizeof(tape_size);
	if (tape_size > size || size - tape_size < sizeof(struct tape_header))
		return 0;
	bytes = malloc(size + 8);
	check(bytes != NULL);
	memcpy(bytes, data, tape_size);
	memcpy(bytes + align_up(tape_size, 8), data + tape_size, size - tape_size);
	make_pair(bytes, tape_size, bytes + align_up(tape_size, 8));
	write_file(path, bytes, tape_size);
	write_file(spool_path, bytes + align_up(tape_size, 8), size - tape_size);
	free(bytes);
	threads_are_off = true;
	check_tape(path);
	threads_are_off = false;
	unlink(path);
	unlink(spool_path);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct dice dice = { .state = seed };
	uint32_t tape_size;
	const size_t head = sizeof(tape_size);

	if (size < head)
		return LLVMFuzzerMutate(data, size, max_size);
	memcpy(&tape_size, data, head);
	if (tape_size > size - head || dice_roll(&dice, 8) == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	if (dice_roll(&dice, 3) == 0 && tape_size > TAPE_HEADER_BYTES) {
		tape_mutate(data + head, tape_size, tape_size, seed); /* keeps its size */
		return size;
	}
	return head + tape_size +
	       tape_mutate(data + head + tape_size, size - head - tape_size,
			   max_size - head - tape_size, seed);
}
