#include "model/following.h"

#include <assert.h>

#include "base/big.h"
#include "capture/following.h"
#include "model/parts.h"
#include "model/recent.h"

enum {
	RECENT_BYTES_PART = 8,	/* of the memory there may be, for what happened lately */
	CHECK_EVENTS = 1 << 16, /* between two looks at the memory in use */
};

/* Of samples and notes, converted: times of those before the last reading of the clock are final. */
struct timed {
	void *items;
	size_t capacity;
	size_t final_count;
};

struct model_following {
	struct model *base; /* as it is loaded; times are ticks */
	struct load load;
	struct load copy; /* of which the sums of a look are made */
	bool is_begun;	  /* load is to be undone */
	struct tape_header header;
	struct capture_player player;
	struct capture_following *tape;
	struct recent recent;
	struct timed usages, systems, notes;
	struct model *now; /* of the last look; much of it is borrowed from base */
	uint64_t bytes_max;
	size_t unchecked_count; /* events since the memory was looked at */
};

/* --- memory --------------------------------------------------------------------------------- */

/* Tallies are copied for a look, and become sums. */
size_t model_following_bytes(const struct model_following *following)
{
	const struct replay *replay = &following->load.replay;

	return sizeof(*following) + load_bytes(&following->load) +
	       capture_following_bytes(following->tape) + recent_bytes(&following->recent) +
	       replay->stacks.count * sizeof(struct tally) +
	       replay->stacks.count * sizeof(struct model_stack_sums) +
	       following->base->built_stacks.nodes.count * sizeof(uint32_t) +
	       following->usages.capacity * sizeof(struct model_usage) +
	       following->systems.capacity * sizeof(struct model_system) +
	       following->notes.capacity * sizeof(struct model_note);
}

static struct err *bytes_check(const struct model_following *following)
{
	if (model_following_bytes(following) <= following->bytes_max)
		return NULL;
	return err_new(ERR_LIMIT, "following the tape takes more than %llu MiB",
		       (unsigned long long)(following->bytes_max >> 20));
}

static struct err *events_take(void *context, const struct capture_event *events, size_t count)
{
	struct model_following *following = context;
	struct err *err = load_events(&following->load, events, count);

	following->unchecked_count += count;
	if (err || following->unchecked_count < CHECK_EVENTS)
		return err;
	following->unchecked_count = 0;
	return bytes_check(following);
}

/* --- opening -------------------------------------------------------------------------------- */

static void now_destroy(struct model *now)
{
	if (!now)
		return;
	now->usages = (struct model_usages_vec) { 0 };
	now->systems = (struct model_systems_vec) { 0 };
	now->notes = (struct model_notes_vec) { 0 };
	now->built_stacks = (struct capture_stacks) { 0 };
	now->clock.points = (struct clock_points) { 0 };
	now->built_fine = NULL;
	model_destroy(now);
}

static struct err *begin(struct model_following *following)
{
	struct load *load = &following->load;

	following->header = *capture_following_header(following->tape);
	*load = (struct load) { .model = following->base, .header = &following->header };
	following->is_begun = true;
	recent_init(&following->recent, following->header.start_ticks);
	return load_begin(load);
}

struct err *model_following_open(const char *path, uint64_t bytes_max,
				 struct model_following **following_ret)
{
	CLEAN(model_following_close)
	struct model_following *following = calloc(1, sizeof(*following));
	struct err *err;

	if (!following)
		return err_nomem();
	following->bytes_max = bytes_max;
	following->base = calloc(1, sizeof(*following->base));
	if (!following->base)
		return err_nomem();
	following->player = (struct capture_player) { .events = events_take, .context = following };
	err = capture_following_open(path, &following->base->built_stacks, &following->player,
				     &following->tape);
	if (!err)
		err = begin(following);
	if (err)
		return err;
	*following_ret = steal(following);
	return NULL;
}

void model_following_close(struct model_following *following)
{
	if (!following)
		return;
	now_destroy(following->now);
	capture_following_close(following->tape);
	if (following->is_begun)
		load_deinit(&following->load);
	recent_deinit(&following->recent);
	free(following->usages.items);
	free(following->systems.items);
	free(following->notes.items);
	model_destroy(following->base);
	free(following);
}

const struct tape_header *model_following_header(const struct model_following *following)
{
	return &following->header;
}

const struct model *model_following_model(const struct model_following *following)
{
	return following->now;
}

/* --- playing -------------------------------------------------------------------------------- */

static uint64_t ticks_of(const struct model_following *following, uint64_t ns)
{
	return clock_ticks(&following->base->clock, &following->header, ns, UINT64_MAX / 4);
}

static struct err *play_until(struct model_following *following, uint64_t ticks, const bool *cancel)
{
	struct replay *replay = &following->load.replay;
	const struct capture_stacks *stacks = &following->base->built_stacks;
	struct err *err = capture_following_play(following->tape, ticks, cancel);
	uint64_t end_ticks = ticks;

	if (err)
		return err;
	if (ticks == UINT64_MAX) /* the end of the tape, not that of time */
		end_ticks = u64_max(replay->last_ticks, following->recent.end_ticks);
	if (!replay_reserve_stacks(replay, stacks->nodes.count) ||
	    !recent_cut(&following->recent, &replay->stacks, stacks->nodes.count, end_ticks,
			ticks_of(following, RECENT_NS), following->bytes_max / RECENT_BYTES_PART))
		return err_nomem();
	return bytes_check(following);
}

/* The next moment to be remembered: that of a cell of the past. */
static uint64_t step_end(const struct model_following *following, uint64_t until_ticks)
{
	const uint64_t from_ticks = following->recent.end_ticks;
	const uint64_t age_ticks = until_ticks - from_ticks;
	const uint64_t keep_ticks = ticks_of(following, RECENT_NS);
	const uint64_t step_ticks =
		u64_max(age_ticks / RECENT_PART, ticks_of(following, 1000000000) + 1);

	if (until_ticks == UINT64_MAX || age_ticks <= step_ticks)
		return until_ticks;
	return age_ticks > keep_ticks ? until_ticks - keep_ticks : from_ticks + step_ticks;
}

static struct err *play_on(struct model_following *following, uint64_t until_ticks,
			   const bool *cancel)
{
	uint64_t end_ticks;
	struct err *err;

	do {
		end_ticks = step_end(following, until_ticks);
		err = play_until(following, end_ticks, cancel);
	} while (!err && end_ticks < until_ticks);
	return err;
}

/* --- the model of a look -------------------------------------------------------------------- */

/* items of item_bytes, which begin with their time. */
static bool timed_follow(struct timed *timed, const void *items, size_t count, size_t item_bytes,
			 const struct clock *clock)
{
	const uint64_t horizon = clock_horizon(clock);

	if (!vec_grow(&timed->items, &timed->capacity, count, item_bytes))
		return false;
	for (size_t i = timed->final_count; i < count; i++) {
		const uint8_t *from = (const uint8_t *)items + i * item_bytes;
		uint8_t *to = (uint8_t *)timed->items + i * item_bytes;
		uint64_t ticks, ns;

		memcpy(&ticks, from, sizeof(ticks));
		ns = clock_ns(clock, ticks);
		memcpy(to, from, item_bytes);
		memcpy(to, &ns, sizeof(ns));
		timed->final_count += i == timed->final_count && ticks < horizon;
	}
	return true;
}

static bool samples_fill(struct model_following *following, struct model *now)
{
	static_assert(offsetof(struct model_usage, ns) == 0 &&
			      offsetof(struct model_system, ns) == 0 &&
			      offsetof(struct model_note, ns) == 0,
		      "they begin with their time");
	const struct model *base = following->base;

	if (!timed_follow(&following->usages, base->usages.items, base->usages.count,
			  sizeof(*base->usages.items), &now->clock) ||
	    !timed_follow(&following->systems, base->systems.items, base->systems.count,
			  sizeof(*base->systems.items), &now->clock) ||
	    !timed_follow(&following->notes, base->notes.items, base->notes.count,
			  sizeof(*base->notes.items), &now->clock))
		return false;
	now->usages.items = following->usages.items;
	now->systems.items = following->systems.items;
	now->notes.items = following->notes.items;
	return true;
}

/* What the sums would change is copied; false: out of memory. */
static bool copy_make(struct model_following *following, struct model *now)
{
	struct replay *replay = &following->load.replay;
	struct load *copy = &following->copy;
	const size_t stray_count = replay->strays.all.count;

	if (!replay_reserve_stacks(replay, following->base->built_stacks.nodes.count) ||
	    !blocks_make_room(&replay->blocks))
		return false;
	*copy = following->load;
	copy->model = now;
	copy->replay.strays.all = (struct stray_vec) { 0 };
	if (!tallies_copy(&replay->stacks, &copy->replay.stacks) ||
	    !stray_vec_reserve(&copy->replay.strays.all, stray_count + 1))
		return false;
	for (size_t i = 0; i < stray_count; i++)
		stray_vec_push(&copy->replay.strays.all, replay->strays.all.items[i]);
	return true;
}

static void copy_drop(struct model_following *following)
{
	struct replay *replay = &following->copy.replay;

	if (replay->stacks.items != following->load.replay.stacks.items)
		tallies_drop(&replay->stacks);
	stray_vec_deinit(&replay->strays.all);
	following->copy = (struct load) { 0 };
}

static struct model *now_create(const struct model_following *following)
{
	const struct capture_facts facts = capture_following_facts(following->tape);
	struct model *now = malloc(sizeof(*now));

	if (!now)
		return NULL;
	*now = *following->base;
	now->arena = (struct arena) { 0 };
	now->built_scans = (struct scans) { 0 };
	now->built_latencies = NULL;
	now->recent = &following->recent;
	now->quality.tape_bytes = facts.file_bytes;
	now->quality.chunk_count = facts.chunk_count;
	now->quality.missing_chunk_count = facts.missing_chunk_count;
	return now;
}

/* It stays where it is: answers and names refer to it. */
static void now_replace(struct model_following *following, struct model *now)
{
	struct model *before = following->now;

	if (before) {
		const struct model content = *before;

		*before = *now;
		*now = content;
		now_destroy(now);
	} else {
		following->now = now;
	}
}

/* What is borrowed may have moved since the last look, although there will be no other. */
static void now_keep(struct model_following *following)
{
	const struct model *base = following->base;
	struct model *now = following->now;

	if (!now)
		return;
	now->stacks = base->built_stacks.nodes.items;
	now->sightings = base->built_stacks.sightings.items;
	now->modules = base->built_stacks.modules.items;
	now->clock.points = base->clock.points;
	now->usages.items = following->usages.items;
	now->systems.items = following->systems.items;
	now->notes.items = following->notes.items;
}

static struct err *sum_up(struct model_following *following)
{
	struct model *now = now_create(following);
	struct err *err = NULL;

	if (!now)
		return err_nomem();
	if (!copy_make(following, now))
		err = err_nomem();
	if (!err)
		err = load_sum_up(&following->copy, capture_following_played(following->tape));
	copy_drop(following);
	if (!err && !samples_fill(following, now))
		err = err_nomem();
	if (err)
		now_destroy(now);
	else
		now_replace(following, now);
	return err;
}

struct err *model_following_look(struct model_following *following, uint64_t now_ticks,
				 uint64_t late_ns, const bool *cancel)
{
	const uint64_t late_ticks = now_ticks == UINT64_MAX ? 0 : ticks_of(following, late_ns);
	const uint64_t until_ticks = now_ticks - u64_min(now_ticks, late_ticks);
	struct err *err = capture_following_look(following->tape);

	if (!err && !replay_reserve_streams(&following->load.replay,
					    capture_following_stream_count(following->tape)))
		err = err_nomem();
	if (!err)
		err = play_on(following, u64_max(until_ticks, following->recent.end_ticks), cancel);
	if (!err)
		err = sum_up(following);
	if (err)
		now_keep(following);
	return err;
}
