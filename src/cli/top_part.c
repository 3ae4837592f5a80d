#include "cli/top_part.h"

#include <assert.h>
#include <stdlib.h>

#include "answer/speak.h"

void top_part_drop(struct top_part *part)
{
	if (!part || __atomic_sub_fetch(&part->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	names_destroy(part->names);
	arena_deinit(&part->arena);
	tapes_release(part->loaded);
	tapes_release(part->whole);
	top_follow_drop(part->follow);
	free(part);
}

struct top_part *top_part_keep(struct top_part *part)
{
	if (part)
		__atomic_add_fetch(&part->refs, 1, __ATOMIC_RELAXED);
	return part;
}

static struct err *answer_find(const struct question *question, const struct parameters *with,
			       const bool *cancel, struct top_part *part)
{
	const struct sweep_limits limits = { .cancel = cancel };
	struct selection_settings settings = question_selection(question, with);
	struct asked asked = {
		.model = part->loaded->model,
		.names = part->names,
		.tape_path = part->path,
		.arena = &part->arena,
		.limits = &limits,
		.with = with,
	};
	struct err *err;

	settings.suppressor = &part->loaded->suppressor;
	settings.cancel = cancel;
	err = selection_make(asked.model, asked.names, &settings, &part->arena, &asked.selection);
	if (!err)
		err = question_prepare(question, &asked);
	return err ? err : question_ask(question, &asked, &part->answer);
}

struct err *top_part_make(struct tape *tape, const struct question *question,
			  const struct parameters *with, const bool *cancel,
			  struct top_part **part_ret)
{
	const struct sweep_limits limits = { .cancel = cancel };
	CLEAN(top_part_drop) struct top_part *part = calloc(1, sizeof(*part));
	enum parameter_id wrong;
	struct err *err = part ? question_check(question, with, &wrong) : err_nomem();

	if (!part)
		return err;
	part->refs = 1;
	part->path = tape->source->path;
	if (!err)
		err = tapes_acquire(tape, 0, &limits, &part->loaded);
	if (!err)
		err = tapes_wait_names(part->loaded, &limits);
	if (!err && question_subject(question, with) == MODEL_OF_POOLS) {
		part->whole = steal(part->loaded);
		err = tapes_acquire_pools(tape, part->whole, &part->loaded);
	}
	if (err)
		return err;
	part->names = names_view(tapes_names_unready(part->loaded));
	err = part->names ? answer_find(question, with, cancel, part) : err_nomem();
	if (!err)
		*part_ret = steal(part);
	return err;
}

struct err *top_part_make_followed(struct top_follow *follow, const struct parameters *with,
				   const bool *cancel, struct top_part **part_ret)
{
	CLEAN(top_part_drop) struct top_part *part = calloc(1, sizeof(*part));
	struct err *err;

	if (!part)
		return err_nomem();
	part->refs = 1;
	part->follow = top_follow_keep(follow);
	err = top_follow_ask(follow, with, cancel, &part->arena, &part->answer);
	if (!err)
		*part_ret = steal(part);
	return err;
}

uint64_t top_part_reading(const struct top_part *part)
{
	if (part->follow)
		return 0;
	return part->whole ? part->whole->number : part->loaded->number;
}

struct err *top_part_speak(const struct top_part *part, const struct shape *shape, const char *key,
			   struct emit *emit)
{
	struct speaker speaker = { .emit = emit, .names = part->names, .mode = WALK_MY };
	struct err *err;

	if (part->follow)
		return top_follow_speak(part->follow, part->answer, shape, key, emit);
	speaker.model = part->loaded->model;
	emit_object(emit, key);
	err = speak_members(&speaker, shape, part->answer);
	emit_end(emit);
	return err;
}
