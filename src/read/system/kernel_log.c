#include "system/kernel_log.h"

#include <string.h>

#include "system/lines.h"

enum { FACILITY_SHIFT = 3, NS_OF_US = 1000 };

bool kernel_log_is_wanted(const char *record)
{
	static const char *const words[] = { "Killed process", "Kill process",
					     "oom-kill:", "invoked oom-killer",
					     "memory.oom.group" };

	for (size_t i = 0; i < array_size(words); i++)
		if (strstr(record, words[i]))
			return true;
	return false;
}

/* The message of a record of the kernel itself, and its time; NULL: a program wrote it, or it is none. */
static const char *message_of(const char *line, uint64_t *uptime_ns_ret)
{
	const uint64_t priority = line_number(line);
	const char *at = strchr(line, ',');
	const char *message = strchr(line, ';');
	uint64_t us;

	if (priority == SYSTEM_UNKNOWN || priority >> FACILITY_SHIFT || !at || !message)
		return NULL;
	at = strchr(at + 1, ',');
	if (!at || at > message)
		return NULL;
	us = line_number(at + 1);
	*uptime_ns_ret = us > UINT64_MAX / NS_OF_US ? SYSTEM_UNKNOWN : us * NS_OF_US;
	return message + 1;
}

/* "key:123kB" */
static uint64_t size_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	const uint64_t kib = at ? line_number(at + strlen(key)) : SYSTEM_UNKNOWN;

	return kib > UINT64_MAX >> 10 ? SYSTEM_UNKNOWN : kib << 10;
}

/* The last place of word in text: what is before it may have anything in it. */
static const char *last_of(const char *text, const char *word)
{
	const char *found = NULL;

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		found = at;
	return found;
}

/* The value of "key=" up to the next comma. NULL: none, or out of memory. */
static const char *value_of(const char *text, const char *key, struct arena *arena)
{
	const char *at = strstr(text, key);

	at = at ? at + strlen(key) : NULL;
	return at ? arena_text(arena, at, strcspn(at, ",\n")) : NULL;
}

/* "oom-kill:constraint=CONSTRAINT_MEMCG,...,oom_memcg=/a,task_memcg=/a/b,task=x,pid=1,uid=0" */
struct cause {
	uint64_t pid; /* SYSTEM_UNKNOWN: none so far */
	const char *cgroup;
	bool is_cgroup;
};

static void cause_read(const char *message, struct arena *arena, struct cause *cause)
{
	const char *pid = last_of(message, ",pid=");

	cause->pid = pid ? line_number(pid + strlen(",pid=")) : SYSTEM_UNKNOWN;
	cause->is_cgroup = strstr(message, "constraint=CONSTRAINT_MEMCG") != NULL;
	cause->cgroup = cause->is_cgroup ? value_of(message, "oom_memcg=", arena) : NULL;
}

/* "Out of memory: Killed process 1 (name) total-vm:1kB, anon-rss:1kB, ..." */
static struct err *kill_read(const char *message, const struct cause *cause, uint64_t uptime_ns,
			     struct arena *arena, struct oom_kills *kills)
{
	static const char killed[] = "Killed process ";
	const char *at = strstr(message, killed);
	const char *sizes = at ? last_of(at, "total-vm:") : NULL;
	const char *name = at ? strchr(at, '(') : NULL;
	const char *name_end = NULL;
	struct oom_kill kill = { .uptime_ns = uptime_ns };

	if (!at)
		return NULL;
	kill.pid = line_number(at + strlen(killed));
	for (const char *close = name; close && (!sizes || close < sizes); close++) {
		close = strchr(close, ')');
		if (!close || (sizes && close > sizes))
			break;
		name_end = close;
	}
	if (name && name_end)
		kill.name = arena_text(arena, name + 1, (size_t)(name_end - name - 1));
	kill.is_cgroup = strncmp(message, "Memory cgroup", strlen("Memory cgroup")) == 0;
	if (cause->pid == kill.pid && cause->is_cgroup)
		kill.cgroup = cause->cgroup;
	sizes = sizes ? sizes : "";
	kill.address_space = size_of(sizes, "total-vm:");
	kill.rss_anonymous = size_of(sizes, "anon-rss:");
	kill.rss_file = size_of(sizes, "file-rss:");
	kill.rss_shared = size_of(sizes, "shmem-rss:");
	return oom_kills_push(kills, kill) ? NULL : err_nomem();
}

struct err *kernel_log_read(const char *text, struct arena *arena, struct oom_kills *kills)
{
	struct cause cause = { .pid = SYSTEM_UNKNOWN };
	struct err *err = NULL;

	for (const char *at = text; at && *at && !err;) {
		const size_t len = strcspn(at, "\n");
		CLEAN(free) char *line = strndup(at, len);
		uint64_t uptime_ns = SYSTEM_UNKNOWN;
		const char *message;

		if (!line)
			return err_nomem();
		message = message_of(line, &uptime_ns);
		if (message && strncmp(message, "oom-kill:", strlen("oom-kill:")) == 0)
			cause_read(message, arena, &cause);
		else if (message)
			err = kill_read(message, &cause, uptime_ns, arena, kills);
		at += len + (at[len] == '\n');
	}
	return err;
}
