#include "unwind/frames.h"

#include <elf.h>
#include <link.h>

#include "arch/native.h"

#include "core/poison.h"

/* Program headers as the loader left them; copied out one by one, for alignment's sake. */
struct segments {
	const uint8_t *phdr;
	size_t count;
	uint64_t bias;
};

static ElfW(Phdr) segment_get(const struct segments *segments, size_t i)
{
	ElfW(Phdr) phdr;

	memcpy(&phdr, segments->phdr + i * sizeof(phdr), sizeof(phdr));
	phdr.p_vaddr = (ElfW(Addr))(phdr.p_vaddr + segments->bias);
	if (phdr.p_memsz > (ElfW(Addr)) - 1 - phdr.p_vaddr)
		phdr.p_memsz = 0;
	return phdr;
}

/* The readable segment around address. */
static bool segment_around(const struct segments *segments, uint64_t address, uint64_t *begin_ret,
			   uint64_t *end_ret)
{
	for (size_t i = 0; i < segments->count; i++) {
		ElfW(Phdr) phdr = segment_get(segments, i);

		if (phdr.p_type != PT_LOAD || !(phdr.p_flags & PF_R) || address < phdr.p_vaddr ||
		    address - phdr.p_vaddr >= phdr.p_memsz)
			continue;
		*begin_ret = phdr.p_vaddr;
		*end_ret = phdr.p_vaddr + phdr.p_memsz;
		return true;
	}
	return false;
}

/* What .eh_frame_hdr says; the search table is used only if it lies inside the section. */
static void header_read(struct unwind_object *object)
{
	const uint8_t *begin = object->eh_frame_hdr;
	const uint8_t *end = begin + object->eh_frame_hdr_bytes;
	struct bytes b = { .at = begin, .end = end };
	uint8_t version = bytes_u8(&b);
	uint8_t frame_encoding = bytes_u8(&b);
	uint8_t count_encoding = bytes_u8(&b);
	uint64_t frame = 0, count = 0;
	size_t width;

	object->table_encoding = bytes_u8(&b);
	if (version != 1 || b.failed)
		return;
	if (frame_encoding != EH_PE_OMIT)
		frame = bytes_encoded(&b, frame_encoding, (uintptr_t)begin, begin, end);
	if (count_encoding != EH_PE_OMIT && object->table_encoding != EH_PE_OMIT)
		count = bytes_encoded(&b, count_encoding, (uintptr_t)begin, begin, end);
	width = frames_table_width(object->table_encoding);
	if (!b.failed && width && count && count <= bytes_left(&b) / (2 * width)) {
		object->table = b.at;
		object->table_count = (size_t)count;
	}
	object->eh_frame = (const uint8_t *)(uintptr_t)frame;
}

static void frames_init(struct unwind_object *object, const struct segments *segments,
			uint64_t address, uint64_t size)
{
	uint64_t begin, end;

	if (!segment_around(segments, address, &begin, &end))
		return;
	object->eh_frame_hdr = (const uint8_t *)(uintptr_t)address;
	object->eh_frame_hdr_bytes = (size_t)u64_min(size, end - address);
	header_read(object);
	/* Nearly always the same segment, but that is not guaranteed. */
	if (object->eh_frame &&
	    !segment_around(segments, (uintptr_t)object->eh_frame, &begin, &end))
		object->eh_frame = NULL;
	object->frames_begin = (const uint8_t *)(uintptr_t)begin;
	object->frames_end = (const uint8_t *)(uintptr_t)end;
}

/* Its tables may be anywhere in the segment that it is in. */
static void index_init(struct unwind_object *object, const struct segments *segments,
		       uint64_t address, uint64_t size)
{
	uint64_t begin, end;

	if (address % ARCH_WORD_BYTES != 0 || !segment_around(segments, address, &begin, &end))
		return;
	object->index = (struct exidx) {
		.entries = (const uint8_t *)(uintptr_t)address,
		.count = (size_t)(u64_min(size, end - address) / EXIDX_ENTRY_BYTES),
		.begin = (const uint8_t *)(uintptr_t)begin,
		.end = (const uint8_t *)(uintptr_t)end,
	};
}

static void object_add_load(struct unwind_object *object, const ElfW(Phdr) * phdr)
{
	const uint32_t code = PF_R | PF_X;

	object->begin = u64_min(object->begin, phdr->p_vaddr);
	object->end = u64_max(object->end, phdr->p_vaddr + phdr->p_memsz);
	if ((phdr->p_flags & code) == code && !object->code_end) {
		object->code_begin = phdr->p_vaddr;
		object->code_end = phdr->p_vaddr + phdr->p_memsz;
	}
}

bool unwind_object_init(struct unwind_object *object, uint64_t bias, const void *phdr,
			size_t phdr_count)
{
	const struct segments segments = { .phdr = phdr, .count = phdr_count, .bias = bias };
	struct unwind_object built = { .begin = UINT64_MAX, .bias = bias };
	ElfW(Phdr) unwind_info = { 0 }, index = { 0 };

	CHECK(phdr || phdr_count == 0);
	for (size_t i = 0; i < phdr_count; i++) {
		ElfW(Phdr) segment = segment_get(&segments, i);

		if (segment.p_type == PT_LOAD && segment.p_memsz)
			object_add_load(&built, &segment);
		else if (segment.p_type == PT_GNU_EH_FRAME)
			unwind_info = segment;
		else if (ARCH_HAS_EXIDX && segment.p_type == PT_ARM_EXIDX)
			index = segment;
	}
	if (built.begin >= built.end)
		return false;
	if (unwind_info.p_memsz)
		frames_init(&built, &segments, unwind_info.p_vaddr, unwind_info.p_memsz);
	if (index.p_memsz)
		index_init(&built, &segments, index.p_vaddr, index.p_memsz);
	*object = built;
	return true;
}

void unwind_object_init_frames(struct unwind_object *object, const uint8_t *eh_frame)
{
	*object = (struct unwind_object) {
		.end = UINT64_MAX,
		.frames_begin = eh_frame,
		/* Unknown; a difference of pointers cannot exceed that. */
		.frames_end = eh_frame + u64_min(PTRDIFF_MAX, UINTPTR_MAX - (uintptr_t)eh_frame),
		.eh_frame = eh_frame,
	};
}

static bool code_is(const struct arch_trampoline *trampoline, uint64_t begin, uint64_t end,
		    uint64_t pc)
{
	if (pc < begin || pc >= end || end - pc < trampoline->bytes)
		return false;
	return memcmp((const void *)(uintptr_t)pc, trampoline->code, trampoline->bytes) == 0;
}

bool unwind_object_is_sigreturn(const struct unwind_object *object, uint64_t pc,
				int32_t *above_sp_ret)
{
	CHECK(object->code_begin <= object->code_end);
	return unwind_code_is_sigreturn(object->code_begin, object->code_end, pc, above_sp_ret);
}

bool unwind_code_is_sigreturn(uint64_t begin, uint64_t end, uint64_t pc, int32_t *above_sp_ret)
{
	for (uint32_t i = 0; i < ARCH_TRAMPOLINES; i++) {
		const struct arch_trampoline *trampoline = &arch_trampolines[i];

		*above_sp_ret = trampoline->above_sp;
		if (code_is(trampoline, begin, end, pc + 1) || code_is(trampoline, begin, end, pc))
			return true;
		*above_sp_ret = trampoline->above_call_sp;
		if (code_is(trampoline, begin, end, pc - trampoline->call))
			return true;
	}
	return false;
}
