#include "model/patches.h"

#include <assert.h>

void patches_init(struct patches *patches, uint64_t memory_bytes)
{
	*patches = (struct patches) { .held_max = memory_bytes / sizeof(struct patch),
				      .file = { .fd = -1 } };
}

void patches_deinit(struct patches *patches)
{
	for (size_t i = 0; i < PATCH_GROUPS; i++)
		patches_vec_deinit(&patches->groups[i]);
	image_deinit(&patches->file);
	patch_runs_deinit(&patches->runs);
}

static struct err *group_flush(struct patches *patches, uint32_t group)
{
	struct patches_vec *held = &patches->groups[group];
	struct patch_run run = { .count = (uint32_t)held->count, .group = group };
	struct err *err;

	if (held->count == 0)
		return NULL;
	err = image_append(&patches->file, held->items, held->count * sizeof(*held->items),
			   &run.offset);
	if (err)
		return err;
	patches_vec_deinit(held);
	return patch_runs_push(&patches->runs, run) ? NULL : err_nomem();
}

static struct err *flush(struct patches *patches)
{
	struct err *err = NULL;

	if (patches->file.fd < 0)
		err = image_create(&patches->file, NULL, false);
	for (uint32_t group = 0; group < PATCH_GROUPS && !err; group++)
		err = group_flush(patches, group);
	patches->held_count = 0;
	return err;
}

struct err *patches_add(struct patches *patches, struct patch patch)
{
	assert(patch.row >> PATCH_GROUP_BITS < PATCH_GROUPS);
	if (!patches_vec_push(&patches->groups[patch.row >> PATCH_GROUP_BITS], patch))
		return err_nomem();
	return ++patches->held_count > patches->held_max ? flush(patches) : NULL;
}

struct err *patches_take(struct patches *patches, uint32_t group, struct patches_vec *out)
{
	struct patches_vec *held = &patches->groups[group];

	assert(group < PATCH_GROUPS);
	for (size_t i = 0; i < patches->runs.count; i++) {
		const struct patch_run *run = &patches->runs.items[i];
		struct err *err;

		if (run->group != group)
			continue;
		if (!patches_vec_reserve(out, out->count + run->count))
			return err_nomem();
		err = image_read(&patches->file, out->items + out->count,
				 run->count * sizeof(*out->items), run->offset);
		if (err)
			return err;
		out->count += run->count;
	}
	if (held->count == 0)
		return NULL;
	if (!patches_vec_reserve(out, out->count + held->count))
		return err_nomem();
	memcpy(out->items + out->count, held->items, held->count * sizeof(*held->items));
	out->count += held->count;
	patches_vec_deinit(held);
	return NULL;
}
