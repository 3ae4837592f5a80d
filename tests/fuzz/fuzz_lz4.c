/*
 * lz4_block: whatever the bytes are, nothing is written where there is no room, a block that liblz4
 * reads too is read the same (that one also takes copies from no bytes back, for anything), and a
 * beginning is the beginning of the whole.
 */
#include <lz4.h>
#include <stdlib.h>

#include "convert/lz4_block.h"

enum { ROOM = 1 << 16 };

static void check(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t before[] = "before";
	static char theirs[ROOM];
	CLEAN(vec_u8_deinit) struct vec_u8 whole = { 0 }, begin = { 0 };
	const int count = LZ4_decompress_safe((const char *)data, theirs, (int)size, ROOM);
	enum lz4_result result;

	for (size_t i = 0; i < sizeof(before); i++)
		check(vec_u8_push(&whole, before[i]));
	result = lz4_block_decode(data, size, ROOM, &whole);
	check(whole.count <= ROOM + sizeof(before));
	check(memcmp(whole.items, before, sizeof(before)) == 0);
	if (count >= 0 && result == LZ4_DONE) {
		check(whole.count - sizeof(before) == (size_t)count);
		check(memcmp(whole.items + sizeof(before), theirs, (size_t)count) == 0);
	}
	if (result == LZ4_DONE) {
		check(lz4_block_begin(data, size, 100, &begin) == LZ4_DONE);
		check(begin.count <= 100 && begin.count <= whole.count - sizeof(before));
		check(begin.count == 0 ||
		      memcmp(begin.items, whole.items + sizeof(before), begin.count) == 0);
	}
	return 0;
}
