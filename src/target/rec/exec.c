/*
 * exec: a process that becomes another program. If exec is followed (options.exec), the settings
 * that env.c removed are put back into the next program's environment: the library and its options.
 * Only in the recorded process; its child of vfork or posix_spawn, which runs in its memory, gets
 * nothing, and libc's own calls (system, posix_spawn) do not come here.
 *
 * Everything is built in separate memory: whether the call will succeed is not known here, and if
 * it fails the program is unchanged. The program's arguments are not assumed to be readable: the
 * kernel decides that, by EFAULT.
 */
#include "rec/other.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rec/exec.h"
#include "rec/log.h"
#include "rec/text.h"

#include "core/poison.h"

enum {
	PID_DIGITS = 10,
	PAGE = 4096,
	WORDS = 12,		  /* variables of ours */
	WORD_BYTES = 8 << 10,	  /* of all of them */
	PRELOAD_BYTES = 64 << 10, /* that the program has set itself */
	ENTRIES_MAX = 1 << 20,
	HEAD_BYTES = 256, /* what Linux reads of a script */
	HEADERS_MAX = 64,
	SCRIPTS_MAX = 5
};

static const char PRELOAD[] = "LD_PRELOAD=";
static const char EXEC[] = "MEMTAPE_EXEC="; /* the pid that is unchanged */

/* Written at the start, on one thread; an empty library: there is nothing to pass on. */
static struct {
	char text[WORD_BYTES];
	const char *words[WORDS];
	size_t used;
	uint32_t count;
	char library[REC_PATH_BYTES];
} kept;

enum { LIBRARY_BYTES = sizeof(kept.library) + sizeof(ARCH_OTHER_LIBRARY) };

static const char *const left_names[] = {
	[TAPE_EXEC_FOLLOWED] = "recorded, too",
	[TAPE_EXEC_STATIC] = "not recorded: it is linked statically",
	[TAPE_EXEC_PRIVILEGES] = "not recorded: it has more privileges",
	[TAPE_EXEC_OTHER_MACHINE] = "not recorded: it is for another machine",
	[TAPE_EXEC_NO_LIBRARY] = "not recorded: the recorder's library is not to be had there",
	[TAPE_EXEC_FAILS] = "no such program",
	[TAPE_EXEC_OTHER_USER] = "not recorded: another user's, who may not open the spool",
};

/* --- what the environment was --------------------------------------------------------------- */

static void keep_word(const char *word)
{
	const size_t bytes = strlen(word) + 1;

	if (kept.count == WORDS || bytes > sizeof(kept.text) - kept.used)
		return;
	kept.words[kept.count++] = memcpy(kept.text + kept.used, word, bytes);
	kept.used += bytes;
}

void rec_exec_keep(void)
{
	if (!environ || kept.count > 0)
		return;
	for (char **entry = environ; *entry; entry++) {
		if (strncmp(*entry, EXEC, sizeof(EXEC) - 1) == 0)
			continue;
		if (strncmp(*entry, "MEMTAPE_", 8) == 0)
			keep_word(*entry);
		else if (strncmp(*entry, PRELOAD, sizeof(PRELOAD) - 1) == 0)
			rec_env_library(*entry + sizeof(PRELOAD) - 1, kept.library,
					sizeof(kept.library));
	}
}

/* --- whether the next program will load the library ----------------------------------------- */

static enum tape_exec_left look_into(int fd, const char *path, unsigned depth, bool *is_other_ret);

static enum tape_exec_left look_at_path(const char *path, unsigned depth, bool *is_other_ret)
{
	const int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	enum tape_exec_left left;

	if (fd < 0) /* executable but not readable */
		return fd == -EACCES ? TAPE_EXEC_FOLLOWED : TAPE_EXEC_FAILS;
	left = look_into(fd, path, depth, is_other_ret);
	sys_close(fd);
	return left;
}

/* The kernel splits the line at its first blank. */
static enum tape_exec_left look_at_script(char *line, unsigned depth, bool *is_other_ret)
{
	char *begin = line + 2;
	char *end;

	while (*begin == ' ' || *begin == '\t')
		begin++;
	for (end = begin; *end && *end != ' ' && *end != '\t' && *end != '\n';)
		end++;
	*end = '\0';
	return depth < SCRIPTS_MAX ? look_at_path(begin, depth + 1, is_other_ret) : TAPE_EXEC_FAILS;
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

/* Program headers of both sizes begin with their type. */
static bool has_interpreter(int fd, const union head *head, bool is_wide)
{
	const uint64_t begin = is_wide ? head->wide.e_phoff : head->narrow.e_phoff;
	const unsigned bytes = is_wide ? head->wide.e_phentsize : head->narrow.e_phentsize;
	const unsigned count = is_wide ? head->wide.e_phnum : head->narrow.e_phnum;
	uint32_t type;

	for (unsigned i = 0; i < count && i < HEADERS_MAX; i++) {
		if (sys_pread(fd, &type, sizeof(type), begin + i * bytes) != sizeof(type))
			break;
		if (type == PT_INTERP)
			return true;
	}
	return false;
}

static enum tape_exec_left look_at_elf(int fd, const union head *head, const char *path,
				       bool *is_other_ret)
{
	const bool is_wide = head->wide.e_ident[EI_CLASS] == ELFCLASS64;

	*is_other_ret = is_wide != (ARCH_WORD_BYTES == 8);
	if (head->wide.e_machine != (*is_other_ret ? ARCH_ELF_OTHER : ARCH_ELF_MACHINE))
		return TAPE_EXEC_OTHER_MACHINE;
	return has_interpreter(fd, head, is_wide) || is_linker(path) ? TAPE_EXEC_FOLLOWED
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

static enum tape_exec_left look_into(int fd, const char *path, unsigned depth, bool *is_other_ret)
{
	union head head;
	ARCH_STAT st;
	long bytes;

	memset(&head, 0, sizeof(head));
	bytes = sys_pread(fd, head.line, HEAD_BYTES, 0);
	if (bytes < 0 || sys_fstat(fd, &st) < 0)
		return bytes == -EBADF ? TAPE_EXEC_FOLLOWED : TAPE_EXEC_FAILS; /* O_PATH */
	if (head.line[0] == '#' && head.line[1] == '!')
		return look_at_script(head.line, depth, is_other_ret);
	if (has_privileges(fd, &st))
		return TAPE_EXEC_PRIVILEGES;
	if (bytes < (long)sizeof(head.narrow) || memcmp(head.line, ELFMAG, SELFMAG) != 0)
		return TAPE_EXEC_FOLLOWED; /* execvp runs it as a shell script */
	return look_at_elf(fd, &head, path, is_other_ret);
}

/* Searched as libc does; the first that exists will do, executable or not. */
static enum tape_exec_left look_in_path(const char *file, bool *is_other_ret)
{
	const char *at = rec_env_get("PATH");
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
				return look_at_path(path, 0, is_other_ret);
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

/* The library for the next program, which may have words of the other size; returns its length. */
static size_t library_put(char *out, bool is_other)
{
	const size_t bytes = strlen(kept.library);
	size_t folder = bytes;

	memcpy(out, kept.library, bytes + 1);
	if (!is_other)
		return bytes;
	while (folder > 0 && out[folder - 1] != '/')
		folder--;
	memcpy(out + folder, ARCH_OTHER_LIBRARY, sizeof(ARCH_OTHER_LIBRARY));
	return folder + sizeof(ARCH_OTHER_LIBRARY) - 1;
}

static enum tape_exec_left look_at(struct exec *exec)
{
	char library[LIBRARY_BYTES];
	enum tape_exec_left left;

	if (exec->fd >= 0)
		left = look_into(exec->fd, "", 0, &exec->is_other);
	else if (exec->is_searched && !strchr(exec->path, '/'))
		left = look_in_path(exec->path, &exec->is_other);
	else
		left = look_at_path(exec->path, 0, &exec->is_other);
	library_put(library, exec->is_other);
	/* The root may have changed by now, and the user as well. */
	if (left == TAPE_EXEC_FOLLOWED && SYS_CALL3(SYS_faccessat, AT_FDCWD, library, R_OK) < 0)
		return exec->is_other ? TAPE_EXEC_OTHER_MACHINE : TAPE_EXEC_NO_LIBRARY;
	return left == TAPE_EXEC_FOLLOWED && !can_open_spool() ? TAPE_EXEC_OTHER_USER : left;
}

/* --- the next environment ------------------------------------------------------------------- */

/* What is known to be readable: the page checked last. */
struct probe {
	uint64_t page;
};

static bool can_read(struct probe *probe, const void *ptr)
{
	const uint64_t page = (uintptr_t)ptr & -(uint64_t)PAGE;

	if (!page) /* NULL is no set, and is not read */
		return false;
	if (page == probe->page)
		return true;
	if (!sys_can_read(ptr))
		return false;
	probe->page = page;
	return true;
}

/* Length of a string, without its NUL; SIZE_MAX: it cannot be read, or is too long. */
static size_t length_of(struct probe *probe, const char *text, size_t most)
{
	for (size_t len = 0; len <= most && can_read(probe, text + len); len++)
		if (!text[len])
			return len;
	return SIZE_MAX;
}

/* 1, 0; -1: it cannot be read. */
static int begins_with(struct probe *probe, const char *text, const char *begin)
{
	for (size_t i = 0; begin[i]; i++) {
		if (!can_read(probe, text + i))
			return -1;
		if (text[i] != begin[i])
			return 0;
	}
	return 1;
}

struct next {
	struct probe probe;
	size_t count;	      /* variables of the program */
	size_t preload;	      /* index of its LD_PRELOAD; count: it has none */
	size_t preload_bytes; /* of that one's value */
};

/* False: it cannot be read, or gives the next program such settings itself. */
static bool next_survey(struct next *next, char *const *envp)
{
	struct probe strings = { 0 };

	next->preload = SIZE_MAX;
	for (; envp; next->count++) {
		const char *word;
		int is_preload, is_ours;

		if (next->count == ENTRIES_MAX || !can_read(&next->probe, envp + next->count))
			return false;
		word = envp[next->count];
		if (!word)
			break;
		is_ours = begins_with(&strings, word, "MEMTAPE_");
		is_preload = begins_with(&strings, word, PRELOAD);
		if (is_ours || is_preload < 0)
			return false;
		if (is_preload) {
			next->preload = next->count;
			next->preload_bytes =
				length_of(&strings, word + sizeof(PRELOAD) - 1, PRELOAD_BYTES);
			if (next->preload_bytes == SIZE_MAX)
				return false;
		}
	}
	next->preload = next->preload < next->count ? next->preload : next->count;
	return true;
}

/* Appends at `at`, with its NUL; returns its end. */
static char *put_pid(char *at, uint32_t pid)
{
	struct rec_text text = { .ptr = at, .room = sizeof(EXEC) + PID_DIGITS };

	rec_text_add(&text, EXEC);
	rec_text_add_number(&text, pid, 0);
	return at + text.len + 1;
}

bool rec_exec_is_after(void)
{
	char own[sizeof(EXEC) + PID_DIGITS];
	const char *given = rec_env_get("MEMTAPE_EXEC");

	put_pid(own, (uint32_t)sys_getpid());
	return given && strncmp(given, own + sizeof(EXEC) - 1, sizeof(own)) == 0;
}

static char **next_fill(const struct next *next, const struct exec *exec, uint8_t *memory)
{
	char **vector = (char **)memory, **out = vector;
	char *pid = (char *)(vector + next->count + WORDS + 3);
	char *preload = put_pid(pid, rec.pid);
	char *const *envp = exec->envp;
	char *end = preload;

	memcpy(end, PRELOAD, sizeof(PRELOAD) - 1);
	end += sizeof(PRELOAD) - 1;
	end += library_put(end, exec->is_other);
	if (next->preload < next->count && next->preload_bytes > 0) {
		*end++ = ':';
		memcpy(end, envp[next->preload] + sizeof(PRELOAD) - 1, next->preload_bytes);
		end += next->preload_bytes;
	}
	*end = '\0';
	for (size_t i = 0; i < next->count; i++)
		if (i != next->preload)
			*out++ = envp[i];
	for (uint32_t i = 0; i < kept.count; i++)
		*out++ = (char *)kept.words[i];
	*out++ = pid;
	*out++ = preload;
	*out = NULL;
	return vector;
}

/* The recorded process itself, in any thread. */
static bool is_followed(void)
{
	const uint32_t state = atomic_load(&rec.state);

	return rec.options.exec && (state == REC_ON || state == REC_STOPPED) && kept.library[0];
}

static void exec_tell(enum tape_exec_left left)
{
	if (rec.live)
		atomic_store_explicit((_Atomic uint32_t *)&rec.live->exec_left, left,
				      memory_order_relaxed);
}

/* A process that has the same number in another PID namespace is a different one. */
static void exec_begun(enum tape_exec_state from, enum tape_exec_state to)
{
	uint32_t state = from;

	if (rec.live)
		atomic_compare_exchange_strong((_Atomic uint32_t *)&rec.live->exec_state, &state,
					       to);
}

void rec_exec_begin(struct exec *exec, const struct rec_frame *caller)
{
	const int saved_errno = errno;
	struct next next = { 0 };
	uint8_t *memory;

	if (!rec_is_own_process())
		return;
	if (is_followed())
		exec_begun(TAPE_EXEC_NONE, TAPE_EXEC_BEGUN);
	if (!rec_may_call() || length_of(&next.probe, exec->path, REC_PATH_BYTES) == SIZE_MAX)
		return;
	if (atomic_load(&rec.state) == REC_ON && rec.options.table)
		rec_replaced(true);
	if (atomic_load(&rec.state) == REC_ON)
		rec_note_path(TAPE_EXT_EXEC, 0, exec->path, caller);
	if (is_followed() && next_survey(&next, exec->envp)) {
		exec->left = look_at(exec);
		exec_tell(exec->left);
		REC_LOG(exec->left == TAPE_EXEC_FAILS ? REC_LOG_DEBUG : REC_LOG_INFO,
			"exec of %s: %s", exec->path, left_names[exec->left]);
		exec->bytes = (next.count + WORDS + 3) * sizeof(char *) + sizeof(EXEC) +
			      PID_DIGITS + sizeof(PRELOAD) + LIBRARY_BYTES + next.preload_bytes + 2;
		memory = exec->left == TAPE_EXEC_FOLLOWED ? sys_map_private(exec->bytes) : NULL;
		if (memory)
			exec->next = next_fill(&next, exec, memory);
	}
	errno = saved_errno;
}

void rec_exec_end(struct exec *exec)
{
	CHECK(!exec->next || exec->bytes > 0);
	if (rec.options.table && rec_may_call() && rec_is_own_process())
		rec_replaced(false);
	if (exec->left != TAPE_EXEC_FOLLOWED)
		exec_tell(TAPE_EXEC_FOLLOWED);
	if (is_followed() && rec_is_own_process())
		exec_begun(TAPE_EXEC_BEGUN, TAPE_EXEC_NONE);
	if (exec->next)
		sys_munmap(exec->next, exec->bytes);
}
