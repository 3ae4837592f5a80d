/*
 * slots: the places through which a loaded object calls functions of others. The loader has filled
 * them with the functions' addresses, or does so at the first call; some of them are read-only from
 * then on.
 *
 * A place is changed only if it is certain what it is: its relocation names the function, and it
 * has that function's address, or in a lazy object the address of the object's own code that would
 * look it up. An object that another thread is still loading is left for the next scan: its
 * read-only parts are not read-only yet.
 */
#include "rec/attach.h"
#include "rec/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <sys/mman.h>

#include "core/poison.h"

struct slots {
	const struct dl_phdr_info *info;
	uint64_t bias, begin, end;
	uint64_t relro_begin, relro_end; /* read-only when the object is loaded; equal: nothing */
	bool is_open;			 /* it is writable now, by us */
	struct allocator_slot like;
	const ElfW(Sym) * symbols;
	const char *strings;
	const arch_relocation *calls, *others;
	size_t call_count, other_count;
};

static void take_segments(struct slots *slots)
{
	const struct dl_phdr_info *info = slots->info;

	slots->begin = UINT64_MAX;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		const uint64_t begin = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type == PT_LOAD) {
			slots->begin = u64_min(slots->begin, begin);
			slots->end = u64_max(slots->end, begin + phdr->p_memsz);
		} else if (phdr->p_type == PT_GNU_RELRO) {
			slots->relro_begin = begin & -rec.page_bytes;
			slots->relro_end = (begin + phdr->p_memsz) & -rec.page_bytes;
		}
	}
}

/* As in symbols.c: glibc has relocated these to addresses, musl has not. */
static const void *entry_address(uint64_t bias, uint64_t value)
{
	return (const void *)(uintptr_t)(value < bias ? value + bias : value);
}

static bool take_tables(struct slots *slots)
{
	const struct dl_phdr_info *info = slots->info;
	const ElfW(Dyn) *entry = NULL;

	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		const uint64_t value = entry->d_un.d_val;

		switch (entry->d_tag) {
		case DT_SYMTAB:
			slots->symbols = entry_address(slots->bias, value);
			break;
		case DT_STRTAB:
			slots->strings = entry_address(slots->bias, value);
			break;
		case DT_JMPREL:
			slots->calls = entry_address(slots->bias, value);
			break;
		case DT_PLTRELSZ:
			slots->call_count = (size_t)value / sizeof(arch_relocation);
			break;
		case ARCH_DT_RELOCATIONS:
			slots->others = entry_address(slots->bias, value);
			break;
		case ARCH_DT_RELOCATIONS_BYTES:
			slots->other_count = (size_t)value / sizeof(arch_relocation);
			break;
		}
	}
	return slots->symbols && slots->strings;
}

/*
 * Whether the kernel allows writing a page, tested without writing: a wake-up that adds 0 to a word
 * that nobody waits on.
 */
bool rec_is_writable(uint64_t address)
{
	enum { WAKE_OP = 5 | 128 /* private */, ADD_ZERO = 1 << 28 };

	return sys_call6(SYS_futex, (long)address, WAKE_OP, 0, 0, (long)address, ADD_ZERO) !=
	       -EFAULT;
}

static bool relro_set(const struct slots *slots, int prot)
{
	return SYS_CALL3(SYS_mprotect, slots->relro_begin, slots->relro_end - slots->relro_begin,
			 prot) == 0;
}

/* Not text that the loader has changed and protected again. */
static bool is_data(const struct slots *slots, uint64_t address)
{
	for (unsigned i = 0; i < slots->info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &slots->info->dlpi_phdr[i];

		if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_W &&
		    address - (slots->bias + phdr->p_vaddr) < phdr->p_memsz)
			return true;
	}
	return false;
}

/* False: the place cannot be written. */
static bool slot_open(struct slots *slots, uint64_t address)
{
	if (address - slots->relro_begin >= slots->relro_end - slots->relro_begin ||
	    slots->is_open || rec_is_writable(address))
		return is_data(slots, address);
	slots->is_open = relro_set(slots, PROT_READ | PROT_WRITE);
	return slots->is_open;
}

static bool slot_write(struct slots *slots, arch_word *slot, arch_word value)
{
	if (!slot_open(slots, (uintptr_t)slot) || !rec_attach_log(slot, *slot, value))
		return false;
	__atomic_store_n(slot, value, __ATOMIC_RELEASE);
	return true;
}

static void slot_lead(struct slots *slots, arch_word *slot, struct allocator_binding *binding)
{
	struct allocator *allocator = binding->allocator;
	const size_t index = (size_t)(binding - rec_allocator_bindings);

	if (!slot_write(slots, slot, (uintptr_t)rec_allocator_stub(index)))
		return;
	allocator->places++;
	allocator->is_told = false;
	if (allocator->counting != slots->bias || !allocator->objects) {
		allocator->counting = slots->bias;
		allocator->objects++;
	}
}

static void slot_look(struct slots *slots, const arch_relocation *relocation)
{
	const uint32_t type = arch_relocation_type(relocation);
	const uint32_t index = arch_relocation_symbol(relocation);
	arch_word *place = (arch_word *)(uintptr_t)(slots->bias + relocation->r_offset);
	struct allocator_slot slot = slots->like;
	struct allocator_binding *binding;
	uint64_t hook;

	if (index == 0 ||
	    (type != ARCH_RELOC_CALL && type != ARCH_RELOC_DATA && type != ARCH_RELOC_WORD) ||
	    (type == ARCH_RELOC_WORD && arch_relocation_addend(relocation) != 0) ||
	    (uintptr_t)place % ARCH_WORD_BYTES != 0)
		return;
	slot.name = slots->strings + slots->symbols[index].st_name;
	slot.bound = __atomic_load_n(place, __ATOMIC_RELAXED);
	slot.may_be_lazy =
		type == ARCH_RELOC_CALL && slot.bound - slots->begin < slots->end - slots->begin;
	if (strcmp(slot.name, "dlsym") == 0) {
		if (slot.may_be_lazy || slot.bound == (uintptr_t)rec_dlsym)
			slot_write(slots, place, (uintptr_t)&rec_allocator_dlsym);
		return;
	}
	hook = rec_attach_hook(&slot);
	if (hook) {
		slot_write(slots, place, (arch_word)hook);
		return;
	}
	binding = rec_allocator_for(&slot);
	if (binding)
		slot_lead(slots, place, binding);
}

/* The loader protects read-only parts once it has filled them. */
static bool is_loaded(const struct slots *slots)
{
	return slots->like.is_first || slots->relro_begin >= slots->relro_end ||
	       !rec_is_writable(slots->relro_begin);
}

static bool is_any_named(const struct slots *slots, const arch_relocation *places,
			 size_t place_count, const char *const *names, size_t count)
{
	for (size_t i = 0; places && i < place_count; i++) {
		const uint32_t index = arch_relocation_symbol(&places[i]);
		const char *name = slots->strings + slots->symbols[index].st_name;

		for (size_t k = 0; index != 0 && k < count; k++)
			if (strcmp(name, names[k]) == 0)
				return true;
	}
	return false;
}

bool rec_slots_call(const struct dl_phdr_info *info, const char *const *names, size_t count)
{
	struct slots slots = { .info = info, .bias = info->dlpi_addr };

	CHECK(names || count == 0);
	return take_tables(&slots) &&
	       (is_any_named(&slots, slots.calls, slots.call_count, names, count) ||
		is_any_named(&slots, slots.others, slots.other_count, names, count));
}

bool rec_slots_patch(const struct dl_phdr_info *info, const struct allocator_slot *like)
{
	struct slots slots = { .info = info, .bias = info->dlpi_addr, .like = *like };

	CHECK(!like->name && !like->bound);
	take_segments(&slots);
	if (!take_tables(&slots))
		return true;
	if (!is_loaded(&slots))
		return false;
	for (size_t i = 0; slots.calls && i < slots.call_count; i++)
		slot_look(&slots, &slots.calls[i]);
	for (size_t i = 0; slots.others && i < slots.other_count; i++)
		slot_look(&slots, &slots.others[i]);
	if (slots.is_open)
		relro_set(&slots, PROT_READ);
	return true;
}
