/*
 * bytes: a bounded cursor over unwind tables, with a sticky failure.
 *
 * Reading past the end yields 0 and sets failed; readers of a whole record check once, at its end.
 * Private to the room. The bytes are borrowed.
 */
#ifndef MEMTAPE_UNWIND_BYTES_H
#define MEMTAPE_UNWIND_BYTES_H

#include "arch/native.h"
#include "core/core.h"

struct bytes {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

/* DW_EH_PE_*: encoding of a pointer in .eh_frame (LSB, section 10.5). */
enum {
	EH_PE_ABSPTR = 0x00,
	EH_PE_ULEB128 = 0x01,
	EH_PE_UDATA2 = 0x02,
	EH_PE_UDATA4 = 0x03,
	EH_PE_UDATA8 = 0x04,
	EH_PE_SLEB128 = 0x09,
	EH_PE_SDATA2 = 0x0a,
	EH_PE_SDATA4 = 0x0b,
	EH_PE_SDATA8 = 0x0c,
	EH_PE_FORM = 0x0f,
	EH_PE_PCREL = 0x10,
	EH_PE_DATAREL = 0x30,
	EH_PE_ALIGNED = 0x50,
	EH_PE_BASE = 0x70,
	EH_PE_INDIRECT = 0x80,
	EH_PE_OMIT = 0xff
};

static inline size_t bytes_left(const struct bytes *b)
{
	CHECK((uintptr_t)b->at <= (uintptr_t)b->end);
	return (size_t)(b->end - b->at);
}

static inline void bytes_fail(struct bytes *b)
{
	b->failed = true;
	b->at = b->end;
}

static inline void bytes_skip(struct bytes *b, uint64_t count)
{
	if (unlikely(count > bytes_left(b)))
		bytes_fail(b);
	else
		b->at += count;
}

static inline uint8_t bytes_u8(struct bytes *b)
{
	if (unlikely(b->at == b->end)) {
		b->failed = true;
		return 0;
	}
	return *b->at++;
}

static inline uint16_t bytes_u16(struct bytes *b)
{
	const uint8_t *at = b->at;

	bytes_skip(b, 2);
	return b->failed ? 0 : arch_little_u16(load_u16(at));
}

static inline uint32_t bytes_u32(struct bytes *b)
{
	const uint8_t *at = b->at;

	bytes_skip(b, 4);
	return b->failed ? 0 : arch_little_u32(load_u32(at));
}

static inline uint64_t bytes_u64(struct bytes *b)
{
	const uint8_t *at = b->at;

	bytes_skip(b, 8);
	return b->failed ? 0 : arch_little_u64(load_u64(at));
}

/* Of this processor. */
static inline uint64_t bytes_word(struct bytes *b)
{
	return ARCH_WORD_BYTES == 8 ? bytes_u64(b) : bytes_u32(b);
}

/* Bits beyond 64 are dropped: a number that long only occurs as padding. */
static inline uint64_t bytes_uleb(struct bytes *b)
{
	uint64_t value = 0;
	uint8_t byte;

	for (unsigned int shift = 0;; shift += 7) {
		byte = bytes_u8(b);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

static inline int64_t bytes_sleb(struct bytes *b)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = bytes_u8(b);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (byte & 0x40 && shift < 64)
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

/* The number in an encoding's format, sign-extended, without its base. */
uint64_t bytes_encoded_form(struct bytes *b, uint8_t encoding);

/*
 * A pointer in any encoding. data_base: what EH_PE_DATAREL adds to, 0: not available.
 * EH_PE_INDIRECT is followed only inside [begin, end), where reading is known to be safe.
 */
uint64_t bytes_encoded(struct bytes *b, uint8_t encoding, uint64_t data_base, const uint8_t *begin,
		       const uint8_t *end);

#endif
