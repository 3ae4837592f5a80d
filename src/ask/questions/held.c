/* Nodes of a scan's graph as results. */
#include <assert.h>

#include "questions/leaks.h"

enum { CALLERS_MAX = 16 };

static const struct place nowhere = { .line = SHAPE_NONE, .hash = SHAPE_NONE };

const char *const held_kinds[] = {
	"block", "global", "stack", "tls", "registers", "mapping", NULL
};

static const struct member node_members[] = {
	MEMBER(struct held_node, kind, TEXT, "what it is", .words = held_kinds),
	MEMBER(struct held_node, name, TEXT,
	       "of a variable or mapping; of a library's data without symbols, the library",
	       .nullable = true),
	MEMBER(struct held_node, type, TEXT, "of a variable", .nullable = true),
	MEMBER(struct held_node, tid, PLAIN, "the thread whose stack, registers or memory it is",
	       .nullable = true),
	MEMBER(struct held_node, thread, TEXT, "name of that thread", .nullable = true),
	MEMBER(struct held_node, address, ADDRESS, "where it begins"),
	MEMBER(struct held_node, bytes, BYTES, NULL),
	MEMBER(struct held_node, class, TEXT, "of a block", .words = loss_keys, .nullable = true),
	MEMBER(struct held_node, place, FLAT,
	       "of a block's allocation; where a variable is declared; of a stack the call that "
	       "has "
	       "the pointer",
	       .shape = &shape_place),
	MEMBER(struct held_node, depth, PLAIN,
	       "of that call: how many are further in, without inlined ones", .nullable = true),
	MEMBER(struct held_node, callers, ROWS,
	       "the nearest calls further out; functions that are inlined there come first",
	       .shape = &shape_frame),
	MEMBER(struct held_node, offset, PLAIN,
	       "where in it the pointer to the next one is; of registers: 8 times the number",
	       .nullable = true),
	MEMBER(struct held_node, interior, FLAG, "the pointer is to the middle of the next one"),
};
const struct shape shape_held_node = SHAPE("HeldNode", struct held_node, node_members);

static const char *thread_name(const struct model *model, uint32_t tid)
{
	for (size_t i = model_thread_count(model); i-- > 0;) {
		const struct model_thread *thread = model_thread(model, i);

		if (thread->tid == tid && thread->name[0])
			return thread->name;
	}
	return NULL;
}

/* Of the calls further out, as far as they are known. */
static void callers_add(const struct asked *asked, const struct model_scan *scan,
			const struct model_scan_frame *frame, struct held_node *step)
{
	struct frame *items = arena_array(asked->arena, CALLERS_MAX, sizeof(*items));
	struct name_frames frames;
	size_t count = 0;

	if (!items)
		return;
	while ((frame = model_scan_caller(scan, frame)) &&
	       names_scan_frame(asked->names, frame, &frames))
		for (size_t i = 0; i < frames.count && count < CALLERS_MAX; i++)
			items[count++] = frame_of(asked->model, asked->names, &frames.frames[i]);
	step->callers = (struct shape_rows) { items, count };
}

/* The function on whose stack it is; of several that are inlined into each other the outermost. */
static void frame_add(const struct asked *asked, const struct model_scan *scan, uint64_t holder,
		      uint64_t offset, struct held_node *step)
{
	const struct model_scan_frame *frame =
		model_scan_frame(scan, holder, scan->holders[holder].begin + offset);
	struct name_frames frames;

	step->place = nowhere;
	if (!frame || !names_scan_frame(asked->names, frame, &frames))
		return;
	step->place = place_of(asked->model, asked->names, &frames.frames[frames.count - 1]);
	step->depth = frame->depth == UINT32_MAX ? SHAPE_NONE : frame->depth;
	callers_add(asked, scan, frame, step);
}

void held_node_point(const struct asked *asked, const struct model_scan *scan, uint32_t node,
		     const struct model_scan_block *next, struct held_node *step)
{
	step->offset = next->offset;
	step->interior = next->flags & MODEL_SCAN_INTERIOR;
	if (step->kind == held_kinds[TAPE_SCAN_STACK])
		frame_add(asked, scan, node - scan->block_count, next->offset, step);
}

struct held_node held_node_of(const struct asked *asked, const struct model_scan *scan,
			      uint32_t node)
{
	const struct model_scan_holder *holder;
	struct name_variable variable;
	const struct model_scan_block *block;

	assert(node < scan->block_count + scan->holder_count);
	if (model_scan_node_is_holder(scan, node)) {
		holder = &scan->holders[node - scan->block_count];
		if (holder->kind == TAPE_SCAN_GLOBAL)
			variable = names_variable(asked->names, holder->begin, holder->name);
		else
			variable = (struct name_variable) { .name = holder->name };
		return (struct held_node) {
			.kind = held_kinds[holder->kind],
			.name = variable.name[0] ? variable.name : NULL,
			.type = variable.type,
			.tid = holder->tid ? holder->tid : SHAPE_NONE,
			.thread = holder->tid ? thread_name(asked->model, holder->tid) : NULL,
			.address = holder->begin,
			.bytes = holder->end - holder->begin,
			.place = { .file = variable.file,
				   .line = variable.line ? variable.line : SHAPE_NONE,
				   .module = variable.module,
				   .hash = SHAPE_NONE },
			.depth = SHAPE_NONE,
			.callers = { .items = "" },
			.offset = SHAPE_NONE,
		};
	}
	block = &scan->blocks[node];
	return (struct held_node) {
		.kind = held_kinds[0],
		.tid = SHAPE_NONE,
		.address = block->address,
		.bytes = block->size_bytes,
		.class = loss_keys[loss_kind_of(block)],
		.place = block->flags & MODEL_SCAN_OFF_TAPE ? nowhere
							    : place_of_stack(asked, block->stack),
		.depth = SHAPE_NONE,
		.callers = { .items = "" },
		.offset = SHAPE_NONE,
	};
}
