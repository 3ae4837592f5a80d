#include "sums/files.h"

#include <assert.h>

#include "base/map.h"
#include "base/sort.h"

enum { CHECK_STACKS = 4096 };

struct counted {
	struct source_file file;
	uint32_t last_stack; /* last stack added to total, plus 1 */
};

VEC_DEFINE(counted_vec, struct counted);

struct finder {
	const struct sums *sums;
	struct names *names;
	struct map by_text;    /* address of a path's text -> index */
	struct interner paths; /* equal texts at several addresses are one file */
	struct counted_vec files;
};

static void finder_deinit(struct finder *finder)
{
	map_deinit(&finder->by_text);
	interner_deinit(&finder->paths);
	counted_vec_deinit(&finder->files);
}

CLEAN_DEFINE_DEINIT(finder_deinit, struct finder);

uint64_t source_file_hash(const char *path)
{
	return hash_bytes(path, strlen(path), 0);
}

/* The file of a frame; NULL: not known, or no memory. */
static struct counted *file_get(struct finder *finder, const char *path, bool *ok)
{
	uint64_t *index = map_put(&finder->by_text, (uintptr_t)path, NULL);
	uint32_t id;

	if (!index) {
		*ok = false;
		return NULL;
	}
	if (*index == 0) {
		id = interner_put(&finder->paths, path, strlen(path));
		if (id == UINT32_MAX) {
			*ok = false;
			return NULL;
		}
		if (id == finder->files.count &&
		    !counted_vec_push(
			    &finder->files,
			    (struct counted) {
				    .file = { .path = path, .hash = source_file_hash(path) } })) {
			*ok = false;
			return NULL;
		}
		*index = (uint64_t)id + 1;
	}
	return &finder->files.items[*index - 1];
}

static bool stack_add(struct finder *finder, uint32_t stack)
{
	const struct model_stack_sums *sums = sums_of_stack(finder->sums, stack);
	struct walk walk = walk_begin(finder->sums->model, finder->names, stack, WALK_MY);
	const struct name_frame *frame;
	bool is_innermost = true, ok = true;

	while (ok && (frame = walk_next(&walk))) {
		struct counted *counted = frame->file ? file_get(finder, frame->file, &ok) : NULL;

		if (counted && counted->last_stack != stack + 1) {
			counted->last_stack = stack + 1;
			metric_sums_add(&counted->file.total, sums);
		}
		if (counted && is_innermost)
			metric_sums_add(&counted->file.self, sums);
		is_innermost = false;
	}
	return ok;
}

static int most_first(const void *a, const void *b, void *context)
{
	const enum metric metric = *(const enum metric *)context;
	const struct source_file *one = a, *two = b;
	const uint64_t x = metric_value(metric, &one->total), y = metric_value(metric, &two->total);

	return x != y ? (x > y ? -1 : 1) : strcmp(one->path, two->path);
}

struct err *source_files_find(const struct sums *sums, struct names *names, enum metric metric,
			      const struct sweep_limits *limits, struct arena *arena,
			      struct source_files *files_ret)
{
	CLEAN(finder_deinit) struct finder finder = { .sums = sums, .names = names };
	const size_t count = model_stack_count(sums->model);
	struct source_file *items;

	assert((unsigned)metric < METRICS_KEYED);
	assert(sums->stacks.items);
	for (uint32_t stack = CAPTURE_STACK_FIRST; stack < count; stack++) {
		struct err *err = stack % CHECK_STACKS == 0 && limits ? sweep_check(limits) : NULL;

		if (err)
			return err;
		if (metric_sums_any(sums_of_stack(sums, stack)) && !stack_add(&finder, stack))
			return err_nomem();
	}
	items = arena_array(arena, finder.files.count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < finder.files.count; i++)
		items[i] = finder.files.items[i].file;
	qsort_r(items, finder.files.count, sizeof(*items), most_first, &metric);
	assert(finder.files.count == finder.paths.count);
	*files_ret = (struct source_files) { .items = items, .count = finder.files.count };
	return NULL;
}

const char *source_file_path(const struct sums *sums, struct names *names, uint64_t hash)
{
	const size_t count = model_stack_count(sums->model);

	for (uint32_t stack = CAPTURE_STACK_FIRST; stack < count; stack++) {
		const struct name_frames frames = names_frames(names, stack);

		for (size_t i = 0; i < frames.count; i++) {
			const char *path = frames.frames[i].file;

			if (path && source_file_hash(path) == hash)
				return path;
		}
	}
	return NULL;
}
