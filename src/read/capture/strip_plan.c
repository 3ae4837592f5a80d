/*
 * Plays a tape and follows every chain of blocks until it is known whether it stays. Events of
 * undecided chains are kept in a list; once a chain is sure to stay its list is dropped, so a
 * program's long run costs nothing.
 */
#include "capture/strip_plan.h"

#include <assert.h>

#include "base/map.h"
#include "capture/realloc_half.h"

enum { NO_EVENT = UINT32_MAX };

/* Conditions a chain has not met yet; with none left it stays. */
enum unmet { UNMET_LIFETIME = 1, UNMET_FROM = 2, UNMET_FILTER = 4 };

/* An event of an undecided chain. */
struct doubt {
	uint64_t ordinal;
	uint32_t stream;
	uint32_t next; /* index; NO_EVENT */
};

VEC_DEFINE(doubt_vec, struct doubt);

/* A live block, the latest of its chain. */
struct chain {
	uint64_t begin_ticks; /* of the first block */
	uint64_t serial;      /* of the block: its address may be reused unseen */
	uint32_t doubts;      /* list of its events */
	uint8_t unmet;
	bool is_dropped; /* it began after the end */
	uint32_t next_free;
};

VEC_DEFINE(chain_vec, struct chain);

/* A realloc in progress. */
struct outgoing {
	struct realloc_half half;
	uint64_t ordinal; /* of its first half */
	uint64_t serial;  /* 0: of an unknown block */
};

struct planner {
	const struct strip_settings *settings;
	struct strip_plan *plan;
	uint64_t *ordinals;	   /* by stream: events so far */
	struct outgoing *outgoing; /* by stream */
	struct map by_address;	   /* index of a chain */
	struct chain_vec chains;
	uint32_t free_chains;
	struct doubt_vec doubts;
	uint32_t free_doubts;
	uint64_t row; /* allocations so far */
	uint64_t serial;
	struct err *err; /* of chain_finish */
};

/* --- events and lists of them ---------------------------------------------------------------- */

static struct err *drop(struct planner *planner, uint32_t stream, uint64_t ordinal)
{
	struct strip_bits *bits = &planner->plan->dropped[stream];

	while (bits->count <= ordinal / 64)
		if (!strip_bits_push(bits, 0))
			return err_nomem();
	bits->items[ordinal / 64] |= UINT64_C(1) << ordinal % 64;
	return NULL;
}

static struct err *doubt_add(struct planner *planner, struct chain *chain, uint32_t stream,
			     uint64_t ordinal)
{
	uint32_t at = planner->free_doubts;

	if (at != NO_EVENT) {
		planner->free_doubts = planner->doubts.items[at].next;
	} else {
		at = (uint32_t)planner->doubts.count;
		if (at == NO_EVENT)
			return err_new(ERR_LIMIT, "too many undecided events");
		if (!doubt_vec_add(&planner->doubts))
			return err_nomem();
	}
	planner->doubts.items[at] = (struct doubt) { ordinal, stream, chain->doubts };
	chain->doubts = at;
	return NULL;
}

static void doubts_forget(struct planner *planner, struct chain *chain)
{
	while (chain->doubts != NO_EVENT) {
		const uint32_t at = chain->doubts;

		chain->doubts = planner->doubts.items[at].next;
		planner->doubts.items[at].next = planner->free_doubts;
		planner->free_doubts = at;
	}
}

static struct err *chain_drop(struct planner *planner, struct chain *chain)
{
	struct err *err = NULL;

	for (uint32_t at = chain->doubts; at != NO_EVENT && !err;
	     at = planner->doubts.items[at].next)
		err = drop(planner, planner->doubts.items[at].stream,
			   planner->doubts.items[at].ordinal);
	doubts_forget(planner, chain);
	return err;
}

/* Adds an event to a chain. */
static struct err *chain_event(struct planner *planner, struct chain *chain, uint32_t stream,
			       uint64_t ordinal)
{
	if (chain->is_dropped)
		return drop(planner, stream, ordinal);
	return chain->unmet ? doubt_add(planner, chain, stream, ordinal) : NULL;
}

/* --- chains ---------------------------------------------------------------------------------- */

static struct chain *chain_find(struct planner *planner, uint64_t address)
{
	const uint64_t *index = map_find(&planner->by_address, address);

	return index ? &planner->chains.items[*index] : NULL;
}

static void chain_end(struct planner *planner, uint64_t address)
{
	uint64_t index;

	if (!map_remove(&planner->by_address, address, &index))
		return;
	doubts_forget(planner, &planner->chains.items[index]);
	planner->chains.items[index].next_free = planner->free_chains;
	planner->free_chains = (uint32_t)index;
}

static struct chain *chain_add(struct planner *planner, uint64_t address, struct chain value)
{
	uint32_t at = planner->free_chains;
	uint64_t *index = map_put(&planner->by_address, address, NULL);

	if (!index)
		return NULL;
	if (at != NO_EVENT)
		planner->free_chains = planner->chains.items[at].next_free;
	else if (!chain_vec_add(&planner->chains))
		return NULL;
	else
		at = (uint32_t)planner->chains.count - 1;
	*index = at;
	planner->chains.items[at] = value;
	return &planner->chains.items[at];
}

static bool row_is_selected(const struct planner *planner, uint64_t row)
{
	const uint64_t *selected = planner->settings->selected;

	return !selected || (selected[row / 64] >> row % 64 & 1);
}

/* Conditions on time alone: the chain is live just before this moment. */
static void chain_age(const struct planner *planner, struct chain *chain, uint64_t ticks)
{
	const struct strip_settings *settings = planner->settings;

	if (ticks >= planner->plan->from_ticks)
		chain->unmet &= (uint8_t)~UNMET_FROM;
	if (chain->unmet & UNMET_LIFETIME &&
	    settings->ns(settings->ns_context, ticks) -
			    settings->ns(settings->ns_context, chain->begin_ticks) >=
		    settings->min_lifetime_ns)
		chain->unmet &= (uint8_t)~UNMET_LIFETIME;
}

/* The address was reused, so the old block was freed unseen: it stays. */
static bool chain_replace(struct planner *planner, uint64_t address)
{
	if (!map_find(&planner->by_address, address))
		return false;
	chain_end(planner, address);
	return true;
}

static struct err *chain_begin(struct planner *planner, const struct capture_event *event,
			       bool stays, struct chain **chain_ret)
{
	const struct strip_settings *settings = planner->settings;
	struct chain chain = { .begin_ticks = event->ticks,
			       .serial = ++planner->serial,
			       .doubts = NO_EVENT };

	if (!stays) {
		chain.unmet = (settings->min_lifetime_ns > 0 ? UNMET_LIFETIME : 0) |
			      (event->ticks < planner->plan->from_ticks ? UNMET_FROM : 0) |
			      (settings->selected ? UNMET_FILTER : 0);
		chain.is_dropped = event->ticks > planner->plan->until_ticks;
	}
	*chain_ret = chain_add(planner, event->address, chain);
	return *chain_ret ? NULL : err_nomem();
}

/* An allocation is the latest of its chain. */
static void chain_count(struct planner *planner, struct chain *chain)
{
	if (row_is_selected(planner, planner->row++))
		chain->unmet &= (uint8_t)~UNMET_FILTER;
	if (!chain->unmet)
		doubts_forget(planner, chain);
}

/* --- events ---------------------------------------------------------------------------------- */

/* Calls on unknown blocks: they are dropped with the times that are cut off. */
static struct err *drop_outside(struct planner *planner, const struct capture_event *event,
				uint64_t ordinal)
{
	const struct strip_plan *plan = planner->plan;

	if (event->ticks >= plan->from_ticks && event->ticks <= plan->until_ticks)
		return NULL;
	return drop(planner, event->stream, ordinal);
}

static struct err *on_alloc(struct planner *planner, const struct capture_event *event,
			    uint64_t ordinal)
{
	struct chain *chain = NULL;
	struct err *err;

	if (event->address == 0)
		return drop_outside(planner, event, ordinal);
	err = chain_begin(planner, event, chain_replace(planner, event->address), &chain);
	if (err)
		return err;
	chain_count(planner, chain);
	return chain_event(planner, chain, event->stream, ordinal);
}

/*
 * The realloc whose second half this event is; NULL: the first was not seen. *chain_ret is its
 * block's, NULL: unknown.
 */
static const struct outgoing *
outgoing_take(struct planner *planner, const struct capture_event *event, struct chain **chain_ret)
{
	struct outgoing *out = &planner->outgoing[event->stream];
	struct chain *chain;

	*chain_ret = NULL;
	if (!realloc_half_close(&out->half))
		return NULL;
	chain = out->serial > 0 ? chain_find(planner, out->half.out.address) : NULL;
	if (chain && chain->serial == out->serial)
		*chain_ret = chain;
	return out;
}

/* Drops a call on an unknown block: both halves of a realloc. */
static struct err *drop_halves(struct planner *planner, const struct capture_event *event,
			       uint64_t ordinal, const struct outgoing *out)
{
	struct err *err = out ? drop_outside(planner, event, out->ordinal) : NULL;

	return err ? err : drop_outside(planner, event, ordinal);
}

/* The same for a known one. */
static struct err *chain_halves(struct planner *planner, struct chain *chain,
				const struct capture_event *event, uint64_t ordinal,
				const struct outgoing *out)
{
	struct err *err = out ? chain_event(planner, chain, event->stream, out->ordinal) : NULL;

	return err ? err : chain_event(planner, chain, event->stream, ordinal);
}

static struct err *on_free(struct planner *planner, const struct capture_event *event,
			   uint64_t ordinal)
{
	const struct outgoing *out = NULL;
	struct chain *chain = NULL;
	struct err *err;

	if (realloc_half_is_free(event))
		out = outgoing_take(planner, event, &chain);
	if (!out && event->address)
		chain = chain_find(planner, event->address);
	if (!chain)
		return drop_halves(planner, event, ordinal, out);
	chain_age(planner, chain, event->ticks);
	err = chain_halves(planner, chain, event, ordinal, out);
	if (!err && chain->unmet)
		err = chain_drop(planner, chain);
	chain_end(planner, out ? out->half.out.address : event->address);
	return err;
}

/* The block has moved: its chain continues at the new address. */
static struct err *chain_move(struct planner *planner, const struct capture_event *event,
			      const struct outgoing *out, struct chain **chain)
{
	const uint64_t old_address = out->half.out.address;
	struct chain value = **chain;

	if (event->address == old_address) {
		(*chain)->serial = ++planner->serial;
		return NULL;
	}
	(*chain)->doubts = NO_EVENT; /* dropped along with it */
	chain_end(planner, old_address);
	value.serial = ++planner->serial;
	if (chain_replace(planner, event->address)) {
		value.unmet = 0;
		value.is_dropped = false;
		doubts_forget(planner, &value);
	}
	*chain = chain_add(planner, event->address, value);
	return *chain ? NULL : err_nomem();
}

static struct err *on_realloc_in(struct planner *planner, const struct capture_event *event,
				 uint64_t ordinal)
{
	struct chain *chain;
	const struct outgoing *out = outgoing_take(planner, event, &chain);
	struct err *err = NULL;

	if (event->address == 0)
		return NULL; /* no recorder writes that: ignore it */
	if (chain) {
		chain_age(planner, chain, event->ticks);
		err = chain_move(planner, event, out, &chain);
	} else {
		const bool is_odd =
			chain_replace(planner, event->address) || (out && out->serial > 0);

		err = chain_begin(planner, event, is_odd, &chain);
	}
	if (err)
		return err;
	chain_count(planner, chain);
	return chain_halves(planner, chain, event, ordinal, out);
}

static struct err *on_realloc_fail(struct planner *planner, const struct capture_event *event,
				   uint64_t ordinal)
{
	struct chain *chain;
	const struct outgoing *out = outgoing_take(planner, event, &chain);

	return chain ? chain_halves(planner, chain, event, ordinal, out)
		     : drop_halves(planner, event, ordinal, out);
}

static void on_realloc_out(struct planner *planner, const struct capture_event *event,
			   uint64_t ordinal)
{
	struct outgoing *out = &planner->outgoing[event->stream];
	const struct chain *chain = chain_find(planner, event->address);

	realloc_half_open(&out->half, event);
	out->ordinal = ordinal;
	out->serial = chain ? chain->serial : 0;
}

static struct err *on_event(struct planner *planner, const struct capture_event *event)
{
	const uint64_t ordinal = planner->ordinals[event->stream]++;

	switch (tape_fn_class((enum tape_fn)event->fn)) {
	case TAPE_CLASS_ALLOC:
		return on_alloc(planner, event, ordinal);
	case TAPE_CLASS_FREE:
		return on_free(planner, event, ordinal);
	case TAPE_CLASS_REALLOC_OUT:
		on_realloc_out(planner, event, ordinal);
		return NULL;
	case TAPE_CLASS_REALLOC_IN:
		return on_realloc_in(planner, event, ordinal);
	case TAPE_CLASS_REALLOC_FAIL:
		return on_realloc_fail(planner, event, ordinal);
	case TAPE_CLASS_LATENCY:
	case TAPE_CLASS_EXTENDED:
	case TAPE_CLASS_INVALID:
		break;
	}
	return NULL;
}

static struct err *on_events(void *context, const struct capture_event *events, size_t count)
{
	struct planner *planner = context;
	struct err *err = NULL;

	for (size_t i = 0; i < count && !err; i++)
		if (events[i].fn < TAPE_FN_COUNT)
			err = on_event(planner, &events[i]);
	return err;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Blocks never freed have lived long enough, and exist until the end. */
static bool chain_finish(void *context, uint64_t address, uint64_t *index)
{
	struct planner *planner = context;
	struct chain *chain = &planner->chains.items[*index];

	(void)address;
	if (chain->unmet & UNMET_FILTER)
		planner->err = chain_drop(planner, chain);
	return !planner->err;
}

/* The first time on the tape that is not before ns. */
static uint64_t ticks_at(const struct strip_settings *settings, uint64_t ns)
{
	uint64_t low = 0, high = UINT64_MAX >> 1;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (settings->ns(settings->ns_context, middle) < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void window_make(const struct strip_settings *settings, struct strip_plan *plan)
{
	plan->from_ticks = settings->from_ns > 0 ? ticks_at(settings, settings->from_ns) : 0;
	plan->until_ticks = settings->until_ns < UINT64_MAX - 1
				    ? ticks_at(settings, settings->until_ns + 1) - 1
				    : UINT64_MAX;
}

static struct err *plan_play(struct planner *planner, const struct capture *capture)
{
	CLEAN(capture_stacks_deinit) struct capture_stacks stacks = { 0 };
	const struct capture_player player = { .events = on_events, .context = planner };
	struct capture_played played;
	struct err *err;

	if (!capture_stacks_init(&stacks))
		return err_nomem();
	err = capture_play(capture, &stacks, &player, &played);
	if (err)
		return err;
	map_each(&planner->by_address, chain_finish, planner);
	return planner->err;
}

struct err *strip_plan_make(const struct capture *capture, const struct strip_settings *settings,
			    struct strip_plan *plan)
{
	const size_t stream_count = capture_stream_count(capture);
	struct planner planner = { .settings = settings,
				   .plan = plan,
				   .ordinals = calloc(stream_count + 1, sizeof(uint64_t)),
				   .outgoing = calloc(stream_count + 1, sizeof(struct outgoing)),
				   .free_chains = NO_EVENT,
				   .free_doubts = NO_EVENT };
	struct err *err = NULL;

	assert(!plan->dropped);
	plan->stream_count = stream_count;
	plan->dropped = calloc(stream_count + 1, sizeof(*plan->dropped));
	if (!planner.ordinals || !planner.outgoing || !plan->dropped)
		err = err_nomem();
	if (!err) {
		window_make(settings, plan);
		err = plan_play(&planner, capture);
	}
	free(planner.ordinals);
	free(planner.outgoing);
	map_deinit(&planner.by_address);
	chain_vec_deinit(&planner.chains);
	doubt_vec_deinit(&planner.doubts);
	return err;
}

void strip_plan_deinit(struct strip_plan *plan)
{
	for (size_t i = 0; plan->dropped && i < plan->stream_count; i++)
		strip_bits_deinit(&plan->dropped[i]);
	free(plan->dropped);
	*plan = (struct strip_plan) { 0 };
}
