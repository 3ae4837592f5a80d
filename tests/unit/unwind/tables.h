/*
 * A writer of small unwind sections in every encoding there is. The section lies in a buffer that
 * is its own "loaded object"; the code it speaks of is addresses only.
 */
#ifndef MEMTAPE_TESTS_UNIT_UNWIND_TABLES_H
#define MEMTAPE_TESTS_UNIT_UNWIND_TABLES_H

#include "unwind/bytes.h"
#include "unwind/rule.h"

#include <elf.h>
#include <string.h>

enum { TABLES_BYTES = 4096, TABLES_CODE = 0x2000, TABLES_FUNCTION = 0x100 };

struct tables {
	uint8_t bytes[TABLES_BYTES];
	size_t used;
	size_t cie;
	size_t frames; /* where .eh_frame begins */
};

static inline uint64_t tables_address(const struct tables *tables, size_t offset)
{
	return (uintptr_t)tables->bytes + offset;
}

/* The address of function number i, TABLES_FUNCTION bytes long. */
static inline uint64_t tables_code(const struct tables *tables, size_t i)
{
	return tables_address(tables, TABLES_CODE + i * TABLES_FUNCTION);
}

static inline void tables_put(struct tables *tables, const void *bytes, size_t count)
{
	if (count > 0) /* bytes may be NULL then */
		memcpy(tables->bytes + tables->used, bytes, count);
	tables->used += count;
}

static inline void tables_put_number(struct tables *tables, uint64_t value, size_t count)
{
	tables_put(tables, &value, count);
}

static inline void tables_put_uleb(struct tables *tables, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		tables_put_number(tables, (value & 0x7f) | 0x80, 1);
	tables_put_number(tables, value, 1);
}

/* value is an address, or with form_only just a number. */
static inline void tables_put_encoded(struct tables *tables, uint8_t encoding, uint64_t value,
				      bool form_only)
{
	if (!form_only && (encoding & EH_PE_BASE) == EH_PE_PCREL)
		value -= tables_address(tables, tables->used);
	else if (!form_only && (encoding & EH_PE_BASE) == EH_PE_DATAREL)
		value -= tables_address(tables, 0);
	switch (encoding & EH_PE_FORM) {
	case EH_PE_UDATA2:
	case EH_PE_SDATA2:
		tables_put_number(tables, value, 2);
		break;
	case EH_PE_UDATA4:
	case EH_PE_SDATA4:
		tables_put_number(tables, value, 4);
		break;
	case EH_PE_ULEB128:
		tables_put_uleb(tables, value);
		break;
	default:
		tables_put_number(tables, value, 8);
	}
}

static inline size_t tables_begin_record(struct tables *tables)
{
	tables_put_number(tables, 0, 4);
	return tables->used;
}

static inline void tables_end_record(struct tables *tables, size_t begin)
{
	uint32_t len;

	while ((tables->used - begin) % 4)
		tables_put_number(tables, 0, 1); /* DW_CFA_nop */
	len = (uint32_t)(tables->used - begin);
	memcpy(tables->bytes + begin - 4, &len, 4);
}

/* A CIE "zR" (or "zRS"): CFA = rsp + 8, return address at CFA - 8. */
static inline void tables_put_cie(struct tables *tables, uint8_t encoding, const char *letters)
{
	static const uint8_t initial[] = { 0x0c, 7, 8, 0x90, 1 };
	size_t begin;

	tables->cie = tables->used;
	begin = tables_begin_record(tables);
	tables_put_number(tables, 0, 4);
	tables_put_number(tables, 1, 1);
	tables_put(tables, letters, strlen(letters) + 1);
	tables_put_number(tables, 1, 1);    /* code alignment */
	tables_put_number(tables, 0x78, 1); /* data alignment: -8 */
	tables_put_number(tables, 16, 1);
	if (letters[0] == 'z') {
		tables_put_uleb(tables, 1);
		tables_put_number(tables, encoding, 1);
	}
	tables_put(tables, initial, sizeof(initial));
	tables_end_record(tables, begin);
}

/* An FDE for function i. begin: what is written for its address, as it need not be the address. */
static inline size_t tables_put_fde(struct tables *tables, uint8_t encoding, uint64_t begin_address,
				    const uint8_t *program, size_t program_bytes)
{
	size_t at = tables->used, begin = tables_begin_record(tables);

	tables_put_number(tables, tables->used - tables->cie, 4);
	tables_put_encoded(tables, encoding, begin_address, false);
	tables_put_encoded(tables, encoding, TABLES_FUNCTION, true);
	tables_put_number(tables, 0, 1); /* no augmentation data */
	tables_put(tables, program, program_bytes);
	tables_end_record(tables, begin);
	return at;
}

static inline bool tables_load(const struct tables *tables, size_t header_bytes,
			       struct unwind_object *ret)
{
	const Elf64_Phdr phdrs[] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R, .p_memsz = TABLES_BYTES },
		{ .p_type = PT_GNU_EH_FRAME, .p_flags = PF_R, .p_memsz = header_bytes },
	};

	return unwind_object_init(ret, (uintptr_t)tables->bytes, phdrs, array_size(phdrs));
}

#endif
