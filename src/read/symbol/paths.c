#include "symbol/paths.h"

#include <assert.h>

static size_t parts_count(const char *text, char separator)
{
	size_t count = 1;

	for (; *text; text++)
		count += *text == separator;
	return count;
}

/* "/a/b/" becomes "/a/b", but "/" stays. */
static char *part_copy(struct arena *arena, const char *text, size_t len)
{
	while (len > 1 && text[len - 1] == '/')
		len--;
	return arena_text(arena, text, len);
}

static struct err *rule_parse(const char *text, size_t len, struct arena *arena,
			      struct path_rule *rule)
{
	const char *equal = memchr(text, '=', len);

	if (!equal || equal == text || equal == text + len - 1)
		return err_new(ERR_USAGE, "'%.*s' is not FROM=TO", (int)u64_min(len, 256), text);
	rule->from = part_copy(arena, text, (size_t)(equal - text));
	rule->to = part_copy(arena, equal + 1, len - (size_t)(equal + 1 - text));
	return rule->from && rule->to ? NULL : err_nomem();
}

struct err *path_map_parse(const char *text, struct arena *arena, struct path_map *map)
{
	struct path_rule *rules = arena_array(arena, parts_count(text, ','), sizeof(*rules));
	size_t count = 0;

	if (!rules)
		return err_nomem();
	for (;;) {
		const char *end = strchrnul(text, ',');

		if (end > text) {
			struct err *err =
				rule_parse(text, (size_t)(end - text), arena, &rules[count++]);

			if (err)
				return err;
		}
		if (!*end)
			break;
		text = end + 1;
	}
	map->rules = rules;
	map->count = count;
	return NULL;
}

/* The part of path after FROM: "" or "/..."; NULL: the rule does not match. */
static const char *rule_rest(const struct path_rule *rule, const char *path)
{
	const size_t len = strlen(rule->from);

	if (strncmp(path, rule->from, len) != 0)
		return NULL;
	if (rule->from[len - 1] == '/')
		return path + len - 1;
	return path[len] == '\0' || path[len] == '/' ? path + len : NULL;
}

const char *path_map_apply(const struct path_map *map, const char *path, struct arena *arena)
{
	assert(!map || map->rules || map->count == 0);
	for (size_t i = 0; map && i < map->count; i++) {
		const char *rest = rule_rest(&map->rules[i], path);
		const char *to = map->rules[i].to;
		const char *made;

		if (!rest)
			continue;
		made = arena_printf(arena, "%s%s", strcmp(to, "/") == 0 ? "" : to, rest);
		return made ? made : path;
	}
	return path;
}

const char *path_map_object(const struct path_map *map, const char *path, struct arena *arena)
{
	const char *mapped = path_map_apply(map, path, arena);
	const char *below;

	/* A rule may be for sources only. */
	if (mapped != path && access(mapped, F_OK) == 0)
		return mapped;
	if (!map || !map->sysroot || path[0] != '/')
		return path;
	below = arena_printf(arena, "%s%s", map->sysroot, path);
	return below && access(below, F_OK) == 0 ? below : path;
}

const char *const *path_list_parse(const char *text, struct arena *arena)
{
	const char **list = arena_array(arena, parts_count(text, ':') + 1, sizeof(*list));
	size_t count = 0;

	if (!list)
		return NULL;
	for (;;) {
		const char *end = strchrnul(text, ':');

		if (end > text) {
			list[count] = part_copy(arena, text, (size_t)(end - text));
			if (!list[count++])
				return NULL;
		}
		if (!*end)
			return list;
		text = end + 1;
	}
}
