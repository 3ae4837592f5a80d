#include "scan/status.h"

#include <assert.h>
#include <fcntl.h>

#include "base/clean.h"
#include "base/str.h"

/* Of groups a process may have tens of thousands, and they come before what is asked for. */
static size_t groups_drop(char *text, size_t len)
{
	static const char name[] = "\nGroups:";
	char *line = strstr(text, name);
	char *begin = line ? line + strlen(name) : text + len;
	char *end = begin + strcspn(begin, "\n");

	memmove(begin, end, len - (size_t)(end - text));
	return len - (size_t)(end - begin);
}

bool status_read(struct status *status, pid_t pid, pid_t tid)
{
	enum { ROOM = sizeof(status->text) - 1 };
	char path[64];
	size_t len = 0;
	ssize_t bytes;

	assert(pid > 0 && tid > 0);
	str_format(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && len < ROOM && (bytes = read(fd, status->text + len, ROOM - len)) > 0) {
		len += (size_t)bytes;
		status->text[len] = '\0';
		if (len == ROOM)
			len = groups_drop(status->text, len);
	}
	status->text[len] = '\0';
	return len > 0;
}

/* Behind the colon of the line with this name; NULL: there is none. */
static const char *value_of(const struct status *status, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = status->text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, name, len) == 0 && at[len] == ':')
			return at + len + 1;
	}
	return NULL;
}

uint64_t status_number(const struct status *status, const char *name, int base, uint64_t missing)
{
	const char *value = value_of(status, name);

	return value ? strtoull(value, NULL, base) : missing;
}

bool status_has_word(const struct status *status, const char *name, const char *word)
{
	const char *value = value_of(status, name);
	const char *end = value ? strchrnul(value, '\n') : NULL;
	const size_t len = strlen(word);

	for (const char *at = value; at < end; at += strcspn(at, " \t\n")) {
		at += strspn(at, " \t");
		if (strcspn(at, " \t\n") == len && strncmp(at, word, len) == 0)
			return true;
	}
	return false;
}

static char state_of(const struct status *status)
{
	const char *value = value_of(status, "State");

	return value ? value[strspn(value, " \t")] : 'X';
}

bool status_is_stopped(const struct status *status)
{
	return state_of(status) == 'T';
}

bool status_is_dead(const struct status *status)
{
	const char state = state_of(status);

	return state == 'Z' || state == 'X';
}
