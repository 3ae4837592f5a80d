/*
 * words64: what is the same on all processors whose words have 64 bits; see native.h.
 */
#ifndef MEMTAPE_ARCH_WORDS64_H
#define MEMTAPE_ARCH_WORDS64_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

enum {
	ARCH_WORD_BYTES = 8,
	ARCH_CALL_MMAP = SYS_mmap,
	ARCH_MMAP_UNIT = 1,
	ARCH_CALL_FSTAT = SYS_fstat,
	ARCH_CALL_FSTATAT = SYS_newfstatat,
	ARCH_CALL_FTRUNCATE = SYS_ftruncate,
	ARCH_CALL_CLOCK = SYS_clock_gettime,
	ARCH_CALL_CLOCK_SHORT = SYS_clock_gettime,
	ARCH_CALL_GETUID = SYS_getuid,
	ARCH_CALL_GETEUID = SYS_geteuid,
	ARCH_CALL_GETGID = SYS_getgid,
	ARCH_PAIRS_EVEN = 0,
	ARCH_DT_RELOCATIONS = DT_RELA,
	ARCH_DT_RELOCATIONS_BYTES = DT_RELASZ
};

typedef uint64_t arch_word;
typedef Elf64_Rela arch_relocation;
typedef int64_t arch_offset;

#define arch_syscall5(number, a, b, c, d, e) arch_syscall6(number, a, b, c, d, e, 0)

static inline uint32_t arch_relocation_type(const arch_relocation *relocation)
{
	return (uint32_t)ELF64_R_TYPE(relocation->r_info);
}

static inline uint32_t arch_relocation_symbol(const arch_relocation *relocation)
{
	return (uint32_t)ELF64_R_SYM(relocation->r_info);
}

static inline arch_word arch_relocation_addend(const arch_relocation *relocation)
{
	return (arch_word)relocation->r_addend;
}

static inline uint64_t arch_offset_bytes(arch_offset offset, bool is_wide)
{
	(void)is_wide;
	return (uint64_t)offset;
}

#endif
