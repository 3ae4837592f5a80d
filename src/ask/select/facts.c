#include "select/facts.h"

#include <assert.h>

#include "base/big.h"
#include "base/vec.h"
#include "select/batch.h"
#include "select/mark.h"
#include "select/peaks.h"
#include "sums/suppress.h"
#include "sums/firsts.h"

struct err *facts_init(struct facts *facts, const struct model *model, struct names *names,
		       struct arena *arena)
{
	const struct model_note *notes = model_notes(model);
	const size_t note_count = model_note_count(model);
	size_t mark_count = 0;
	struct err *err;

	assert(model && arena);
	*facts = (struct facts) {
		.model = model, .names = names, .arena = arena, .until_ns = UINT64_MAX
	};
	for (size_t i = 0; i < note_count; i++)
		mark_count += notes[i].type == TAPE_EXT_MARK;
	facts->marks = arena_array(arena, mark_count, sizeof(*facts->marks));
	if (!facts->marks)
		return err_nomem();
	for (size_t i = 0; i < note_count; i++) {
		if (notes[i].type == TAPE_EXT_MARK)
			facts->marks[facts->mark_count++] = &notes[i];
	}
	assert(facts->mark_count == mark_count);
	err = tags_find(model, arena, &facts->tags);
	return err ? err : members_find(model, arena, &facts->members);
}

uint64_t facts_mark_at(const struct facts *facts, uint64_t ns)
{
	size_t low = 0, high = facts->mark_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (facts->marks[middle]->ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : UINT64_MAX;
}

bool facts_mark_find(const struct facts *facts, const char *text, uint64_t *ns_ret)
{
	return mark_find(facts->model, text, strlen(text), ns_ret);
}

struct err *facts_check(const struct facts *facts, uint64_t first_row)
{
	return facts->limits && first_row % MODEL_SEGMENT == 0 ? sweep_check(facts->limits) : NULL;
}

static struct err *prepare_depths(struct facts *facts)
{
	const struct capture_stack *stacks = model_stacks(facts->model);
	const size_t count = model_stack_count(facts->model);
	uint32_t *depths = arena_array(facts->arena, count, sizeof(*depths));

	if (!depths)
		return err_nomem();
	for (size_t i = CAPTURE_STACK_FIRST; i < count; i++)
		depths[i] = depths[stacks[i].parent] + 1;
	facts->depths = depths;
	return NULL;
}

static struct err *sites_of(struct facts *facts, enum walk_mode mode,
			    const struct name_frame ***sites_ret)
{
	const size_t count = model_stack_count(facts->model);
	const struct name_frame **sites = arena_array(facts->arena, count, sizeof(*sites));
	CLEAN(firsts_deinit) struct firsts firsts = { 0 };

	assert(facts->names);
	if (!sites || !firsts_init(&firsts, facts->model, facts->names, mode))
		return err_nomem();
	for (uint32_t i = 0; i < count; i++)
		if (model_stack_sums(facts->model, i)->allocated.count > 0)
			sites[i] = firsts_get(&firsts, i);
	*sites_ret = sites;
	return NULL;
}

static struct err *prepare_sites(struct facts *facts)
{
	return sites_of(facts, WALK_MY, &facts->sites);
}

static struct err *prepare_exact_sites(struct facts *facts)
{
	return sites_of(facts, WALK_EXACT, &facts->exact_sites);
}

/* --- groups ------------------------------------------------------------------------------ */

static void group_add(struct fact_group *group, uint64_t ns, uint64_t size, uint64_t usable)
{
	if (group->size_max < group->size_min) { /* the first row */
		*group = (struct fact_group) { .first_ns = ns, .size_min = size, .size_max = size };
	}
	group->last_ns = ns; /* rows are in time order */
	group->size_min = u64_min(group->size_min, size);
	group->size_max = u64_max(group->size_max, size);
	group->usable += usable;
}

static struct err *prepare_groups(struct facts *facts)
{
	const size_t stack_count = model_stack_count(facts->model);
	const uint64_t row_count = model_row_count(facts->model);
	CLEAN(free) struct batch *batch = malloc(sizeof(*batch));
	struct fact_group *groups = arena_array(facts->arena, stack_count, sizeof(*groups));

	if (!batch || !groups)
		return err_nomem();
	for (size_t i = 0; i < stack_count; i++)
		groups[i].size_min = UINT64_MAX; /* and size_max 0: no row yet */
	for (uint64_t first = 0; first < row_count; first += MODEL_BATCH) {
		const uint64_t *stack, *ns, *size, *usable;
		struct err *err = facts_check(facts, first);

		if (err)
			return err;
		batch_rows(batch, facts, first, u64_min(row_count - first, MODEL_BATCH));
		stack = batch_column(batch, MODEL_STACK);
		ns = batch_column(batch, MODEL_ALLOC_NS);
		size = batch_column(batch, MODEL_SIZE);
		usable = batch_column(batch, MODEL_USABLE);
		for (size_t i = 0; i < batch->count; i++)
			group_add(&groups[stack[i]], ns[i], size[i], usable[i]);
	}
	facts->groups = groups;
	return NULL;
}

/* --- the peak of each stack ---------------------------------------------------------------- */

static void stack_keys(const void *context, struct batch *batch, uint32_t *keys)
{
	const uint64_t *stacks = batch_column(batch, MODEL_STACK);

	(void)context;
	for (size_t i = 0; i < batch->count; i++)
		keys[i] = (uint32_t)stacks[i];
}

static struct err *prepare_peaks(struct facts *facts)
{
	const size_t stack_count = model_stack_count(facts->model);
	struct peak *peaks = arena_array(facts->arena, stack_count, sizeof(*peaks));
	struct err *err;

	if (!peaks)
		return err_nomem();
	err = peaks_find(facts, stack_keys, NULL, stack_count, peaks);
	if (!err)
		facts->peaks = peaks;
	return err;
}

/* --- chains ------------------------------------------------------------------------------ */

enum { BATCH_WORDS = MODEL_BATCH / 64 };

static bool chains_add(struct facts *facts, const uint64_t *chains, uint64_t first, size_t count,
		       uint32_t *lengths, struct vec_u32 *positions)
{
	facts->chain_ranks[first / MODEL_BATCH] = positions->count;
	for (size_t i = 0; i < count; i++) {
		if (chains[i] == MODEL_NO_CHAIN)
			continue;
		facts->chain_bits[(first + i) / 64] |= UINT64_C(1) << (first + i) % 64;
		if (!vec_u32_push(positions, lengths[chains[i]]++))
			return false;
	}
	return true;
}

static struct err *prepare_chains(struct facts *facts)
{
	const uint64_t row_count = model_row_count(facts->model);
	const uint64_t batch_count = div_up(row_count, MODEL_BATCH);
	CLEAN(free)
	uint32_t *lengths = big_calloc(model_chain_count(facts->model) + 1, sizeof(*lengths));
	CLEAN(vec_u32_deinit) struct vec_u32 positions = { 0 };
	uint64_t chains[MODEL_BATCH];

	facts->chain_bits = arena_array(facts->arena, batch_count, BATCH_WORDS * sizeof(uint64_t));
	facts->chain_ranks = arena_array(facts->arena, batch_count, sizeof(uint64_t));
	if (!lengths || !facts->chain_bits || !facts->chain_ranks)
		return err_nomem();
	for (uint64_t first = 0; first < row_count; first += MODEL_BATCH) {
		const size_t count = u64_min(row_count - first, MODEL_BATCH);
		struct err *err = facts_check(facts, first);

		if (err)
			return err;
		model_rows_read(facts->model, MODEL_CHAIN, first, count, chains);
		if (!chains_add(facts, chains, first, count, lengths, &positions))
			return err_nomem();
	}
	facts->chain_positions =
		arena_array(facts->arena, positions.count, sizeof(*facts->chain_positions));
	if (!facts->chain_positions)
		return err_nomem();
	if (positions.count)
		memcpy(facts->chain_positions, positions.items,
		       positions.count * sizeof(*positions.items));
	return NULL;
}

uint32_t facts_chain_position(const struct facts *facts, uint64_t row)
{
	const uint64_t *bits = facts->chain_bits + row / MODEL_BATCH * BATCH_WORDS;
	const size_t word = row % MODEL_BATCH / 64;
	uint64_t rank = facts->chain_ranks[row / MODEL_BATCH];

	assert(facts->prepared & FACT_CHAINS);
	if (!(bits[word] >> row % 64 & 1))
		return 0;
	for (size_t i = 0; i < word; i++)
		rank += (uint64_t)__builtin_popcountll(bits[i]);
	rank += (uint64_t)__builtin_popcountll(bits[word] & ((UINT64_C(1) << row % 64) - 1));
	return facts->chain_positions[rank];
}

struct err *facts_no_latencies(void)
{
	return err_new(ERR_NOT_FOUND, "the tape has no call latencies; record with --latency");
}

static struct err *prepare_latencies(struct facts *facts)
{
	return model_latencies(facts->model) ? NULL : facts_no_latencies();
}

static struct err *prepare_leaks(struct facts *facts)
{
	return suppressor_find(facts->suppressor, &facts->suppressed);
}

struct err *facts_prepare(struct facts *facts, unsigned wanted)
{
	static const struct {
		enum fact fact;
		struct err *(*prepare)(struct facts *facts);
	} rows[] = {
		{ FACT_DEPTHS, prepare_depths }, { FACT_SITES, prepare_sites },
		{ FACT_GROUPS, prepare_groups }, { FACT_PEAKS, prepare_peaks },
		{ FACT_CHAINS, prepare_chains }, { FACT_LATENCIES, prepare_latencies },
		{ FACT_LEAKS, prepare_leaks },	 { FACT_EXACT_SITES, prepare_exact_sites },
	};

	assert(wanted < FACT_EXACT_SITES << 1);
	for (size_t i = 0; i < array_size(rows); i++) {
		struct err *err = NULL;

		if (wanted & rows[i].fact & ~facts->prepared)
			err = rows[i].prepare(facts);
		if (err)
			return err;
		facts->prepared |= wanted & rows[i].fact;
	}
	return NULL;
}
