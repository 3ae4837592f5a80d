/*
 * Compiles a rule for every row of every unwind table of real objects and compares it with what
 * libdw, which shares no code with us, says of the same pc. Arguments: [--every N] [FILE...].
 */
#include "../test.h"

#include "unwind/rule.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OPS_MAX = 3, WRONG_SHOWN = 10, SP_IN_UCONTEXT = 160 };

static unsigned long sweep_every = 13;

/* An ELF file laid out in memory as the loader would. */
struct image {
	struct unwind_object object;
	uint8_t *base;
	size_t bytes;
	Elf *elf;
	int fd;
	uint64_t code_begin; /* file addresses */
	uint64_t code_end;
};

struct tally {
	uint64_t rows;
	uint64_t kinds[UNWIND_SLOW + 1];
	uint64_t slow_register;	  /* of the slow: the CFA is in another register */
	uint64_t slow_expression; /* of the slow: another expression */
	uint64_t bytes;		  /* code that the rows cover */
	uint64_t slow_bytes;
	uint64_t gaps; /* bytes of code that no row covers */
	uint64_t wrong;
	uint64_t compiled;
	uint64_t spent_ns;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void image_map_segment(struct image *image, const Elf64_Phdr *phdr)
{
	uint64_t page = phdr->p_vaddr & ~4095UL, slack = phdr->p_vaddr - page;

	assert_ptr_not_equal(mmap(image->base + page, phdr->p_filesz + slack, PROT_READ,
				  MAP_PRIVATE | MAP_FIXED, image->fd,
				  (off_t)(phdr->p_offset - slack)),
			     MAP_FAILED);
	if (phdr->p_flags & PF_X && !image->code_end) {
		image->code_begin = phdr->p_vaddr;
		image->code_end = phdr->p_vaddr + phdr->p_filesz;
	}
}

static void image_open(struct image *image, const char *path)
{
	Elf64_Phdr phdr[32];
	Elf64_Ehdr ehdr;
	uint64_t end = 0;

	*image = (struct image) { .fd = open(path, O_RDONLY | O_CLOEXEC) };
	assert_true(image->fd >= 0);
	assert_int_equal(pread(image->fd, &ehdr, sizeof(ehdr), 0), sizeof(ehdr));
	assert_true(ehdr.e_phnum <= 32);
	assert_true(pread(image->fd, phdr, ehdr.e_phnum * sizeof(phdr[0]), (off_t)ehdr.e_phoff) >
		    0);
	for (int i = 0; i < ehdr.e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD)
			end = phdr[i].p_vaddr + phdr[i].p_memsz;
	image->bytes = end;
	image->base =
		mmap(NULL, end, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(image->base, MAP_FAILED);
	for (int i = 0; i < ehdr.e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD)
			image_map_segment(image, &phdr[i]);
	assert_true(unwind_object_init(&image->object, (uintptr_t)image->base, phdr, ehdr.e_phnum));
	image->elf = elf_begin(image->fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(image->elf);
}

static void image_close(struct image *image)
{
	elf_end(image->elf);
	munmap(image->base, image->bytes);
	close(image->fd);
}

static bool op_is_breg(const Dwarf_Op *op, unsigned int *reg_ret, int64_t *offset_ret)
{
	if (op->atom == DW_OP_bregx) {
		*reg_ret = (unsigned int)op->number;
		*offset_ret = (int64_t)op->number2;
		return true;
	}
	if (op->atom < DW_OP_breg0 || op->atom > DW_OP_breg31)
		return false;
	*reg_ret = op->atom - DW_OP_breg0;
	*offset_ret = (int64_t)op->number;
	return true;
}

enum saved { SAVED_NOT, SAVED_AT_CFA, SAVED_AT_BP, SAVED_LOST, SAVED_ELSEWHERE };

/* Where libdw says the caller's reg is. */
static enum saved saved_where(Dwarf_Frame *frame, int reg, int64_t *offset_ret)
{
	Dwarf_Op mem[OPS_MAX], *ops;
	unsigned int base;
	size_t count;

	assert_int_equal(dwarf_frame_register(frame, reg, mem, &ops, &count), 0);
	*offset_ret = 0;
	if (count == 0)
		return ops == mem ? SAVED_LOST : SAVED_NOT;
	if (ops[0].atom == DW_OP_call_frame_cfa && count == 1)
		return SAVED_AT_CFA;
	if (ops[0].atom == DW_OP_call_frame_cfa && count == 2 && ops[1].atom == DW_OP_plus_uconst) {
		*offset_ret = (int64_t)ops[1].number;
		return SAVED_AT_CFA;
	}
	/* An expression; libdw begins with the CFA it would find on its stack. */
	if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa &&
	    op_is_breg(&ops[1], &base, offset_ret) && base == ARCH_REG_FP && *offset_ret == 0)
		return SAVED_AT_BP;
	return SAVED_ELSEWHERE;
}

/* libdw gives the stack pointer, unless somebody says otherwise, as the CFA itself. */
static bool sp_is_cfa(Dwarf_Frame *frame)
{
	Dwarf_Op mem[OPS_MAX], *ops;
	size_t count;

	assert_int_equal(dwarf_frame_register(frame, ARCH_REG_SP, mem, &ops, &count), 0);
	return count == 2 && ops[0].atom == DW_OP_call_frame_cfa &&
	       ops[1].atom == DW_OP_stack_value;
}

/* The rule libdw's row amounts to. */
static uint32_t expected_rule(Dwarf_Frame *frame)
{
	int64_t offset, bp_offset, ra_offset;
	enum saved bp = saved_where(frame, ARCH_REG_FP, &bp_offset);
	enum saved ra = saved_where(frame, ARCH_REG_PC, &ra_offset);
	unsigned int reg;
	bool is_signal;
	Dwarf_Op *ops;
	size_t count;

	dwarf_frame_info(frame, NULL, NULL, &is_signal);
	assert_int_equal(dwarf_frame_cfa(frame, &ops, &count), 0);
	if (ra == SAVED_LOST)
		return UNWIND_END;
	if (count == 0 || !op_is_breg(&ops[0], &reg, &offset) || offset % 8)
		return UNWIND_SLOW;
	if (is_signal)
		return count == 2 && reg == ARCH_REG_SP && ops[1].atom == DW_OP_deref
			       ? unwind_rule_make(UNWIND_SIGNAL, 0,
						  (uint32_t)(offset - SP_IN_UCONTEXT) / 8)
			       : UNWIND_SLOW;
	if (ra != SAVED_AT_CFA || ra_offset != -8 || !sp_is_cfa(frame))
		return UNWIND_SLOW;
	if (count == 2 && ops[1].atom == DW_OP_deref && reg == ARCH_REG_FP &&
	    (bp == SAVED_AT_BP || bp == SAVED_NOT || bp == SAVED_LOST) && offset == (int16_t)offset)
		return unwind_rule_make(UNWIND_DEREF, bp == SAVED_AT_BP, (uint32_t)(offset / 8));
	if (count != 1)
		return UNWIND_SLOW;
	if (bp == SAVED_AT_BP || bp == SAVED_ELSEWHERE || bp_offset > 0 || bp_offset % 8 ||
	    bp_offset < -2047 * 8)
		return UNWIND_SLOW;
	if (reg == ARCH_REG_SP && offset >= 0 && offset / 8 <= UNWIND_OFFSET_MAX)
		return unwind_rule_make(UNWIND_SP, (uint32_t)(-bp_offset / 8),
					(uint32_t)(offset / 8));
	if (reg == ARCH_REG_FP && offset / 8 == (int16_t)(offset / 8))
		return unwind_rule_make(UNWIND_BP, (uint32_t)(-bp_offset / 8),
					(uint32_t)(offset / 8));
	return UNWIND_SLOW;
}

static void tally_row(struct tally *tally, Dwarf_Frame *frame, uint32_t expected, uint64_t bytes)
{
	Dwarf_Op *ops;
	size_t count;

	tally->kinds[unwind_rule_kind(expected)]++;
	tally->bytes += bytes;
	if (expected != UNWIND_SLOW)
		return;
	tally->slow_bytes += bytes;
	dwarf_frame_cfa(frame, &ops, &count);
	if (count > 1)
		tally->slow_expression++;
	else if (count == 1 && ops[0].atom == DW_OP_bregx && ops[0].number != ARCH_REG_SP &&
		 ops[0].number != ARCH_REG_FP)
		tally->slow_register++;
}

static void compare(const struct image *image, uint64_t pc, uint32_t expected, struct tally *tally)
{
	uint64_t begin = now_ns();
	uint32_t rule = unwind_rule_compile(&image->object, (uintptr_t)image->base + pc);
	int32_t above_sp;

	tally->spent_ns += now_ns() - begin;
	tally->compiled++;
	if (rule == expected)
		return;
	if (rule == UNWIND_SIGNAL &&
	    unwind_object_is_sigreturn(&image->object, (uintptr_t)image->base + pc, &above_sp))
		return; /* known by its code: musl says nothing of it */
	if (tally->wrong++ < WRONG_SHOWN)
		print_error("pc %#lx: rule %#x, libdw %#x\n", pc, rule, expected);
}

/* A byte that no row covers has no rule; before the first of a function stacks end. */
static void sweep_gap(const struct image *image, Dwarf_CFI *cfi, uint64_t pc, struct tally *tally)
{
	Dwarf_Frame *next;
	bool is_before;

	if (tally->gaps++ % sweep_every != 0)
		return;
	is_before = dwarf_cfi_addrframe(cfi, pc + 1, &next) == 0;
	if (is_before)
		free(next);
	compare(image, pc, is_before ? UNWIND_END : UNWIND_NONE, tally);
}

/* Every N-th row, at its first and last byte. Returns where the next row begins. */
static uint64_t sweep_row(const struct image *image, Dwarf_CFI *cfi, uint64_t pc,
			  struct tally *tally)
{
	Dwarf_Frame *frame;
	Dwarf_Addr begin, end;
	uint32_t expected;

	if (dwarf_cfi_addrframe(cfi, pc, &frame) != 0) {
		sweep_gap(image, cfi, pc, tally);
		return pc + 1;
	}
	dwarf_frame_info(frame, &begin, &end, NULL);
	assert_true(end > pc);
	if (tally->rows++ % sweep_every == 0) {
		expected = expected_rule(frame);
		compare(image, pc, expected, tally);
		compare(image, end - 1, expected, tally);
		tally_row(tally, frame, expected, end - begin);
	}
	free(frame);
	return end;
}

static void tally_print(const char *path, const struct tally *tally)
{
	print_message(
		"# %s: %lu rows, compared %lu: sp %lu bp %lu deref %lu signal %lu end %lu "
		"slow %lu (register %lu, expression %lu, %lu of %lu bytes); %lu bytes without "
		"information; %lu wrong; %lu ns each\n",
		path, tally->rows, tally->compiled, tally->kinds[UNWIND_SP],
		tally->kinds[UNWIND_BP], tally->kinds[UNWIND_DEREF], tally->kinds[UNWIND_SIGNAL],
		tally->kinds[UNWIND_END], tally->kinds[UNWIND_SLOW], tally->slow_register,
		tally->slow_expression, tally->slow_bytes, tally->bytes, tally->gaps, tally->wrong,
		tally->compiled ? tally->spent_ns / tally->compiled : 0);
}

static void sweep_file(const char *path)
{
	struct tally tally = { 0 };
	struct image image;
	Dwarf_CFI *cfi;

	image_open(&image, path);
	cfi = dwarf_getcfi_elf(image.elf);
	assert_non_null(cfi);
	for (uint64_t pc = image.code_begin; pc < image.code_end;)
		pc = sweep_row(&image, cfi, pc, &tally);
	tally_print(path, &tally);
	assert_true(tally.rows > 0);
	assert_int_equal(tally.wrong, 0);
	dwarf_cfi_end(cfi);
	image_close(&image);
}

static void rules_of_the_test_itself_equal_libdw_s(void **state)
{
	(void)state;
	sweep_file("/proc/self/exe");
}

/* The first of several names that is there: distributions differ. */
static void sweep_first(const char *const *paths)
{
	const char *const *first = paths;

	for (; *paths; paths++)
		if (access(*paths, R_OK) == 0)
			return sweep_file(*paths);
	print_message("# not installed: %s\n", *first);
}

static void rules_of_the_c_library_equal_libdw_s(void **state)
{
	static const char *const paths[] = { "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6",
					     "/usr/lib/libc.so.6", NULL };

	(void)state;
	sweep_first(paths);
}

static void rules_of_the_c_plus_plus_library_equal_libdw_s(void **state)
{
	static const char *const paths[] = { "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
					     "/usr/lib64/libstdc++.so.6", NULL };

	(void)state;
	sweep_first(paths);
}

static void rules_of_hand_written_assembly_equal_libdw_s(void **state)
{
	static const char *const paths[] = { "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
					     "/usr/lib64/libcrypto.so.3", NULL };

	(void)state;
	sweep_first(paths);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_of_the_test_itself_equal_libdw_s),
		cmocka_unit_test(rules_of_the_c_library_equal_libdw_s),
		cmocka_unit_test(rules_of_the_c_plus_plus_library_equal_libdw_s),
		cmocka_unit_test(rules_of_hand_written_assembly_equal_libdw_s),
	};
	int i = 1;

	elf_version(EV_CURRENT);
	if (argc > 2 && !strcmp(argv[1], "--every")) {
		sweep_every = strtoul(argv[2], NULL, 10);
		i = 3;
	}
	if (i == argc)
		return cmocka_run_group_tests(tests, NULL, NULL);
	for (; i < argc; i++)
		sweep_file(argv[i]);
	return 0;
}
