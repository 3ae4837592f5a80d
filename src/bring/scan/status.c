#include "scan/status.h"

#include <assert.h>
#include <fcntl.h>

#include "base/clean.h"
#include "base/str.h"

bool status_read(struct status *status, pid_t pid, pid_t tid)
{
	char path[64];
	ssize_t bytes;

	assert(pid > 0 && tid > 0);
	str_format(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC);

	bytes = fd < 0 ? 0 : read(fd, status->text, sizeof(status->text) - 1);
	status->text[bytes > 0 ? bytes : 0] = '\0';
	return bytes > 0;
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

bool status_is_dead(const struct status *status)
{
	const char *value = value_of(status, "State");
	const char state = value ? value[strspn(value, " \t")] : 'X';

	return state == 'Z' || state == 'X';
}
