#include "unwind/frames.h"

#include "arch/native.h"

#include "core/poison.h"

enum { LENGTH_64BIT = 0xffffffff, CIE_ID = 0, EQUAL_ENTRIES_MAX = 8 };

static const uint8_t TABLE_USUAL = EH_PE_DATAREL | EH_PE_SDATA4;

/* A CIE or FDE; id is 0 or the distance from its own place back to the CIE. */
struct record {
	const uint8_t *id_at;
	uint64_t id;
	struct bytes body; /* what follows the id */
};

/* Takes the next record off section. False: the terminator, the end or garbage. */
static bool record_read(struct bytes *section, struct record *ret)
{
	uint64_t len = bytes_u32(section);
	bool is_64bit = len == (uint32_t)LENGTH_64BIT;
	struct bytes body;

	if (is_64bit)
		len = bytes_u64(section);
	if (section->failed || len == 0 || len > bytes_left(section))
		return false;
	body = (struct bytes) { .at = section->at, .end = section->at + len };
	section->at += len;
	ret->id_at = body.at;
	ret->id = is_64bit ? bytes_u64(&body) : bytes_u32(&body);
	ret->body = body;
	return !body.failed;
}

static struct bytes section_from(const struct unwind_object *object, const uint8_t *at)
{
	return (struct bytes) { .at = at, .end = object->frames_end };
}

/* The letters of "zRPLS"; with 'z' unknown letters are skipped by their size. */
static void cie_read_augmentation(struct bytes *b, const char *letters, struct frame_entry *ret)
{
	struct bytes block = *b;

	ret->has_augmentation_size = *letters == 'z';
	if (ret->has_augmentation_size) {
		uint64_t size = bytes_uleb(b);

		block.at = b->at;
		bytes_skip(b, size);
		if (b->failed)
			return;
		block.end = b->at;
		letters++;
	}
	for (; *letters; letters++) {
		if (*letters == 'R') {
			ret->pointer_encoding = bytes_u8(&block);
		} else if (*letters == 'L') {
			bytes_u8(&block);
		} else if (*letters == 'P') {
			bytes_encoded_form(&block, bytes_u8(&block));
		} else if (*letters == 'S') {
			ret->is_signal = true;
		} else if (arch_augmentation_is_mark(*letters)) {
			continue;
		} else if (!ret->has_augmentation_size) {
			bytes_fail(b);
			return;
		} else {
			break;
		}
	}
	if (block.failed)
		bytes_fail(b);
}

static const char *cie_read_letters(struct bytes *b)
{
	const char *letters = (const char *)b->at;

	while (bytes_u8(b))
		;
	return letters;
}

static bool cie_read(const struct unwind_object *object, const uint8_t *at, struct frame_entry *ret)
{
	struct bytes section = section_from(object, at);
	struct record record;
	struct bytes *b = &record.body;
	const char *letters;
	uint8_t version;

	if (!record_read(&section, &record) || record.id != CIE_ID)
		return false;
	version = bytes_u8(b);
	if (version != 1 && version != 3 && version != 4)
		return false;
	letters = cie_read_letters(b);
	if (b->failed)
		return false;
	if (version == 4)
		bytes_skip(b, 2);		      /* sizes of address and segment selector */
	if (letters[0] == 'e' && letters[1] == 'h') { /* gcc 2: a pointer nobody reads */
		bytes_skip(b, ARCH_WORD_BYTES);
		letters += 2;
	}
	ret->pointer_encoding = EH_PE_ABSPTR;
	ret->is_signal = false;
	ret->code_align = bytes_uleb(b);
	ret->data_align = bytes_sleb(b);
	ret->ra_reg = version == 1 ? bytes_u8(b) : bytes_uleb(b);
	cie_read_augmentation(b, letters, ret);
	ret->initial = *b;
	return !b->failed;
}

static bool fde_read(const struct unwind_object *object, const struct record *record,
		     struct frame_entry *ret)
{
	struct bytes b = record->body;
	uint64_t range;

	if (record->id == CIE_ID || record->id > (size_t)(record->id_at - object->frames_begin))
		return false;
	if (!cie_read(object, record->id_at - record->id, ret))
		return false;
	ret->pc_begin = bytes_encoded(&b, ret->pointer_encoding, 0, object->frames_begin,
				      object->frames_end);
	range = bytes_encoded_form(&b, ret->pointer_encoding & EH_PE_FORM);
	if (range > UINT64_MAX - ret->pc_begin)
		return false;
	ret->pc_end = ret->pc_begin + range;
	if (ret->has_augmentation_size)
		bytes_skip(&b, bytes_uleb(&b));
	ret->program = b;
	return !b.failed;
}

static bool entry_covers(const struct frame_entry *entry, uint64_t pc)
{
	return pc >= entry->pc_begin && pc < entry->pc_end;
}

static bool find_linear(const struct unwind_object *object, uint64_t pc, struct frame_entry *ret)
{
	struct bytes section = section_from(object, object->eh_frame);
	struct record record;

	if (!object->eh_frame)
		return false;
	while (record_read(&section, &record))
		if (fde_read(object, &record, ret) && entry_covers(ret, pc))
			return true;
	return false;
}

bool frames_next(const struct unwind_object *object, const uint8_t **at, struct frame_entry *ret)
{
	struct bytes section = section_from(object, *at ? *at : object->eh_frame);
	struct record record;

	if (!object->eh_frame)
		return false;
	while (record_read(&section, &record)) {
		*at = section.at;
		if (fde_read(object, &record, ret))
			return true;
	}
	return false;
}

size_t frames_table_width(uint8_t encoding)
{
	uint8_t base = encoding & EH_PE_BASE;

	if (encoding & EH_PE_INDIRECT ||
	    (base != EH_PE_ABSPTR && base != EH_PE_PCREL && base != EH_PE_DATAREL))
		return 0;
	switch (encoding & EH_PE_FORM) {
	case EH_PE_UDATA2:
	case EH_PE_SDATA2:
		return 2;
	case EH_PE_UDATA4:
	case EH_PE_SDATA4:
		return 4;
	case EH_PE_ABSPTR:
		return ARCH_WORD_BYTES;
	case EH_PE_UDATA8:
	case EH_PE_SDATA8:
		return 8;
	}
	return 0;
}

/* Number i of the table: twice as many as entries, pcs even and addresses of FDEs odd. */
static uint64_t table_number(const struct unwind_object *object, size_t i)
{
	uint64_t data_base = (uintptr_t)object->eh_frame_hdr;
	const uint8_t *at;
	struct bytes b;

	if (likely(object->table_encoding == TABLE_USUAL))
		return (arch_word)(data_base + (uint64_t)(int32_t)arch_little_u32(
						       load_u32(object->table + 4 * i)));
	at = object->table + frames_table_width(object->table_encoding) * i;
	b = (struct bytes) { .at = at, .end = at + 8 };
	return bytes_encoded(&b, object->table_encoding, data_base, at, at);
}

/* Index of the last entry that begins at or before pc. *sorted_ret: whether to trust it. */
static size_t table_search(const struct unwind_object *object, uint64_t pc, bool *sorted_ret)
{
	size_t low = 0, high = object->table_count;
	uint64_t low_pc = table_number(object, 0), high_pc = UINT64_MAX;

	*sorted_ret = true;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		uint64_t middle_pc = table_number(object, 2 * middle);

		if (unlikely(middle_pc < low_pc || middle_pc > high_pc))
			*sorted_ret = false;
		if (middle_pc <= pc) {
			low = middle;
			low_pc = middle_pc;
		} else {
			high = middle;
			high_pc = middle_pc;
		}
	}
	return low;
}

static bool fde_read_at(const struct unwind_object *object, uint64_t address,
			struct frame_entry *ret)
{
	struct record record;
	struct bytes section;

	if (address < (uintptr_t)object->frames_begin || address >= (uintptr_t)object->frames_end)
		return false;
	section = section_from(object, (const uint8_t *)(uintptr_t)address);
	return record_read(&section, &record) && fde_read(object, &record, ret);
}

static bool find_entry(const struct unwind_object *object, uint64_t pc, struct frame_entry *ret)
{
	bool is_sorted;
	size_t i;

	if (!object->table)
		return find_linear(object, pc, ret);
	i = table_search(object, pc, &is_sorted);
	if (!is_sorted)
		return find_linear(object, pc, ret);
	/* An empty function begins where the next one does: check equal ones too. */
	for (int tries = 0; tries < EQUAL_ENTRIES_MAX; tries++, i--) {
		if (fde_read_at(object, table_number(object, 2 * i + 1), ret) &&
		    entry_covers(ret, pc))
			return true;
		if (i == 0 || table_number(object, 2 * (i - 1)) != table_number(object, 2 * i))
			return false;
	}
	return false;
}

enum frames_found frames_find(const struct unwind_object *object, uint64_t pc,
			      struct frame_entry *ret)
{
	bool is_found = object->frames_begin && find_entry(object, pc, ret);

	CHECK((uintptr_t)object->frames_begin <= (uintptr_t)object->frames_end);
	/*
	 * A trampoline's information, where a link register is, leaves out the interrupted function.
	 * One without its own information seems to belong to the function before it,
	 * because its first instruction is a return address. Code is read only then: it is not in
	 * the data cache.
	 */
	if ((!is_found || pc + 1 == ret->pc_end || (UNWIND_LINKS && ret->is_signal)) &&
	    unwind_object_is_sigreturn(object, pc, &ret->above_sp))
		return FRAMES_SIGRETURN;
	if (is_found)
		return FRAMES_ENTRY;
	if (object->frames_begin && find_entry(object, pc + 1, ret) && ret->pc_begin == pc + 1)
		return FRAMES_BOTTOM;
	return FRAMES_NONE;
}
