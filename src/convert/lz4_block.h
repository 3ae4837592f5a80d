/*
 * lz4_block: one block of LZ4, without a frame around it: bytes to be copied, and copies of what is
 * there already. Some forty lines; a library would be one more for every build. Internal to
 * convert.
 */
#ifndef MEMTAPE_CONVERT_LZ4_BLOCK_H
#define MEMTAPE_CONVERT_LZ4_BLOCK_H

#include "base/vec.h"

enum lz4_result { LZ4_DONE, LZ4_DAMAGED, LZ4_NO_MEMORY };

/*
 * Appends the decoded block to out, max bytes at most; copies reach back to where out ended before.
 * What of a damaged block was sound is there.
 */
enum lz4_result lz4_block_decode(const uint8_t *in, size_t count, size_t max, struct vec_u8 *out);

#endif
