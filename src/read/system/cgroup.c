#include "system/cgroup.h"

#include <string.h>

#include "system/lines.h"

/* A mount point of cgroups, in the text of mountinfo. */
struct mount {
	const char *root, *point; /* in the arena; NULL: not found */
};

/* --- where it is ------------------------------------------------------------------------------ */

/* The field of a line with this number, from 0; fields end with blanks. */
static char *field_take(const char *line, size_t len, unsigned number, struct arena *arena)
{
	const char *const end = line + len;

	for (; number > 0 && line < end; number--) {
		const char *blank = memchr(line, ' ', (size_t)(end - line));

		line = blank ? blank + 1 : end;
	}
	return arena_text(arena, line, strcspn(line, " \n"));
}

/* Whether the options of a super block, divided by commas, have this one. */
static bool has_option(const char *options, size_t len, const char *option)
{
	const size_t option_len = strlen(option);

	for (const char *at = options; at + option_len <= options + len; at++) {
		const bool begins = at == options || at[-1] == ',' || at[-1] == ' ';
		const bool ends = at + option_len == options + len || at[option_len] == ',';

		if (begins && ends && memcmp(at, option, option_len) == 0)
			return true;
	}
	return false;
}

/* "31 23 0:28 ROOT POINT rw,relatime shared:1 - cgroup cgroup rw,memory" */
static struct err *mount_read(const char *line, size_t len, struct arena *arena, struct mount *v1,
			      struct mount *v2)
{
	enum { ROOT = 3, POINT = 4 };
	static const char v1_type[] = " - cgroup ", v2_type[] = " - cgroup2 ";
	const char *type = memmem(line, len, v2_type, strlen(v2_type));
	struct mount *mount = type ? v2 : v1;

	if (!type) {
		type = memmem(line, len, v1_type, strlen(v1_type));
		if (!type || !has_option(type, (size_t)(line + len - type), "memory"))
			return NULL;
	}
	if (mount->root)
		return NULL; /* the first one counts */
	mount->root = field_take(line, len, ROOT, arena);
	mount->point = field_take(line, len, POINT, arena);
	return mount->root && mount->point ? NULL : err_nomem();
}

static struct err *mounts_find(const char *mountinfo, struct arena *arena, struct mount *v1,
			       struct mount *v2)
{
	struct err *err = NULL;

	for (const char *line = mountinfo; line && *line && !err;) {
		const size_t len = strcspn(line, "\n");

		err = mount_read(line, len, arena, v1, v2);
		line += len + (line[len] == '\n');
	}
	return err;
}

/* The process's path: of version 2, "0::/path"; of version 1, "4:memory:/path". NULL: none. */
static const char *path_find(const char *cgroup, bool is_v1)
{
	for (const char *line = cgroup; line && *line;) {
		const size_t len = strcspn(line, "\n");
		const char *first = memchr(line, ':', len);
		const char *second =
			first ? memchr(first + 1, ':', (size_t)(line + len - first - 1)) : NULL;

		if (second && is_v1 &&
		    has_option(first + 1, (size_t)(second - first - 1), "memory"))
			return second + 1;
		if (second && !is_v1 && strncmp(line, "0::", 3) == 0)
			return second + 1;
		line += len + (line[len] == '\n');
	}
	return NULL;
}

/* Below the root of the mount; a path that is not below it is of another container. */
static const char *below_root(const char *path, const char *root)
{
	const size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(path, root, len) != 0 || (path[len] && path[len] != '/'))
		return NULL;
	return path + len;
}

static struct err *levels_fill(const char *path, const char *point, struct arena *arena,
			       struct cgroup_places *places)
{
	char *rest = arena_text(arena, path, strcspn(path, "\n"));

	if (!rest)
		return err_nomem();
	while (places->count < CGROUP_LEVELS_MAX) {
		struct cgroup_place *place = &places->items[places->count];
		const size_t len = strlen(rest);
		char *slash = strrchr(rest, '/');

		if (len > 0 && rest[len - 1] == '/') {
			rest[len - 1] = '\0';
			continue;
		}
		place->directory = arena_printf(arena, "%s%s", point, rest);
		place->name = arena_strdup(arena, *rest ? rest : "/");
		if (!place->directory || !place->name)
			return err_nomem();
		places->count++;
		if (!slash)
			break;
		*slash = '\0';
	}
	return NULL;
}

struct err *cgroup_places_find(const char *cgroup, const char *mountinfo, struct arena *arena,
			       struct cgroup_places *places)
{
	struct mount v1 = { 0 }, v2 = { 0 };
	const char *v1_path = path_find(cgroup, true);
	const char *v2_path = path_find(cgroup, false);
	struct err *err = mounts_find(mountinfo, arena, &v1, &v2);
	const struct mount *mount;
	const char *path, *below;

	*places = (struct cgroup_places) { .is_v1 = v1_path != NULL };
	if (err)
		return err;
	mount = places->is_v1 ? &v1 : &v2;
	path = places->is_v1 ? v1_path : v2_path;
	if (!path || !mount->point)
		return NULL;
	path = arena_text(arena, path, strcspn(path, "\n"));
	if (!path)
		return err_nomem();
	below = below_root(path, mount->root);
	places->is_part = strcmp(mount->root, "/") != 0;
	if (!below || strstr(below, "/..")) /* only the limits of what is mounted can be seen */
		below = "";
	return levels_fill(below, mount->point, arena, places);
}

/* --- what it says ----------------------------------------------------------------------------- */

static const char *const v1_files[] = { "memory.usage_in_bytes",
					"memory.limit_in_bytes",
					"memory.max_usage_in_bytes",
					"memory.failcnt",
					"memory.memsw.limit_in_bytes",
					"memory.memsw.usage_in_bytes",
					"memory.oom_control",
					"memory.stat",
					NULL };

static const char *const v2_files[] = {
	"memory.current",  "memory.max",    "memory.high", "memory.peak",     "memory.swap.current",
	"memory.swap.max", "memory.events", "memory.stat", "memory.pressure", NULL
};

const char *const *cgroup_files(bool is_v1)
{
	return is_v1 ? v1_files : v2_files;
}

static const char *text_in(const struct look *look, const struct cgroup_place *place,
			   const char *name)
{
	return look_text_of(look, "%s/%s", place->directory, name);
}

static uint64_t number_in(const struct look *look, const struct cgroup_place *place,
			  const char *name)
{
	return line_number(text_in(look, place, name));
}

/* Version 1 writes a number near 2^63 for no limit. */
static uint64_t limit_in(const struct look *look, const struct cgroup_place *place,
			 const char *name)
{
	enum { NO_LIMIT_SHIFT = 60 };
	const uint64_t value = number_in(look, place, name);

	return value >> NO_LIMIT_SHIFT ? SYSTEM_UNKNOWN : value;
}

static void v1_read(const struct look *look, const struct cgroup_place *place,
		    struct cgroup_info *info)
{
	const char *stat = text_in(look, place, "memory.stat");

	info->usage = number_in(look, place, "memory.usage_in_bytes");
	info->limit = limit_in(look, place, "memory.limit_in_bytes");
	info->high = SYSTEM_UNKNOWN;
	info->peak = number_in(look, place, "memory.max_usage_in_bytes");
	info->inactive_file = line_value(stat, "total_inactive_file");
	info->anonymous = line_value(stat, "total_rss");
	info->file = line_value(stat, "total_cache");
	info->swap = line_value(stat, "total_swap");
	info->swap_limit = SYSTEM_UNKNOWN; /* it is of memory and swap together */
	info->limit_hits = number_in(look, place, "memory.failcnt");
	info->high_hits = SYSTEM_UNKNOWN;
	info->ooms = SYSTEM_UNKNOWN;
	info->oom_kills = line_value(text_in(look, place, "memory.oom_control"), "oom_kill");
}

static void v2_read(const struct look *look, const struct cgroup_place *place,
		    struct cgroup_info *info)
{
	const char *stat = text_in(look, place, "memory.stat");
	const char *events = text_in(look, place, "memory.events");

	info->usage = number_in(look, place, "memory.current");
	info->limit = limit_in(look, place, "memory.max");
	info->high = limit_in(look, place, "memory.high");
	info->peak = number_in(look, place, "memory.peak");
	info->inactive_file = line_value(stat, "inactive_file");
	info->anonymous = line_value(stat, "anon");
	info->file = line_value(stat, "file");
	info->swap = number_in(look, place, "memory.swap.current");
	info->swap_limit = limit_in(look, place, "memory.swap.max");
	info->limit_hits = line_value(events, "max");
	info->high_hits = line_value(events, "high");
	info->ooms = line_value(events, "oom");
	info->oom_kills = line_value(events, "oom_kill");
}

void cgroup_info_read(const struct look *look, const struct cgroup_places *places, size_t level,
		      struct cgroup_info *info)
{
	const struct cgroup_place *place = &places->items[level];

	memory_pressure_read(text_in(look, place, "memory.pressure"), &info->pressure);
	if (places->is_v1)
		v1_read(look, place, info);
	else
		v2_read(look, place, info);
}

uint64_t cgroup_working_set(const struct cgroup_info *info)
{
	if (info->usage == SYSTEM_UNKNOWN || info->inactive_file == SYSTEM_UNKNOWN)
		return info->usage;
	return info->usage > info->inactive_file ? info->usage - info->inactive_file : 0;
}
