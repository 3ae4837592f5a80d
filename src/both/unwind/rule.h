/*
 * rule: how to get from one frame to the caller's, in one 31-bit word.
 *
 * A rule is compiled from the call frame information of the code at a pc (DWARF 5, section 6.4; the
 * .eh_frame flavour of the System V ABI) and says how the canonical frame address and the caller's
 * frame pointer are found. The caller's stack pointer always is the CFA, or the rule is UNWIND_SLOW
 * and unwind_full_step() has to do it. The idea is that of the Linux kernel's ORC tables.
 *
 * Where calls push the return address, it is always ARCH_RA_BELOW_CFA below the CFA:
 *
 *	bits 0-3   enum unwind_kind
 *	bits 4-14  frame pointer: 0: unchanged; else saved so many words below the CFA
 *	           (UNWIND_DEREF: 0: unchanged, 1: saved at [frame pointer])
 *	bits 15-30 offset in words: unsigned for UNWIND_SP, signed for UNWIND_BP and UNWIND_DEREF
 *
 * Where they leave it in a register (UNWIND_LINKS), there is no UNWIND_DEREF, and:
 *
 *	bits 0-3   enum unwind_kind
 *	bits 4-7   frame pointer: 0: unchanged; else saved value - 8 words below the return address,
 *	           or below the CFA if that is in its register
 *	bits 8-19  return address: 0: still in its register; else saved so many words below the CFA
 *	bits 20-30 offset / ARCH_STACK_UNIT, unsigned
 */
#ifndef MEMTAPE_UNWIND_RULE_H
#define MEMTAPE_UNWIND_RULE_H

#include "arch/native.h"
#include "core/core.h"
#include "unwind/exidx.h"

enum unwind_kind {
	UNWIND_NONE = 0,   /* no call frame information covers the pc */
	UNWIND_SP = 1,	   /* CFA = stack pointer + offset */
	UNWIND_BP = 2,	   /* CFA = frame pointer + offset */
	UNWIND_DEREF = 3,  /* CFA = [frame pointer + offset]: realigned stacks */
	UNWIND_SIGNAL = 4, /* a signal trampoline: registers are in the ucontext at sp + offset */
	UNWIND_END = 5,	   /* outermost frame: the return address is undefined or made up */
	UNWIND_SLOW = 6,   /* needs the full interpreter */
	UNWIND_BARE = 7,   /* like NONE, but code for sure; never compiled, the includer's word */
	UNWIND_READ = 8 /* like SP, but only said by the code: believed if it leads behind a call */
};

enum {
	UNWIND_LINKS = ARCH_RA_BELOW_CFA == 0,
	UNWIND_SAVED_MAX = 2047,
	UNWIND_RA_MAX = 4095,
	UNWIND_OFFSET_UNIT = UNWIND_LINKS ? ARCH_STACK_UNIT : ARCH_WORD_BYTES,
	UNWIND_OFFSET_SHIFT = UNWIND_LINKS ? 20 : 15,
	UNWIND_OFFSET_MAX = UNWIND_LINKS ? 2047 : 65535,
	UNWIND_BESIDE = 8, /* bits 4-7: the frame pointer is beside */
	UNWIND_BESIDE_MAX = 15
};

static inline enum unwind_kind unwind_rule_kind(uint32_t rule)
{
	return (enum unwind_kind)(rule & 15);
}

/* Bytes below the CFA where the return address was saved, 0: it is in its register. */
static inline arch_word unwind_rule_ra(uint32_t rule)
{
	return UNWIND_LINKS ? (arch_word)(rule >> 8 & UNWIND_RA_MAX) * ARCH_WORD_BYTES
			    : ARCH_RA_BELOW_CFA;
}

/* Bytes below the CFA where the frame pointer was saved, 0: it was not. */
static inline arch_word unwind_rule_saved(uint32_t rule)
{
	const uint32_t beside = rule >> 4 & UNWIND_BESIDE_MAX;

	if (!UNWIND_LINKS)
		return (arch_word)(rule >> 4 & UNWIND_SAVED_MAX) * ARCH_WORD_BYTES;
	return beside ? unwind_rule_ra(rule) + (arch_word)beside * ARCH_WORD_BYTES -
				UNWIND_BESIDE * ARCH_WORD_BYTES
		      : 0;
}

static inline arch_word unwind_rule_offset(uint32_t rule)
{
	return (arch_word)(rule >> UNWIND_OFFSET_SHIFT & UNWIND_OFFSET_MAX) * UNWIND_OFFSET_UNIT;
}

/* Of the kinds whose offset is signed. */
static inline int64_t unwind_rule_signed_offset(uint32_t rule)
{
	if (UNWIND_LINKS)
		return (int64_t)unwind_rule_offset(rule);
	return (int64_t)(int16_t)(rule >> 15 & 0xffff) * ARCH_WORD_BYTES;
}

/* saved_words <= UNWIND_SAVED_MAX; units of the offset fit its bits. */
static inline uint32_t unwind_rule_make(enum unwind_kind kind, uint32_t saved_words,
					uint32_t offset_units)
{
	CHECK(kind <= UNWIND_READ);
	CHECK(saved_words <= UNWIND_SAVED_MAX);
	return (uint32_t)kind | saved_words << 4 |
	       (offset_units & UNWIND_OFFSET_MAX) << UNWIND_OFFSET_SHIFT;
}

/* UNWIND_LINKS: as in the head of this file. */
static inline uint32_t unwind_rule_make_link(enum unwind_kind kind, uint32_t beside,
					     uint32_t ra_words, uint32_t offset_units)
{
	CHECK(beside <= UNWIND_BESIDE_MAX);
	CHECK(ra_words <= UNWIND_RA_MAX);
	return unwind_rule_make(kind, 0, offset_units) | beside << 4 | ra_words << 8;
}

/* Of a trampoline that is known by its code: bytes from the stack pointer to the ucontext. */
static inline uint32_t unwind_rule_sigreturn(int32_t above_sp)
{
	return unwind_rule_make(UNWIND_SIGNAL, 0,
				(uint32_t)(above_sp / (int32_t)UNWIND_OFFSET_UNIT));
}

/*
 * One loaded ELF object, as far as needed for unwinding. Points into the object's own mapping:
 * valid while the object is loaded. Filled by unwind_object_init(); the fields after
 * eh_frame_hdr_bytes are private to the room.
 */
struct unwind_object {
	uint64_t begin; /* lowest mapped address */
	uint64_t end;	/* one past the highest */
	uint64_t bias;
	const uint8_t *eh_frame_hdr; /* NULL: the object has none, every pc is UNWIND_NONE */
	size_t eh_frame_hdr_bytes;
	const uint8_t *frames_begin; /* the mapped segment of .eh_frame: what we may read */
	const uint8_t *frames_end;
	const uint8_t *eh_frame; /* first entry, for walking linearly; NULL: unknown */
	const uint8_t *table;	 /* sorted search table; NULL: none */
	size_t table_count;
	uint8_t table_encoding;
	struct exidx index;  /* ARCH_HAS_EXIDX */
	uint64_t code_begin; /* readable and executable segment, where signal trampolines are */
	uint64_t code_end;
};

/* Registers by DWARF number. */
struct unwind_regs {
	uint64_t value[ARCH_REGS];
	uint64_t known; /* bit set: bit i: value[i] is known */
	bool exact;	/* pc is the interrupted instruction (signal), not a return address */
	uint64_t slot[ARCH_REGS]; /* where the last step loaded value[i] from; 0: it did not */
};

/*
 * The rule for the instruction at pc, which lies in the object. For a return address pass
 * pc - 1. Never reads outside the object's unwind sections, whatever they say; malformed
 * information gives UNWIND_NONE. Does not allocate; some hundred nanoseconds.
 */
uint32_t unwind_rule_compile(const struct unwind_object *object, uint64_t pc);

/*
 * Visits the rules of all code that the object's unwind tables cover, function by function in the
 * order of the tables: each with the address from which on it holds, up to the next; where a
 * function ends, UNWIND_NONE. Of overlapping functions all are visited. False: visit said so.
 */
bool unwind_rules_each(const struct unwind_object *object,
		       bool (*visit)(void *context, uint64_t pc, uint32_t rule), void *context);

/* The words that may be loaded: those in [begin, end). */
struct unwind_memory {
	uint64_t begin, end; /* 0, 0: all */
	const uint8_t *copy; /* of these bytes, borrowed; NULL: they are read where they are */
};

/*
 * One step with every register, for what rules cannot express: expressions, a CFA in another
 * register; it also handles what rules can. Values that cannot be loaded from the stack are
 * unknown; without bounds the stack must be known to be sound.
 * True: *regs are the caller's. False: *regs are as they were; *end_ret: the outermost frame (the
 * return address is undefined, made up or 0) from what we cannot step over. pc and sp must be
 * known.
 *
 * The stack can be another process's: then `stack` has a copy of it, and the object is made of a
 * copy of the tables. pc is where the code would be beside that copy before the step, and an
 * address of the process after it.
 */
bool unwind_full_step(const struct unwind_object *object, struct unwind_regs *regs,
		      const struct unwind_memory *stack, bool *end_ret);

/*
 * Fills *object from program headers in memory (dl_phdr_info's). bias is dlpi_addr.
 * False: no loadable segment. phdr points to ElfW(Phdr)[phdr_count].
 */
bool unwind_object_init(struct unwind_object *object, uint64_t bias, const void *phdr,
			size_t phdr_count);

/*
 * JIT code registered with __register_frame(): a bare .eh_frame that ends with a zero length,
 * walked linearly. Its length is not stored, so unlike an ELF object it is trusted. The object
 * serves unwind_rule_compile() and unwind_full_step(); its bounds are all of memory.
 */
void unwind_object_init_frames(struct unwind_object *object, const uint8_t *eh_frame);

/* unwind_rule_compile() for such a section. */
uint32_t unwind_rule_compile_frames(const uint8_t *eh_frame, uint64_t pc);

/*
 * Whether the code at pc (a return address - 1, or exact) is a signal trampoline, and how far above the
 * stack pointer the ucontext is there, in bytes.
 */
bool unwind_object_is_sigreturn(const struct unwind_object *object, uint64_t pc,
				int32_t *above_sp_ret);
/* The same of code in [begin, end), which can be read. */
bool unwind_code_is_sigreturn(uint64_t begin, uint64_t end, uint64_t pc, int32_t *above_sp_ret);

#endif
