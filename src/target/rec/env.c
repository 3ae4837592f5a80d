/*
 * env: the recorder's settings in the environment, and their removal from there, so that the
 * program and its children see what they would have seen without us.
 *
 * The kernel puts the auxiliary vector behind the environment's, and some (Go's runtime) look for
 * it by walking past the NULL there. So that vector is not moved down when entries go: those that
 * stay move up, environ follows, and the places before are filled with an entry that stays, for
 * code that walks from argv. /proc/self/environ shows the strings as they were, except for
 * LD_PRELOAD.
 *
 * MEMTAPE_OPTIONS is a comma-separated list of name=0|1: stacks, free_stacks, follow, exec (what
 * the process becomes by exec is recorded, too: exec.c), selfcheck, sample (RSS and the like, when
 * there is no collector), calls (depths of stacks and frees of NULL), counts (calls are counted and
 * not recorded; with maps also mmap and the like, with moments to a data file of memusage beside
 * the tape), latency (how long calls take), leaks (the collector looks for leaks when the process
 * ends), stack_use (how far down stacks are used, which asks
 * mincore, and what running threads are called), paused (recording begins when it is resumed:
 * pause.c), zero (blocks are filled with zeros). And any number of toggle=N, the number of a signal
 * that pauses and resumes, and of allocator=NAME[=PREFIX]
 * (allocators.h), or allocator=none: those that are known are left alone. Names it does not know
 * are ignored: the memtape command checks them.
 */
#include "rec/attach.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "core/synonyms.h"
#include "rec/log.h"
#include "rec/memusage.h"
#include "rec/path.h"

#include "core/poison.h"

extern char **__environ; /* musl has it but does not declare it */

static const char LIBRARY_NAME[] = "libmemtape.so";

/* The value of NAME=value, or NULL if string is another variable. */
static char *env_value(char *string, const char *name)
{
	const size_t len = strlen(name);

	return strncmp(string, name, len) == 0 && string[len] == '=' ? string + len + 1 : NULL;
}

/* The kernel's environment, for callers that come before libc has set environ (preinit_array). */
static const char *early_get(const char *name)
{
	enum { ROOM = 256 << 10 };
	static char
		*text; /* NUL-terminated strings, then an empty one; kept: its values are in use */
	long len;
	int fd;

	if (!text) {
		text = sys_map_private(ROOM);
		fd = text ? sys_open("/proc/self/environ", O_RDONLY | O_CLOEXEC, 0) : -1;
		for (size_t used = 0; fd >= 0 && used < ROOM - 2; used += (size_t)len) {
			len = sys_read(fd, text + used, ROOM - 2 - used);
			if (len <= 0)
				break;
		}
		if (fd >= 0)
			sys_close(fd);
	}
	for (char *string = text; string && *string; string += strlen(string) + 1)
		if (env_value(string, name))
			return env_value(string, name);
	return NULL;
}

const char *rec_env_get(const char *name)
{
	if (rec_is_attach)
		return rec_attach_env(name);
	if (!environ)
		return early_get(name);
	for (char **entry = environ; *entry; entry++)
		if (env_value(*entry, name))
			return env_value(*entry, name);
	return NULL;
}

static bool is_separator(char c)
{
	return c == ':' || c == ' ' || c == '\0';
}

static bool is_library(const char *begin, const char *end)
{
	const size_t len = sizeof(LIBRARY_NAME) - 1;

	if ((size_t)(end - begin) < len || memcmp(end - len, LIBRARY_NAME, len) != 0)
		return false;
	return (size_t)(end - begin) == len || end[-(ptrdiff_t)len - 1] == '/';
}

void rec_env_library(const char *list, char *path, size_t path_bytes)
{
	CHECK(path_bytes > 0);
	for (const char *begin = list; *begin;) {
		const char *end = begin;

		while (!is_separator(*end))
			end++;
		if (is_library(begin, end) && (size_t)(end - begin) < path_bytes) {
			memcpy(path, begin, (size_t)(end - begin));
			path[end - begin] = '\0';
			return;
		}
		begin = *end ? end + 1 : end;
	}
}

/* Removes our library from a list of preloads, in place; true: nothing is left. */
static bool preload_remove(char *list)
{
	char *out = list;
	char *begin = list;

	while (*begin) {
		char *end = begin;

		while (!is_separator(*end))
			end++;
		if (!is_library(begin, end) && end > begin) {
			if (out > list)
				*out++ = ':';
			memmove(out, begin, (size_t)(end - begin));
			out += end - begin;
		}
		begin = *end ? end + 1 : end;
	}
	*out = '\0';
	return out == list;
}

static bool is_unwanted(char *string)
{
	char *preload = env_value(string, "LD_PRELOAD");

	if (strncmp(string, "MEMTAPE_", 8) == 0)
		return true;
	return preload && preload_remove(preload);
}

/* Whether it is the kernel's, on the first stack: what it points to and some bytes are above it. */
static bool is_first_vector(char **vector)
{
	enum { ARGUMENTS_MAX = 64 << 20 };
	const uint64_t above = getauxval(AT_RANDOM);

	return above - (uintptr_t)vector < ARGUMENTS_MAX;
}

static void vector_set(char **vector)
{
	environ = vector;
	__environ = vector; /* the same, except for programs linked in unusual ways */
}

static void scrub_up(char **vector)
{
	static char nothing[] = "";
	size_t count = 0;
	size_t begin;

	while (vector[count])
		count++;
	begin = count;
	for (size_t i = count; i-- > 0;)
		if (!is_unwanted(vector[i]))
			vector[--begin] = vector[i];
	for (size_t i = 0; i < begin; i++)
		vector[i] = begin < count ? vector[begin] : nothing;
	if (begin > 0)
		vector_set(vector + begin);
}

/* One made by setenv(): libc may realloc it, so it stays where it is. */
static void scrub_down(char **vector)
{
	char **out = vector;

	for (char **entry = vector; *entry; entry++)
		if (!is_unwanted(*entry))
			*out++ = *entry;
	*out = NULL;
}

void rec_env_scrub(void)
{
	if (!environ || rec_is_attach)
		return;
	rec_exec_keep();
	if (!is_first_vector(environ)) {
		scrub_down(environ);
		return;
	}
	if (!rec.stack_base)
		rec.stack_base = (uintptr_t)environ;
	scrub_up(environ);
}

static bool *option_find(const char *name, size_t len)
{
	static const struct {
		const char *name;
		bool *value;
	} rows[] = {
		{ "stacks", &rec.options.stacks },
		{ "free_stacks", &rec.options.free_stacks },
		{ "follow", &rec.options.follow },
		{ "exec", &rec.options.exec },
		{ "selfcheck", &rec.options.selfcheck },
		{ "sample", &rec.options.sample },
		{ "calls", &rec.options.calls },
		{ "counts", &rec.options.counts },
		{ "maps", &rec.options.maps },
		{ "moments", &rec.options.moments },
		{ "latency", &rec.options.latency },
		{ "leaks", &rec.options.leaks },
		{ "stack_use", &rec.options.stack_use },
		{ "paused", &rec.options.paused },
		{ "zero", &rec.options.zero },
	};

	for (size_t i = 0; i < array_size(rows); i++)
		if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0)
			return rows[i].value;
	return NULL;
}

static void toggle_take(const char *text, size_t len)
{
	unsigned number = 0;

	for (size_t i = 0; i < len && i < 2 && text[i] >= '0' && text[i] <= '9'; i++)
		number = number * 10 + (unsigned)(text[i] - '0');
	if (number > 0 && number < 64)
		rec.options.toggles |= UINT64_C(1) << number;
}

static void options_parse(const char *text)
{
	while (text && *text) {
		const char *comma = strchr(text, ',');
		const char *end = comma ? comma : text + strlen(text);
		const char *equals = memchr(text, '=', (size_t)(end - text));
		const size_t len = equals ? (size_t)(equals - text) : 0;
		bool *option = option_find(text, len);

		if (option && equals + 1 < end)
			*option = equals[1] != '0';
		else if (len == 6 && memcmp(text, "toggle", len) == 0)
			toggle_take(equals + 1, (size_t)(end - equals - 1));
		else if (len == 9 && memcmp(text, "allocator", len) == 0)
			rec_allocators_ask(equals + 1, (size_t)(end - equals - 1));
		else if (end > text)
			REC_LOG(REC_LOG_WARNING, "MEMTAPE_OPTIONS: not known, from here on: %s",
				text);
		text = comma ? comma + 1 : end;
	}
}

/* Settings from bytehound's variables; `memtape record` has read them itself. */
static void synonyms_read(void)
{
	const char *free_stacks = rec_env_get(SYNONYM_FREE_STACKS);
	const char *follow = rec_env_get(SYNONYM_FOLLOW);
	const char *paused = rec_env_get(SYNONYM_PAUSED), *zero = rec_env_get(SYNONYM_ZERO);

	for (size_t i = 0; i < array_size(synonym_toggles); i++) {
		const char *toggle = rec_env_get(synonym_toggles[i].name);

		if (toggle && synonym_is_true(toggle))
			rec.options.toggles |= UINT64_C(1) << synonym_toggles[i].signal;
	}
	rec.options.paused = paused && synonym_is_true(paused);
	rec.options.zero = zero && synonym_is_true(zero);
	if (free_stacks && !synonym_is_true(free_stacks))
		rec.options.free_stacks = false;
	if (follow && synonym_is_true(follow))
		rec.options.follow = true;
	rec_synonyms_complain(environ);
}

void rec_options_read(void)
{
	const char *selfcheck = rec_env_get("MEMTAPE_SELFCHECK");
	const char *disabled = rec_env_get("MEMTAPE_DISABLED");
	const char *spool = rec_env_get("MEMTAPE_SPOOL");
	const char *options = rec_env_get("MEMTAPE_OPTIONS");

	rec.options = (struct rec_options) {
		.stacks = true, .free_stacks = true, .sample = true, .stack_use = true
	};
	if (rec_is_memusage) {
		rec_memusage_options();
		return;
	}
	if (!(spool && spool[0]))
		synonyms_read();
	REC_LOG(REC_LOG_DEBUG, "MEMTAPE_OPTIONS=%s", options ? options : "");
	options_parse(options);
	if (selfcheck && selfcheck[0] && selfcheck[0] != '0')
		rec.options.selfcheck = true;
	if (disabled && disabled[0] && disabled[0] != '0')
		rec.options.paused = true;
	rec.options.zero &= !rec.options.counts;
	rec.options.counts &=
		!rec.options.stacks && !rec.options.free_stacks && !rec.options.latency;
	rec.options.latency &= !rec.options.counts; /* there are no events to measure */
	rec.options.maps &= rec.options.counts;
	rec.options.moments &= rec.options.counts;
	rec.options.calls |= rec.options.counts; /* frees of NULL; also the fallback of counts */
	if (rec.options.calls) {		 /* so that the fast path need not check */
		rec.options.calls_stacks = rec.options.stacks;
		rec.options.calls_free_stacks = rec.options.free_stacks;
		rec.options.stacks = rec.options.free_stacks = false;
	}
}
