/* retained: what each holder and the largest blocks keep alive. */
#include <assert.h>

#include "base/map.h"
#include "base/sort.h"
#include "questions/leaks.h"
#include "questions/questions.h"
#include "sums/holding.h"

enum { TOP_DEFAULT = 50, SITES_SHOWN = 5 };

/* What a holder keeps of a stack. */
struct kept {
	uint32_t holder; /* index */
	uint32_t stack;
	struct model_sum sum;
};

VEC_DEFINE(kept_vec, struct kept);

static const struct member kept_members[] = {
	MEMBER(struct kept_site, bytes, BYTES, NULL),
	MEMBER(struct kept_site, blocks, COUNT, NULL),
	MEMBER(struct kept_site, place, FLAT, NULL, .shape = &shape_place),
};
static const struct shape shape_kept = SHAPE("KeptSite", struct kept_site, kept_members);

static const struct member keeper_members[] = {
	MEMBER(struct keeper, kind, TEXT, "what it is", .words = held_kinds),
	MEMBER(struct keeper, name, TEXT,
	       "of a variable or mapping; of a library's data without symbols, the library",
	       .nullable = true),
	MEMBER(struct keeper, type, TEXT, "of a variable", .nullable = true),
	MEMBER(struct keeper, tid, PLAIN, "the thread whose memory it is", .nullable = true),
	MEMBER(struct keeper, thread, TEXT, "name of that thread", .nullable = true),
	MEMBER(struct keeper, file, TEXT, "that declares the variable", .nullable = true),
	MEMBER(struct keeper, line, PLAIN, NULL, .nullable = true),
	MEMBER(struct keeper, module, TEXT, "path of the program or library whose variable it is",
	       .nullable = true),
	MEMBER(struct keeper, begin, ADDRESS, NULL),
	MEMBER(struct keeper, end, ADDRESS, "behind its last byte"),
	MEMBER(struct keeper, retained_bytes, BYTES, "of blocks that it alone holds",
	       .title = "retained"),
	MEMBER(struct keeper, blocks, COUNT, "that it alone holds"),
	MEMBER(struct keeper, sites, ROWS, "where most of them were allocated",
	       .shape = &shape_kept, .is_data = true),
};
static const struct shape shape_keeper = SHAPE("Keeper", struct keeper, keeper_members);

static const struct member block_members[] = {
	MEMBER(struct kept_block, address, ADDRESS, NULL),
	MEMBER(struct kept_block, class, TEXT, NULL, .words = loss_keys),
	MEMBER(struct kept_block, bytes, BYTES, "of the block"),
	MEMBER(struct kept_block, retained_bytes, BYTES,
	       "of the block and of what would be unreachable without it", .title = "retained"),
	MEMBER(struct kept_block, place, FLAT, NULL, .shape = &shape_place),
	MEMBER(struct kept_block, stack, FRAMES, "that allocated it"),
};
static const struct shape shape_block = SHAPE("KeptBlock", struct kept_block, block_members);

static const struct member answer_members[] = {
	MEMBER(struct retained_answer, holders, ROWS, "what retains most first",
	       .shape = &shape_keeper),
	MEMBER(struct retained_answer, blocks, ROWS,
	       "that retain most, without those that another block of the same stack retains",
	       .shape = &shape_block),
	MEMBER(struct retained_answer, shared, OBJECT, "blocks that several holders hold",
	       .shape = &shape_loss_sum),
	MEMBER(struct retained_answer, lost, OBJECT,
	       "definitely and indirectly lost blocks, that nothing holds",
	       .shape = &shape_loss_sum),
	MEMBER(struct retained_answer, not_scanned, OBJECT,
	       "on the tape, but the scan did not know of them", .shape = &shape_loss_sum),
	MEMBER(struct retained_answer, scan, OBJECT, "the scan", .shape = &shape_scan_facts),
	MEMBER(struct retained_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_answer = SHAPE("Retained", struct retained_answer, answer_members);

struct keeping {
	const struct asked *asked;
	const struct model_scan *scan;
	struct loss_view view;
	const uint32_t *roots;	/* by block, of its chain of dominators */
	struct model_sum *sums; /* by holder */
	struct kept_vec kept;
	struct map places; /* holder << 32 | stack: index in kept */
};

static void sum_add(struct model_sum *sum, const struct model_scan_block *block)
{
	sum->count++;
	sum->bytes += block->size_bytes;
}

static bool kept_add(struct keeping *keeping, uint32_t holder, const struct model_scan_block *block)
{
	bool is_new = false;
	uint64_t *place = map_put(&keeping->places, (uint64_t)holder << 32 | block->stack, &is_new);

	if (!place)
		return false;
	if (is_new) {
		*place = keeping->kept.count;
		if (!kept_vec_push(&keeping->kept,
				   (struct kept) { .holder = holder, .stack = block->stack }))
			return false;
	}
	sum_add(&keeping->kept.items[*place].sum, block);
	sum_add(&keeping->sums[holder], block);
	return true;
}

static struct err *blocks_sum(struct keeping *keeping, struct retained_answer *answer)
{
	const struct model_scan *scan = keeping->scan;

	for (uint64_t i = 0; i < scan->block_count; i++) {
		const struct model_scan_block *block = &scan->blocks[i];

		if (!loss_view_has(&keeping->view, block))
			continue;
		if (block->class == TAPE_SCAN_UNKNOWN)
			sum_add(&answer->not_scanned, block);
		else if (block->class == TAPE_SCAN_DEFINITE || block->class == TAPE_SCAN_INDIRECT)
			sum_add(&answer->lost, block);
		else if (!model_scan_node_is_holder(scan, keeping->roots[i]))
			sum_add(&answer->shared, block);
		else if (!kept_add(keeping, keeping->roots[i] - (uint32_t)scan->block_count, block))
			return err_nomem();
	}
	return NULL;
}

/* --- holders ---------------------------------------------------------------------------------- */

/* By what the holder keeps in all, then by holder, then by what it keeps of the stack. */
static int compare_kept(const void *context, const void *a, const void *b)
{
	const struct model_sum *sums = context;
	const struct kept *left = a, *right = b;
	const uint64_t left_bytes = sums[left->holder].bytes;
	const uint64_t right_bytes = sums[right->holder].bytes;

	if (left_bytes != right_bytes)
		return left_bytes > right_bytes ? -1 : 1;
	if (left->holder != right->holder)
		return left->holder < right->holder ? -1 : 1;
	if (left->sum.bytes != right->sum.bytes)
		return left->sum.bytes > right->sum.bytes ? -1 : 1;
	return (left->stack > right->stack) - (left->stack < right->stack);
}

static struct err *keeper_fill(const struct keeping *keeping, const struct kept *kept, size_t count,
			       struct keeper *keeper)
{
	const struct asked *asked = keeping->asked;
	const struct model_scan *scan = keeping->scan;
	const uint32_t holder = kept->holder;
	const struct held_node node =
		held_node_of(asked, scan, (uint32_t)scan->block_count + holder);
	struct kept_site *sites = arena_array(asked->arena, SITES_SHOWN, sizeof(*sites));

	if (!sites)
		return err_nomem();
	count = u64_min(count, SITES_SHOWN);
	for (size_t i = 0; i < count; i++)
		sites[i] = (struct kept_site) { kept[i].sum.bytes, kept[i].sum.count,
						place_of_stack(asked, kept[i].stack) };
	*keeper = (struct keeper) {
		.kind = node.kind,
		.name = node.name,
		.type = node.type,
		.file = node.place.file,
		.line = node.place.line,
		.module = node.place.module,
		.tid = node.tid,
		.thread = node.thread,
		.begin = scan->holders[holder].begin,
		.end = scan->holders[holder].end,
		.retained_bytes = keeping->sums[holder].bytes,
		.blocks = keeping->sums[holder].count,
		.sites = { sites, count },
	};
	return NULL;
}

static struct err *keepers_find(struct keeping *keeping, uint64_t top,
				struct retained_answer *answer)
{
	const struct kept_vec *kept = &keeping->kept;
	struct keeper *keepers;
	size_t count = 0;

	if (!sort_stable(kept->items, kept->count, sizeof(*kept->items), compare_kept,
			 keeping->sums))
		return err_nomem();
	for (size_t i = 0; i < kept->count; i++)
		answer->holder_count +=
			i == 0 || kept->items[i].holder != kept->items[i - 1].holder;
	keepers = arena_array(keeping->asked->arena, u64_min(top, answer->holder_count) + 1,
			      sizeof(*keepers));
	if (!keepers)
		return err_nomem();
	for (size_t i = 0, end; i < kept->count && count < top; i = end) {
		struct err *err;

		end = i + 1;
		while (end < kept->count && kept->items[end].holder == kept->items[i].holder)
			end++;
		err = keeper_fill(keeping, &kept->items[i], end - i, &keepers[count++]);
		if (err)
			return err;
	}
	answer->holders = (struct shape_rows) { keepers, count };
	return NULL;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static int compare_blocks(const void *context, const void *a, const void *b)
{
	const struct model_scan_block *blocks = context;
	const uint32_t *left = a, *right = b;

	if (blocks[*left].retained_bytes != blocks[*right].retained_bytes)
		return blocks[*left].retained_bytes > blocks[*right].retained_bytes ? -1 : 1;
	return (*left > *right) - (*left < *right);
}

/* The selected blocks that no block of the same stack dominates, the largest first. */
static struct err *blocks_rank(const struct keeping *keeping, struct vec_u32 *ranked)
{
	const struct model_scan *scan = keeping->scan;
	const size_t stack_count = model_stack_count(keeping->asked->model);
	CLEAN(free) uint32_t *stacks = malloc((scan->block_count + 1) * sizeof(*stacks));
	CLEAN(free) uint64_t *retained = malloc((stack_count + 1) * sizeof(*retained));
	CLEAN(free) uint8_t *counted = malloc(scan->block_count + 1);

	if (!stacks || !retained || !counted)
		return err_nomem();
	for (uint64_t i = 0; i < scan->block_count; i++)
		stacks[i] = loss_view_has(&keeping->view, &scan->blocks[i]) ? scan->blocks[i].stack
									    : UINT32_MAX;
	if (!holding_retained(scan, stacks, stack_count, retained, counted))
		return err_nomem();
	for (uint64_t i = 0; i < scan->block_count; i++)
		if (counted[i] && scan->blocks[i].class != TAPE_SCAN_UNKNOWN &&
		    !vec_u32_push(ranked, (uint32_t)i))
			return err_nomem();
	return sort_stable(ranked->items, ranked->count, sizeof(*ranked->items), compare_blocks,
			   scan->blocks)
		       ? NULL
		       : err_nomem();
}

static struct err *blocks_find(const struct keeping *keeping, uint64_t top,
			       struct retained_answer *answer)
{
	CLEAN(vec_u32_deinit) struct vec_u32 ranked = { 0 };
	const struct asked *asked = keeping->asked;
	struct err *err = blocks_rank(keeping, &ranked);
	const size_t count = u64_min(ranked.count, top);
	struct kept_block *items = arena_array(asked->arena, count + 1, sizeof(*items));

	if (err || !items)
		return err ? err : err_nomem();
	for (size_t i = 0; i < count; i++) {
		const struct model_scan_block *block = &keeping->scan->blocks[ranked.items[i]];

		items[i] = (struct kept_block) {
			.address = block->address,
			.class = loss_keys[loss_kind_of(block)],
			.bytes = block->size_bytes,
			.retained_bytes = block->retained_bytes,
			.place = place_of_stack(asked, block->stack),
			.stack = block->stack,
		};
	}
	answer->blocks = (struct shape_rows) { items, count };
	return NULL;
}

static struct err *keeping_ask(struct keeping *keeping, struct retained_answer *answer)
{
	const struct asked *asked = keeping->asked;
	const uint64_t top = asked->with->top ? asked->with->top : TOP_DEFAULT;
	struct err *err = holding_roots(keeping->scan, HOLDING_DOMINATOR, asked->arena,
					&keeping->roots, NULL);

	keeping->view = (struct loss_view) { .scan = keeping->scan, .selection = asked->selection };
	keeping->sums =
		arena_array(asked->arena, keeping->scan->holder_count + 1, sizeof(*keeping->sums));
	if (!err && !keeping->sums)
		err = err_nomem();
	if (!err)
		err = blocks_sum(keeping, answer);
	if (!err)
		err = keepers_find(keeping, top, answer);
	return err ? err : blocks_find(keeping, top, answer);
}

static struct err *ask(const struct asked *asked, void *result)
{
	struct retained_answer *answer = result;
	struct keeping keeping = { .asked = asked };
	struct err *err = scan_choose(asked->model, asked->with->scan, &keeping.scan);

	assert(asked->selection);
	if (!err)
		err = keeping_ask(&keeping, answer);
	kept_vec_deinit(&keeping.kept);
	map_deinit(&keeping.places);
	if (!err)
		err = scan_facts_find(keeping.scan, asked->arena, &answer->scan);
	return err ? err : quality_find(asked, &answer->quality);
}

const struct question question_retained = {
	.name = "retained",
	.summary = "what each variable, thread and block keeps alive, of a leak scan",
	.one_process = true,
	.shape = &shape_answer,
	.depth = MODEL_SUMMARY,
	.takes = TAKES(top) | TAKES(scan),
	.selects = true,
	.ignores_leaks = true,
	.ask = ask,
};
