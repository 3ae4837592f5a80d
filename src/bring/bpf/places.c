#include "bpf/places.h"

#include <elf.h>

#include "symbol/elf_names.h"

enum { FIRST = 1, SECOND = 2, THIRD = 4, CODE_BYTES_MAX = 32 };

/* The hooks of the recorder (hooks.def) that allocate or free; what is new and delete calls these. */
static const struct function {
	const char *name;
	enum tape_fn fn;
	enum probes_shape shape;
	unsigned arguments;
	bool is_free;
} functions[] = {
	{ "malloc", TAPE_FN_MALLOC, PROBES_SIZE, FIRST, false },
	{ "calloc", TAPE_FN_CALLOC, PROBES_PRODUCT, FIRST | SECOND, false },
	{ "realloc", TAPE_FN_REALLOC, PROBES_REALLOC, FIRST | SECOND, false },
	{ "memalign", TAPE_FN_MEMALIGN, PROBES_ALIGNED, SECOND, false },
	{ "aligned_alloc", TAPE_FN_ALIGNED_ALLOC, PROBES_ALIGNED, SECOND, false },
	{ "posix_memalign", TAPE_FN_POSIX_MEMALIGN, PROBES_POSIX, FIRST | THIRD, false },
	{ "valloc", TAPE_FN_VALLOC, PROBES_SIZE, FIRST, false },
	{ "pvalloc", TAPE_FN_PVALLOC, PROBES_SIZE, FIRST, false },
	{ "reallocarray", TAPE_FN_REALLOCARRAY, PROBES_REALLOCARRAY, FIRST | SECOND | THIRD,
	  false },
	{ "free", TAPE_FN_FREE, PROBES_SIZE, FIRST, true },
	{ "cfree", TAPE_FN_CFREE, PROBES_SIZE, FIRST, true },
	{ "free_sized", TAPE_FN_FREE_SIZED, PROBES_SIZE, FIRST, true },
	{ "free_aligned_sized", TAPE_FN_FREE_ALIGNED_SIZED, PROBES_SIZE, FIRST, true },
};

static const struct {
	const char *name;
	enum tape_fn fn;
} news[] = {
	{ "_Znwm", TAPE_FN_NEW },
	{ "_Znam", TAPE_FN_NEW_ARRAY },
	{ "_ZnwmRKSt9nothrow_t", TAPE_FN_NEW_NOTHROW },
	{ "_ZnamRKSt9nothrow_t", TAPE_FN_NEW_ARRAY_NOTHROW },
	{ "_ZnwmSt11align_val_t", TAPE_FN_NEW_ALIGNED },
	{ "_ZnamSt11align_val_t", TAPE_FN_NEW_ARRAY_ALIGNED },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", TAPE_FN_NEW_ALIGNED_NOTHROW },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", TAPE_FN_NEW_ARRAY_ALIGNED_NOTHROW },
};

bool places_is_new(const char *name, enum tape_fn *fn_ret)
{
	for (size_t i = 0; i < array_size(news); i++)
		if (strcmp(news[i].name, name) == 0) {
			*fn_ret = news[i].fn;
			return true;
		}
	return false;
}

/* --- instructions ---------------------------------------------------------------------------- */

enum { RDX = 2, RSP = 4, RSI = 6, RDI = 7, NO_REGISTER = -1 };

struct instruction {
	size_t bytes; /* 0: not understood */
	bool is_cheap;
	bool pushes;
	int written; /* register, or NO_REGISTER */
};

/* Bytes of a ModRM byte and what belongs to it. */
static size_t modrm_bytes(const uint8_t *at)
{
	const unsigned mod = at[0] >> 6, rm = at[0] & 7;
	size_t bytes = 1 + (mod == 1) + 4 * (mod == 2);

	if (mod == 3)
		return 1;
	if (rm == 4)
		bytes += 1 + 4 * (mod == 0 && (at[1] & 7) == 5);
	return bytes + 4 * (mod == 0 && rm == 5);
}

enum { WRITES_NOTHING, WRITES_RM, WRITES_REG };

static struct instruction with_modrm(const uint8_t *begin, const uint8_t *at, unsigned rex,
				     int writes, size_t immediate_bytes)
{
	const unsigned reg = (at[0] >> 3 & 7) | (rex & 4) << 1, rm = (at[0] & 7) | (rex & 1) << 3;
	struct instruction instruction = { .written = NO_REGISTER };

	if (writes == WRITES_REG)
		instruction.written = (int)reg;
	else if (writes == WRITES_RM && at[0] >> 6 == 3)
		instruction.written = (int)rm;
	instruction.bytes = (size_t)(at - begin) + modrm_bytes(at) + immediate_bytes;
	return instruction;
}

/* Opcodes of two bytes: 0f and this one. */
static struct instruction decode_0f(const uint8_t *begin, const uint8_t *at, unsigned rex)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	const uint8_t op = at[0];
	struct instruction instruction = { .written = NO_REGISTER };

	if (op >= 0x80 && op <= 0x8f) { /* jcc */
		instruction.bytes = (size_t)(at - begin) + 5;
		instruction.is_cheap = true;
		return instruction;
	}
	if (op == 0x1f) {
		instruction = with_modrm(begin, at + 1, rex, WRITES_NOTHING, 0);
		instruction.is_cheap = memcmp(begin, nop5, sizeof(nop5)) == 0;
		return instruction;
	}
	if ((op >= 0x40 && op <= 0x4f) || op == 0xaf || op == 0xb6 || op == 0xb7 || op == 0xbe ||
	    op == 0xbf)
		return with_modrm(begin, at + 1, rex, WRITES_REG, 0);
	return instruction;
}

static struct instruction decode_arithmetic(const uint8_t *begin, const uint8_t *at, unsigned rex)
{
	const unsigned op = at[0], which = at[1] >> 3 & 7;
	const bool compares = op == 0x38 || op == 0x39 || op == 0x3a || op == 0x3b;

	if (op == 0x83 || op == 0x80)
		return with_modrm(begin, at + 1, rex, which == 7 ? WRITES_NOTHING : WRITES_RM, 1);
	if (op == 0x81)
		return with_modrm(begin, at + 1, rex, which == 7 ? WRITES_NOTHING : WRITES_RM, 4);
	if (op == 0xf6 && which == 0)
		return with_modrm(begin, at + 1, rex, WRITES_NOTHING, 1);
	if (op == 0xf7 && which == 0)
		return with_modrm(begin, at + 1, rex, WRITES_NOTHING, 4);
	if (op == 0xc7 && which == 0)
		return with_modrm(begin, at + 1, rex, WRITES_RM, 4);
	if (op == 0x84 || op == 0x85 || compares)
		return with_modrm(begin, at + 1, rex, WRITES_NOTHING, 0);
	if (op == 0x8b || op == 0x8d || op == 0x63 || (op < 0x40 && (op & 7) == 3))
		return with_modrm(begin, at + 1, rex, WRITES_REG, 0);
	if (op == 0x88 || op == 0x89 || (op < 0x40 && (op & 7) == 1))
		return with_modrm(begin, at + 1, rex, WRITES_RM, 0);
	return (struct instruction) { .written = NO_REGISTER };
}

/*
 * What begins functions, as compilers write them. At least 16 bytes follow `at`. The kernel
 * emulates pushes, jumps and nops (arch/x86/kernel/uprobes.c); all else it steps over, with a trap:
 * 36 to 55 us on the virtual machine where this was measured, against 0.5 us.
 */
static struct instruction decode(const uint8_t *begin)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct instruction instruction = { .written = NO_REGISTER };
	const uint8_t *at = begin;
	unsigned rex = 0;

	if (memcmp(at, endbr64, sizeof(endbr64)) == 0) {
		instruction.bytes = sizeof(endbr64);
		return instruction;
	}
	if (*at == 0x64) /* fs: */
		at++;
	if ((*at & 0xf0) == 0x40)
		rex = *at++;
	if ((*at & 0xf8) == 0x50) { /* push */
		instruction.bytes = (size_t)(at - begin) + 1;
		instruction.is_cheap = instruction.pushes = true;
	} else if (*at == 0x90 || (*at & 0xf0) == 0x70 || *at == 0xeb) { /* nop, jcc, jmp */
		instruction.bytes = *at == 0x90 ? 1 : 2;
		instruction.is_cheap = at == begin;
	} else if (*at == 0xe9) {
		instruction.bytes = 5;
		instruction.is_cheap = at == begin;
	} else if ((*at & 0xf8) == 0xb8) { /* mov immediate */
		instruction.bytes = (size_t)(at - begin) + (rex & 8 ? 9 : 5);
		instruction.written = (int)((*at & 7) | (rex & 1) << 3);
	} else if (*at == 0x0f) {
		return decode_0f(begin, at + 1, rex);
	} else {
		return decode_arithmetic(begin, at, rex);
	}
	return instruction;
}

static bool writes_argument(const struct instruction *instruction, unsigned arguments)
{
	return (instruction->written == RDI && arguments & FIRST) ||
	       (instruction->written == RSI && arguments & SECOND) ||
	       (instruction->written == RDX && arguments & THIRD);
}

size_t places_cheap(const uint8_t *code, size_t bytes, unsigned arguments, bool is_returning,
		    bool *is_cheap_ret)
{
	uint8_t copy[CODE_BYTES_MAX + 16] = { 0 };
	const size_t end = bytes < CODE_BYTES_MAX ? bytes : CODE_BYTES_MAX;

	memcpy(copy, code, bytes < sizeof(copy) ? bytes : sizeof(copy));
	*is_cheap_ret = false;
	for (size_t at = 0; at < end;) {
		const struct instruction instruction = decode(copy + at);

		*is_cheap_ret = instruction.is_cheap;
		if (instruction.is_cheap)
			return at;
		if (instruction.bytes == 0 || writes_argument(&instruction, arguments) ||
		    (is_returning && instruction.written == RSP))
			break;
		at += instruction.bytes;
	}
	return 0;
}

/* --- functions ------------------------------------------------------------------------------- */

/* The bytes of the file at an address of the object; NULL: there are none. */
static const uint8_t *code_at(const struct elf_file *file, uint64_t address, size_t *bytes_ret)
{
	for (size_t i = 0; i < file->section_count; i++) {
		const struct elf_section *section = &file->sections[i];

		if (section->type != SHT_PROGBITS || address < section->address ||
		    address - section->address >= section->bytes)
			continue;
		*bytes_ret = section->bytes - (address - section->address);
		return file->bytes + section->offset + (address - section->address);
	}
	return NULL;
}

static const struct elf_name *name_find(const struct elf_names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->names[i].name, name) == 0)
			return &names->names[i];
	return NULL;
}

static bool is_placed(const struct places *places, size_t first, uint64_t address)
{
	for (size_t i = first; i < places->count; i++)
		if (places->items[i].address == address)
			return true;
	return false;
}

/* Several names of one function are one place. */
static bool place_add(const struct elf_file *file, const struct elf_name *name,
		      const struct function *function, size_t first, struct places *places)
{
	struct place place = { .function = function->name,
			       .address = name->address,
			       .fn = function->fn,
			       .shape = function->shape,
			       .is_free = function->is_free };
	size_t bytes = 0;
	const uint8_t *code = code_at(file, name->address, &bytes);

	if (!code || is_placed(places, first, name->address))
		return true;
	if (!name->is_open && name->bytes < bytes)
		bytes = name->bytes;
	place.offset =
		(uint64_t)(code - file->bytes) +
		places_cheap(code, bytes, function->arguments, !function->is_free, &place.is_cheap);
	return places_push(places, place);
}

bool places_find(const struct elf_file *file, struct places *places)
{
	struct elf_names names = { 0 };
	const size_t first = places->count;
	bool ok = elf_names_add(&names, file);

	for (size_t i = 0; i < array_size(functions) && ok && name_find(&names, "malloc"); i++) {
		const struct elf_name *name = name_find(&names, functions[i].name);

		if (name)
			ok = place_add(file, name, &functions[i], first, places);
	}
	elf_names_deinit(&names);
	return ok;
}
