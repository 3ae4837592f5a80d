/*
 * exec_look: whether the program that is about to be exec'ed will load the library, and which: the
 * one for words of its size. Its file is read as the kernel and libc will find it.
 */
#include "rec/attach.h"
#include "rec/exec.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/poison.h"

enum {
	HEAD_BYTES = 256, /* what Linux reads of a script */
	HEADERS_MAX = 64,
	SCRIPTS_MAX = 5,
	NOTES_MAX = 1 << 10
};

char rec_exec_library[REC_PATH_BYTES];

static enum tape_exec_left look_into(int fd, const char *path, unsigned depth, struct exec *exec);

static enum tape_exec_left look_at_path(const char *path, unsigned depth, struct exec *exec)
{
	const int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	enum tape_exec_left left;

	if (fd < 0) /* executable but not readable */
		return fd == -EACCES ? TAPE_EXEC_FOLLOWED : TAPE_EXEC_FAILS;
	left = look_into(fd, path, depth, exec);
	sys_close(fd);
	return left;
}

/* The kernel splits the line at its first blank. */
static enum tape_exec_left look_at_script(char *line, unsigned depth, struct exec *exec)
{
	char *begin = line + 2;
	char *end;

	while (*begin == ' ' || *begin == '\t')
		begin++;
	for (end = begin; *end && *end != ' ' && *end != '\t' && *end != '\n';)
		end++;
	*end = '\0';
	return depth < SCRIPTS_MAX ? look_at_path(begin, depth + 1, exec) : TAPE_EXEC_FAILS;
}

static bool is_linker(const char *path)
{
	const char *name = path;

	for (const char *at = path; *at; at++)
		if (*at == '/')
			name = at + 1;
	return name[0] == 'l' && name[1] == 'd';
}

/* The beginning of a file; the ELF headers of both sizes begin with the same members. */
union head {
	Elf64_Ehdr wide;
	Elf32_Ehdr narrow;
	char line[HEAD_BYTES + 1];
};

/* Whether these notes have the one of libmemtape.a (linked.c). */
static bool has_recorder(int fd, uint64_t begin)
{
	static const struct {
		Elf64_Nhdr head;
		char name[8];
	} wanted = { { 8, 0, 1 }, "memtape" };
	uint8_t notes[NOTES_MAX];
	const long got = sys_pread(fd, notes, sizeof(notes), begin);

	for (long at = 0; at + (long)sizeof(wanted) <= got; at += 4)
		if (memcmp(notes + at, &wanted, sizeof(wanted)) == 0)
			return true;
	return false;
}

/* Program headers of both sizes begin with their type. */
static bool has_interpreter(int fd, const union head *head, bool is_wide, struct exec *exec)
{
	const uint64_t begin = is_wide ? head->wide.e_phoff : head->narrow.e_phoff;
	const unsigned bytes = is_wide ? head->wide.e_phentsize : head->narrow.e_phentsize;
	const unsigned count = is_wide ? head->wide.e_phnum : head->narrow.e_phnum;
	union {
		Elf64_Phdr wide;
		Elf32_Phdr narrow;
	} segment;
	const long wanted = is_wide ? sizeof(segment.wide) : sizeof(segment.narrow);

	for (unsigned i = 0; i < count && i < HEADERS_MAX; i++) {
		if (sys_pread(fd, &segment, (size_t)wanted, begin + i * bytes) != wanted)
			break;
		if (segment.wide.p_type == PT_INTERP)
			return true;
		if (segment.wide.p_type == PT_NOTE)
			exec->is_linked |= has_recorder(fd, is_wide ? segment.wide.p_offset
								    : segment.narrow.p_offset);
	}
	return false;
}

static enum tape_exec_left look_at_elf(int fd, const union head *head, const char *path,
				       struct exec *exec)
{
	const bool is_wide = head->wide.e_ident[EI_CLASS] == ELFCLASS64;

	exec->is_other = is_wide != (ARCH_WORD_BYTES == 8);
	if (head->wide.e_machine != (exec->is_other ? ARCH_ELF_OTHER : ARCH_ELF_MACHINE))
		return TAPE_EXEC_OTHER_MACHINE;
	return has_interpreter(fd, head, is_wide, exec) || is_linker(path) ? TAPE_EXEC_FOLLOWED
									   : TAPE_EXEC_STATIC;
}

/* The dynamic linker preloads nothing then. */
static bool has_privileges(int fd, const ARCH_STAT *st)
{
	uint8_t caps[64];

	if ((st->st_mode & S_ISUID) && st->st_uid != (uid_t)SYS_CALL0(ARCH_CALL_GETUID))
		return true;
	if ((st->st_mode & S_ISGID) && (st->st_mode & S_IXGRP) &&
	    st->st_gid != (gid_t)SYS_CALL0(ARCH_CALL_GETGID))
		return true;
	return rec_may_ask_itself() && SYS_CALL0(ARCH_CALL_GETUID) != 0 &&
	       SYS_CALL4(SYS_fgetxattr, fd, "security.capability", caps, sizeof(caps)) > 0;
}

static enum tape_exec_left look_into(int fd, const char *path, unsigned depth, struct exec *exec)
{
	union head head;
	ARCH_STAT st;
	long bytes;

	memset(&head, 0, sizeof(head));
	bytes = sys_pread(fd, head.line, HEAD_BYTES, 0);
	if (bytes < 0 || sys_fstat(fd, &st) < 0)
		return bytes == -EBADF ? TAPE_EXEC_FOLLOWED : TAPE_EXEC_FAILS; /* O_PATH */
	if (head.line[0] == '#' && head.line[1] == '!')
		return look_at_script(head.line, depth, exec);
	if (has_privileges(fd, &st))
		return TAPE_EXEC_PRIVILEGES;
	if (bytes < (long)sizeof(head.narrow) || memcmp(head.line, ELFMAG, SELFMAG) != 0)
		return TAPE_EXEC_FOLLOWED; /* execvp runs it as a shell script */
	return look_at_elf(fd, &head, path, exec);
}

/* Searched as libc does; the first that exists will do, executable or not. */
static enum tape_exec_left look_in_path(const char *file, struct exec *exec)
{
	const char *at = environ || rec_is_attach ? rec_env_get("PATH") : NULL;
	const size_t len = strlen(file);
	char path[REC_PATH_BYTES];

	for (at = at ? at : "/bin:/usr/bin";; at++) {
		const char *colon = strchr(at, ':');
		const size_t folder = colon ? (size_t)(colon - at) : strlen(at);

		if (folder + len + 2 <= sizeof(path)) {
			memcpy(path, at, folder);
			path[folder] = '/';
			memcpy(path + (folder ? folder + 1 : 0), file, len + 1);
			if (SYS_CALL3(SYS_faccessat, AT_FDCWD, path, X_OK) == 0)
				return look_at_path(path, 0, exec);
		}
		if (!colon)
			return TAPE_EXEC_FAILS;
		at = colon;
	}
}

/* Accessible to its owner only. Capabilities held now may end with exec. */
static bool can_open_spool(void)
{
	const uid_t user = (uid_t)SYS_CALL0(ARCH_CALL_GETEUID);
	ARCH_STAT st;
	long rc;

	if (!rec.slots || !rec.file.path[0] || user == 0)
		return true;
	rc = sys_stat(rec.file.path, &st, 0);
	return rc == 0 ? st.st_uid == user : rc != -EACCES;
}

/* The length of the folder that a path is in, with its slash. */
static size_t folder_of(const char *path, size_t bytes)
{
	while (bytes > 0 && path[bytes - 1] != '/')
		bytes--;
	return bytes;
}

/* Behind the folder, which a leading ../ shortens: paths do not grow from program to program. */
static size_t name_put(char *out, size_t folder, const char *name)
{
	while (strncmp(name, "../", 3) == 0 && folder > 1) {
		folder = folder_of(out, folder - 1);
		name += 3;
	}
	memcpy(out + folder, name, strlen(name) + 1);
	return folder + strlen(name);
}

size_t rec_exec_library_put(char *out, bool is_other)
{
	const size_t bytes = strlen(rec_exec_library);
	const size_t folder = folder_of(rec_exec_library, bytes);
	size_t length = bytes;

	memcpy(out, rec_exec_library, bytes + 1);
	if (is_other)
		length = name_put(out, folder, ARCH_OTHER_LIBRARY);
	if (is_other && SYS_CALL3(SYS_faccessat, AT_FDCWD, out, R_OK) < 0) {
		memcpy(out, rec_exec_library, folder);
		length = name_put(out, folder, ARCH_OTHER_SYSTEM_LIBRARY);
	}
	return length;
}

enum tape_exec_left rec_exec_look(struct exec *exec)
{
	char library[REC_EXEC_LIBRARY_BYTES];
	enum tape_exec_left left;

	if (exec->fd >= 0)
		left = look_into(exec->fd, "", 0, exec);
	else if (exec->is_searched && !strchr(exec->path, '/'))
		left = look_in_path(exec->path, exec);
	else
		left = look_at_path(exec->path, 0, exec);
	rec_exec_library_put(library, exec->is_other);
	/* The root may have changed by now, and the user as well. */
	if (left == TAPE_EXEC_FOLLOWED && SYS_CALL3(SYS_faccessat, AT_FDCWD, library, R_OK) < 0)
		return exec->is_other ? TAPE_EXEC_OTHER_MACHINE : TAPE_EXEC_NO_LIBRARY;
	return left == TAPE_EXEC_FOLLOWED && !can_open_spool() ? TAPE_EXEC_OTHER_USER : left;
}
