#include "unwind/bytes.h"

#include "core/poison.h"

uint64_t bytes_encoded_form(struct bytes *b, uint8_t encoding)
{
	CHECK((uintptr_t)b->at <= (uintptr_t)b->end);
	switch (encoding & EH_PE_FORM) {
	case EH_PE_SDATA4:
		return (uint64_t)(int32_t)bytes_u32(b);
	case EH_PE_UDATA4:
		return bytes_u32(b);
	case EH_PE_ABSPTR:
		return bytes_word(b);
	case EH_PE_UDATA8:
	case EH_PE_SDATA8:
		return bytes_u64(b);
	case EH_PE_UDATA2:
		return bytes_u16(b);
	case EH_PE_SDATA2:
		return (uint64_t)(int16_t)bytes_u16(b);
	case EH_PE_ULEB128:
		return bytes_uleb(b);
	case EH_PE_SLEB128:
		return (uint64_t)bytes_sleb(b);
	}
	bytes_fail(b);
	return 0;
}

/* A whole word, at the next address that is a multiple of its size. */
static uint64_t bytes_aligned(struct bytes *b)
{
	bytes_skip(b, -(uintptr_t)b->at & (ARCH_WORD_BYTES - 1));
	return bytes_word(b);
}

static uint64_t follow(struct bytes *b, uint64_t address, const uint8_t *begin, const uint8_t *end)
{
	struct bytes word = { (const uint8_t *)(uintptr_t)address, end, false };

	if (address < (uintptr_t)begin || address >= (uintptr_t)end ||
	    (uintptr_t)end - address < ARCH_WORD_BYTES) {
		bytes_fail(b);
		return 0;
	}
	return bytes_word(&word);
}

uint64_t bytes_encoded(struct bytes *b, uint8_t encoding, uint64_t data_base, const uint8_t *begin,
		       const uint8_t *end)
{
	uint64_t self = (uintptr_t)b->at;
	uint64_t value;

	CHECK((uintptr_t)begin <= (uintptr_t)end);
	if (encoding == EH_PE_ALIGNED)
		return bytes_aligned(b);
	value = bytes_encoded_form(b, encoding);
	switch (encoding & EH_PE_BASE) {
	case EH_PE_ABSPTR:
		break;
	case EH_PE_PCREL:
		value += self;
		break;
	case EH_PE_DATAREL:
		if (!data_base)
			bytes_fail(b);
		value += data_base;
		break;
	default: /* relative to text or function: no x86-64 toolchain writes it */
		bytes_fail(b);
	}
	value = (arch_word)value;
	if (encoding & EH_PE_INDIRECT && !b->failed)
		value = follow(b, value, begin, end);
	return b->failed ? 0 : value;
}
