#include "cli/top_follow.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "answer/speak.h"
#include "arch/native.h"
#include "base/monotonic.h"
#include "questions/questions.h"

struct top_follow {
	unsigned refs; /* atomic */
	const char *path;
	const struct symbol_options *symbols;
	pthread_mutex_t lock; /* of all that follows */
	struct model_following *following;
	struct names *names; /* NULL: there was no look yet */
};

struct err *top_follow_open(const char *path, const struct symbol_options *symbols,
			    struct top_follow **follow_ret)
{
	CLEAN(top_follow_drop) struct top_follow *follow = calloc(1, sizeof(*follow));
	struct err *err;

	if (!follow)
		return err_nomem();
	follow->refs = 1;
	follow->path = path;
	follow->symbols = symbols;
	pthread_mutex_init(&follow->lock, NULL);
	err = model_following_open(path, MODEL_FOLLOWING_BYTES, &follow->following);
	if (!err)
		*follow_ret = steal(follow);
	return err;
}

struct top_follow *top_follow_keep(struct top_follow *follow)
{
	__atomic_add_fetch(&follow->refs, 1, __ATOMIC_RELAXED);
	return follow;
}

void top_follow_drop(struct top_follow *follow)
{
	if (!follow || __atomic_sub_fetch(&follow->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	names_destroy(follow->names);
	model_following_close(follow->following);
	pthread_mutex_destroy(&follow->lock);
	free(follow);
}

struct top_clocks top_clocks_now(void)
{
	return (struct top_clocks) { arch_ticks(), monotonic_ns() };
}

static uint64_t ticks_of(const struct top_follow *follow, const struct top_clocks *clocks)
{
	const struct tape_header *header = model_following_header(follow->following);

	return (header->clock == TAPE_CLOCK_TSC ? clocks->ticks : clocks->ns) >> header->tick_shift;
}

static struct err *names_renew(struct top_follow *follow)
{
	const struct model *model = model_following_model(follow->following);

	if (!follow->names)
		follow->names = names_create(model, follow->symbols);
	else if (!names_follow(follow->names, model))
		return err_nomem();
	if (!follow->names)
		return err_nomem();
	names_prepare(follow->names);
	return NULL;
}

struct err *top_follow_look(struct top_follow *follow, const struct top_clocks *clocks,
			    uint64_t late_ns, const bool *cancel)
{
	struct err *err;

	pthread_mutex_lock(&follow->lock);
	err = model_following_look(follow->following, ticks_of(follow, clocks), late_ns, cancel);
	if (!err)
		err = names_renew(follow);
	pthread_mutex_unlock(&follow->lock);
	return err;
}

static struct err *answer_find(struct top_follow *follow, const struct parameters *with,
			       const bool *cancel, struct arena *arena, const void **answer_ret)
{
	const struct question *question = &question_now;
	const struct sweep_limits limits = { .cancel = cancel };
	struct selection_settings settings = question_selection(question, with);
	struct asked asked = {
		.model = model_following_model(follow->following),
		.names = follow->names,
		.tape_path = follow->path,
		.arena = arena,
		.limits = &limits,
		.with = with,
	};
	struct err *err;

	settings.cancel = cancel;
	err = selection_make(asked.model, asked.names, &settings, arena, &asked.selection);
	if (!err)
		err = question_prepare(question, &asked);
	return err ? err : question_ask(question, &asked, answer_ret);
}

struct err *top_follow_ask(struct top_follow *follow, const struct parameters *with,
			   const bool *cancel, struct arena *arena, const void **answer_ret)
{
	enum parameter_id wrong;
	struct err *err = question_check(&question_now, with, &wrong);

	assert(!with->filter && follow->names);
	if (err)
		return err;
	pthread_mutex_lock(&follow->lock);
	err = answer_find(follow, with, cancel, arena, answer_ret);
	pthread_mutex_unlock(&follow->lock);
	return err;
}

struct err *top_follow_speak(struct top_follow *follow, const void *answer,
			     const struct shape *shape, const char *key, struct emit *emit)
{
	struct speaker speaker = { .emit = emit, .names = follow->names, .mode = WALK_MY };
	struct err *err;

	pthread_mutex_lock(&follow->lock);
	speaker.model = model_following_model(follow->following);
	emit_object(emit, key);
	err = speak_members(&speaker, shape, answer);
	emit_end(emit);
	pthread_mutex_unlock(&follow->lock);
	return err;
}
