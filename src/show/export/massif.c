/*
 * massif's file, for ms_print and massif-visualizer: snapshots of live bytes over the run, some
 * with the tree of their allocation stacks, innermost function first. One of those is the peak.
 * Subtrees below a hundredth of a snapshot are summed up, as in massif.
 *
 * Allocator overhead (mem_heap_extra_B) and stacks are not written: they are 0.
 */
#include <inttypes.h>

#include "base/sort.h"
#include "export/moments.h"
#include "export/paths.h"
#include "export/text_file.h"
#include "select/sums_rows.h"

enum {
	SPANS = 70,
	DETAILED_EVERY = 10,
	DEPTH_MAX = 30, /* massif's own default */
	THRESHOLD = 100 /* a subtree is shown from one in this many on */
};

struct massif {
	const struct export_context *context;
	struct text_file file;
	size_t snapshot_count;
};

/* A snapshot's tree: children of a node are adjacent in `order`, the largest first. */
struct bytes_tree {
	const struct paths *paths;
	uint64_t *bytes;   /* by node: alive, including children */
	uint32_t *order;   /* nodes by parent */
	uint32_t *firsts;  /* by node: where its children begin in order; one more at the end */
	uint64_t smallest; /* minimum shown */
};

struct order_context {
	const struct bytes_tree *tree;
	const struct path_node *nodes;
};

static int compare(const void *context, const void *a, const void *b)
{
	const struct order_context *order = context;
	const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const uint32_t parent = order->nodes[left].parent;

	if (parent != order->nodes[right].parent)
		return sort_compare_u64(parent, order->nodes[right].parent);
	return sort_compare_u64(order->tree->bytes[right], order->tree->bytes[left]);
}

static struct err *tree_fill(struct bytes_tree *tree, const struct paths *paths, enum metric metric,
			     struct arena *arena)
{
	const struct path_node *nodes = paths->nodes.items;
	const uint32_t count = (uint32_t)paths->nodes.count;
	const struct order_context context = { tree, nodes };

	tree->paths = paths;
	tree->bytes = arena_array(arena, count, sizeof(*tree->bytes));
	tree->order = arena_array(arena, count, sizeof(*tree->order));
	tree->firsts = arena_array(arena, (size_t)count + 1, sizeof(*tree->firsts));
	if (!tree->bytes || !tree->order || !tree->firsts)
		return err_nomem();
	for (uint32_t i = count; i-- > 0;) {
		tree->bytes[i] += metric_value(metric, &nodes[i].self);
		if (i > 0)
			tree->bytes[nodes[i].parent] += tree->bytes[i];
	}
	for (uint32_t i = 1; i < count; i++) {
		tree->order[i - 1] = i;
		tree->firsts[nodes[i].parent + 1]++;
	}
	for (uint32_t i = 0; i < count; i++)
		tree->firsts[i + 1] += tree->firsts[i];
	tree->smallest = u64_max(tree->bytes[0] / THRESHOLD, 1);
	return sort_stable(tree->order, count - 1, sizeof(*tree->order), compare, &context)
		       ? NULL
		       : err_nomem();
}

/* ms_print ends a line at '#', which occurs in names of lambdas. */
static void add_plain(struct str *text, const char *name)
{
	const size_t begin = text->len;

	str_add_terminal(text, name);
	for (size_t i = begin; i < text->len; i++) {
		if (text->ptr[i] == '#')
			text->ptr[i] = '.';
	}
}

static void node_text(struct str *text, const struct paths *paths, uint32_t number)
{
	const struct path_frame *frame = &paths->frames.items[number];
	const struct name *name = paths_name(paths, number);

	str_printf(text, "0x%" PRIX64 ": ", frame->pc);
	add_plain(text, name->function);
	str_add(text, " (");
	if (frame->file && frame->line) {
		add_plain(text, names_short_path(frame->file));
		str_printf(text, ":%u)", frame->line);
	} else {
		str_add(text, "in ");
		add_plain(text, *name->module ? name->module : "???");
		str_add_char(text, ')');
	}
}

/* Sums up the children from there on, which are too small. */
static void rest_write(struct massif *massif, const struct bytes_tree *tree, uint32_t from,
		       uint32_t end, uint32_t depth)
{
	struct str *text = &massif->file.text;
	uint64_t bytes = 0;
	uint64_t places = 0;

	for (uint32_t i = from; i < end; i++) {
		bytes += tree->bytes[tree->order[i]];
		places += tree->bytes[tree->order[i]] > 0;
	}
	if (places == 0)
		return;
	str_add_repeated(text, ' ', depth);
	str_printf(text,
		   "n0: %" PRIu64 " in %" PRIu64 " place%s below massif's threshold (1.00%%)\n",
		   bytes, places, places == 1 ? "," : "s, all");
}

/* Number of children shown; *places_ret: also counts the rest. */
static uint32_t shown_count(const struct bytes_tree *tree, uint32_t node, uint32_t *lines_ret)
{
	uint32_t shown = tree->firsts[node];
	const uint32_t end = tree->firsts[node + 1];

	while (shown < end && tree->bytes[tree->order[shown]] >= tree->smallest)
		shown++;
	*lines_ret =
		shown - tree->firsts[node] + (shown < end && tree->bytes[tree->order[shown]] > 0);
	return shown - tree->firsts[node];
}

/* Depth-first; at most DEPTH_MAX deep. */
static void node_write(struct massif *massif, const struct bytes_tree *tree, uint32_t node)
{
	const struct path_node *at = &tree->paths->nodes.items[node];
	struct str *text = &massif->file.text;
	uint32_t lines;
	const uint32_t shown = shown_count(tree, node, &lines);
	const uint32_t first = tree->firsts[node];

	str_add_repeated(text, ' ', at->depth);
	str_printf(text, "n%u: %" PRIu64 " ", lines, tree->bytes[node]);
	if (node == 0)
		str_add(text, "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.");
	else
		node_text(text, tree->paths, at->frame);
	str_add_char(text, '\n');
	if (!text_file_step(&massif->file))
		return;
	for (uint32_t i = 0; i < shown; i++)
		node_write(massif, tree, tree->order[first + i]);
	rest_write(massif, tree, first + shown, tree->firsts[node + 1], at->depth + 1);
}

static struct err *tree_write(struct massif *massif, const struct sums *sums, enum metric metric)
{
	CLEAN(paths_deinit)
	struct paths paths = {
		.context = massif->context,
		.is_inverted = true,
		.depth_max = DEPTH_MAX,
	};
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct bytes_tree tree = { 0 };
	struct err *err = paths_build(&paths, sums);

	if (!err)
		err = tree_fill(&tree, &paths, metric, &arena);
	if (!err)
		node_write(massif, &tree, 0);
	return err;
}

static void snapshot_begin(struct massif *massif, const struct export_moment *moment,
			   const char *tree)
{
	str_printf(&massif->file.text,
		   "#-----------\nsnapshot=%zu\n#-----------\ntime=%" PRIu64 "\nmem_heap_B=%" PRIu64
		   "\n"
		   "mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
		   massif->snapshot_count++, moment->ns / 1000000, moment->bytes, tree);
}

/* With its tree, whose total is used: more may have happened in the same nanosecond. */
static struct err *snapshot_write(struct massif *massif, struct export_moment moment)
{
	const struct export_context *context = massif->context;
	const struct selection *selection = context->selection;
	const bool is_all = selection_is_all(selection);
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct sums sums = context->sums;
	const bool is_ready = moment.is_peak && is_all; /* the model has this one */
	const enum metric metric = is_ready ? METRIC_PEAK : METRIC_LEAKED;
	struct err *err = NULL;

	if (!is_ready)
		err = sums_at(context->model, is_all ? NULL : selection, moment.ns, &arena, &sums);
	if (err)
		return err;
	moment.bytes = metric_value(metric, &sums.total);
	snapshot_begin(massif, &moment, moment.is_peak ? "peak" : "detailed");
	return tree_write(massif, &sums, metric);
}

static void head_write(struct massif *massif)
{
	const struct model_process *process = model_process(massif->context->model);
	struct str *text = &massif->file.text;

	str_add(text, "desc: written by memtape\ncmd: ");
	for (uint32_t i = 0; i < process->argc; i++) {
		str_add(text, i ? " " : "");
		add_plain(text, process->argv[i]);
	}
	if (process->argc == 0)
		add_plain(text, *process->exe ? process->exe : "???");
	str_add(text, "\ntime_unit: ms\n");
}

static struct err *massif_write(const struct export_context *context, FILE *out)
{
	struct massif massif = { .context = context, .file = { .out = out } };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct moments moments = { 0 };
	struct err *err = moments_find(context, SPANS, &arena, &moments);
	struct err *file_err;

	if (err)
		return err;
	head_write(&massif);
	for (size_t i = 0; i < moments.count && !err; i++) {
		const struct export_moment *moment = &moments.items[i];

		if (moment->bytes > 0 && (moment->is_peak || i + 1 == moments.count ||
					  i % DETAILED_EVERY == DETAILED_EVERY - 1))
			err = snapshot_write(&massif, *moment);
		else
			snapshot_begin(&massif, moment, "empty");
	}
	file_err = text_file_end(&massif.file);
	if (err)
		err_destroy(file_err);
	return err ? err : file_err;
}

const struct export_format export_massif = {
	.name = "massif",
	.summary = "massif's file, for ms_print and massif-visualizer",
	.suffix = ".massif",
	.has_alive = true,
	.kind = EXPORT_COURSE,
	.depth = MODEL_FULL,
	.write = massif_write,
};
