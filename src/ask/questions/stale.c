/* stale: live bytes that the program has not touched for a while, by function, at a look. */
#include <assert.h>

#include "questions/address_space.h"
#include "questions/questions.h"
#include "questions/site_order.h"
#include "sums/sites.h"

static const struct member sums_members[] = {
	MEMBER_AS("stale_bytes", struct stale_sums, stale, BYTES,
		  "of live blocks, in pages not touched for idle_ns; at least so many are stale",
		  .title = "stale"),
	MEMBER(struct stale_sums, stale_blocks, COUNT, "blocks of which all bytes are stale",
	       .title = "blocks"),
	MEMBER_AS("recent_bytes", struct stale_sums, recent, BYTES,
		  "in pages that were touched since", .title = "touched"),
	MEMBER_AS("untouched_bytes", struct stale_sums, untouched, BYTES,
		  "in pages with no memory behind them: never touched, or given back",
		  .title = "no memory"),
	MEMBER_AS("unknown_bytes", struct stale_sums, unknown, BYTES,
		  "in memory that was not watched, or not for so long", .title = "unknown"),
	MEMBER(struct stale_sums, bytes, BYTES, "of all blocks alive then: the sum of these",
	       .title = "live"),
	MEMBER(struct stale_sums, blocks, COUNT, "alive then", .is_wide = true),
};
static const struct shape shape_sums = SHAPE("StaleSums", struct stale_sums, sums_members);

static const struct member age_members[] = {
	MEMBER(struct stale_age, from_ns, NS, "not touched for at least so long"),
	MEMBER(struct stale_age, until_ns, NS, "and for less than this; null: no bound",
	       .nullable = true),
	MEMBER(struct stale_age, bytes, BYTES, "of live blocks"),
};
static const struct shape shape_age = SHAPE("StaleAge", struct stale_age, age_members);

static const struct member site_members[] = {
	MEMBER(struct stale_site, sums, FLAT, NULL, .shape = &shape_sums),
	MEMBER(struct stale_site, oldest_ns, NS,
	       "how long the page longest untouched was not; null: no page is stale",
	       .title = "oldest", .nullable = true),
	MEMBER(struct stale_site, place, FLAT, NULL, .shape = &shape_place),
	MEMBER(struct stale_site, stack, FRAMES, "the one with most at its peak", .is_data = true),
};
static const struct shape shape_site = SHAPE("StaleSite", struct stale_site, site_members);

static const struct member answer_members[] = {
	MEMBER_AS("time_ns", struct stale_answer, ns, NS, "of the look"),
	MEMBER(struct stale_answer, idle_ns, NS, "what was not touched for so long is stale"),
	MEMBER_AS("watched_since_ns", struct stale_answer, since_ns, NS,
		  "nothing is known of touches before"),
	MEMBER(struct stale_answer, period_ns, NS, "wanted between two looks"),
	MEMBER(struct stale_answer, noticed, TEXT, "what counts as a touch",
	       .words = touches_noticed),
	MEMBER(struct stale_answer, done, TEXT,
	       "what it is called: \"written to\", as in \"not written to for 10s\""),
	MEMBER(struct stale_answer, precision, TEXT, "what that leaves out"),
	MEMBER(struct stale_answer, blind, TEXT, "why what is only read is not noticed",
	       .optional = true),
	MEMBER(struct stale_answer, trouble, TEXT, "why there are no more looks", .optional = true),
	MEMBER(struct stale_answer, sums, FLAT, NULL, .shape = &shape_sums),
	MEMBER(struct stale_answer, ages, ROWS, "how long live bytes were not touched",
	       .shape = &shape_age),
	MEMBER(struct stale_answer, sites, ROWS, "functions, most stale bytes first",
	       .shape = &shape_site, .is_table = true),
	MEMBER(struct stale_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_answer = SHAPE("Stale", struct stale_answer, answer_members);

struct looking {
	const struct asked *asked;
	struct touches touches;
	struct touches_state state;
	struct sites sites;
	struct stale_found found;
	uint64_t ns, idle_ns;
};

/* --- the look ---------------------------------------------------------------------------------- */

/* The last look up to --at; without, the last one that says most. */
static struct err *look_find(struct looking *looking, size_t *look_ret)
{
	const struct asked *asked = looking->asked;
	const struct touches_look_vec *looks = &looking->touches.looks;
	uint64_t ns = UINT64_MAX;
	size_t look = stale_look(&looking->touches);
	struct err *err = NULL;

	if (asked->with->at) {
		err = asked_moment(asked, asked->with->at, ns, &ns);
		for (look = looks->count - 1; look > 0 && looks->items[look].ns > ns; look--)
			;
	}
	*look_ret = look;
	return err;
}

static struct err *look_take(struct looking *looking)
{
	const struct parameters *with = looking->asked->with;
	struct err *err = touches_find(looking->asked->model, &looking->touches);
	size_t look = 0;

	if (!err)
		err = touches_need(&looking->touches);
	if (!err)
		err = look_find(looking, &look);
	if (err)
		return err;
	looking->ns = looking->touches.looks.items[look].ns;
	looking->idle_ns = looking->touches.period_ns;
	if (with->idle && !str_parse_duration(with->idle, &looking->idle_ns))
		return err_new(ERR_USAGE, "idle: %s is not a time such as 30s", with->idle);
	return touches_advance(&looking->touches, look, &looking->state);
}

static struct err *sums_find(struct looking *looking)
{
	const struct asked *asked = looking->asked;
	struct stale_wanted wanted = {
		.selection = asked->selection,
		.touches = &looking->touches,
		.state = &looking->state,
		.ns = looking->ns,
		.idle_ns = looking->idle_ns,
		.limits = asked->limits,
	};
	struct err *err = sites_find(&asked->selection->sums, asked->names, asked->mode,
				     asked->arena, &looking->sites);

	wanted.group_of = looking->sites.site_of;
	wanted.group_count = looking->sites.count;
	return err ? err : stale_find(&wanted, asked->model, asked->arena, &looking->found);
}

/* --- the answer -------------------------------------------------------------------------------- */

static void sums_join(struct stale_sums *to, const struct stale_sums *from)
{
	to->stale += from->stale;
	to->recent += from->recent;
	to->untouched += from->untouched;
	to->unknown += from->unknown;
	to->blocks += from->blocks;
	to->bytes += from->bytes;
	to->stale_blocks += from->stale_blocks;
}

/* By stale bytes, then by all. */
static struct err *order_make(const struct looking *looking, const uint32_t **order_ret,
			      size_t *count_ret)
{
	const struct asked *asked = looking->asked;
	const size_t count = looking->sites.count;
	struct site_rank *ranks = arena_array(asked->arena, count + 1, sizeof(*ranks));

	if (!ranks)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const struct stale_sums *sums = &looking->found.groups[i].sums;

		ranks[i] = (struct site_rank) { sums->stale, sums->bytes, sums->blocks > 0 };
	}
	return site_order(asked, ranks, count, order_ret, count_ret);
}

static struct err *sites_fill(const struct looking *looking, struct stale_answer *answer)
{
	const struct asked *asked = looking->asked;
	const uint32_t *order;
	struct stale_site *items;
	size_t count;
	struct err *err = order_make(looking, &order, &count);

	if (err)
		return err;
	items = arena_array(asked->arena, count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const struct stale_group *found = &looking->found.groups[order[i]];
		const uint32_t stack = looking->sites.items[order[i]].stacks[METRIC_PEAK];

		items[i] = (struct stale_site) { found->sums,
						 found->sums.stale ? found->oldest_ns : SHAPE_NONE,
						 place_of_stack(asked, stack), stack };
	}
	for (size_t i = 0; i < looking->sites.count; i++)
		sums_join(&answer->sums, &looking->found.groups[i].sums);
	answer->sites = (struct shape_rows) { items, count };
	return NULL;
}

static struct err *ages_fill(const struct looking *looking, struct stale_answer *answer)
{
	struct stale_age *items = arena_array(looking->asked->arena, STALE_AGES, sizeof(*items));

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < STALE_AGES; i++)
		items[i] =
			(struct stale_age) { stale_ages_ns[i],
					     i + 1 < STALE_AGES ? stale_ages_ns[i + 1] : SHAPE_NONE,
					     looking->found.ages[i] };
	answer->ages = (struct shape_rows) { items, STALE_AGES };
	return NULL;
}

static struct err *ask(const struct asked *asked, void *result)
{
	CLEAN(free) struct looking *looking = calloc(1, sizeof(*looking));
	struct stale_answer *answer = result;
	struct err *err;

	if (!looking)
		return err_nomem();
	looking->asked = asked;
	err = look_take(looking);
	if (!err)
		err = sums_find(looking);
	if (!err)
		err = sites_fill(looking, answer);
	if (!err)
		err = ages_fill(looking, answer);
	if (!err) {
		answer->ns = looking->ns;
		answer->idle_ns = looking->idle_ns;
		answer->since_ns = looking->touches.first_ns;
		answer->period_ns = looking->touches.period_ns;
		answer->noticed = looking->touches.words->noticed;
		answer->done = looking->touches.words->done;
		answer->precision = looking->touches.words->precision;
		answer->blind = looking->touches.blind;
		answer->trouble = looking->touches.trouble;
	}
	touches_state_deinit(&looking->state);
	touches_deinit(&looking->touches);
	return err ? err : quality_find(asked, &answer->quality);
}

static struct err *check(const struct parameters *with)
{
	uint64_t ns;

	if (with->idle && (!str_parse_duration(with->idle, &ns) || ns == 0))
		return err_new(ERR_USAGE, "idle must be a time such as 500ms, 30s or 5m, not '%s'",
			       with->idle);
	return NULL;
}

const struct question question_stale = {
	.name = "stale",
	.summary = "live memory that the program does not use, by function",
	.one_process = true,
	.shape = &shape_answer,
	.depth = MODEL_FULL,
	.takes = TAKES(at) | TAKES(idle) | TAKES(top),
	.selects = true,
	.is_patient = true,
	.ignores_leaks = true,
	.check = check,
	.ask = ask,
};
