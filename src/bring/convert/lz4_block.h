/*
 * lz4_block: one block of LZ4, without a frame around it. Internal to convert.
 *
 * This decoder exists because liblz4's safe one rejects most blocks of real bytehound files: it
 * enforces the end-of-block rules (the last five bytes are literals, the last copy begins twelve
 * bytes before the end), which bytehound's encoder violates. The blocks are unambiguous all the
 * same. Every length and offset is checked against the input, the output so far and the room left.
 */
#ifndef MEMTAPE_CONVERT_LZ4_BLOCK_H
#define MEMTAPE_CONVERT_LZ4_BLOCK_H

#include "base/vec.h"

enum lz4_result { LZ4_DONE, LZ4_DAMAGED, LZ4_NO_MEMORY };

/*
 * Appends the decoded block to out, max bytes at most; copies may reach back into earlier output.
 * Nothing is appended if the block is damaged or longer.
 */
enum lz4_result lz4_block_decode(const uint8_t *in, size_t count, size_t max, struct vec_u8 *out);

/* The same for the first max bytes of a possibly truncated block: decodes as far as possible. */
enum lz4_result lz4_block_begin(const uint8_t *in, size_t count, size_t max, struct vec_u8 *out);

#endif
