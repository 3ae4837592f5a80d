/*
 * epilogue: ARM and Thumb code without unwind tables, followed from behind a call to where its function
 * returns: what it takes off the stack until then says how its frame is left. Compilers let all ways
 * through a function have one depth of the stack at one place, so any way to its end will do. Where a
 * switch, a computed jump or the next function comes first, nothing is known.
 *
 * Private to the room. The code is little-endian; nothing outside of it is read. Nothing here depends
 * on the processor it runs on. Stateless, async-signal-safe.
 */
#ifndef MEMTAPE_UNWIND_EPILOGUE_H
#define MEMTAPE_UNWIND_EPILOGUE_H

#include "unwind/exidx.h"

/* Code that can be read, and that may be branched to. */
struct epilogue_code {
	uint64_t begin, end;
};

enum epilogue_found {
	EPILOGUE_NONE,
	EPILOGUE_ROW, /* *ret is filled; the caller's address is that of register 14 */
	EPILOGUE_LAST /* it ends its thread for good: nothing is outside of it */
};

/* What is said of the frame by the code at pc, an address after a call, in [begin, end). */
enum epilogue_found epilogue_find(const struct epilogue_code *code, uint64_t pc, bool is_thumb,
				  struct exidx_row *ret);

/* Whether what ends at the return address pc is a call in Thumb code, or else in ARM code; false: neither. */
bool epilogue_call(const struct epilogue_code *code, uint64_t pc, bool *is_thumb_ret);

#endif
