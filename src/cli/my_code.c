#include "cli/my_code.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"

enum { CONFIG_BYTES_MAX = 1 << 20 };

#define CONFIG_FOLDER ".memtape"
#define CONFIG_FILE   CONFIG_FOLDER "/config"

VEC_DEFINE(rule_vec, struct role_rule);

/* Of options, those of a later kind win. */
static const struct {
	const char *word;
	enum name_role role;
} kinds[] = {
	{ "library", NAME_LIBRARY },
	{ "wrapper", NAME_ALLOCATOR },
	{ "my", NAME_MINE },
};

/* --- the file -------------------------------------------------------------------------------- */

/* In the folder or one above it; NULL: there is none. Files of other users are none. */
static const char *config_find(const char *folder, struct arena *arena, int *fd_ret)
{
	const struct file_trust trust = { .owner = geteuid(), .bytes_max = CONFIG_BYTES_MAX };
	char path[PATH_MAX];
	size_t len = strlen(folder);
	uint64_t bytes;

	for (;;) {
		struct err *err = NULL;

		while (len > 0 && folder[len - 1] == '/')
			len--;
		if (snprintf(path, sizeof(path), "%.*s/%s", (int)len, folder, CONFIG_FILE) >=
		    (int)sizeof(path))
			return NULL;
		if (access(path, F_OK) == 0) {
			err = file_open_trusted(path, &trust, fd_ret, &bytes);
			if (!err)
				return arena_strdup(arena, path);
			err_destroy(err);
		}
		if (len == 0)
			return NULL;
		while (len > 0 && folder[len - 1] != '/')
			len--;
	}
}

static struct err *config_open(const char *tape_path, struct arena *arena, const char **path_ret,
			       int *fd_ret)
{
	char folder[PATH_MAX], tape[PATH_MAX];
	char *slash;

	*path_ret = getcwd(folder, sizeof(folder)) ? config_find(folder, arena, fd_ret) : NULL;
	if (*path_ret || !tape_path || !realpath(tape_path, tape))
		return NULL;
	slash = strrchr(tape, '/');
	slash[slash == tape] = '\0';
	*path_ret = config_find(tape, arena, fd_ret);
	return NULL;
}

static struct err *config_read(int fd, const char *path, struct arena *arena, char **text_ret)
{
	struct stat status;
	ssize_t bytes;

	if (fstat(fd, &status) < 0)
		return err_errno("read %s", path);
	*text_ret = arena_array(arena, (size_t)status.st_size + 1, 1);
	if (!*text_ret)
		return err_nomem();
	bytes = file_read_at(fd, *text_ret, (size_t)status.st_size, 0);
	return bytes < 0 ? err_errno("read %s", path) : NULL;
}

static char *trimmed(char *text)
{
	char *end = text + strlen(text);

	text += strspn(text, " \t");
	while (end > text && strchr(" \t\r", end[-1]))
		*--end = '\0';
	return text;
}

/* "my = src/,include/"; the line is cut into its parts. False: it is none. */
static bool line_parse(char *line, struct role_rule *rule_ret)
{
	char *equals = strchr(line, '=');
	const char *word, *patterns;

	if (!equals)
		return false;
	*equals = '\0';
	word = trimmed(line);
	patterns = trimmed(equals + 1);
	for (size_t i = 0; i < array_size(kinds); i++) {
		if (strcmp(word, kinds[i].word) == 0 && *patterns) {
			*rule_ret = (struct role_rule) { kinds[i].role, patterns };
			return true;
		}
	}
	return false;
}

static struct err *config_parse(char *text, const char *path, struct rule_vec *rules)
{
	unsigned number = 0;

	for (char *next; text; text = next) {
		struct role_rule rule;
		char *line;

		number++;
		next = strchr(text, '\n');
		if (next)
			*next++ = '\0';
		line = trimmed(text);
		if (*line == '\0' || *line == '#')
			continue;
		if (!line_parse(line, &rule))
			return err_new(ERR_USAGE,
				       "%s:%u: expected 'my = PATTERNS', 'library = PATTERNS' or "
				       "'wrapper = PATTERNS'",
				       path, number);
		if (!rule_vec_push(rules, rule))
			return err_nomem();
	}
	return NULL;
}

/* --- options ---------------------------------------------------------------------------------- */

static const struct option_list *list_of(const struct my_code_options *options, size_t kind)
{
	switch (kinds[kind].role) {
	case NAME_LIBRARY:
		return &options->library;
	case NAME_ALLOCATOR:
		return &options->wrapper;
	case NAME_MINE:
	case NAME_START:
		break;
	}
	return &options->my;
}

static struct err *options_take(const struct my_code_options *options, struct rule_vec *rules)
{
	for (size_t kind = 0; kind < array_size(kinds); kind++) {
		const struct option_list *list = list_of(options, kind);

		for (size_t i = 0; i < list->count; i++) {
			const struct role_rule rule = { kinds[kind].role, list->items[i] };

			if (strchr(list->items[i], '\n') || !*list->items[i])
				return err_new(ERR_USAGE, "--%s: expected patterns, with commas",
					       kinds[kind].word);
			if (!rule_vec_push(rules, rule))
				return err_nomem();
		}
	}
	return NULL;
}

/* Adds the options' lines; path NULL: to a new file in the current folder. */
static struct err *options_remember(const struct my_code_options *options, const char *path)
{
	CLEAN(str_deinit) struct str lines = { 0 };
	CLEAN(close) int fd = -1;

	for (size_t kind = 0; kind < array_size(kinds); kind++) {
		const struct option_list *list = list_of(options, kind);

		for (size_t i = 0; i < list->count; i++)
			str_printf(&lines, "%s = %s\n", kinds[kind].word, list->items[i]);
	}
	if (lines.failed)
		return err_nomem();
	if (lines.len == 0)
		return err_new(ERR_USAGE, "--remember: needs --my, --library or --wrapper");
	if (!path && mkdir(CONFIG_FOLDER, 0777) < 0 && errno != EEXIST)
		return err_errno("make the folder %s", CONFIG_FOLDER);
	fd = open(path ? path : CONFIG_FILE, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, lines.ptr, lines.len) != (ssize_t)lines.len)
		return err_errno("write %s", path ? path : CONFIG_FILE);
	return NULL;
}

struct err *my_code_rules(const struct my_code_options *options, const char *tape_path,
			  struct arena *arena, struct role_rules *rules_ret)
{
	CLEAN(rule_vec_deinit) struct rule_vec rules = { 0 };
	CLEAN(close) int fd = -1;
	const char *path = NULL;
	char *text = NULL;
	struct role_rule *items;
	struct err *err = config_open(tape_path, arena, &path, &fd);

	if (!err && path)
		err = config_read(fd, path, arena, &text);
	if (!err && text)
		err = config_parse(text, path, &rules);
	if (!err)
		err = options_take(options, &rules);
	if (!err && options->remember)
		err = options_remember(options, path);
	if (err)
		return err;
	items = arena_array(arena, rules.count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	if (rules.count > 0)
		memcpy(items, rules.items, rules.count * sizeof(*items));
	*rules_ret = (struct role_rules) { items, rules.count };
	return NULL;
}
