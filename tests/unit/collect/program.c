#include "../test.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "collect/program.h"

static char directory[] = "/tmp/memtape-program-XXXXXX";

/* Makes an executable file of these bytes; borrowed name. */
static const char *file_make(struct arena *arena, const char *name, const void *bytes, size_t len,
			     mode_t mode)
{
	const char *path = arena_printf(arena, "%s/%s", directory, name);
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0700);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	fchmod(fd, mode);
	close(fd);
	return path;
}

static struct err *find(struct program *program, const char *name, struct arena *arena,
			enum program_trouble *trouble)
{
	static char *argv[3];

	argv[0] = (char *)name;
	argv[1] = (char *)"argument";
	return program_find(program, argv, arena, trouble);
}

static void a_name_is_looked_up_in_path(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	enum program_trouble trouble;
	struct program program;

	(void)state;
	assert_null(find(&program, "sh", &arena, &trouble));
	assert_int_equal(program.path[0], '/');
	assert_string_equal(program.name, "sh");
	assert_int_equal(trouble, PROGRAM_FINE);
}

static void what_cannot_start_is_told_apart(void **state)
{
	static const struct {
		const char *name;
		enum program_trouble trouble;
	} rows[] = {
		{ "no-such-program-at-all", PROGRAM_NOT_FOUND },
		{ "/no/such/file", PROGRAM_NOT_FOUND },
		{ "", PROGRAM_NOT_FOUND },
		{ "/etc", PROGRAM_NOT_EXECUTABLE },
		{ "/etc/passwd", PROGRAM_NOT_EXECUTABLE },
	};
	CLEAN(arena_deinit) struct arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		CLEAN(err_destroy) struct err *err = NULL;
		enum program_trouble trouble;
		struct program program;

		err = find(&program, rows[i].name, &arena, &trouble);
		assert_non_null(err);
		assert_int_equal(trouble, rows[i].trouble);
	}
}

/* ELF files of all kinds that nothing can be preloaded into. */
static void a_program_that_cannot_be_recorded_is_refused(void **state)
{
	struct {
		const char *name;
		Elf64_Ehdr elf;
		const char *says;
	} rows[] = {
		{ "static", { .e_machine = EM_X86_64 }, "statically linked" },
		{ "foreign", { .e_machine = EM_S390 }, "another architecture" },
		{ "small", { .e_machine = EM_X86_64 }, "another architecture" },
		{ "old", { .e_machine = EM_386 }, "statically linked" },
	};
	CLEAN(arena_deinit) struct arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		CLEAN(err_destroy) struct err *err = NULL;
		enum program_trouble trouble;
		struct program program;

		memcpy(rows[i].elf.e_ident, ELFMAG, SELFMAG);
		rows[i].elf.e_ident[EI_CLASS] = i >= 2 ? ELFCLASS32 : ELFCLASS64;
		err = find(&program,
			   file_make(&arena, rows[i].name, &rows[i].elf, sizeof(rows[i].elf), 0700),
			   &arena, &trouble);
		assert_non_null(err);
		assert_non_null(strstr(err_message(err), rows[i].says));
		assert_int_equal(trouble, PROGRAM_NOT_RECORDABLE);
	}
}

static void an_env_script_becomes_its_interpreter(void **state)
{
	static const char text[] = "#!/usr/bin/env sh\necho\n";
	CLEAN(arena_deinit) struct arena arena = { 0 };
	enum program_trouble trouble;
	struct program program;
	const char *path;

	(void)state;
	path = file_make(&arena, "script", text, sizeof(text) - 1, 0700);
	assert_null(find(&program, path, &arena, &trouble));
	assert_string_equal(program.name, "script");
	assert_string_equal(strrchr(program.path, '/'), "/sh");
	assert_string_equal(program.argv[0], "sh");
	assert_string_equal(program.argv[1], path);
	assert_string_equal(program.argv[2], "argument");
	assert_null(program.argv[3]);
}

static void a_script_stays_the_kernels_to_run(void **state)
{
	static const char text[] = "#! /bin/sh  -e \necho\n";
	CLEAN(arena_deinit) struct arena arena = { 0 };
	enum program_trouble trouble;
	struct program program;
	const char *path;

	(void)state;
	path = file_make(&arena, "plain", text, sizeof(text) - 1, 0700);
	assert_null(find(&program, path, &arena, &trouble));
	assert_string_equal(program.path, path);
	assert_string_equal(program.subject, "/bin/sh");
}

static void a_text_without_interpreter_goes_to_the_shell(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	enum program_trouble trouble;
	struct program program;
	const char *path;

	(void)state;
	path = file_make(&arena, "text", "echo\n", 5, 0700);
	assert_null(find(&program, path, &arena, &trouble));
	assert_string_equal(program.path, "/bin/sh");
	assert_string_equal(program.argv[1], path);
}

static void scripts_in_a_circle_end(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(err_destroy) struct err *err = NULL;
	enum program_trouble trouble;
	struct program program;
	const char *text = arena_printf(&arena, "#!%s/circle\n", directory);

	(void)state;
	err = find(&program, file_make(&arena, "circle", text, strlen(text), 0700), &arena,
		   &trouble);
	assert_non_null(err);
	assert_int_equal(err_code_of(err), ERR_LIMIT);
}

static void a_library_path_with_a_blank_is_refused(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(err_destroy) struct err *err = NULL;
	const char *path = file_make(&arena, "with blank.so", "x", 1, 0600);

	(void)state;
	setenv("MEMTAPE_LIBRARY", path, 1);
	err = program_library(&arena, &path);
	unsetenv("MEMTAPE_LIBRARY");
	assert_non_null(err);
	assert_int_equal(err_code_of(err), ERR_UNSUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_looked_up_in_path),
		cmocka_unit_test(what_cannot_start_is_told_apart),
		cmocka_unit_test(a_program_that_cannot_be_recorded_is_refused),
		cmocka_unit_test(an_env_script_becomes_its_interpreter),
		cmocka_unit_test(a_script_stays_the_kernels_to_run),
		cmocka_unit_test(a_text_without_interpreter_goes_to_the_shell),
		cmocka_unit_test(scripts_in_a_circle_end),
		cmocka_unit_test(a_library_path_with_a_blank_is_refused),
	};
	CLEAN(arena_deinit) struct arena arena = { 0 };
	int failed;

	if (!mkdtemp(directory))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (system(arena_printf(&arena, "rm -r %s", directory)) != 0)
		return 1;
	return failed;
}
