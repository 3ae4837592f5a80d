#include "cli/my_code_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"

enum { CONFIG_BYTES_MAX = 1 << 20 };

#define CONFIG_FOLDER ".memtape"
#define CONFIG_FILE   CONFIG_FOLDER "/config"

VEC_DEFINE(line_vec, struct my_code_line);

const struct my_code_kind my_code_kinds[MY_CODE_KINDS] = {
	{ "library", NAME_LIBRARY },
	{ "wrapper", NAME_ALLOCATOR },
	{ "my", NAME_MINE },
};

static const char *kind_word(enum name_role role)
{
	for (size_t i = 0; i < MY_CODE_KINDS; i++) {
		if (my_code_kinds[i].role == role)
			return my_code_kinds[i].word;
	}
	return my_code_kinds[MY_CODE_KINDS - 1].word;
}

/* --- where it is ----------------------------------------------------------------------------- */

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

/* *fd_ret is unchanged if there is none; the path is then that of a new one. */
static struct err *config_open(const char *tape_path, struct arena *arena, const char **path_ret,
			       int *fd_ret)
{
	char folder[PATH_MAX], tape[PATH_MAX];
	const char *path = NULL;
	char *slash;

	if (!getcwd(folder, sizeof(folder)))
		str_format(folder, sizeof(folder), ".");
	else
		path = config_find(folder, arena, fd_ret);
	if (!path && tape_path && realpath(tape_path, tape)) {
		slash = strrchr(tape, '/');
		slash[slash == tape] = '\0';
		path = config_find(tape, arena, fd_ret);
	}
	*path_ret = path ? path : arena_printf(arena, "%s/%s", folder, CONFIG_FILE);
	return *path_ret ? NULL : err_nomem();
}

/* --- reading --------------------------------------------------------------------------------- */

static struct err *text_read(int fd, const char *path, struct arena *arena, char **text_ret)
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
	for (size_t i = 0; i < MY_CODE_KINDS; i++) {
		if (strcmp(word, my_code_kinds[i].word) == 0 && *patterns) {
			*rule_ret = (struct role_rule) { my_code_kinds[i].role, patterns };
			return true;
		}
	}
	return false;
}

static struct err *line_take(char *begin, unsigned number, const char *path, struct line_vec *lines)
{
	struct my_code_line line = { .number = number };
	char *text = trimmed(begin);
	const char *suggest;
	size_t at = 0;
	struct err *err;

	if (*text == '\0' || *text == '#')
		return NULL;
	if (!line_parse(text, &line.rule))
		return err_new(ERR_USAGE,
			       "%s:%u: expected 'my = PATTERNS', 'library = PATTERNS' or "
			       "'wrapper = PATTERNS'",
			       path, number);
	err = role_patterns_check(line.rule.patterns);
	if (err) {
		err_at_of(err, &at, &suggest);
		return err_wrap(err, "%s:%u:%zu", path, number,
				(size_t)(line.rule.patterns - begin) + at + 1);
	}
	return line_vec_push(lines, line) ? NULL : err_nomem();
}

static struct err *lines_parse(char *text, const char *path, struct line_vec *lines)
{
	struct err *err = NULL;

	for (unsigned number = 1; text && !err; number++) {
		char *next = strchr(text, '\n');

		if (next)
			*next++ = '\0';
		err = line_take(text, number, path, lines);
		text = next;
	}
	return err;
}

struct err *my_code_file_read(const char *tape_path, struct arena *arena,
			      struct my_code_file *file_ret)
{
	CLEAN(line_vec_deinit) struct line_vec lines = { 0 };
	CLEAN(close) int fd = -1;
	struct my_code_file file = { .text = "" };
	struct my_code_line *items;
	char *text = NULL, *cut;
	struct err *err = config_open(tape_path, arena, &file.path, &fd);

	file.exists = fd >= 0;
	if (!err && file.exists)
		err = text_read(fd, file.path, arena, &text);
	if (!err && text) {
		file.text = text;
		cut = arena_strdup(arena, text); /* lines are parts of it */
		err = cut ? lines_parse(cut, file.path, &lines) : err_nomem();
	}
	if (err)
		return err;
	items = arena_array(arena, lines.count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	if (lines.count > 0)
		memcpy(items, lines.items, lines.count * sizeof(*items));
	file.lines = items;
	file.line_count = lines.count;
	*file_ret = file;
	return NULL;
}

/* --- rewriting ------------------------------------------------------------------------------- */

struct change {
	const struct role_rule *remove, *add;
	size_t remove_count, add_count;
};

static bool list_has(const char *list, const char *pattern, size_t len)
{
	const char *item;
	size_t item_len;

	while ((item = role_pattern_next(&list, &item_len))) {
		if (item_len == len && memcmp(item, pattern, len) == 0)
			return true;
	}
	return false;
}

static bool is_taken_out(const struct change *change, enum name_role role, const char *pattern,
			 size_t len)
{
	for (size_t i = 0; i < change->add_count; i++) {
		if (list_has(change->add[i].patterns, pattern, len))
			return true;
	}
	for (size_t i = 0; i < change->remove_count; i++) {
		if (change->remove[i].role == role &&
		    list_has(change->remove[i].patterns, pattern, len))
			return true;
	}
	return false;
}

/* As it is if nothing is taken out of it. */
static void line_rewrite(const struct change *change, const struct role_rule *rule,
			 const char *line, size_t len, struct str *out)
{
	CLEAN(str_deinit) struct str kept = { 0 };
	const char *list = rule->patterns, *pattern;
	bool is_changed = false;
	size_t pattern_len;

	while ((pattern = role_pattern_next(&list, &pattern_len))) {
		if (is_taken_out(change, rule->role, pattern, pattern_len)) {
			is_changed = true;
			continue;
		}
		str_add(&kept, kept.len ? "," : "");
		str_add_bytes(&kept, pattern, pattern_len);
	}
	out->failed |= kept.failed;
	if (!is_changed) {
		str_add_bytes(out, line, len);
		str_add(out, "\n");
	} else if (kept.len > 0) {
		str_printf(out, "%s = %s\n", kind_word(rule->role), str_text(&kept));
	}
}

static void file_rewrite(const struct my_code_file *file, const struct change *change,
			 struct str *out)
{
	const struct my_code_line *line = file->lines, *end = line + file->line_count;
	const char *text = file->text;

	for (unsigned number = 1; *text; number++) {
		const size_t len = strcspn(text, "\n");

		if (line < end && line->number == number) {
			line_rewrite(change, &line->rule, text, len, out);
			line++;
		} else {
			str_add_bytes(out, text, len);
			str_add(out, "\n");
		}
		text += len + (text[len] == '\n');
	}
	for (size_t i = 0; i < change->add_count; i++)
		str_printf(out, "%s = %s\n", kind_word(change->add[i].role),
			   change->add[i].patterns);
}

/* Under another name first. The caller has the lock, so that the other name is its own. */
static struct err *text_replace(const struct my_code_file *file, const struct str *text)
{
	CLEAN(str_deinit) struct str name = { 0 };
	CLEAN(close) int fd = -1;
	struct stat status;

	str_printf(&name, "%s.new", file->path);
	if (name.failed || text->failed)
		return err_nomem();
	fd = open(name.ptr, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_errno("write %s", name.ptr);
	if (file->exists && stat(file->path, &status) == 0 &&
	    fchmod(fd, status.st_mode & 07777) < 0)
		return err_errno("write %s", name.ptr);
	if (write(fd, str_text(text), text->len) != (ssize_t)text->len || fsync(fd) < 0 ||
	    rename(name.ptr, file->path) < 0) {
		struct err *err = err_errno("write %s", file->path);

		unlink(name.ptr);
		return err;
	}
	return NULL;
}

/* The lock of its folder, which is made if it is not there. */
static struct err *folder_lock(const char *path, int *fd_ret)
{
	char folder[PATH_MAX];

	str_format(folder, sizeof(folder), "%.*s", (int)(strlen(path) - strlen("/config")), path);
	if (mkdir(folder, 0777) < 0 && errno != EEXIST)
		return err_errno("make the folder %s", folder);
	*fd_ret = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd_ret < 0)
		return err_errno("open %s", folder);
	while (flock(*fd_ret, LOCK_EX) < 0) {
		if (errno != EINTR)
			return err_errno("lock %s", folder);
	}
	return NULL;
}

static struct err *rules_check(const struct role_rule *rules, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct err *err = role_patterns_check(rules[i].patterns);

		if (err)
			return err;
	}
	return NULL;
}

struct err *my_code_file_change(const char *tape_path, const struct role_rule *remove,
				size_t remove_count, const struct role_rule *add, size_t add_count)
{
	const struct change change = { remove, add, remove_count, add_count };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(str_deinit) struct str text = { 0 };
	CLEAN(close) int lock_fd = -1;
	struct my_code_file file = { 0 };
	struct err *err = rules_check(remove, remove_count);

	if (!err)
		err = rules_check(add, add_count);
	if (!err)
		err = my_code_file_read(tape_path, &arena, &file);
	if (!err)
		err = folder_lock(file.path, &lock_fd);
	if (!err) /* what was written meanwhile */
		err = my_code_file_read(tape_path, &arena, &file);
	if (err)
		return err;
	if (!file.exists && access(file.path, F_OK) == 0)
		return err_new(ERR_STATE, "%s is not a file of your own", file.path);
	file_rewrite(&file, &change, &text);
	return text_replace(&file, &text);
}
