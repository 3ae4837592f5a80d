/*
 * limited: the cgroups of the whole machine of which one would like to hear: near a limit, or where
 * something was killed.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "base/sort.h"
#include "host/gathering.h"
#include "system/lines.h"

enum {
	KEPT = 5,
	KILLED_KEPT = 3, /* of these: others are near a limit now */
	DIRECTORIES_MAX = 4096,
	KILLED_SCORE = 1 << 20, /* more than any use of a limit */
	PER_MILLE = 1000,
	NO_LIMIT_SHIFT = 60 /* version 1 writes a number near 2^63 */
};

struct limited {
	const char *directory; /* in the arena */
	uint64_t score;	       /* how much one would like to hear of it; 0: not at all */
};

VEC_DEFINE(limited_vec, struct limited);

/* Directories are visited in the order in which they are found, parents first. */
struct walk_of_cgroups {
	struct gathering *gathering;
	bool is_v1;
	struct limited_vec found;
};

static uint64_t value_in(const struct walk_of_cgroups *walk, const char *directory,
			 const char *file, const char *name)
{
	CLEAN(str_deinit) struct str path = { 0 };
	CLEAN(str_deinit) struct str text = { 0 };

	str_printf(&path, "%s/%s", directory, file);
	if (path.failed || host_file_read(walk->gathering->host, path.ptr, &text) != 0)
		return SYSTEM_UNKNOWN;
	return name ? line_value(str_text(&text), name) : line_number(str_text(&text));
}

/* What it may use before it is slowed down or something is killed. */
static uint64_t bound_of(const struct walk_of_cgroups *walk, const char *directory)
{
	const uint64_t limit = value_in(walk, directory,
					walk->is_v1 ? "memory.limit_in_bytes" : "memory.max", NULL);
	const uint64_t high =
		walk->is_v1 ? SYSTEM_UNKNOWN : value_in(walk, directory, "memory.high", NULL);
	const uint64_t bound = u64_min(limit, high);

	return bound >> NO_LIMIT_SHIFT ? SYSTEM_UNKNOWN : bound;
}

static uint64_t working_set_of(const struct walk_of_cgroups *walk, const char *directory)
{
	const bool is_v1 = walk->is_v1;
	const struct cgroup_info info = {
		.usage = value_in(walk, directory,
				  is_v1 ? "memory.usage_in_bytes" : "memory.current", NULL),
		.inactive_file = value_in(walk, directory, "memory.stat",
					  is_v1 ? "total_inactive_file" : "inactive_file"),
	};
	const uint64_t bytes = cgroup_working_set(&info);

	return bytes == SYSTEM_UNKNOWN ? 0 : bytes;
}

static uint64_t score_of(const struct walk_of_cgroups *walk, const char *directory)
{
	const uint64_t kills = value_in(
		walk, directory, walk->is_v1 ? "memory.oom_control" : "memory.events", "oom_kill");
	const uint64_t killed = kills != SYSTEM_UNKNOWN && kills > 0 ? KILLED_SCORE : 0;
	const uint64_t bound = bound_of(walk, directory);

	if (bound == SYSTEM_UNKNOWN || bound == 0)
		return killed;
	return killed + 1 +
	       u64_min(working_set_of(walk, directory), bound) / (bound / PER_MILLE + 1);
}

static struct err *visit(struct walk_of_cgroups *walk, const char *directory)
{
	const struct limited one = { directory, score_of(walk, directory) };

	return limited_vec_push(&walk->found, one) ? NULL : err_nomem();
}

static struct err *visit_below(struct walk_of_cgroups *walk, const char *directory)
{
	const int fd = host_file_open(walk->gathering->host, directory, O_RDONLY | O_DIRECTORY);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct err *err = NULL;

	if (!folder) {
		if (fd >= 0)
			close(fd);
		return NULL; /* it is gone, or others' */
	}
	while (!err && walk->found.count < DIRECTORIES_MAX && (entry = readdir(folder))) {
		const char *below;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		below = arena_printf(walk->gathering->arena, "%s/%s", directory, entry->d_name);
		err = below ? visit(walk, below) : err_nomem();
	}
	closedir(folder);
	return err;
}

static int compare_scores(const void *context, const void *a, const void *b)
{
	const struct limited *left = a, *right = b;

	(void)context;
	return sort_compare_u64(right->score, left->score);
}

static bool is_own(const struct cgroup_places *own, const char *directory)
{
	for (size_t i = 0; i < own->count; i++)
		if (strcmp(own->items[i].directory, directory) == 0)
			return true;
	return false;
}

/* Its processes, too: that they are there says that it was found here. */
static struct err *keep_one(struct gathering *gathering, const char *directory, bool is_v1)
{
	CLEAN(str_deinit) struct str path = { 0 };
	CLEAN(str_deinit) struct str text = { 0 };
	struct err *err = gathering_level(gathering, directory, is_v1);
	int error;

	str_printf(&path, "%s/cgroup.procs", directory);
	if (path.failed)
		return err_nomem();
	error = host_file_read(gathering->host, path.ptr, &text);
	if (!err && text.failed)
		err = err_nomem();
	return err ? err : gathering_keep(gathering, path.ptr, str_text(&text), error);
}

struct err *gathering_limited(struct gathering *gathering, const struct cgroup_places *own)
{
	struct walk_of_cgroups walk = { .gathering = gathering, .is_v1 = own->is_v1 };
	const char *top = own->items[own->count - 1].directory;
	struct err *err = visit_below(&walk, top);
	size_t kept = 0, killed = 0;

	assert(own->count > 0);
	for (size_t i = 0; i < walk.found.count && !err; i++)
		err = visit_below(&walk, walk.found.items[i].directory);
	if (!err && walk.found.count >= DIRECTORIES_MAX)
		err = gathering_keep(gathering, top, "", EOVERFLOW); /* there are more */
	if (!err && !sort_stable(walk.found.items, walk.found.count, sizeof(*walk.found.items),
				 compare_scores, NULL))
		err = err_nomem();
	for (size_t i = 0; i < walk.found.count && kept < KEPT && !err; i++) {
		const struct limited *one = &walk.found.items[i];

		if (one->score == 0 || is_own(own, one->directory))
			continue;
		if (one->score >= KILLED_SCORE && killed++ >= KILLED_KEPT)
			continue;
		err = keep_one(gathering, one->directory, own->is_v1);
		kept++;
	}
	limited_vec_deinit(&walk.found);
	return err;
}
