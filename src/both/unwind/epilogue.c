#include "unwind/epilogue_code.h"

#include "core/poison.h"

enum { STEPS_MAX = 2000 };

/* Whether a way leads to where one has been before: what comes then is known. */
static bool is_seen(struct epilogue *e, uint64_t call_pc)
{
	const uint64_t at = (e->now.pc - call_pc) / 2 + EPILOGUE_SEEN / 2;
	const uint8_t bit = (uint8_t)(1U << at % 8);
	bool result;

	if (e->now.pc - call_pc + EPILOGUE_SEEN >= 2 * EPILOGUE_SEEN)
		return false;
	result = e->seen[at % EPILOGUE_SEEN / 8] & bit;
	e->seen[at % EPILOGUE_SEEN / 8] |= bit;
	return result;
}

enum epilogue_found epilogue_find(const struct epilogue_code *code, uint64_t pc, bool is_thumb,
				  struct exidx_row *ret)
{
	struct epilogue e;

	CHECK(code->begin <= code->end);
	if (pc % (is_thumb ? 2 : 4) != 0)
		return EPILOGUE_NONE;
	e.code = code;
	e.now = (struct epilogue_way) { .pc = pc, .undo.reg = EXIDX_REG_SP };
	e.fork_count = 0;
	memset(e.seen, 0, sizeof(e.seen));
	e.is_done = e.has_exit = false;
	for (int i = 0; i < STEPS_MAX; i++) {
		if (e.now.undo.has_failed || !epilogue_may_read(&e, 4) ||
		    (!e.is_done && is_seen(&e, pc))) {
			if (!epilogue_fork_take(&e))
				return e.has_exit ? EPILOGUE_LAST : EPILOGUE_NONE;
			continue;
		}
		if (e.is_done)
			return epilogue_has_link(&e) && undo_row(&e.now.undo, ret) ? EPILOGUE_ROW
										   : EPILOGUE_NONE;
		if (is_thumb)
			epilogue_step_thumb(&e);
		else
			epilogue_step_arm(&e);
	}
	return EPILOGUE_NONE;
}

/* bl and blx. What could be either is Thumb code. */
bool epilogue_call(const struct epilogue_code *code, uint64_t pc, bool *is_thumb_ret)
{
	uint32_t first, second, word;

	if (pc % 2 != 0 || pc < code->begin || pc > code->end || pc - code->begin < 4)
		return false;
	first = arch_little_u16(load_u16((const uint8_t *)(uintptr_t)(pc - 4)));
	second = arch_little_u16(load_u16((const uint8_t *)(uintptr_t)(pc - 2)));
	word = first | second << 16;
	*is_thumb_ret = ((first & 0xf800) == 0xf000 && (second & 0xc000) == 0xc000) ||
			(second & 0xff87) == 0x4780;
	return *is_thumb_ret || (pc % 4 == 0 && ((word & 0x0f000000) == 0x0b000000 ||
						 (word & 0xfe000000) == 0xfa000000 ||
						 (word & 0x0ffffff0) == 0x012fff30));
}
