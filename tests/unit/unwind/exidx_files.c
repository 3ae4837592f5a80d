/*
 * Every entry of the index of real files for ARM: as readelf of Debian's cross binutils says what
 * they mean. And where there are entries, the code behind calls says the same.
 */
#include "unwind/epilogue.h"

#include "../test.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIPLET "arm-linux-gnueabihf"

struct file {
	uint8_t *bytes;
	size_t size;
	struct exidx index;
	uint64_t bias; /* of addresses in the file's memory here */
};

static bool file_read(const char *path, struct file *ret)
{
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	ret->size = (size_t)ftell(file);
	ret->bytes = malloc(ret->size);
	assert_non_null(ret->bytes);
	rewind(file);
	assert_int_equal(fread(ret->bytes, 1, ret->size, file), ret->size);
	fclose(file);
	return true;
}

/* The index lies in the first segment, whose code is before it: that is as it would be mapped. */
static void file_find_index(struct file *file)
{
	const Elf32_Ehdr *header = (const Elf32_Ehdr *)file->bytes;
	const Elf32_Phdr *phdr = (const Elf32_Phdr *)(file->bytes + header->e_phoff);

	for (size_t i = 0; i < header->e_phnum; i++) {
		if (phdr[i].p_type == PT_LOAD && phdr[i].p_offset == 0) {
			file->index.begin = file->bytes;
			file->index.end = file->bytes + phdr[i].p_filesz;
			file->bias = (uintptr_t)file->bytes - phdr[i].p_vaddr;
		} else if (phdr[i].p_type == PT_ARM_EXIDX) {
			file->index.entries = file->bytes + phdr[i].p_offset;
			file->index.count = phdr[i].p_filesz / 8;
		}
	}
	assert_non_null(file->index.begin);
	assert_true(file->index.count > 10);
}

/* What readelf writes of an entry. */
struct said {
	uint64_t begin;
	bool cannot, refused, has_code, has_ended;
	struct exidx_row row; /* places from the register, until the entry ends */
};

static uint32_t register_of(const char *text)
{
	return strncmp(text, "wR", 2) == 0 ? 99 : (uint32_t)strtoul(text + 1, NULL, 10);
}

static void said_pop(struct said *said, const char *list, uint32_t op)
{
	char names[256], *rest = NULL;

	snprintf(names, sizeof(names), "%s", list);
	for (char *name = strtok_r(names, "{}, \n", &rest); name;
	     name = strtok_r(NULL, "{}, \n", &rest)) {
		if (*name == 'r') {
			said->row.saved |= 1U << register_of(name);
			said->row.place[register_of(name)] = said->row.offset;
		}
		said->row.offset += *name == 'r' ? 4 : 8;
	}
	if (op == 0xb3 || (op >= 0xb8 && op <= 0xbf))
		said->row.offset += 4;
	if (said->row.saved >> EXIDX_REG_SP & 1)
		said->has_ended = true;
}

static void said_line(struct said *said, const char *line)
{
	const char *vsp = strstr(line, "vsp = "), *pop = strstr(line, "pop {");
	const uint32_t op = (uint32_t)strtoul(line, NULL, 16);

	if (said->has_ended)
		return;
	if (vsp && strncmp(vsp, "vsp = vsp ", 10) == 0) {
		const int32_t amount = (int32_t)strtol(vsp + 12, NULL, 0);

		said->row.offset += vsp[10] == '-' ? -amount : amount;
	} else if (vsp) {
		said->row.reg = register_of(vsp + 6);
		said->row.offset = 0;
	} else if (pop) {
		said_pop(said, pop + 5, op);
	} else if (strstr(line, "finish")) {
		said->has_ended = true;
	} else if (strstr(line, "Refuse")) {
		said->refused = true;
	} else {
		return;
	}
	said->has_code = true;
}

/* The next entry; false: there is none. */
static bool said_read(FILE *output, struct said *ret)
{
	char line[512];

	*ret = (struct said) { .row.reg = EXIDX_REG_SP };
	do {
		if (!fgets(line, sizeof(line), output))
			return false;
	} while (strncmp(line, "0x", 2) != 0);
	ret->begin = strtoull(line, NULL, 16);
	ret->cannot = strstr(line, "cantunwind") != NULL;
	while (fgets(line, sizeof(line), output) && *line != '\n')
		said_line(ret, line);
	return true;
}

static void entry_is_as_said(const struct file *file, size_t i, const struct said *said)
{
	struct exidx_row row;
	uint64_t begin;
	const enum exidx_found found = exidx_entry(&file->index, i, &begin, &row);

	assert_int_equal(begin - file->bias, said->begin);
	assert_int_equal(found, said->cannot	? EXIDX_CANNOT
				: said->refused ? EXIDX_NONE
						: EXIDX_ROW);
	if (found != EXIDX_ROW || !said->has_code)
		return;
	assert_int_equal(row.reg, said->row.reg);
	assert_int_equal(row.offset, said->row.offset);
	assert_int_equal(row.saved, said->row.saved);
	for (uint32_t reg = 0; reg < EXIDX_REGS; reg++)
		if (row.saved >> reg & 1)
			assert_int_equal(row.place[reg], said->row.place[reg] - row.offset);
}

/* without_ret: entries of a language's own routine that readelf does not know the name of. */
static void file_is_as_said(const char *path, size_t *without_ret)
{
	struct file file = { 0 };
	char command[512];
	struct said said;
	FILE *output;

	if (!file_read(path, &file) || access("/usr/bin/" TRIPLET "-readelf", X_OK) != 0)
		skip();
	file_find_index(&file);
	snprintf(command, sizeof(command), TRIPLET "-readelf -u %s", path);
	output = popen(command, "re");
	assert_non_null(output);
	*without_ret = 0;
	for (size_t i = 0; i < file.index.count; i++) {
		assert_true(said_read(output, &said));
		entry_is_as_said(&file, i, &said);
		*without_ret += !said.cannot && !said.has_code;
	}
	assert_false(said_read(output, &said));
	pclose(output);
	free(file.bytes);
}

static void entries_of_libc_are_as_readelf_says(void **state)
{
	size_t without;

	(void)state;
	file_is_as_said("/usr/" TRIPLET "/lib/libc.so.6", &without);
}

static void entries_of_libstdcxx_are_as_readelf_says(void **state)
{
	size_t without;

	(void)state;
	file_is_as_said("/usr/" TRIPLET "/lib/libstdc++.so.6", &without);
}

/* With its symbols, hence with the code of frames of functions that have handlers. */
static void entries_of_a_program_are_as_readelf_says(void **state)
{
	char folder[] = "/tmp/memtape-exidx-XXXXXX", command[512], path[64];
	size_t without;

	(void)state;
	if (access("/usr/bin/" TRIPLET "-g++", X_OK) != 0)
		skip();
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/program", folder);
	snprintf(command, sizeof(command),
		 "printf '#include <iostream>\\nint main() { std::cout << 1; }' | " TRIPLET
		 "-g++ -static -x c++ - -o %s",
		 path);
	assert_int_equal(system(command), 0);
	file_is_as_said(path, &without);
	assert_int_equal(without, 0);
	unlink(path);
	rmdir(folder);
}

/* Behind calls of functions with tables: how often the code said how the frame is left, and how often wrongly. */
struct tally {
	size_t calls, found, wrong;
};

static bool rows_agree(const struct exidx_row *a, const struct exidx_row *b)
{
	const uint32_t both = 1U << 7 | 1U << 11 | 1U << EXIDX_REG_LR;

	if (a->reg == EXIDX_REG_SP && b->reg == EXIDX_REG_SP && a->offset != b->offset)
		return false;
	if (((a->saved ^ b->saved) & both) != 0)
		return false;
	for (uint32_t reg = 0; reg < EXIDX_REGS; reg++)
		if (a->saved & b->saved & 1U << reg && a->place[reg] != b->place[reg])
			return false;
	return true;
}

static void tally_call(struct tally *tally, const struct file *file, uint64_t pc)
{
	const struct epilogue_code code = { (uintptr_t)file->index.begin,
					    (uintptr_t)file->index.end };
	struct exidx_row by_table, by_code;
	bool is_thumb;

	if (exidx_find(&file->index, pc - 1, &by_table) != EXIDX_ROW)
		return;
	tally->calls++;
	assert_true(epilogue_call(&code, pc, &is_thumb));
	if (epilogue_find(&code, pc, is_thumb, &by_code) != EPILOGUE_ROW)
		return;
	tally->found++;
	tally->wrong += !rows_agree(&by_table, &by_code);
}

static struct tally tally_of(const char *path)
{
	struct file file = { 0 };
	struct tally tally = { 0 };
	char command[512], line[512], word[16];
	bool was_call = false;
	unsigned int address;
	FILE *output;

	if (!file_read(path, &file) || access("/usr/bin/" TRIPLET "-objdump", X_OK) != 0)
		skip();
	file_find_index(&file);
	snprintf(command, sizeof(command), TRIPLET "-objdump -d --no-show-raw-insn %s", path);
	output = popen(command, "re");
	assert_non_null(output);
	while (fgets(line, sizeof(line), output)) {
		if (sscanf(line, " %x: %15s", &address, word) != 2)
			continue;
		if (was_call)
			tally_call(&tally, &file, address + file.bias);
		was_call = strcmp(word, "bl") == 0 || strcmp(word, "blx") == 0;
	}
	pclose(output);
	free(file.bytes);
	return tally;
}

static void code_says_what_tables_say(void **state)
{
	const struct tally tally = tally_of("/usr/" TRIPLET "/lib/libgcc_s.so.1");

	(void)state;
	assert_true(tally.calls > 100);
	assert_true(tally.found * 10 > tally.calls * 8);
	assert_int_equal(tally.wrong, 0);
}

/* What comes after calls that do not return is another function's now and then. */
static void code_of_libc_hardly_says_anything_else(void **state)
{
	const struct tally tally = tally_of("/usr/" TRIPLET "/lib/libc.so.6");

	(void)state;
	assert_true(tally.calls > 4000);
	assert_true(tally.found * 10 > tally.calls * 7);
	assert_true(tally.wrong * 50 < tally.found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_of_libc_are_as_readelf_says),
		cmocka_unit_test(entries_of_libstdcxx_are_as_readelf_says),
		cmocka_unit_test(entries_of_a_program_are_as_readelf_says),
		cmocka_unit_test(code_says_what_tables_say),
		cmocka_unit_test(code_of_libc_hardly_says_anything_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
