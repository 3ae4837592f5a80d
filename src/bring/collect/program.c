#include "collect/program.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "arch/machine.h"
#include "arch/native.h"
#include "base/str.h"
#include "collect/own_malloc.h"

enum {
	SCRIPT_LINE_BYTES = 256, /* how much of a #! line Linux reads */
	SCRIPT_DEPTH_MAX = 5,
	PROGRAM_HEADERS_MAX = 256,
	NOTES_MAX = 4096
};

#define PATH_DEFAULT "/usr/local/bin:/bin:/usr/bin"

static const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_executable_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static struct err *find_in_path(const char *name, struct arena *arena, const char **path_ret,
				enum program_trouble *trouble_ret)
{
	const char *at = getenv("PATH") ? getenv("PATH") : PATH_DEFAULT;
	bool seen = false;

	for (;;) {
		size_t len = strcspn(at, ":");
		char *path =
			arena_printf(arena, "%.*s/%s", len ? (int)len : 1, len ? at : ".", name);

		if (!path)
			return err_nomem();
		if (is_executable_file(path)) {
			*path_ret = path;
			return NULL;
		}
		seen |= access(path, F_OK) == 0;
		if (!at[len])
			break;
		at += len + 1;
	}
	*trouble_ret = seen ? PROGRAM_NOT_EXECUTABLE : PROGRAM_NOT_FOUND;
	return seen ? err_new(ERR_NOT_FOUND, "%s: found, but not executable", name)
		    : err_new(ERR_NOT_FOUND, "%s: no such program in PATH", name);
}

static struct err *find_file(const char *name, struct arena *arena, const char **path_ret,
			     enum program_trouble *trouble_ret)
{
	struct stat st;

	if (!strchr(name, '/') && *name)
		return find_in_path(name, arena, path_ret, trouble_ret);
	*path_ret = name;
	if (is_executable_file(name))
		return NULL;
	if (stat(name, &st) < 0) {
		*trouble_ret = errno == EACCES ? PROGRAM_NOT_EXECUTABLE : PROGRAM_NOT_FOUND;
		return err_errno("%s", name);
	}
	*trouble_ret = PROGRAM_NOT_EXECUTABLE;
	if (S_ISDIR(st.st_mode))
		return err_new(ERR_NOT_FOUND, "%s is a directory", name);
	return err_new(ERR_NOT_FOUND, "%s is not executable; chmod +x it", name);
}

/* Privileges that make the dynamic linker ignore LD_PRELOAD. */
static struct err *check_privileges(const char *path, int fd)
{
	struct stat st;
	char caps[64];

	if (fstat(fd, &st) < 0)
		return err_errno("%s", path);
	if (((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
	    ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getgid()))
		return err_new(ERR_UNSUPPORTED,
			       "%s is setuid or setgid, and the dynamic linker preloads nothing "
			       "into such programs; record it as its owner (sudo memtape ...)",
			       path);
	if (getuid() != 0 && fgetxattr(fd, "security.capability", caps, sizeof(caps)) > 0)
		return err_new(ERR_UNSUPPORTED,
			       "%s has file capabilities, and the dynamic linker preloads nothing "
			       "into such programs; record it as root, or a copy without them",
			       path);
	return NULL;
}

/* Of either word size. */
struct image {
	uint16_t machine;
	uint64_t headers;
	unsigned count;
	bool is_narrow;
};

static struct image image_of(const void *head)
{
	const Elf64_Ehdr *wide = head;
	const Elf32_Ehdr *narrow = head;

	if (wide->e_ident[EI_CLASS] == ELFCLASS64)
		return (struct image) { wide->e_machine, wide->e_phoff, wide->e_phnum, false };
	return (struct image) { narrow->e_machine, narrow->e_phoff, narrow->e_phnum, true };
}

/* False: there is no more. */
static bool segment_read(int fd, const struct image *image, unsigned index, Elf64_Phdr *ret)
{
	Elf32_Phdr narrow;
	const size_t bytes = image->is_narrow ? sizeof(narrow) : sizeof(*ret);

	if (index >= image->count || index >= PROGRAM_HEADERS_MAX ||
	    pread(fd, image->is_narrow ? (void *)&narrow : ret, bytes,
		  (off_t)(image->headers + index * bytes)) != (ssize_t)bytes)
		return false;
	if (image->is_narrow)
		*ret = (Elf64_Phdr) { .p_type = narrow.p_type,
				      .p_offset = narrow.p_offset,
				      .p_filesz = narrow.p_filesz };
	return true;
}

static struct err *check_machine(const char *path, const struct image *image)
{
	if (image->machine == (image->is_narrow ? ARCH_ELF_OTHER : ARCH_ELF_MACHINE))
		return NULL;
	return err_new(ERR_UNSUPPORTED,
		       "%s is built for another architecture (%s, ELF machine %u); record it on "
		       "such a machine",
		       path, arch_machine_name(image->machine), image->machine);
}

/* Whether these notes have the one of libmemtape.a (rec/linked.c). */
static bool has_recorder(int fd, const Elf64_Phdr *phdr)
{
	static const struct {
		Elf64_Nhdr head;
		char name[8];
	} wanted = { { 8, 0, 1 }, "memtape" };
	uint8_t notes[NOTES_MAX];
	const ssize_t got =
		pread(fd, notes, u64_min(phdr->p_filesz, sizeof(notes)), (off_t)phdr->p_offset);

	for (ssize_t at = 0; at + (ssize_t)sizeof(wanted) <= got; at += 4)
		if (memcmp(notes + at, &wanted, sizeof(wanted)) == 0)
			return true;
	return false;
}

/* Checks PT_INTERP: without a dynamic linker nothing can be preloaded. */
static struct err *check_linker(const char *path, int fd, const struct image *image)
{
	Elf64_Phdr phdr;

	for (unsigned i = 0; segment_read(fd, image, i, &phdr); i++) {
		if (phdr.p_type == PT_INTERP) /* glibc's or musl's: the library runs with both */
			return NULL;
		if (phdr.p_type == PT_NOTE && has_recorder(fd, &phdr))
			return NULL;
	}
	if (strncmp(path_name(path), "ld", 2) == 0 && strstr(path_name(path), ".so"))
		return NULL; /* the dynamic linker itself, run with a program as argument */
	if (own_malloc_find(path, false).is_go)
		return err_new(ERR_UNSUPPORTED,
			       "%s is a statically linked program of Go, so the recorder cannot be "
			       "preloaded into it; the heap of Go's runtime is its own and could "
			       "not be recorded either: Go's pprof shows it (C code in a program "
			       "that is linked dynamically can be recorded)",
			       path);
	return err_new(ERR_UNSUPPORTED,
		       "%s is statically linked, so the recorder cannot be preloaded into it; "
		       "link it dynamically (without -static) to record it, or with "
		       "libmemtape.a: memtape-record(1), STATIC PROGRAMS",
		       path);
}

/* A sanitizer's allocator must precede ours, which then would see nothing. */
static struct err *check_sanitizer(const char *path)
{
	const struct own_malloc own = own_malloc_find(path, false);

	if (!own.sanitizer)
		return NULL;
	return err_new(ERR_UNSUPPORTED,
		       "%s is built with %s, which brings an allocator of its own that must come "
		       "before every other library; build it without -fsanitize to record it",
		       path, own.sanitizer);
}

/* Splits a #! line at its first blank, as Linux does; false: not a script. */
static bool script_parse(char *line, ssize_t bytes, char **interpreter_ret, char **arg_ret)
{
	char *at = line + 2;

	if (bytes < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[strcspn(line, "\n")] = '\0';
	at += strspn(at, " \t");
	*interpreter_ret = at;
	at += strcspn(at, " \t");
	if (*at)
		*at++ = '\0';
	at += strspn(at, " \t");
	for (size_t len = strlen(at); len > 0 && strchr(" \t", at[len - 1]); len--)
		at[len - 1] = '\0';
	*arg_ret = at;
	return **interpreter_ret != '\0';
}

/* argv with its first word replaced by these (second may be NULL). */
static char *const *argv_prefix(struct arena *arena, char *const *argv, const char *first,
				const char *second, const char *path)
{
	size_t count = 0;
	size_t at = 0;
	char **longer;

	while (argv[count])
		count++;
	longer = arena_array(arena, count + 3, sizeof(*longer));
	if (!longer)
		return NULL;
	longer[at++] = arena_strdup(arena, first);
	if (second)
		longer[at++] = arena_strdup(arena, second);
	longer[at++] = arena_strdup(arena, path);
	for (size_t i = 1; i < count; i++)
		longer[at++] = argv[i];
	return longer;
}

/* `env NAME` without options: done here instead of by env. */
static bool is_plain_env(const char *interpreter, const char *arg)
{
	return strcmp(path_name(interpreter), "env") == 0 && *arg && *arg != '-' &&
	       !strpbrk(arg, " \t=/");
}

static struct err *inspect(struct program *program, const char *path, struct arena *arena,
			   unsigned depth, enum program_trouble *trouble_ret);

static struct err *inspect_script(struct program *program, const char *path, char *interpreter,
				  const char *arg, struct arena *arena, unsigned depth,
				  enum program_trouble *trouble_ret)
{
	const char *runner = arena_strdup(arena, interpreter);
	struct err *err;

	if (!runner)
		return err_nomem();
	if (depth == SCRIPT_DEPTH_MAX)
		return err_new(ERR_LIMIT, "%s: too many nested interpreters", path);
	if (depth == 0 && is_plain_env(interpreter, arg)) {
		err = find_in_path(arg, arena, &runner, trouble_ret);
		if (err)
			return err_wrap(err, "interpreter of %s", path);
		program->argv = argv_prefix(arena, program->argv, arg, NULL, path);
		program->path = runner;
		if (!program->argv)
			return err_nomem();
	}
	err = inspect(program, runner, arena, depth + 1, trouble_ret);
	return err && depth == 0 ? err_wrap(err, "interpreter of %s", path) : err;
}

/* Neither ELF nor #!: execvp and env(1) run it with the shell, and so do we. */
static struct err *inspect_text(struct program *program, const char *path, struct arena *arena,
				unsigned depth, enum program_trouble *trouble_ret)
{
	if (depth > 0) {
		*trouble_ret = PROGRAM_NOT_EXECUTABLE;
		return err_new(ERR_FORMAT, "%s is not a program that this system can run", path);
	}
	program->argv = argv_prefix(arena, program->argv, "sh", NULL, path);
	program->path = "/bin/sh";
	if (!program->argv)
		return err_nomem();
	return inspect(program, program->path, arena, 1, trouble_ret);
}

static struct err *inspect(struct program *program, const char *path, struct arena *arena,
			   unsigned depth, enum program_trouble *trouble_ret)
{
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	union {
		Elf64_Ehdr elf;
		char line[SCRIPT_LINE_BYTES + 1];
	} head = { 0 };
	char *interpreter, *arg;
	struct image image;
	struct err *err;
	ssize_t bytes;

	program->subject = path;
	if (fd < 0) /* executable but not readable: cannot be checked before it runs */
		return errno == EACCES ? NULL : err_errno("%s", path);
	bytes = pread(fd, head.line, SCRIPT_LINE_BYTES, 0);
	if (bytes < 0)
		return err_errno("%s", path);
	if (script_parse(head.line, bytes, &interpreter, &arg))
		return inspect_script(program, path, interpreter, arg, arena, depth, trouble_ret);
	if (bytes < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(head.line, ELFMAG, SELFMAG) != 0)
		return inspect_text(program, path, arena, depth, trouble_ret);
	*trouble_ret = PROGRAM_NOT_RECORDABLE;
	image = image_of(&head);
	program->machine = image.machine;
	program->is_narrow = image.is_narrow;
	err = check_machine(path, &image);
	if (!err)
		err = check_linker(path, fd, &image);
	if (!err)
		err = check_privileges(path, fd);
	if (!err)
		err = check_sanitizer(path);
	if (!err)
		*trouble_ret = PROGRAM_FINE;
	return err;
}

struct err *program_find(struct program *program, char **argv, struct arena *arena,
			 enum program_trouble *trouble_ret)
{
	struct err *err;

	assert(argv[0]);
	*program = (struct program) { .argv = argv };
	*trouble_ret = PROGRAM_NOT_FOUND;
	err = find_file(argv[0], arena, &program->path, trouble_ret);
	if (err)
		return err;
	program->name = path_name(program->path);
	*trouble_ret = PROGRAM_NOT_EXECUTABLE;
	err = inspect(program, program->path, arena, 0, trouble_ret);
	if (!err)
		*trouble_ret = PROGRAM_FINE;
	return err;
}

/* Where there is no /proc, as it was started. */
static char *own_executable(void)
{
	const char *started = (const char *)getauxval(AT_EXECFN);
	char *own = realpath("/proc/self/exe", NULL);

	return own || !started ? own : realpath(started, NULL);
}

static const char *library_beside(struct arena *arena)
{
	static const char *const places[] = {
		"../" MEMTAPE_LIBRARY_DIR "/libmemtape.so",		/* installed */
		"../lib/memtape/libmemtape.so", "../rec/libmemtape.so", /* build tree */
	};
	CLEAN(free) char *found = own_executable();
	const char *own = found;

	if (!own)
		return NULL;
	for (size_t i = 0; i < array_size(places); i++) {
		char *path =
			arena_printf(arena, "%.*s%s", (int)(path_name(own) - own), own, places[i]);
		CLEAN(free) char *real = path ? realpath(path, NULL) : NULL;

		if (real)
			return arena_strdup(arena, real);
	}
	return NULL;
}

static struct err *library_check(const char *path)
{
	if (strpbrk(path, " :\t\n"))
		return err_new(ERR_UNSUPPORTED,
			       "the dynamic linker cannot preload %s: its path contains a space or "
			       "a colon; set MEMTAPE_LIBRARY to a copy elsewhere",
			       path);
	return NULL;
}

struct err *program_library(struct arena *arena, const char **path_ret)
{
	const char *asked = getenv("MEMTAPE_LIBRARY");
	CLEAN(free) char *real = asked ? realpath(asked, NULL) : NULL;
	const char *path = real ? arena_strdup(arena, real) : NULL;

	if (asked && !real)
		return err_errno("MEMTAPE_LIBRARY %s", asked);
	if (!asked)
		path = library_beside(arena);
	if (!path)
		return err_new(ERR_NOT_FOUND, "libmemtape.so is not beside this executable; set "
					      "MEMTAPE_LIBRARY to its path");
	*path_ret = path;
	return library_check(path);
}

struct err *program_library_for(const struct program *program, struct arena *arena,
				const char **path_ret)
{
	const char *name = arch_machine_name(program->machine);
	const char *own, *folder, *multiarch;
	struct err *err = program_library(arena, &own);

	if (err || !program->is_narrow) {
		*path_ret = own;
		return err;
	}
	folder = arena_printf(arena, "%.*s", (int)(path_name(own) - own), own);
	own = arena_printf(arena, "%s%s/libmemtape.so", folder, name);
	multiarch = arena_printf(arena, "%s../../%s-linux-gnu/memtape/libmemtape.so", folder, name);
	if (!folder || !own || !multiarch)
		return err_nomem();
	*path_ret = access(own, R_OK) == 0 ? own : multiarch;
	if (access(*path_ret, R_OK) < 0)
		return err_new(ERR_UNSUPPORTED,
			       "%s is a 32-bit program (%s), and the recorder for such programs is "
			       "not installed: put its libmemtape.so there as %s (the sources make "
			       "it: ./dev dist --arch %s)",
			       program->subject, name, own, name);
	return library_check(*path_ret);
}
