/*
 * words32: what is the same on all processors whose words have 32 bits; see native.h. Their system
 * calls have versions with numbers of 64 bits.
 */
#ifndef MEMTAPE_ARCH_WORDS32_H
#define MEMTAPE_ARCH_WORDS32_H

#include <elf.h>
#include <stdint.h>
#include <sys/syscall.h>

enum {
	ARCH_WORD_BYTES = 4,
	ARCH_CALL_MMAP = SYS_mmap2,
	ARCH_MMAP_UNIT = 4096,
	ARCH_CALL_FSTAT = SYS_fstat64,
	ARCH_CALL_FSTATAT = SYS_fstatat64,
	ARCH_CALL_FTRUNCATE = SYS_ftruncate64,
	ARCH_CALL_CLOCK = 403, /* clock_gettime64, from Linux 5.1 on */
	ARCH_CALL_GETUID = SYS_getuid32,
	ARCH_CALL_GETEUID = SYS_geteuid32,
	ARCH_CALL_GETGID = SYS_getgid32,
	ARCH_DT_RELOCATIONS = DT_REL,
	ARCH_DT_RELOCATIONS_BYTES = DT_RELSZ
};

typedef uint32_t arch_word;
typedef Elf32_Rel arch_relocation;

static inline uint32_t arch_relocation_type(const arch_relocation *relocation)
{
	return ELF32_R_TYPE(relocation->r_info);
}

static inline uint32_t arch_relocation_symbol(const arch_relocation *relocation)
{
	return ELF32_R_SYM(relocation->r_info);
}

/* What C++ calls functions that have a size_t. */
#define _Znwm				   _Znwj
#define _Znam				   _Znaj
#define _ZnwmRKSt9nothrow_t		   _ZnwjRKSt9nothrow_t
#define _ZnamRKSt9nothrow_t		   _ZnajRKSt9nothrow_t
#define _ZnwmSt11align_val_t		   _ZnwjSt11align_val_t
#define _ZnamSt11align_val_t		   _ZnajSt11align_val_t
#define _ZnwmSt11align_val_tRKSt9nothrow_t _ZnwjSt11align_val_tRKSt9nothrow_t
#define _ZnamSt11align_val_tRKSt9nothrow_t _ZnajSt11align_val_tRKSt9nothrow_t
#define _ZdlPvm				   _ZdlPvj
#define _ZdaPvm				   _ZdaPvj
#define _ZdlPvmSt11align_val_t		   _ZdlPvjSt11align_val_t
#define _ZdaPvmSt11align_val_t		   _ZdaPvjSt11align_val_t

/* It is in the word itself, which the loader has changed. */
static inline arch_word arch_relocation_addend(const arch_relocation *relocation)
{
	(void)relocation;
	return 0;
}

#endif
