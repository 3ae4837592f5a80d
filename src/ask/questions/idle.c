/* idle: for how long live memory had not been touched, at looks all along the recording. */
#include <assert.h>
#include <math.h>

#include "questions/address_space.h"
#include "base/number.h"
#include "questions/questions.h"
#include "select/passes.h"
#include "space/touches.h"

enum {
	POINTS_DEFAULT = 150,
	AGES_MAX = 96,
	RUNS_MAX = 1 << 22 /* kept at a time */
};

static const double AGE_MIN_NS = 1e8, AGES_A_DECADE = 12;

static const struct member look_members[] = {
	MEMBER_AS("time_ns", struct idle_look, ns, NS, "of the look"),
	MEMBER(struct idle_look, bytes, NUMBERS,
	       "bytes of live blocks, by the bounds: not touched for at least so long, and not for "
	       "so "
	       "long as the next"),
	MEMBER(struct idle_look, untouched, BYTES, "with no memory behind them"),
	MEMBER(struct idle_look, unknown, BYTES, "that were not watched"),
};
static const struct shape shape_look = SHAPE("IdleLook", struct idle_look, look_members);

static const struct member answer_members[] = {
	MEMBER(struct idle_answer, since_ns, NS, "when watching began"),
	MEMBER(struct idle_answer, period_ns, NS, "wanted between two looks"),
	MEMBER(struct idle_answer, noticed, TEXT, "what counts as a touch",
	       .words = touches_noticed),
	MEMBER(struct idle_answer, done, TEXT,
	       "what it is called: \"written to\", as in \"not written to for 10s\""),
	MEMBER(struct idle_answer, precision, TEXT, "what that leaves out"),
	MEMBER(struct idle_answer, blind, TEXT, "why what is only read is not noticed",
	       .optional = true),
	MEMBER(struct idle_answer, bounds_ns, NUMBERS, "ascending; the first is 0"),
	MEMBER(struct idle_answer, looks, ROWS, "in order of time", .shape = &shape_look),
	MEMBER(struct idle_answer, trouble, TEXT, "why there are no more looks", .optional = true),
	MEMBER(struct idle_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_answer = SHAPE("Idle", struct idle_answer, answer_members);

/* A look that is kept while the blocks are read. */
struct idle_state {
	struct touches_run_vec runs;
	uint64_t *bytes; /* the look's, to add to */
	struct idle_look *look;
};

struct looking {
	const struct asked *asked;
	struct touches touches;
	struct touches_state state;
	uint64_t *bounds;
	size_t bound_count;
	struct idle_look *looks;
	uint64_t *bytes; /* bound_count each */
	size_t look_count;
	struct idle_state *states; /* of some looks in a row */
	size_t state_count;
	struct pass pass;
	uint64_t size[MODEL_BATCH];
	uint64_t address[MODEL_BATCH];
	uint64_t free_ns[MODEL_BATCH];
	uint64_t alloc_ns[MODEL_BATCH];
};

/* --- looks ------------------------------------------------------------------------------------- */

/* Which of all looks is the i-th of count, the last one included. */
static size_t look_at(const struct looking *looking, size_t i)
{
	const size_t all = looking->touches.looks.count;

	assert(looking->look_count <= all);
	return (size_t)u64_mul_div(i + 1, all, looking->look_count) - 1;
}

static struct err *bounds_make(struct looking *looking)
{
	const double end = (double)model_process(looking->asked->model)->duration_ns;

	looking->bounds = arena_array(looking->asked->arena, AGES_MAX, sizeof(*looking->bounds));
	if (!looking->bounds)
		return err_nomem();
	looking->bound_count = 1;
	for (double bound = AGE_MIN_NS; bound < end && looking->bound_count < AGES_MAX;
	     bound = AGE_MIN_NS * pow(10, (double)(looking->bound_count - 1) / AGES_A_DECADE))
		looking->bounds[looking->bound_count++] = (uint64_t)ceil(bound);
	return NULL;
}

static struct err *looks_make(struct looking *looking)
{
	const struct asked *asked = looking->asked;
	const uint64_t points = asked->with->points ? asked->with->points : POINTS_DEFAULT;
	struct err *err = bounds_make(looking);

	if (err)
		return err;
	looking->look_count = u64_min(points, looking->touches.looks.count);
	looking->looks = arena_array(asked->arena, looking->look_count, sizeof(*looking->looks));
	looking->bytes = arena_array(asked->arena, looking->look_count * looking->bound_count,
				     sizeof(*looking->bytes));
	looking->states = arena_array(asked->arena, looking->look_count, sizeof(*looking->states));
	if (!looking->looks || !looking->bytes || !looking->states)
		return err_nomem();
	for (size_t i = 0; i < looking->look_count; i++)
		looking->looks[i] = (struct idle_look) {
			.ns = looking->touches.looks.items[look_at(looking, i)].ns,
			.bytes = { looking->bytes + i * looking->bound_count,
				   looking->bound_count },
		};
	return NULL;
}

/* --- blocks ------------------------------------------------------------------------------------ */

static size_t age_of(const struct looking *looking, uint64_t ns)
{
	size_t low = 0, high = looking->bound_count;

	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;

		if (looking->bounds[middle] <= ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The block is one of the batch. */
static void block_add(struct looking *looking, struct idle_state *state, size_t row)
{
	const uint64_t address = looking->address[row], bytes = looking->size[row];
	const struct touches_state touched = { .runs = state->runs };
	struct idle_look *look = state->look;
	uint64_t end, known = 0;

	if (__builtin_add_overflow(address, bytes, &end))
		end = address;
	for (size_t i = touches_run_at(&touched, address);
	     i < state->runs.count && state->runs.items[i].begin < end; i++) {
		const struct touches_run *run = &state->runs.items[i];
		const uint64_t part = u64_min(end, run->end) - u64_max(address, run->begin);

		/* Nobody could leave it unused before it was handed out. */
		const uint64_t since_ns = u64_max(run->ns, looking->alloc_ns[row]);

		if (run->ns == TOUCHES_NEVER)
			look->untouched += part;
		else
			state->bytes[age_of(looking, look->ns - u64_min(since_ns, look->ns))] +=
				part;
		known += part;
	}
	look->unknown += bytes - known;
}

/* The first state that is not before the time. */
static size_t state_at(const struct looking *looking, uint64_t ns)
{
	size_t low = 0, high = looking->state_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (looking->states[middle].look->ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void batch_add(struct looking *looking)
{
	const struct pass *pass = &looking->pass;

	pass_read(pass, MODEL_FREE_NS, looking->free_ns);
	pass_read(pass, MODEL_ALLOC_NS, looking->alloc_ns);
	pass_read(pass, MODEL_SIZE, looking->size);
	pass_read(pass, MODEL_ADDRESS, looking->address);
	for (size_t i = 0; i < pass->count; i++)
		for (size_t at = state_at(looking, looking->alloc_ns[i]);
		     at < looking->state_count &&
		     looking->states[at].look->ns < looking->free_ns[i];
		     at++)
			block_add(looking, &looking->states[at], i);
}

static struct err *blocks_add(struct looking *looking)
{
	const struct asked *asked = looking->asked;
	const uint64_t until_ns = looking->states[looking->state_count - 1].look->ns;

	looking->pass = pass_begin_between(asked->model, asked->selection, 0, until_ns);
	while (pass_next(&looking->pass)) {
		struct err *err = asked->limits ? sweep_check(asked->limits) : NULL;

		if (err)
			return err;
		batch_add(looking);
	}
	return NULL;
}

static void states_forget(struct looking *looking)
{
	for (size_t i = 0; i < looking->state_count; i++)
		touches_run_vec_deinit(&looking->states[i].runs);
	looking->state_count = 0;
}

static bool state_keep(struct looking *looking, size_t look)
{
	const struct touches_run_vec *runs = &looking->state.runs;
	struct idle_state *state = &looking->states[looking->state_count++];

	*state = (struct idle_state) { .bytes = looking->bytes + look * looking->bound_count,
				       .look = &looking->looks[look] };
	if (!touches_run_vec_reserve(&state->runs, runs->count + 1))
		return false;
	if (runs->count > 0)
		memcpy(state->runs.items, runs->items, runs->count * sizeof(*runs->items));
	state->runs.count = runs->count;
	return true;
}

/* As many looks at a time as fit into memory. */
static struct err *looks_fill(struct looking *looking)
{
	struct err *err = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < looking->look_count && !err; i++) {
		err = touches_advance(&looking->touches, look_at(looking, i), &looking->state);
		if (!err && !state_keep(looking, i))
			err = err_nomem();
		kept += looking->state.runs.count;
		if (!err && (kept > RUNS_MAX || i + 1 == looking->look_count)) {
			err = blocks_add(looking);
			states_forget(looking);
			kept = 0;
		}
	}
	states_forget(looking);
	return err;
}

/* --- the answer -------------------------------------------------------------------------------- */

static struct err *ask(const struct asked *asked, void *result)
{
	CLEAN(free) struct looking *looking = calloc(1, sizeof(*looking));
	struct idle_answer *answer = result;
	struct err *err;

	if (!looking)
		return err_nomem();
	looking->asked = asked;
	err = touches_find(asked->model, &looking->touches);
	if (!err)
		err = touches_need(&looking->touches);
	if (!err)
		err = looks_make(looking);
	if (!err)
		err = looks_fill(looking);
	if (!err) {
		answer->since_ns = looking->touches.first_ns;
		answer->period_ns = looking->touches.period_ns;
		answer->bounds_ns =
			(struct shape_numbers) { looking->bounds, looking->bound_count };
		answer->looks = (struct shape_rows) { looking->looks, looking->look_count };
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
	if (with->points > IDLE_POINTS_MAX)
		return err_new(ERR_USAGE, "points must be from 1 to %d", (int)IDLE_POINTS_MAX);
	return NULL;
}

const struct question question_idle = {
	.name = "idle",
	.summary = "for how long live memory had not been touched, over time",
	.one_process = true,
	.shape = &shape_answer,
	.depth = MODEL_FULL,
	.takes = TAKES(points),
	.selects = true,
	.is_patient = true,
	.ignores_leaks = true,
	.check = check,
	.ask = ask,
};
