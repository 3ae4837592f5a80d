/*
 * A heap of which an attacker has written what he likes: the walk ends, and its blocks ascend, do
 * not overlap, and lie in what is mapped. The input is pairs of an address and a word, which are
 * written over a sound heap of two arenas.
 */
#include "heap_damage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_heap(struct heap_image *image)
{
	uint64_t at = MAIN;

	for (size_t i = 0; i < 8; i++)
		at = put_chunk(image, at, 0x20 + i * 0x10, 1);
	at = put_chunk(image, at, 0x290, 1);
	put(image, TLS_CACHE, at - 0x280);
	put_top(image, at);
	put_arena(image, ARENA_BINS, WINDOW + WINDOW_BYTES - 0x1000, WINDOW_BYTES);
	put(image, WINDOW, ARENA);
	put(image, WINDOW + 16, WINDOW_BYTES);
	put(image, WINDOW + 24, WINDOW_BYTES);
	put(image, BINS + 254 * 8 + 16, ARENA);
	put(image, ARENA_BINS + 254 * 8 + 16, BINS - 96 - STATE_HEAD);
	put_chunk(image, WINDOW + ARENA_FIRST, WINDOW_BYTES - 0x1000 - ARENA_FIRST, 5);
	put_chunk(image, WINDOW + WINDOW_BYTES - 0x1000, 0x1000, 1);
	put(image, MAPPED + 8, 0x2002);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *state;
	struct heap_image *image;
	struct err *err;

	image_setup(&state);
	image = state;
	put_heap(image);
	scribble(image, data, size);
	err = heap_walk(&image->request, &image->heap);
	if (!err)
		check_blocks(image);
	err_destroy(err);
	image_teardown(&state);
	return 0;
}
