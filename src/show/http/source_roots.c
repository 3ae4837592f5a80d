#include "http/source_roots.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

void source_roots_deinit(struct source_roots *roots)
{
	for (size_t i = 0; i < roots->count; i++)
		free(roots->items[i]);
	free(roots->items);
	*roots = (struct source_roots) { 0 };
}

static struct err *root_add(struct source_roots *roots, const char *text, size_t len)
{
	CLEAN(free) char *path = strndup(text, len);
	CLEAN(free) char *real = NULL;
	struct stat status;

	if (!path)
		return err_nomem();
	if (len == 0)
		return err_new(ERR_USAGE,
			       "--source-root: empty name; use . for the current folder");
	real = realpath(path, NULL);
	if (!real)
		return err_new(ERR_USAGE, "--source-root %s: %s", path, strerror(errno));
	if (stat(real, &status) != 0 || !S_ISDIR(status.st_mode))
		return err_new(ERR_USAGE, "--source-root %s: not a folder", path);
	roots->items[roots->count++] = steal(real);
	return NULL;
}

struct err *source_roots_parse(const char *text, struct source_roots *roots_ret)
{
	CLEAN(source_roots_deinit) struct source_roots roots = { 0 };
	struct err *err = NULL;

	if (!text)
		return NULL;
	roots.items = calloc(strlen(text) + 1, sizeof(*roots.items));
	if (!roots.items)
		return err_nomem();
	for (const char *at = text; at && !err;) {
		const size_t len = strcspn(at, ":");

		err = root_add(&roots, at, len);
		at = at[len] ? at + len + 1 : NULL;
	}
	if (err)
		return err;
	*roots_ret = roots;
	roots = (struct source_roots) { 0 };
	return NULL;
}

static bool is_below(const char *real, const char *root)
{
	const size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);

	return strncmp(real, root, len) == 0 && real[len] == '/';
}

bool source_roots_allow(const struct source_roots *roots, const char *real)
{
	for (size_t i = 0; i < roots->count; i++) {
		if (is_below(real, roots->items[i]))
			return true;
	}
	return roots->count == 0;
}
