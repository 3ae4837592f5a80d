/*
 * Any bytes as the result of a leak scan: an error, or an image that can be walked, and that is the
 * same image when it was written and read again.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/scan_image.h"

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void walk(const struct scan_image *image)
{
	for (size_t i = 0; i < image->block_count; i++) {
		const struct scan_image_block *block = &image->blocks[i];

		check(block->class > TAPE_SCAN_UNKNOWN && block->class < TAPE_SCAN_CLASS_COUNT);
		check(i == 0 || block[-1].address + block[-1].size_bytes <= block->address);
		check(i == 0 || block[-1].address < block->address);
		check(block->parent == SCAN_NODE_NONE ||
		      block->parent < image->block_count + image->holder_count);
		check(block->dominator == SCAN_NODE_NONE ||
		      block->dominator < image->block_count + image->holder_count);
		if (i < 64) /* an end is reached; all of them would take long */
			for (uint32_t node = (uint32_t)i; node < image->block_count;)
				node = image->blocks[node].parent;
	}
	for (size_t i = 0; i < image->holder_count; i++)
		if (image->holders[i].name)
			check(strlen(image->texts + image->holders[i].name) < image->texts_bytes);
	for (size_t i = 0; i < image->frame_count; i++) {
		const struct scan_image_frame *frame = &image->frames[i];

		check(frame->holder < image->holder_count &&
		      image->holders[frame->holder].kind == TAPE_SCAN_STACK &&
		      frame->begin >= image->holders[frame->holder].begin &&
		      frame->begin < frame->end && frame->end <= image->holders[frame->holder].end);
		check(i == 0 || frame->holder > frame[-1].holder ||
		      (frame->holder == frame[-1].holder && frame->begin >= frame[-1].end));
	}
	if (image->facts.trouble)
		check(strlen(image->texts + image->facts.trouble) < image->texts_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	CLEAN(scan_image_deinit) struct scan_image again = { 0 };
	CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };
	struct err *err = scan_image_read(data, size, &image);

	if (err) {
		check(image.block_count == 0 && !image.blocks);
		err_destroy(err);
		return 0;
	}
	walk(&image);
	check(scan_image_write(&image, &bytes));
	/* Numbers may have been longer than they must be; version 1 has no number of frames, and
	   version 2 no depths. */
	check(bytes.count <= size + 1 + 5 * image.frame_count);
	check(!scan_image_read(bytes.items, bytes.count, &again));
	check(again.block_count == image.block_count && again.holder_count == image.holder_count);
	for (size_t i = 0; i < image.block_count; i++)
		check(again.blocks[i].retained_bytes == image.blocks[i].retained_bytes &&
		      again.blocks[i].address == image.blocks[i].address &&
		      again.blocks[i].parent == image.blocks[i].parent &&
		      again.blocks[i].dominator == image.blocks[i].dominator);
	check(again.frame_count == image.frame_count);
	for (size_t i = 0; i < image.frame_count; i++)
		check(again.frames[i].holder == image.frames[i].holder &&
		      again.frames[i].begin == image.frames[i].begin &&
		      again.frames[i].end == image.frames[i].end &&
		      again.frames[i].pc == image.frames[i].pc);
	return 0;
}
