/*
 * arm: see native.h. 32 bits, little-endian, EABI; ARM and Thumb code. Registers: DWARF for the Arm
 * Architecture (AADWARF32). Unwind tables are the EHABI's (unwind/exidx.h). A return address has bit 0
 * set where it leads to Thumb code. Functions keep their frame pointer in r7 (Thumb) or in r11 (ARM);
 * code that is interrupted may have used either for something else. Where the return address is from
 * there is not always the same, so there are no frame records to follow.
 *
 * The recorder itself uses neither register (src/meson.build): both have what the hook's caller left.
 */
#ifndef MEMTAPE_ARCH_ARM_H
#define MEMTAPE_ARCH_ARM_H

#include <elf.h>
#include <stdbool.h>

#include "arch/no_marks.h"
#include "arch/no_ticks.h"
#include "arch/words32.h"

enum {
	ARCH_ELF_MACHINE = EM_ARM,
	ARCH_ELF_OTHER = EM_AARCH64,
	ARCH_CALL_FORK = SYS_fork,
	ARCH_CALL_CLOCK_SHORT = 263,
	ARCH_REGS = 16,
	ARCH_REG_FP = 7,
	ARCH_REG_OTHER_FP = 11,
	ARCH_REG_SP = 13,
	ARCH_REG_RA = 14,
	ARCH_REG_PC = 15,
	ARCH_RA_BELOW_CFA = 0,
	ARCH_RECORD_BELOW_FP = ARCH_RECORD_NONE,
	ARCH_RECORD_BELOW_CFA = 0,
	ARCH_STACK_UNIT = 4,
	ARCH_CODE_SHIFT = 0,
	ARCH_LINK_BYTES = 4,
	ARCH_HAS_EXIDX = 1,
	ARCH_ADDRESS_BITS = 32,
	ARCH_RED_ZONE_BYTES = 0,
	ARCH_SIGSET_BYTES = 8,
	ARCH_MAP_ANONYMOUS = 0x20,
	ARCH_MAP_NORESERVE = 0x4000,
	ARCH_DLOPEN_DEEPBIND = 8,
	ARCH_CONTEXT_BYTES = 104,
	ARCH_CONTEXT_FP = 60,
	ARCH_CONTEXT_RA = 88,
	ARCH_CONTEXT_SP = 84,
	ARCH_CONTEXT_PC = 92,
	ARCH_RELOC_CALL = R_ARM_JUMP_SLOT,
	ARCH_RELOC_DATA = R_ARM_GLOB_DAT,
	ARCH_RELOC_WORD = R_ARM_ABS32,
	ARCH_PAIRS_EVEN = 1,
	ARCH_TRAMPOLINES = 8,
	ARCH_TRAMPOLINE_BYTES = 8,
	ARCH_TRAMPOLINE_ALONE = 1
};

/* struct stat64 of the kernel. */
struct arch_stat {
	uint64_t st_dev;
	uint32_t pad0;
	uint32_t ino32;
	uint32_t st_mode;
	uint32_t st_nlink;
	uint32_t st_uid;
	uint32_t st_gid;
	uint64_t st_rdev;
	uint32_t pad1;
	int64_t st_size;
	uint32_t st_blksize;
	uint64_t st_blocks;
	uint32_t times[6];
	uint64_t st_ino;
};

#define ARCH_OTHER_LIBRARY	  "../libmemtape.so"
#define ARCH_OTHER_SYSTEM_LIBRARY "../../aarch64-linux-gnu/memtape/libmemtape.so"

#define ARCH_STAT struct arch_stat

static inline arch_word arch_reg_r7(void)
{
	arch_word value;

	__asm__("mov %0, r7" : "=r"(value));
	return value;
}

static inline arch_word arch_reg_r11(void)
{
	arch_word value;

	__asm__("mov %0, r11" : "=r"(value));
	return value;
}

#define ARCH_HOOK_CFA()	     ((arch_word)__builtin_dwarf_cfa())
#define ARCH_HOOK_FP()	     arch_reg_r7()
#define ARCH_HOOK_OTHER_FP() arch_reg_r11()

/* The return address has the highest number of what is saved, hence the highest place. */
struct arch_return {
};
#define ARCH_RETURN() ((struct arch_return) {})

static inline arch_word arch_return_slot(const struct arch_return *place, arch_word cfa)
{
	(void)place;
	return cfa - 4;
}

/* On the stack: one of 64 bits is where such a number may be, one of 32 bits is not. */
typedef struct {
	uint32_t narrow, low, high;
} arch_offset;

static inline uint64_t arch_offset_bytes(arch_offset offset, bool is_wide)
{
	return is_wide ? (uint64_t)offset.high << 32 | offset.low : offset.narrow;
}

static inline uint64_t arch_code_address(uint64_t address)
{
	return address & ~UINT64_C(1);
}

static inline int arch_map_flags(int flags)
{
	return flags;
}

/* bl and blx, of either instruction set. */
static inline bool arch_is_call(const uint8_t *code)
{
	const uint32_t first = code[0] | (uint32_t)code[1] << 8;
	const uint32_t second = code[2] | (uint32_t)code[3] << 8;
	const uint32_t word = first | second << 16;

	return ((first & 0xf800) == 0xf000 && (second & 0xc000) == 0xc000) ||
	       (second & 0xff87) == 0x4780 || (word & 0x0f000000) == 0x0b000000 ||
	       (word & 0xfe000000) == 0xfa000000 || (word & 0x0ffffff0) == 0x012fff30;
}

/* r7 has the number, and may be a frame pointer. */
static inline long arch_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r0 __asm__("r0") = a;
	register long r1 __asm__("r1") = b;
	register long r2 __asm__("r2") = c;
	register long r3 __asm__("r3") = d;
	register long r4 __asm__("r4") = e;
	register long r5 __asm__("r5") = f;
	register long r6 __asm__("r6") = number;
	long kept;

	__asm__ volatile("mov %[kept], r7\n"
			 "	mov r7, %[number]\n"
			 "	svc #0\n"
			 "	mov r7, %[kept]"
			 : "+r"(r0), [kept] "=&r"(kept)
			 : [number] "r"(r6), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
			 : "memory");
	return r0;
}

static inline long arch_syscall5(long number, long a, long b, long c, long d, long e)
{
	return arch_syscall6(number, a, b, c, d, e, 0);
}

static inline bool arch_exchange_u16(uint16_t *at, uint16_t *old, uint16_t next)
{
	return __atomic_compare_exchange_n(at, old, next, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static inline void arch_pause(void)
{
	__asm__ volatile("yield" : : : "memory");
}

/*
 * Calls that create a process go to rec_syscall_fork(), those that close the sandbox to
 * rec_syscall_sandbox(), the one that ends the process to rec_syscall_exit(), all others to
 * rec_syscall_real() with unchanged arguments. It is of the instruction set that the rest is of.
 */
_Static_assert(SYS_clone == 120 && SYS_fork == 2 && SYS_clone3 == 435 && SYS_seccomp == 383 &&
		       SYS_prctl == 172 && SYS_exit_group == 248,
	       "as below");

#ifdef __thumb__
#define ARCH_CODE_STATE ".thumb\n.thumb_func\n"
#define ARCH_CODE_AHEAD "4" /* what the program counter reads as */
#else
#define ARCH_CODE_STATE ".arm\n"
#define ARCH_CODE_AHEAD "8"
#endif

/* clang-format off */
#define ARCH_SYSCALL_ENTRY()                                                                       \
	__asm__(".pushsection .text\n"                                                             \
		".syntax unified\n"                                                                \
		".balign 4\n"                                                                      \
		".globl syscall\n"                                                                 \
		".type syscall, %function\n"                                                       \
		ARCH_CODE_STATE                                                                    \
		"syscall:\n"                                                                       \
		".fnstart\n"                                                                       \
		"	cmp	r0, #120\n"                                                        \
		"	beq	1f\n"                                                              \
		"	cmp	r0, #2\n"                                                          \
		"	beq	5f\n"                                                              \
		"	cmp	r0, #172\n"                                                        \
		"	beq	3f\n"                                                              \
		"	cmp	r0, #248\n"                                                        \
		"	beq	4f\n"                                                              \
		"	sub	ip, r0, #256\n"                                                    \
		"	cmp	ip, #179\n" /* 435 */                                              \
		"	beq	2f\n"                                                              \
		"	cmp	ip, #127\n" /* 383 */                                              \
		"	beq	3f\n"                                                              \
		"0:	ldr	ip, 9f\n"                                                          \
		"8:	add	ip, pc\n"                                                          \
		"	ldr	ip, [ip]\n"                                                        \
		"	bx	ip\n"                                                              \
		"1:	tst	r1, #0x100\n" /* CLONE_VM */                                       \
		"	bne	0b\n"                                                              \
		"	cmp	r2, #0\n" /* its own stack, on which it returns */                 \
		"	bne	0b\n"                                                              \
		"5:	b	rec_syscall_fork\n"                                                \
		"3:	b	rec_syscall_sandbox\n"                                             \
		"4:	b	rec_syscall_exit\n"                                                \
		"2:	push	{r4, lr}\n"                                                        \
		".save {r4, lr}\n"                                                                 \
		"	push	{r0, r1, r2, r3}\n"                                                \
		".pad #16\n"                                                                       \
		"	mov	r0, r1\n"                                                          \
		"	mov	r1, r2\n"                                                          \
		"	bl	rec_clone3_forks\n"                                                \
		"	mov	ip, r0\n"                                                          \
		"	pop	{r0, r1, r2, r3}\n"                                                \
		"	pop	{r4, lr}\n"                                                        \
		"	tst	ip, #1\n"                                                          \
		"	beq	0b\n"                                                              \
		"	b	rec_syscall_fork\n"                                                \
		".balign 4\n"                                                                      \
		"9:	.word	rec_syscall_real - (8b + " ARCH_CODE_AHEAD ")\n"                   \
		".fnend\n"                                                                         \
		".size syscall, . - syscall\n"                                                     \
		".popsection\n")
/* clang-format on */

#endif
