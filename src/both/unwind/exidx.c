#include "unwind/undo.h"

#include "core/poison.h"

enum { WORD = UNDO_WORD, CANTUNWIND = 1, ROUTINES = 3, ROUTINE_SHORT = 0 };

static const uint32_t COMPACT = 0x80000000;

/* The instructions of an entry: bytes of words, the highest byte of each first. */
struct code {
	const uint8_t *words;
	uint32_t at, end; /* bytes */
	bool has_failed;
};

struct machine {
	struct code code;
	struct undo undo;
	bool is_finished;
};

static uint32_t word_at(const uint8_t *at)
{
	return arch_little_u32(load_u32(at));
}

/* A distance of 31 bits from its own place. */
static uint64_t address_at(const uint8_t *at)
{
	const int32_t distance = (int32_t)(word_at(at) << 1) >> 1;

	return (uintptr_t)((uintptr_t)at + (uintptr_t)(intptr_t)distance);
}

static uint8_t code_next(struct code *code)
{
	const uint32_t at = code->at;

	if (unlikely(at >= code->end)) {
		code->has_failed = true;
		return 0;
	}
	code->at++;
	return (uint8_t)(word_at(code->words + (at & ~3U)) >> (24 - at % 4 * 8));
}

static void machine_fail(struct machine *m)
{
	undo_fail(&m->undo);
}

static void machine_add(struct machine *m, int64_t bytes)
{
	undo_add(&m->undo, bytes);
}

/* The stack pointer is what was loaded then: nothing can be said of what is above. */
static void machine_pop(struct machine *m, uint32_t mask)
{
	undo_pop(&m->undo, mask);
	if (mask >> EXIDX_REG_SP & 1)
		m->is_finished = true;
}

static void machine_add_large(struct machine *m)
{
	uint64_t value = 0;
	uint8_t byte;

	for (unsigned int shift = 0;; shift += 7) {
		byte = code_next(&m->code);
		if (shift <= 21)
			value |= (uint64_t)(byte & 0x7f) << shift;
		else if (byte & 0x7f)
			machine_fail(m);
		if (!(byte & 0x80)) /* so is what is read behind the end */
			break;
	}
	machine_add(m, 0x204 + ((int64_t)value << 2));
}

/* 1000 and 12 bits: r4 to r15; none: it refuses to be unwound. */
static void machine_pop_masked(struct machine *m, uint8_t op)
{
	const uint32_t mask = (uint32_t)(op & 15) << 8 | code_next(&m->code);

	if (mask)
		machine_pop(m, mask << 4);
	else
		machine_fail(m);
}

static void machine_pop_low(struct machine *m)
{
	const uint8_t mask = code_next(&m->code);

	if (mask == 0 || mask > 15)
		machine_fail(m);
	else
		machine_pop(m, mask);
}

/* Registers of 8 bytes, how many of them is in the next byte. */
static void machine_skip_counted(struct machine *m, uint32_t more_bytes)
{
	machine_add(m, ((code_next(&m->code) & 15) + 1) * 8 + more_bytes);
}

static void machine_skip_control(struct machine *m)
{
	const uint8_t mask = code_next(&m->code);

	if (mask == 0 || mask > 15)
		machine_fail(m);
	else
		machine_add(m, undo_count(mask) * WORD);
}

/* 1011: one of each. */
static void machine_step_b(struct machine *m, uint8_t op)
{
	if (op == 0xb0)
		m->is_finished = true;
	else if (op == 0xb1)
		machine_pop_low(m);
	else if (op == 0xb2)
		machine_add_large(m);
	else if (op == 0xb3) /* FSTMFDX, which saves a word more */
		machine_skip_counted(m, WORD);
	else if (op == 0xb4) /* the code by which the return address is authenticated */
		machine_add(m, WORD);
	else if (op >= 0xb8)
		machine_add(m, ((op & 7) + 1) * 8 + WORD);
	else if (op != 0xb5)
		machine_fail(m);
}

/* 11: registers of coprocessors, which are not followed. */
static void machine_step_c(struct machine *m, uint8_t op)
{
	if (op <= 0xc5 || (op >= 0xd0 && op <= 0xd7))
		machine_add(m, ((op & 7) + 1) * 8);
	else if (op == 0xc6 || op == 0xc8 || op == 0xc9)
		machine_skip_counted(m, 0);
	else if (op == 0xc7)
		machine_skip_control(m);
	else
		machine_fail(m);
}

static void machine_step(struct machine *m)
{
	const uint8_t op = code_next(&m->code);
	const int64_t words = (op & 0x3f) + 1;

	if (op < 0x40)
		machine_add(m, words * WORD);
	else if (op < 0x80)
		machine_add(m, -words * WORD);
	else if (op < 0x90)
		machine_pop_masked(m, op);
	else if (op < 0xa0)
		undo_set(&m->undo, op & 15, 0);
	else if (op < 0xb0)
		machine_pop(m, ((UINT32_C(2) << (op & 7)) - 1) << 4 |
				       (op & 8 ? UINT32_C(1) << EXIDX_REG_LR : 0));
	else if (op < 0xc0)
		machine_step_b(m, op);
	else
		machine_step_c(m, op);
}

static bool row_compute(struct code code, struct exidx_row *ret)
{
	struct machine m = { .code = code, .undo.reg = EXIDX_REG_SP };

	while (!m.undo.has_failed && !m.is_finished && m.code.at < m.code.end)
		machine_step(&m);
	return !m.code.has_failed && undo_row(&m.undo, ret);
}

/*
 * The instructions of an entry that has a word of its own at `at`, of which `left` bytes can be read.
 * What other personality routines than the standard's read behind their address is up to them; those
 * of C++ and other languages read what the standard's do.
 */
static bool code_find(const uint8_t *at, size_t left, struct code *ret)
{
	uint32_t first, begin = 1, words = 0;

	if (left < WORD)
		return false;
	first = word_at(at);
	if (!(first & COMPACT)) {
		if (left < 2 * WORD)
			return false;
		at += WORD;
		left -= WORD;
		words = word_at(at) >> 24;
	} else {
		const uint32_t routine = first >> 24 & 0x7f;

		if (routine >= ROUTINES)
			return false;
		if (routine != ROUTINE_SHORT) {
			words = first >> 16 & 0xff;
			begin = 2;
		}
	}
	*ret = (struct code) { .words = at, .at = begin, .end = (words + 1) * WORD };
	return ret->end <= left;
}

enum exidx_found exidx_entry(const struct exidx *index, size_t i, uint64_t *begin_ret,
			     struct exidx_row *ret)
{
	const uint8_t *entry = index->entries + i * EXIDX_ENTRY_BYTES;
	const uint32_t word = word_at(entry + WORD);
	const uint8_t *at = entry + WORD;
	struct code code;

	CHECK(i < index->count);
	CHECK(index->entries >= index->begin && index->entries <= index->end);
	*begin_ret = address_at(entry);
	if (word == CANTUNWIND)
		return EXIDX_CANNOT;
	if (!(word & COMPACT)) {
		const uint64_t address = address_at(at);

		if (address < (uintptr_t)index->begin || address >= (uintptr_t)index->end ||
		    address % WORD != 0)
			return EXIDX_NONE;
		at = (const uint8_t *)(uintptr_t)address;
	} else if (word >> 24 != COMPACT >> 24) {
		return EXIDX_NONE;
	}
	if (!code_find(at, (size_t)(index->end - at), &code) || !row_compute(code, ret))
		return EXIDX_NONE;
	return EXIDX_ROW;
}

/* The last entry of code at or before pc. False: there is none. */
static bool entry_search(const struct exidx *index, uint64_t pc, size_t *ret)
{
	size_t low = 0, high = index->count;

	if (index->count == 0 || address_at(index->entries) > pc)
		return false;
	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;

		if (address_at(index->entries + middle * EXIDX_ENTRY_BYTES) <= pc)
			low = middle;
		else
			high = middle;
	}
	*ret = low;
	return true;
}

enum exidx_found exidx_find(const struct exidx *index, uint64_t pc, struct exidx_row *ret)
{
	uint64_t begin;
	size_t i;

	return entry_search(index, pc, &i) ? exidx_entry(index, i, &begin, ret) : EXIDX_NONE;
}

enum exidx_found exidx_find_interrupted(const struct exidx *index, uint64_t pc,
					struct exidx_row *ret)
{
	const enum exidx_found found = exidx_find(index, pc, ret);

	if (found == EXIDX_ROW && !(ret->saved >> EXIDX_REG_SP & 1) && exidx_begins(index, pc))
		*ret = (struct exidx_row) { .reg = EXIDX_REG_SP };
	return found;
}

bool exidx_begins(const struct exidx *index, uint64_t pc)
{
	size_t i;

	return entry_search(index, pc, &i) &&
	       address_at(index->entries + i * EXIDX_ENTRY_BYTES) == pc;
}

bool exidx_begins_between(const struct exidx *index, uint64_t begin, uint64_t pc)
{
	size_t i;

	return entry_search(index, pc, &i) &&
	       address_at(index->entries + i * EXIDX_ENTRY_BYTES) > begin;
}

/* mov r7, #1; svc #0 in ARM code, and in Thumb code of either length. */
bool exidx_code_ends_thread(const uint8_t *code, size_t left)
{
	static const struct {
		uint8_t size, bytes[8];
	} exits[] = { { 8, { 0x01, 0x70, 0xa0, 0xe3, 0, 0, 0, 0xef } },
		      { 6, { 0x4f, 0xf0, 0x01, 0x07, 0x00, 0xdf } },
		      { 4, { 0x01, 0x27, 0x00, 0xdf } } };

	for (size_t i = 0; i < array_size(exits); i++)
		if (exits[i].size <= left && memcmp(code, exits[i].bytes, exits[i].size) == 0)
			return true;
	return false;
}
