#include "collect/pattern.h"

#include <assert.h>
#include <limits.h>
#include <unistd.h>

static const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool pattern_has(const char *pattern, char letter)
{
	assert(letter != '\0' && letter != '%');
	for (const char *at = pattern; *at; at++) {
		if (*at != '%' || !at[1])
			continue;
		if (at[1] == letter)
			return true;
		at++;
	}
	return false;
}

static void add_host(struct str *path)
{
	char host[HOST_NAME_MAX + 1] = { 0 };

	if (gethostname(host, sizeof(host) - 1) < 0 || strchr(host, '/'))
		host[0] = '\0';
	str_add(path, host[0] ? host : "localhost");
}

void pattern_expand(struct str *path, const char *pattern, const struct pattern_values *values)
{
	for (const char *at = pattern; *at; at++) {
		if (*at != '%' || !at[1]) {
			str_add_char(path, *at);
			continue;
		}
		at++;
		switch (*at) {
		case 'p':
			str_add_i64(path, values->pid);
			break;
		case 'e':
			str_add(path, path_name(values->program));
			break;
		case 'h':
			add_host(path);
			break;
		case 't':
			str_add_i64(path, values->start_seconds);
			break;
		case 'n':
			str_add_u64(path, values->number);
			break;
		case '%':
			str_add_char(path, '%');
			break;
		default:
			str_add_char(path, '%');
			str_add_char(path, *at);
		}
	}
}

struct err *pattern_absolute(struct str *absolute, const char *pattern)
{
	assert(absolute->len == 0);
	if (pattern[0] != '/') {
		CLEAN(free) char *directory = getcwd(NULL, 0);

		if (!directory)
			return err_errno("working directory");
		for (const char *at = directory; *at; at++) { /* its percent signs are literal */
			if (*at == '%')
				str_add_char(absolute, '%');
			str_add_char(absolute, *at);
		}
		str_add_char(absolute, '/');
	}
	str_add(absolute, pattern);
	return absolute->failed ? err_nomem() : NULL;
}

void pattern_directory(struct str *directory, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		str_add_char(directory, '.');
	else if (slash == path)
		str_add_char(directory, '/');
	else
		str_add_bytes(directory, path, (size_t)(slash - path));
}
