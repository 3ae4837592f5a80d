/* stale: live bytes that the program has not touched for a while, by function, at a look. */
#include <assert.h>

#include "base/sort.h"
#include "questions/address_space.h"
#include "questions/questions.h"
#include "select/passes.h"
#include "space/touches.h"
#include "sums/sites.h"

enum { TOP_DEFAULT = 100 };

/* Bounds of the ages told apart. */
static const uint64_t age_bounds_ns[] = {
	0,
	UINT64_C(1000000000),
	UINT64_C(10000000000),
	UINT64_C(60000000000),
	UINT64_C(600000000000),
	UINT64_C(3600000000000),
	UINT64_C(86400000000000),
};

enum { AGES = sizeof(age_bounds_ns) / sizeof(*age_bounds_ns) };

static const char *const noticed_words[] = { "writes", NULL };

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
	MEMBER(struct stale_answer, noticed, TEXT,
	       "what counts as a touch: writes; what was only read is stale",
	       .words = noticed_words),
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
	struct stale_site *found; /* by site; place and stack are not set */
	struct stale_age *ages;
	uint64_t ns, idle_ns;
	struct pass pass;
	uint64_t size[MODEL_BATCH];
	uint64_t address[MODEL_BATCH];
	uint64_t free_ns[MODEL_BATCH];
	uint64_t stack[MODEL_BATCH];
};

/* --- the look ---------------------------------------------------------------------------------- */

/*
 * The last look up to --at, or the last one before the program was about to end: then it has freed
 * much of what it had.
 */
static struct err *look_find(struct looking *looking, size_t *look_ret)
{
	const struct asked *asked = looking->asked;
	const struct touches_look_vec *looks = &looking->touches.looks;
	uint64_t ns = UINT64_MAX;
	size_t look;
	struct err *err = NULL;

	if (asked->with->at)
		err = asked_moment(asked, asked->with->at, ns, &ns);
	if (err)
		return err;
	for (look = looks->count - 1; look > 0; look--)
		if (asked->with->at ? looks->items[look].ns <= ns
				    : !looks->items[look].is_exit && !looks->items[look].is_first)
			break;
	if (look == 0 && !asked->with->at) /* a short program */
		look = looks->count - 1;
	*look_ret = look;
	return NULL;
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

/* --- sums -------------------------------------------------------------------------------------- */

static size_t age_of(uint64_t ns)
{
	size_t age = AGES - 1;

	while (ns < age_bounds_ns[age])
		age--;
	return age;
}

/* A part of a block, in pages that were touched last at the same time. */
static void part_add(struct looking *looking, struct stale_site *site, uint64_t bytes,
		     uint64_t touched_ns)
{
	const uint64_t idle_ns = looking->ns - u64_min(touched_ns, looking->ns);
	const bool is_since_begin = touched_ns <= looking->touches.first_ns;

	if (touched_ns == TOUCHES_NEVER) {
		site->sums.untouched += bytes;
		return;
	}
	looking->ages[age_of(idle_ns)].bytes += bytes;
	if (idle_ns < looking->idle_ns) {
		/* What was there when watching began may have been idle for longer. */
		*(is_since_begin ? &site->sums.unknown : &site->sums.recent) += bytes;
		return;
	}
	site->sums.stale += bytes;
	site->oldest_ns = u64_max(site->oldest_ns, idle_ns);
}

static void block_add(struct looking *looking, struct stale_site *site, uint64_t address,
		      uint64_t bytes)
{
	const struct touches_run_vec *runs = &looking->state.runs;
	const uint64_t stale_before = site->sums.stale;
	uint64_t end, known = 0;

	site->sums.blocks++;
	site->sums.bytes += bytes;
	if (__builtin_add_overflow(address, bytes, &end))
		end = address;
	for (size_t i = touches_run_at(&looking->state, address);
	     i < runs->count && runs->items[i].begin < end; i++) {
		const struct touches_run *run = &runs->items[i];
		const uint64_t part = u64_min(end, run->end) - u64_max(address, run->begin);

		part_add(looking, site, part, run->ns);
		known += part;
	}
	site->sums.unknown += bytes - known;
	site->sums.stale_blocks += bytes > 0 && site->sums.stale - stale_before == bytes;
}

static void batch_add(struct looking *looking)
{
	const struct pass *pass = &looking->pass;

	pass_read(pass, MODEL_FREE_NS, looking->free_ns);
	pass_read(pass, MODEL_SIZE, looking->size);
	pass_read(pass, MODEL_ADDRESS, looking->address);
	pass_read(pass, MODEL_STACK, looking->stack);
	for (size_t i = 0; i < pass->count; i++) {
		const uint32_t site = looking->sites.site_of[looking->stack[i]];

		if (looking->free_ns[i] > looking->ns && site != UINT32_MAX)
			block_add(looking, &looking->found[site], looking->address[i],
				  looking->size[i]);
	}
}

static struct err *sums_find(struct looking *looking)
{
	const struct asked *asked = looking->asked;
	struct err *err = sites_find(&asked->selection->sums, asked->names, asked->mode,
				     asked->arena, &looking->sites);

	if (err)
		return err;
	looking->found =
		arena_array(asked->arena, looking->sites.count + 1, sizeof(*looking->found));
	looking->ages = arena_array(asked->arena, AGES, sizeof(*looking->ages));
	if (!looking->found || !looking->ages)
		return err_nomem();
	looking->pass = pass_begin_between(asked->model, asked->selection, 0, looking->ns);
	while (pass_next(&looking->pass)) {
		batch_add(looking);
		err = asked->limits ? sweep_check(asked->limits) : NULL;
		if (err)
			return err;
	}
	return NULL;
}

/* --- the answer -------------------------------------------------------------------------------- */

/* By stale bytes, then by all. */
static int compare_sites(const void *context, const void *a, const void *b)
{
	const struct stale_site *found = context;
	const struct stale_sums *left = &found[*(const uint32_t *)a].sums;
	const struct stale_sums *right = &found[*(const uint32_t *)b].sums;

	if (left->stale != right->stale)
		return left->stale > right->stale ? -1 : 1;
	if (left->bytes != right->bytes)
		return left->bytes > right->bytes ? -1 : 1;
	return (*(const uint32_t *)a > *(const uint32_t *)b) -
	       (*(const uint32_t *)a < *(const uint32_t *)b);
}

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

static struct err *sites_fill(const struct looking *looking, struct stale_answer *answer)
{
	const struct asked *asked = looking->asked;
	const uint64_t top = asked->with->top ? asked->with->top : TOP_DEFAULT;
	uint32_t *order = arena_array(asked->arena, looking->sites.count + 1, sizeof(*order));
	struct stale_site *items;
	size_t count = 0;

	if (!order)
		return err_nomem();
	for (size_t i = 0; i < looking->sites.count; i++) {
		sums_join(&answer->sums, &looking->found[i].sums);
		if (looking->found[i].sums.blocks > 0)
			order[count++] = (uint32_t)i;
	}
	if (!sort_stable(order, count, sizeof(*order), compare_sites, looking->found))
		return err_nomem();
	count = u64_min(count, top);
	items = arena_array(asked->arena, count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		items[i] = looking->found[order[i]];
		items[i].stack = looking->sites.items[order[i]].stacks[METRIC_PEAK];
		items[i].place = place_of_stack(asked, items[i].stack);
		if (items[i].sums.stale == 0)
			items[i].oldest_ns = SHAPE_NONE;
	}
	answer->sites = (struct shape_rows) { items, count };
	return NULL;
}

static void ages_fill(const struct looking *looking, struct stale_answer *answer)
{
	for (size_t i = 0; i < AGES; i++) {
		looking->ages[i].from_ns = age_bounds_ns[i];
		looking->ages[i].until_ns = i + 1 < AGES ? age_bounds_ns[i + 1] : SHAPE_NONE;
	}
	answer->ages = (struct shape_rows) { looking->ages, AGES };
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
	if (!err) {
		ages_fill(looking, answer);
		answer->ns = looking->ns;
		answer->idle_ns = looking->idle_ns;
		answer->since_ns = looking->touches.first_ns;
		answer->period_ns = looking->touches.period_ns;
		answer->noticed = noticed_words[0];
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
	.shape = &shape_answer,
	.depth = MODEL_FULL,
	.takes = TAKES(at) | TAKES(idle) | TAKES(top),
	.selects = true,
	.is_patient = true,
	.ignores_leaks = true,
	.check = check,
	.ask = ask,
};
