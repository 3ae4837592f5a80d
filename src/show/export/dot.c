/*
 * DOT: the graph of callers down to allocations, for graphviz. A box is a function with its own
 * allocations and those including its callees; an edge is labelled with what was allocated through
 * it, and dotted if functions in between were left out. Shown are the largest functions, and none
 * with less than a two-hundredth of the total.
 *
 * A recursive function counts once per stack, and so does an edge.
 */
#include <inttypes.h>

#include "base/sort.h"
#include "export/export.h"
#include "export/text_file.h"

enum {
	BOXES_MAX = 80,
	BOX_MIN = 200,	 /* at least one in this many of the total */
	EDGE_MIN = 1000, /* likewise */
	NONE = UINT32_MAX
};

struct box {
	uint32_t name;
	uint32_t number; /* of the box in the file; NONE: left out */
	uint32_t seen;	 /* the last stack that counted it, + 1 */
	uint64_t self;
	uint64_t total;
};

struct edge {
	uint32_t caller; /* number in the file */
	uint32_t callee;
	bool has_gap;
	uint32_t seen;
	uint64_t value;
};

VEC_DEFINE(boxes, struct box);
VEC_DEFINE(edges, struct edge);

struct graph {
	const struct export_context *context;
	struct boxes boxes;
	struct map box_of; /* by name: index + 1 */
	struct edges edges;
	struct map edge_of; /* by caller, callee and gap: index + 1 */
	uint64_t total;
	bool failed; /* out of memory; sticks */
};

/* The item for the key; a new one is all zeros. */
static struct box *box_get(struct graph *graph, uint32_t name)
{
	uint64_t *index = map_put(&graph->box_of, name, NULL);

	if (index && *index == 0) {
		graph->failed |= !boxes_push(&graph->boxes, (struct box) { .name = name });
		*index = graph->boxes.count;
	}
	graph->failed |= !index;
	return graph->failed ? NULL : &graph->boxes.items[*index - 1];
}

static struct edge *edge_get(struct graph *graph, uint32_t caller, uint32_t callee, bool has_gap)
{
	const uint64_t key = (uint64_t)caller << 32 | callee << 1 | has_gap;
	uint64_t *index = map_put(&graph->edge_of, key, NULL);

	if (index && *index == 0) {
		graph->failed |=
			!edges_push(&graph->edges, (struct edge) { caller, callee, has_gap, 0, 0 });
		*index = graph->edges.count;
	}
	graph->failed |= !index;
	return graph->failed ? NULL : &graph->edges.items[*index - 1];
}

static void boxes_sum(struct graph *graph, uint32_t stack, uint64_t value)
{
	const struct export_context *context = graph->context;
	struct walk walk = walk_begin(context->model, context->names, stack, context->mode);
	const struct name_frame *frame = walk_next(&walk);
	bool is_innermost = true;

	for (; frame && !graph->failed; frame = walk_next(&walk), is_innermost = false) {
		struct box *box = box_get(graph, frame->name);

		if (!box)
			return;
		box->self += is_innermost ? value : 0;
		box->total += box->seen == stack + 1 ? 0 : value;
		box->seen = stack + 1;
	}
}

/* Sums edges between neighbouring shown functions. */
static void edges_sum(struct graph *graph, uint32_t stack, uint64_t value)
{
	const struct export_context *context = graph->context;
	struct walk walk = walk_begin(context->model, context->names, stack, context->mode);
	const struct name_frame *frame = walk_next(&walk);
	uint32_t callee = NONE;
	bool has_gap = false;

	for (; frame && !graph->failed; frame = walk_next(&walk)) {
		const struct box *box = box_get(graph, frame->name);
		const uint32_t number = box ? box->number : NONE;

		if (number == NONE) {
			has_gap = callee != NONE;
			continue;
		}
		if (callee != NONE) {
			struct edge *edge = edge_get(graph, number, callee, has_gap);

			if (edge && edge->seen != stack + 1) {
				edge->value += value;
				edge->seen = stack + 1;
			}
		}
		callee = number;
		has_gap = false;
	}
}

static void stacks_each(struct graph *graph,
			void (*visit)(struct graph *graph, uint32_t stack, uint64_t value))
{
	const struct sums *sums = &graph->context->sums;
	const size_t count = model_stack_count(sums->model);

	for (size_t i = 0; i < count && !graph->failed; i++) {
		const uint64_t value = metric_value(graph->context->metric, sums_of_stack(sums, i));

		if (value > 0)
			visit(graph, (uint32_t)i, value);
	}
}

static int compare(const void *context, const void *a, const void *b)
{
	const struct box *left = a, *right = b;

	(void)context;
	return left->total != right->total ? sort_compare_u64(right->total, left->total)
					   : sort_compare_u64(right->self, left->self);
}

/* Numbers the boxes that are shown; sorting moves them, so the map must be rebuilt. */
static void boxes_choose(struct graph *graph)
{
	struct boxes *boxes = &graph->boxes;
	uint32_t next = 0;

	graph->failed |=
		!sort_stable(boxes->items, boxes->count, sizeof(*boxes->items), compare, NULL);
	for (size_t i = 0; i < boxes->count && !graph->failed; i++) {
		struct box *box = &boxes->items[i];
		uint64_t *index = map_find(&graph->box_of, box->name);

		*index = i + 1;
		box->number =
			next < BOXES_MAX && box->total >= graph->total / BOX_MIN ? next++ : NONE;
	}
}

static void add_value(struct str *text, enum metric metric, uint64_t value)
{
	if (metric_is_bytes(metric))
		str_add_iec(text, value);
	else
		str_add_grouped(text, value);
}

/* For a quoted label, where backslashes are escapes. */
static void add_label(struct str *text, const char *name)
{
	CLEAN(str_deinit) struct str plain = { 0 };

	str_add_terminal(&plain, name);
	text->failed |= plain.failed;
	for (const char *at = str_text(&plain); *at; at++) {
		if (*at == '"' || *at == '\\')
			str_add_char(text, '\\');
		str_add_char(text, *at);
	}
}

/* The square root of the share, 0 .. 1000, because areas are compared. */
static uint64_t root_of_share(uint64_t part, uint64_t whole)
{
	const uint64_t share = whole ? (uint64_t)((double)part / (double)whole * 1000000) : 0;
	uint64_t root = 0;

	while ((root + 1) * (root + 1) <= share)
		root++;
	return root;
}

static void box_write(struct text_file *file, const struct graph *graph, const struct box *box)
{
	const enum metric metric = graph->context->metric;
	struct str *text = &file->text;

	str_printf(text, "n%u [label=\"", box->number);
	add_label(text, names_get(graph->context->names, box->name)->function);
	str_add(text, "\\n");
	add_value(text, metric, box->self);
	str_add(text, " (");
	str_add_percent(text, box->self, graph->total);
	str_add_char(text, ')');
	if (box->total != box->self) {
		str_add(text, "\\nof ");
		add_value(text, metric, box->total);
		str_add(text, " (");
		str_add_percent(text, box->total, graph->total);
		str_add_char(text, ')');
	}
	str_printf(text, "\", fontsize=%" PRIu64 ", fillcolor=\"0.08 ",
		   9 + root_of_share(box->self, graph->total) * 15 / 1000);
	str_add_ratio(text, root_of_share(box->total, graph->total), 2000, 3);
	str_add(text, " 1.0\"];\n");
}

static void edge_write(struct text_file *file, const struct graph *graph, const struct edge *edge)
{
	struct str *text = &file->text;

	if (edge->value < graph->total / EDGE_MIN)
		return;
	str_printf(text, "n%u -> n%u [label=\" ", edge->caller, edge->callee);
	add_value(text, graph->context->metric, edge->value);
	str_printf(text, "\", weight=%" PRIu64 ", penwidth=",
		   1 + root_of_share(edge->value, graph->total) / 10);
	str_add_ratio(text, 1000 + root_of_share(edge->value, graph->total) * 4, 1000, 2);
	str_add(text, edge->has_gap ? ", style=dotted];\n" : "];\n");
}

static void graph_write(struct text_file *file, const struct graph *graph)
{
	const struct export_context *context = graph->context;
	struct str *text = &file->text;
	size_t shown = 0;

	while (shown < graph->boxes.count && graph->boxes.items[shown].number != NONE)
		shown++;
	str_add(text, "digraph \"");
	add_label(text, names_short_path(model_process(context->model)->exe));
	str_add(text, "\" {\nlabelloc=t;\nlabel=\"");
	add_label(text, names_short_path(model_process(context->model)->exe));
	str_printf(text, ": %s, ", metric_title(context->metric));
	add_value(text, context->metric, graph->total);
	str_printf(text, "\\n%zu of %zu functions\";\n", shown, graph->boxes.count);
	str_add(text, "node [shape=box, style=filled, fontname=\"sans-serif\"];\n"
		      "edge [fontname=\"sans-serif\", fontsize=10];\n");
	for (size_t i = 0; i < shown && text_file_step(file); i++)
		box_write(file, graph, &graph->boxes.items[i]);
	for (size_t i = 0; i < graph->edges.count && text_file_step(file); i++)
		edge_write(file, graph, &graph->edges.items[i]);
	str_add(text, "}\n");
}

static struct err *dot_write(const struct export_context *context, FILE *out)
{
	struct graph graph = {
		.context = context,
		.total = metric_value(context->metric, &context->sums.total),
	};
	struct text_file file = { .out = out };

	stacks_each(&graph, boxes_sum);
	if (!graph.failed)
		boxes_choose(&graph);
	stacks_each(&graph, edges_sum);
	if (!graph.failed)
		graph_write(&file, &graph);
	file.text.failed |= graph.failed;
	boxes_deinit(&graph.boxes);
	edges_deinit(&graph.edges);
	map_deinit(&graph.box_of);
	map_deinit(&graph.edge_of);
	return text_file_end(&file);
}

const struct export_format export_dot = {
	.name = "dot",
	.summary = "the call graph, for graphviz: dot -Tsvg",
	.suffix = ".dot",
	.kind = EXPORT_SUMS,
	.has_metric = true,
	.depth = MODEL_SUMMARY,
	.write = dot_write,
};
