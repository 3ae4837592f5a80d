/*
 * lz4_block: one block of LZ4, without a frame around it. Internal to convert.
 *
 * A decoder of our own, because liblz4's safe one refuses most blocks of real files of bytehound:
 * it holds a block to the rules for its end (the last five bytes are literals, the last copy begins
 * twelve bytes before), and bytehound's encoder does not keep them. What the bytes mean is clear
 * all the same. Every length and offset is checked against what is there and what there is room
 * for.
 */
#ifndef MEMTAPE_CONVERT_LZ4_BLOCK_H
#define MEMTAPE_CONVERT_LZ4_BLOCK_H

#include "base/vec.h"

enum lz4_result { LZ4_DONE, LZ4_DAMAGED, LZ4_NO_MEMORY };

/*
 * Appends the decoded block to out, max bytes at most; copies reach back to where out ended before.
 * Of a block that is damaged or longer nothing is appended.
 */
enum lz4_result lz4_block_decode(const uint8_t *in, size_t count, size_t max, struct vec_u8 *out);

/*
 * The same for the first max bytes of a block of which perhaps not all is here: as far as it goes.
 */
enum lz4_result lz4_block_begin(const uint8_t *in, size_t count, size_t max, struct vec_u8 *out);

#endif
