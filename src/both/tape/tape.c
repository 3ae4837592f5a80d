#include "tape/tape.h"

#include "core/poison.h"

struct fn_row {
	const char *name;
	enum tape_event_class class;
};

static const struct fn_row FN_ROWS[TAPE_FN_COUNT] = {
#define TAPE_FUNCTION(name, number, word, class, alignment)                                        \
	[TAPE_FN_##name] = { word, TAPE_CLASS_##class },
#include "tape/functions.def"
#undef TAPE_FUNCTION
};

/* Each number once, ascending from 0. */
#define TAPE_FUNCTION(name, number, word, class, alignment) +(UINT64_C(1) << (number))
static_assert(0
#include "tape/functions.def"
		      == (UINT64_C(1) << TAPE_FN_COUNT) - 1,
	      "functions.def: a gap, or two of a number");
#undef TAPE_FUNCTION
static_assert(TAPE_FN_COUNT <= TAPE_FN_LATENCY,
	      "functions.def: more than the tape has numbers for");

const char *tape_fn_name(enum tape_fn fn)
{
	return fn < TAPE_FN_COUNT ? FN_ROWS[fn].name : NULL;
}

enum tape_event_class tape_fn_class(enum tape_fn fn)
{
	if (fn == TAPE_FN_EXTENDED)
		return TAPE_CLASS_EXTENDED;
	if (fn == TAPE_FN_LATENCY)
		return TAPE_CLASS_LATENCY;
	return fn < TAPE_FN_COUNT ? FN_ROWS[fn].class : TAPE_CLASS_INVALID;
}

static bool is_wide(size_t offset)
{
	return (offset >= offsetof(struct tape_live, lost) &&
		offset < offsetof(struct tape_live, sealed_max)) ||
	       offset == offsetof(struct tape_live, stack_board) ||
	       offset == offsetof(struct tape_live, scan_sp);
}

void tape_live_swap(struct tape_live *live)
{
	uint8_t *bytes = (uint8_t *)live;

	CHECK(live);
	for (size_t at = 0; at < sizeof(*live); at += is_wide(at) ? 8 : 4) {
		if (is_wide(at))
			store_u64(bytes + at, __builtin_bswap64(load_u64(bytes + at)));
		else
			store_u32(bytes + at, __builtin_bswap32(load_u32(bytes + at)));
	}
}
