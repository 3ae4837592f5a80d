/* holders: what keeps the blocks of each call site alive. */
#include <assert.h>

#include "base/sort.h"
#include "base/str.h"
#include "questions/leaks.h"
#include "questions/questions.h"
#include "sums/holding.h"

enum { TOP_DEFAULT = 100, STEPS_MAX = 32 };

static const struct member site_members[] = {
	MEMBER(struct held_site, class, TEXT, "of the block that the chain leads to",
	       .words = loss_keys),
	MEMBER(struct held_site, retained_bytes, BYTES,
	       "of its blocks and of what would be unreachable without them", .title = "retained"),
	MEMBER(struct held_site, bytes, BYTES, "of its blocks"),
	MEMBER(struct held_site, blocks, COUNT, NULL),
	MEMBER(struct held_site, place, FLAT, NULL, .shape = &shape_place),
	MEMBER(struct held_site, chain, ROWS,
	       "the shortest chain of pointers to the block that retains most, from its holder",
	       .shape = &shape_held_node, .is_data = true),
	MEMBER(struct held_site, omitted_steps, COUNT, "of the chain, after the first step",
	       .is_data = true),
	MEMBER_AS("chain", struct held_site, path, TEXT, "the chain in words", .is_column = true),
	MEMBER(struct held_site, stack, FRAMES, "that allocated the blocks"),
};
static const struct shape shape_site = SHAPE("HeldSite", struct held_site, site_members);

static const struct member answer_members[] = {
	MEMBER(struct holders_answer, sites, ROWS, "stacks of blocks, what retains most first",
	       .shape = &shape_site),
	MEMBER(struct holders_answer, scan, OBJECT, "the scan", .shape = &shape_scan_facts),
	MEMBER(struct holders_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_answer = SHAPE("Holders", struct holders_answer, answer_members);

/* The blocks of a stack. */
struct held_group {
	uint64_t retained_bytes;
	struct model_sum sum;
	uint32_t stack;
	uint32_t most; /* the block that retains most */
};

struct sites_held {
	struct held_group *items; /* by number */
	size_t count;
	uint32_t *site_of; /* by block: number; UINT32_MAX: none */
	const uint32_t *roots, *depths;
};

static struct err *sites_collect(const struct asked *asked, const struct model_scan *scan,
				 struct sites_held *sites)
{
	const struct loss_view view = { .scan = scan, .selection = asked->selection };
	const size_t stack_count = model_stack_count(asked->model);
	CLEAN(free) uint32_t *numbers = calloc(stack_count + 1, sizeof(*numbers));

	sites->items = arena_array(asked->arena, u64_min(stack_count, scan->block_count) + 1,
				   sizeof(*sites->items));
	sites->site_of = arena_array(asked->arena, scan->block_count + 1, sizeof(*sites->site_of));
	if (!numbers || !sites->items || !sites->site_of)
		return err_nomem();
	for (uint64_t i = 0; i < scan->block_count; i++) {
		const struct model_scan_block *block = &scan->blocks[i];
		struct held_group *site;

		sites->site_of[i] = UINT32_MAX;
		if (!loss_view_has(&view, block))
			continue;
		if (numbers[block->stack] == 0) {
			sites->items[sites->count] =
				(struct held_group) { .stack = block->stack, .most = (uint32_t)i };
			numbers[block->stack] = (uint32_t)++sites->count;
		}
		sites->site_of[i] = numbers[block->stack] - 1;
		site = &sites->items[sites->site_of[i]];
		site->sum.count++;
		site->sum.bytes += block->size_bytes;
		if (block->retained_bytes > scan->blocks[site->most].retained_bytes)
			site->most = (uint32_t)i;
	}
	return NULL;
}

static int compare_sites(const void *context, const void *a, const void *b)
{
	const struct held_group *left = a, *right = b;

	(void)context;
	if (left->retained_bytes != right->retained_bytes)
		return left->retained_bytes > right->retained_bytes ? -1 : 1;
	return (left->stack > right->stack) - (left->stack < right->stack);
}

static struct err *sites_measure(const struct asked *asked, const struct model_scan *scan,
				 struct sites_held *sites)
{
	uint64_t *retained = arena_array(asked->arena, sites->count + 1, sizeof(*retained));

	if (!retained || !holding_retained(scan, sites->site_of, sites->count, retained, NULL))
		return err_nomem();
	for (size_t i = 0; i < sites->count; i++)
		sites->items[i].retained_bytes = retained[i];
	if (!sort_stable(sites->items, sites->count, sizeof(*sites->items), compare_sites, NULL))
		return err_nomem();
	return holding_roots(scan, HOLDING_PARENT, asked->arena, &sites->roots, &sites->depths);
}

/* --- chains ----------------------------------------------------------------------------------- */

static void step_add(const struct asked *asked, const struct model_scan *scan, uint32_t node,
		     const struct model_scan_block *next, struct held_node *step)
{
	*step = held_node_of(asked, scan, node);
	if (next)
		held_node_point(asked, scan, node, next, step);
}

/*
 * The first step and those nearest to the block. Between them the offset is that in the first one
 * only if nothing is left out.
 */
static struct err *chain_find(const struct asked *asked, const struct model_scan *scan,
			      const struct sites_held *sites, uint32_t block,
			      struct held_site *site)
{
	const size_t length = (size_t)sites->depths[block] + 1;
	const size_t shown = u64_min(length, STEPS_MAX);
	struct held_node *steps = arena_array(asked->arena, shown + 1, sizeof(*steps));
	const struct model_scan_block *next = NULL;
	uint32_t at = block;

	if (!steps)
		return err_nomem();
	if (sites->roots[block] == MODEL_NODE_NONE)
		return NULL; /* a chain from nowhere */
	for (size_t i = shown; i-- > 1;) {
		step_add(asked, scan, at, next, &steps[i]);
		next = &scan->blocks[at];
		at = next->parent;
	}
	if (length > shown)
		while (scan->blocks[at].parent != sites->roots[block])
			at = scan->blocks[at].parent;
	step_add(asked, scan, sites->roots[block], length > shown ? &scan->blocks[at] : next,
		 &steps[0]);
	if (length > shown) {
		steps[0].offset = SHAPE_NONE;
		steps[0].interior = false;
	}
	site->chain = (struct shape_rows) { steps, shown };
	site->omitted_steps = length - shown;
	return NULL;
}

/* "g_list+0x10 > make+0x8 > keep", "stack of 100 in work+0x10 > make" */
static const char *chain_words(const struct held_site *site, struct arena *arena)
{
	CLEAN(str_deinit) struct str words = { 0 };
	const struct held_node *steps = site->chain.items;

	for (size_t i = 0; i < site->chain.count; i++) {
		const struct held_node *step = &steps[i];
		const bool is_frame = !step->class && step->place.function;
		const char *name = step->name ? step->name : is_frame ? NULL : step->place.function;

		str_printf(&words, "%s%s%s", i ? " > " : "",
			   i == 1 && site->omitted_steps ? "... > " : "", name ? name : step->kind);
		if (step->tid != SHAPE_NONE)
			str_printf(&words, " of %llu", (unsigned long long)step->tid);
		if (is_frame)
			str_printf(&words, " in %s", step->place.function);
		if (step->offset != SHAPE_NONE)
			str_printf(&words, "+0x%llx", (unsigned long long)step->offset);
	}
	return words.failed ? NULL : arena_strdup(arena, str_text(&words));
}

static struct err *site_fill(const struct asked *asked, const struct model_scan *scan,
			     const struct sites_held *sites, const struct held_group *from,
			     struct held_site *site)
{
	struct err *err;

	*site = (struct held_site) {
		.class = loss_keys[loss_kind_of(&scan->blocks[from->most])],
		.retained_bytes = from->retained_bytes,
		.bytes = from->sum.bytes,
		.blocks = from->sum.count,
		.place = place_of_stack(asked, from->stack),
		.chain = { .items = "" },
		.stack = from->stack,
	};
	err = chain_find(asked, scan, sites, from->most, site);
	if (err)
		return err;
	site->path = chain_words(site, asked->arena);
	return site->path ? NULL : err_nomem();
}

static struct err *ask(const struct asked *asked, void *result)
{
	struct holders_answer *answer = result;
	const struct model_scan *scan = NULL;
	struct sites_held sites = { 0 };
	struct held_site *items;
	size_t count;
	struct err *err = scan_choose(asked->model, asked->with->scan, &scan);

	if (!err)
		err = sites_collect(asked, scan, &sites);
	if (!err)
		err = sites_measure(asked, scan, &sites);
	if (err)
		return err;
	count = u64_min(sites.count, asked->with->top ? asked->with->top : TOP_DEFAULT);
	items = arena_array(asked->arena, count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count && !err; i++)
		err = site_fill(asked, scan, &sites, &sites.items[i], &items[i]);
	answer->sites = (struct shape_rows) { items, count };
	answer->site_count = sites.count;
	if (!err)
		err = scan_facts_find(scan, asked->arena, &answer->scan);
	return err ? err : quality_find(asked, &answer->quality);
}

const struct question question_holders = {
	.name = "holders",
	.summary = "what keeps the blocks of each call site alive, of a leak scan",
	.one_process = true,
	.shape = &shape_answer,
	.depth = MODEL_SUMMARY,
	.takes = TAKES(top) | TAKES(scan),
	.selects = true,
	.ignores_leaks = true,
	.ask = ask,
};
