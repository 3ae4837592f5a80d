/*
 * exec: a process that becomes another program. If exec is followed (options.exec), the settings
 * that env.c removed are put back into the next program's environment: the library and its options.
 * Only in the recorded process: its children get nothing, and libc's own calls (system) do not come
 * here.
 *
 * If children are followed (options.follow), every program inherits the settings. One whose words have
 * the other size gets another environment, which names the library for such programs; and so does
 * one that is started with an environment without them.
 *
 * Everything is built in separate memory: whether the call will succeed is not known here, and if
 * it fails the program is unchanged. The program's arguments are not assumed to be readable: the
 * kernel decides that, by EFAULT.
 */
#include "rec/other.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/glob.h"
#include "rec/exec.h"
#include "rec/log.h"
#include "rec/path.h"
#include "rec/spool.h"
#include "rec/text.h"

#include "core/poison.h"

enum {
	PID_DIGITS = 10,
	PAGE = 4096,
	SWAP_BYTES = 16 << 10,	  /* on a stack that may be small */
	WORDS = 12,		  /* variables of ours */
	WORD_BYTES = 8 << 10,	  /* of all of them */
	PRELOAD_BYTES = 64 << 10, /* that the program has set itself */
	ENTRIES_MAX = 1 << 20
};

static const char PRELOAD[] = "LD_PRELOAD=";
static const char EXEC[] = "MEMTAPE_EXEC="; /* the pid that is unchanged */

/* Written at the start, on one thread. */
static struct {
	char text[WORD_BYTES];
	const char *words[WORDS];
	size_t used;
	uint32_t count;
} kept;

static const char *const left_names[] = {
	[TAPE_EXEC_FOLLOWED] = "recorded, too",
	[TAPE_EXEC_STATIC] = "not recorded: it is linked statically",
	[TAPE_EXEC_PRIVILEGES] = "not recorded: it has more privileges",
	[TAPE_EXEC_OTHER_MACHINE] = "not recorded: it is for another machine",
	[TAPE_EXEC_NO_LIBRARY] = "not recorded: the recorder's library is not to be had there",
	[TAPE_EXEC_FAILS] = "no such program",
	[TAPE_EXEC_ENVIRONMENT] = "not recorded: its environment cannot name the recorder",
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
			rec_env_library(*entry + sizeof(PRELOAD) - 1, rec_exec_library,
					sizeof(rec_exec_library));
	}
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
	bool has_settings;    /* of ours, too */
};

/* False: it cannot be read. */
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
		if (is_ours < 0 || is_preload < 0)
			return false;
		next->has_settings |= is_ours;
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

static size_t next_bytes(const struct next *next)
{
	return (next->count + WORDS + 3) * sizeof(char *) + sizeof(EXEC) + PID_DIGITS +
	       sizeof(PRELOAD) + REC_EXEC_LIBRARY_BYTES + next->preload_bytes + 2;
}

/* pid_number: of the process, if it asks for its spool again; 0: it is another one. */
static char **next_fill(const struct next *next, const struct exec *exec, uint32_t pid_number,
			void *memory)
{
	char **vector = memory, **out = vector;
	char *pid = (char *)(vector + next->count + WORDS + 3);
	char *preload = put_pid(pid, pid_number);
	char *const *envp = exec->envp;
	char *end = preload;

	memcpy(end, PRELOAD, sizeof(PRELOAD) - 1);
	end += sizeof(PRELOAD) - 1;
	end += rec_exec_library_put(end, exec->is_other);
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
	if (pid_number)
		*out++ = pid;
	*out++ = preload;
	*out = NULL;
	return vector;
}

/* The recorded process itself, in any thread. */
static bool is_followed(void)
{
	const uint32_t state = atomic_load(&rec.state);

	return rec.options.exec && (state == REC_ON || state == REC_STOPPED) && rec_exec_library[0];
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

/* glibc's fexecve() wants an environment, if only an empty one. */
static bool is_refused(const struct exec *exec)
{
	return exec->fd >= 0 && !exec->envp;
}

void rec_exec_begin(struct exec *exec, const struct rec_frame *caller)
{
	const int saved_errno = errno;
	struct next next = { 0 };
	uint8_t *memory;

	if (!rec_is_own_process() || is_refused(exec))
		return;
	if (is_followed())
		exec_begun(TAPE_EXEC_NONE, TAPE_EXEC_BEGUN);
	if (!rec_may_call() || length_of(&next.probe, exec->path, REC_PATH_BYTES) == SIZE_MAX)
		return;
	if (atomic_load(&rec.state) == REC_ON && rec.options.table)
		rec_replaced(true);
	if (atomic_load(&rec.state) == REC_ON)
		rec_note_path(TAPE_EXT_EXEC, 0, exec->path, caller);
	if (is_followed() && next_survey(&next, exec->envp) && !next.has_settings) {
		exec->left = rec_exec_look(exec);
		exec_tell(exec->left);
		REC_LOG(exec->left == TAPE_EXEC_FAILS ? REC_LOG_DEBUG : REC_LOG_INFO,
			"exec of %s: %s", exec->path, left_names[exec->left]);
		exec->bytes = next_bytes(&next);
		memory = exec->left == TAPE_EXEC_FOLLOWED ? sys_map_private(exec->bytes) : NULL;
		if (memory)
			exec->next = next_fill(&next, exec, rec.pid, memory);
	}
	errno = saved_errno;
}

void rec_exec_end(struct exec *exec)
{
	CHECK(!exec->next || exec->bytes > 0 || exec->swap.bytes > 0);
	if (rec.options.table && rec_may_call() && rec_is_own_process())
		rec_replaced(false);
	rec_exec_uncount(exec);
	if (exec->left != TAPE_EXEC_FOLLOWED)
		exec_tell(TAPE_EXEC_FOLLOWED);
	if (is_followed() && rec_is_own_process())
		exec_begun(TAPE_EXEC_BEGUN, TAPE_EXEC_NONE);
	if (exec->next && exec->bytes)
		sys_munmap(exec->next, exec->bytes);
}

/* --- children, if they are followed ---------------------------------------------------------- */

/* Where the library is in a list of preloads; SIZE_MAX: it is not. */
static size_t library_in(const char *list, const char *library)
{
	const size_t bytes = strlen(library);

	for (const char *begin = list; *begin;) {
		const char *end = begin;

		while (*end && *end != ':' && *end != ' ')
			end++;
		if ((size_t)(end - begin) == bytes && memcmp(begin, library, bytes) == 0)
			return (size_t)(begin - list);
		begin = *end ? end + 1 : end;
	}
	return SIZE_MAX;
}

/* Whether a program of its name is to be recorded; one that was opened before has none. */
static bool is_named(const struct exec *exec)
{
	static const char name[] = "MEMTAPE_FOLLOW=";

	for (uint32_t i = 0; i < kept.count; i++) {
		const char *names = kept.words[i] + sizeof(name) - 1;

		if (strncmp(kept.words[i], name, sizeof(name) - 1) == 0 && *names)
			return glob_list_matches(names, rec_path_name(exec->path));
	}
	return true;
}

static void count_add(enum tape_exec_left left, uint32_t number)
{
	struct rec_first first;
	uint32_t *count;

	if (!rec_follow_join(&first))
		return;
	count = left == TAPE_EXEC_STATIC	  ? &first.live->static_left
		: left == TAPE_EXEC_OTHER_MACHINE ? &first.live->others_left
						  : &first.live->barred_left;
	atomic_fetch_add((_Atomic uint32_t *)count, number);
	rec_follow_leave(&first);
}

static void count_left(struct exec *exec, enum tape_exec_left left)
{
	if (left == TAPE_EXEC_FOLLOWED || left == TAPE_EXEC_FAILS || !is_named(exec))
		return;
	REC_LOG(REC_LOG_INFO, "exec of %s: %s", exec->path, left_names[left]);
	count_add(left, 1);
	exec->counted = left;
}

void rec_exec_uncount(const struct exec *exec)
{
	if (exec->counted && rec_may_call())
		count_add(exec->counted, -UINT32_C(1));
}

/* What the program has set for itself is not overruled: it may have switched the recorder off. */
static bool can_swap(const struct exec *exec, const struct next *next, const struct exec_swap *swap)
{
	return swap->bytes <= SWAP_BYTES &&
	       (swap->begin < SIZE_MAX ||
		(!next->has_settings && !exec->is_environ && kept.count > 0));
}

void rec_exec_swap_find(struct exec *exec)
{
	const int saved_errno = errno;
	struct next next = { 0 };
	enum tape_exec_left left;
	struct exec_swap swap;

	if (!rec.options.follow || exec->next || is_refused(exec) || !rec_exec_library[0] ||
	    !rec_may_call() || length_of(&next.probe, exec->path, REC_PATH_BYTES) == SIZE_MAX ||
	    !next_survey(&next, exec->envp))
		return;
	swap = (struct exec_swap) {
		.count = next.count,
		.preload = next.preload,
		.preload_bytes = next.preload_bytes,
		.begin = next.preload == next.count
				 ? SIZE_MAX
				 : library_in(exec->envp[next.preload] + sizeof(PRELOAD) - 1,
					      rec_exec_library),
	};
	swap.bytes = swap.begin == SIZE_MAX ? next_bytes(&next)
					    : (next.count + 1) * sizeof(char *) + sizeof(PRELOAD) +
						      next.preload_bytes + REC_EXEC_LIBRARY_BYTES;
	left = rec_exec_look(exec);
	if (left == TAPE_EXEC_STATIC && exec->is_linked)
		left = TAPE_EXEC_FOLLOWED;
	if (left == TAPE_EXEC_FOLLOWED && (swap.begin == SIZE_MAX || exec->is_other)) {
		if (can_swap(exec, &next, &swap))
			exec->swap = swap;
		else
			left = swap.begin == SIZE_MAX ? TAPE_EXEC_ENVIRONMENT
						      : TAPE_EXEC_OTHER_MACHINE;
	}
	count_left(exec, left);
	errno = saved_errno;
}

static void swap_library(struct exec *exec, void *memory)
{
	const struct exec_swap *swap = &exec->swap;
	const char *value = exec->envp[swap->preload] + sizeof(PRELOAD) - 1;
	const char *behind = value + swap->begin + strlen(rec_exec_library);
	char **vector = memory;
	char *preload = (char *)(vector + swap->count + 1);
	char *end = preload + sizeof(PRELOAD) - 1;

	CHECK(swap->begin < swap->preload_bytes);
	memcpy(preload, PRELOAD, sizeof(PRELOAD) - 1);
	memcpy(end, value, swap->begin);
	end += swap->begin;
	end += rec_exec_library_put(end, true);
	memcpy(end, behind, strlen(behind) + 1);
	memcpy(vector, exec->envp, swap->count * sizeof(*vector));
	vector[swap->preload] = preload;
	vector[swap->count] = NULL;
	exec->next = vector;
}

void rec_exec_swap(struct exec *exec, void *memory)
{
	const struct exec_swap *swap = &exec->swap;
	const struct next next = { .count = swap->count,
				   .preload = swap->preload,
				   .preload_bytes = swap->preload_bytes };

	CHECK(swap->bytes > 0);
	if (swap->begin == SIZE_MAX)
		exec->next = next_fill(&next, exec, 0, memory);
	else
		swap_library(exec, memory);
}
