/*
 * jit_code: what jit.c writes into memory, for each processor: a function that calls its first
 * argument with its second one, and of which only CIE and FDE can tell how to unwind it; and one
 * with a frame pointer that calls its first argument with the two others.
 */
#ifndef MEMTAPE_TESTS_JIT_CODE_H
#define MEMTAPE_TESTS_JIT_CODE_H

#include <stdint.h>

#if defined(__x86_64__)
/*
 * sub $24, %rsp; mov %rdi, %rax; mov %rsi, %rdi; call *%rax; add $24, %rsp; ret
 * (32 bytes of frame: only the registered tables can tell.)
 */
static const uint8_t CODE[] = { 0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0xf8, 0x48, 0x89,
				0xf7, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x18, 0xc3 };

/* version 1, no augmentation, code 1, data -8, ra 16; cfa = rsp + 8; ra at cfa - 8 */
static const uint8_t CIE[16] = { 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1 };

/* after 4 bytes: cfa = rsp + 32; after 12 more: cfa = rsp + 8 again */
static const uint8_t FDE[8] = { 0x44, 0x0e, 32, 0x4c, 0x0e, 8 };

/*
 * push %rbp; mov %rsp, %rbp; sub $32, %rsp; mov %rdi, %rax; mov %rsi, %rdi; mov %rdx, %rsi;
 * call *%rax; leave; ret
 */
static const uint8_t FRAMED[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0xf8,
				  0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6, 0xff, 0xd0, 0xc9, 0xc3 };
#elif defined(__aarch64__)
/* str x30, [sp, #-32]!; mov x9, x0; mov x0, x1; blr x9; ldr x30, [sp], #32; ret */
static const uint32_t CODE[] = { 0xf81e0ffe, 0xaa0003e9, 0xaa0103e0,
				 0xd63f0120, 0xf84207fe, 0xd65f03c0 };

/* version 1, no augmentation, code 1, data -8, ra x30; cfa = sp */
static const uint8_t CIE[16] = { 1, 0, 1, 0x78, 30, 0x0c, 31, 0 };

/* after 4 bytes: cfa = sp + 32, ra at cfa - 32; after 16 more: cfa = sp, ra in x30 again */
static const uint8_t FDE[8] = { 0x44, 0x0e, 32, 0x9e, 4, 0x50, 0x0e, 0 };

/*
 * stp x29, x30, [sp, #-48]!; mov x29, sp; mov x9, x0; mov x0, x1; mov x1, x2; blr x9;
 * ldp x29, x30, [sp], #48; ret
 */
static const uint32_t FRAMED[] = { 0xa9bd7bfd, 0x910003fd, 0xaa0003e9, 0xaa0103e0,
				   0xaa0203e1, 0xd63f0120, 0xa8c37bfd, 0xd65f03c0 };
#elif defined(__riscv)
/* addi sp, -32; sd ra, 0(sp); mv t0, a0; mv a0, a1; jalr t0; ld ra, 0(sp); addi sp, 32; ret */
static const uint32_t CODE[] = { 0xfe010113, 0x00113023, 0x00050293, 0x00058513,
				 0x000280e7, 0x00013083, 0x02010113, 0x00008067 };

/* version 1, no augmentation, code 1, data -8, ra x1; cfa = sp */
static const uint8_t CIE[16] = { 1, 0, 1, 0x78, 1, 0x0c, 2, 0 };

/* after 4 bytes: cfa = sp + 32, ra at cfa - 32; after 24 more: cfa = sp */
static const uint8_t FDE[8] = { 0x44, 0x0e, 32, 0x81, 4, 0x58, 0x0e, 0 };

/*
 * addi sp, -48; sd ra, 40(sp); sd s0, 32(sp); addi s0, sp, 48; mv t0, a0; mv a0, a1; mv a1, a2;
 * jalr t0; ld ra, 40(sp); ld s0, 32(sp); addi sp, 48; ret
 */
static const uint32_t FRAMED[] = { 0xfd010113, 0x02113423, 0x02813023, 0x03010413,
				   0x00050293, 0x00058513, 0x00060593, 0x000280e7,
				   0x02813083, 0x02013403, 0x03010113, 0x00008067 };
#elif defined(__mips64)
/*
 * daddiu sp, -32; sd ra, 0(sp); move t9, a0; jalr t9; move a0, a1; ld ra, 0(sp); jr ra;
 * daddiu sp, 32
 */
static const uint32_t CODE[] = { 0x67bdffe0, 0xffbf0000, 0x0080c825, 0x0320f809,
				 0x00a02025, 0xdfbf0000, 0x03e00008, 0x67bd0020 };

/* version 1, no augmentation, code 1, data -8, ra $31; cfa = sp */
static const uint8_t CIE[16] = { 1, 0, 1, 0x78, 31, 0x0c, 29, 0 };

/* after 4 bytes: cfa = sp + 32, ra at cfa - 32 */
static const uint8_t FDE[8] = { 0x44, 0x0e, 32, 0x9f, 4, 0, 0, 0 };

/*
 * daddiu sp, -48; sd ra, 40(sp); sd s8, 32(sp); move s8, sp; move t9, a0; move a0, a1; jalr t9;
 * move a1, a2; ld ra, 40(sp); ld s8, 32(sp); jr ra; daddiu sp, 48
 */
static const uint32_t FRAMED[] = { 0x67bdffd0, 0xffbf0028, 0xffbe0020, 0x03a0f025,
				   0x0080c825, 0x00a02025, 0x0320f809, 0x00c02825,
				   0xdfbf0028, 0xdfbe0020, 0x03e00008, 0x67bd0030 };
#elif defined(__i386__)
/* sub $28, %esp; mov 36(%esp), %eax; mov %eax, (%esp); call *32(%esp); add $28, %esp; ret */
static const uint8_t CODE[] = { 0x83, 0xec, 0x1c, 0x8b, 0x44, 0x24, 0x24, 0x89, 0x04,
				0x24, 0xff, 0x54, 0x24, 0x20, 0x83, 0xc4, 0x1c, 0xc3 };

/* version 1, no augmentation, code 1, data -4, ra 8; cfa = esp + 4; ra at cfa - 4 */
static const uint8_t CIE[16] = { 1, 0, 1, 0x7c, 8, 0x0c, 4, 4, 0x88, 1 };

/* after 3 bytes: cfa = esp + 32; after 14 more: cfa = esp + 4 again */
static const uint8_t FDE[8] = { 0x43, 0x0e, 32, 0x4e, 0x0e, 4 };

/*
 * push %ebp; mov %esp, %ebp; sub $24, %esp; mov 16(%ebp), %eax; mov %eax, 4(%esp);
 * mov 12(%ebp), %eax; mov %eax, (%esp); call *8(%ebp); leave; ret
 */
static const uint8_t FRAMED[] = { 0x55, 0x89, 0xe5, 0x83, 0xec, 0x18, 0x8b, 0x45,
				  0x10, 0x89, 0x44, 0x24, 0x04, 0x8b, 0x45, 0x0c,
				  0x89, 0x04, 0x24, 0xff, 0x55, 0x08, 0xc9, 0xc3 };
#else
#error "no machine code for this processor"
#endif

#endif
