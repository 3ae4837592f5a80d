/*
 * A heap of musl's of which an attacker has written what he likes: the walk ends, and its blocks ascend,
 * do not overlap, and lie in what is mapped. The input is triples of a place, an offset and a word, which are written over a
 * sound heap.
 */
#include "../unit/scan/musl_image.h"
#include "heap_damage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_heap(struct heap_image *image)
{
	const struct musl_group small = { MAPPED, 1 << 1, 1 << 4, 5, 2, 0 };
	const struct musl_group large = { MAPPED + 0x1000, 0, 0, 0, 63, 0x10 };
	const struct musl_group outer = { WINDOW, 0, 1 << 1, 1, 8, 0 };

	put_musl(image, 3);
	put_group(image, 0, &small);
	put_group(image, 1, &large);
	put_group(image, 2, &outer);
	put_used(image, 2, 6);
	put_used(image, 8, 2);
	for (unsigned i = 0; i < 6; i++)
		put_block(image, MAPPED, 48, i, i % 2, 20 + i);
	put_block(image, MAPPED + 0x1000, 0x10000 - 16, 0, 0, 65000);
	put_block(image, WINDOW, 144, 0, 2, 100);
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
	err = heap_musl_walk(&image->request, &image->heap);
	if (!err)
		check_blocks(image);
	err_destroy(err);
	image_teardown(&state);
	return 0;
}
