/*
 * misplaced: memory on NUMA nodes on which the program does not run. Only of a program that runs on
 * one node: what threads of several nodes use is nowhere near all of them.
 */
#include "base/sort.h"
#include "findings/finding.h"
#include "space/node_use.h"
#include "space/range_owner.h"

enum {
	HOME_PERCENT = 90,	/* of the processor time: it runs on that node */
	MISPLACED_PERCENT = 10, /* of the memory, and of a mapping's */
	MAPPINGS_MAX = 5	/* that are named */
};

static const uint64_t CPU_NS_MIN = 100000000; /* else it is not known where it runs */

struct misplaced_range {
	struct node_range range;
	uint64_t bytes; /* of it elsewhere */
};

struct misplaced {
	const struct node_look *look;
	unsigned home, percent; /* of processor time */
	uint64_t bytes, all_bytes;
	struct misplaced_range top[MAPPINGS_MAX]; /* most first */
	size_t top_count;
};

static uint64_t bytes_elsewhere(const uint64_t bytes[NODE_USE_MAX], unsigned home)
{
	return node_bytes_sum(bytes) - bytes[home];
}

static void on_range(void *context, const struct node_range *range)
{
	struct misplaced *misplaced = context;
	const uint64_t bytes = bytes_elsewhere(range->bytes, misplaced->home);
	size_t at = misplaced->top_count;

	if (bytes < FINDING_LARGE_MIN ||
	    !finding_is_share(bytes, node_bytes_sum(range->bytes), MISPLACED_PERCENT))
		return;
	while (at > 0 && misplaced->top[at - 1].bytes < bytes)
		at--;
	if (at == MAPPINGS_MAX)
		return;
	misplaced->top_count = u64_min(misplaced->top_count + 1, MAPPINGS_MAX);
	memmove(misplaced->top + at + 1, misplaced->top + at,
		(misplaced->top_count - at - 1) * sizeof(*misplaced->top));
	misplaced->top[at] = (struct misplaced_range) { *range, bytes };
}

static void add_nodes(struct str *out, const uint64_t bytes[NODE_USE_MAX], unsigned home)
{
	const char *between = " on ";

	for (unsigned i = 0; i < NODE_USE_MAX; i++) {
		if (i == home || bytes[i] == 0)
			continue;
		str_printf(out, "%snode %u", between, i);
		between = " and ";
	}
}

static void add_evidence(struct str *out, const struct misplaced *misplaced,
			 const struct misplaced_range *range, const struct range_owner *owner)
{
	str_add_iec(out, range->bytes);
	str_add(out, " of the ");
	str_add_iec(out, node_bytes_sum(range->range.bytes));
	if (owner->blocks > 0)
		str_add(out, " of a mapping with its blocks");
	else
		str_add(out, " of a mapping");
	if (owner->name && owner->name[0])
		str_printf(out, " (%s)", owner->name);
	str_add(out, " were");
	add_nodes(out, range->range.bytes, misplaced->home);
	str_add(out, " after ");
	str_add_duration(out, misplaced->look->ns);
	str_printf(out,
		   ", while %u %% of the processor time was spent on node %u; of all the "
		   "program's memory it was ",
		   misplaced->percent, misplaced->home);
	str_add_percent(out, misplaced->bytes, misplaced->all_bytes);
	str_add(out, ", ");
	str_add_iec(out, misplaced->bytes);
}

static struct err *misplaced_add(struct finding_search *search, const struct finder *finder,
				 const struct misplaced *misplaced,
				 const struct misplaced_range *range)
{
	CLEAN(str_deinit) struct str evidence = { 0 };
	struct finding finding = { .bytes = range->bytes,
				   .count = UINT64_MAX,
				   .stack = FINDING_NO_STACK,
				   .link = { .page = "maps", .report = "usage" } };
	struct range_owner owner;
	struct err *err = range_owner_find(search->model, misplaced->look->ns, range->range.begin,
					   range->range.end, search->arena, &owner);

	if (err)
		return err;
	if (range_owner_stack(&owner) != CAPTURE_STACK_NONE)
		finding.stack = range_owner_stack(&owner);
	add_evidence(&evidence, misplaced, range, &owner);
	return finding_add(search, finder, finding, &evidence);
}

/* The look with most of it elsewhere. */
static struct misplaced misplaced_find(const struct node_look_vec *looks)
{
	struct misplaced found = { 0 };

	if (looks->count == 0)
		return found;
	found.home = node_look_home(&looks->items[looks->count - 1], &found.percent);
	if (found.percent < HOME_PERCENT ||
	    node_bytes_sum(looks->items[looks->count - 1].cpu_ns) < CPU_NS_MIN)
		return found;
	for (size_t i = 0; i < looks->count; i++) {
		const struct node_look *look = &looks->items[i];
		const uint64_t bytes = bytes_elsewhere(look->bytes, found.home);

		if (bytes <= found.bytes)
			continue;
		found.look = look;
		found.bytes = bytes;
		found.all_bytes = node_bytes_sum(look->bytes);
	}
	return found;
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	CLEAN(node_look_vec_deinit) struct node_look_vec looks = { 0 };
	struct err *err = node_looks_find(search->model, &looks);
	struct misplaced found;

	if (err)
		return err;
	found = misplaced_find(&looks);
	if (!found.look || found.bytes < FINDING_LARGE_MIN ||
	    !finding_is_share(found.bytes, found.all_bytes, MISPLACED_PERCENT))
		return NULL;
	node_look_each(search->model, found.look, on_range, &found);
	for (size_t i = 0; i < found.top_count && !err; i++)
		err = misplaced_add(search, finder, &found, &found.top[i]);
	return err;
}

const struct finder finder_misplaced = {
	.type = "misplaced",
	.title = "Memory is on another node",
	.advice = "Have the threads that use the memory write to it first, on the node where they "
		  "stay; or run the program on one node with its memory (numactl --cpunodebind "
		  "--membind), or move it (migratepages, mbind() with MPOL_MF_MOVE).",
	.what = "memory on nodes where the program does not run",
	.needs = FINDER_ROWS,
	.is_apart = true,
	.find = find,
};
