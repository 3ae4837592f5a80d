/* The frames of stacks, by name: the only table that symbolizes stacks. */
#include "model/roles.h"
#include "sql/sql_table.h"

enum {
	FRAME_STACK,
	FRAME_POSITION,
	FRAME_FUNCTION,
	FRAME_FILE,
	FRAME_LINE,
	FRAME_MODULE,
	FRAME_INLINED,
	FRAME_ROLE,
	FRAME_ADDRESS
};

/* rough estimate, to distinguish lookups from scans */
enum { FRAMES_PER_STACK = 20 };

static const struct sql_column columns[] = {
	[FRAME_STACK] = { "stack", SQL_KEY, 0, "stacks.id" },
	[FRAME_POSITION] = { "position", 0, 0, "0: the innermost" },
	[FRAME_FUNCTION] = { "function", SQL_TEXTUAL, 0, "its name" },
	[FRAME_FILE] = { "file", SQL_TEXTUAL, 0, "source file, as the compiler was told" },
	[FRAME_LINE] = { "line", 0, 0, "in the file" },
	[FRAME_MODULE] = { "module", SQL_TEXTUAL, 0, "path of the program or library" },
	[FRAME_INLINED] = { "inlined", 0, 0, "1: into the next frame" },
	[FRAME_ROLE] = { "role", SQL_TEXTUAL, 0,
			 "mine: the user's own code; library; or machinery: allocator, start" },
	[FRAME_ADDRESS] = { "address", 0, 0, "code address: where the call returns to" },
};

struct cursor {
	struct sql_cursor base;	   /* row: the stack */
	uint32_t node;		   /* the stack or one of its ancestors */
	struct name_frames frames; /* of the node */
	size_t at;		   /* index into them */
	uint64_t position;
};

/* Goes to the first frame of this node, or of its nearest ancestor that has one; false: none. */
static bool enter(struct cursor *cursor, uint32_t node)
{
	cursor->node = node;
	cursor->at = 0;
	if (node < CAPTURE_STACK_FIRST)
		return false;
	cursor->frames = names_frames(cursor->base.context->names, node);
	return true; /* at least one */
}

static void enter_stack(struct cursor *cursor)
{
	cursor->position = 0;
	while (!cursor->base.is_ended && !enter(cursor, (uint32_t)cursor->base.row))
		sql_cursor_step(&cursor->base);
}

static struct err *begin(struct sql_cursor *base)
{
	sql_cursor_bound(base, &base->limits[FRAME_STACK], model_stack_count(base->context->model));
	enter_stack((struct cursor *)base);
	return NULL;
}

static struct err *next(struct sql_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	cursor->position++;
	if (++cursor->at < cursor->frames.count)
		return NULL;
	if (enter(cursor, model_stacks(base->context->model)[cursor->node].parent))
		return NULL;
	sql_cursor_step(base);
	enter_stack(cursor);
	return NULL;
}

static const char *or_null(const char *text)
{
	return text && *text ? text : NULL;
}

static struct err *value(struct sql_cursor *base, unsigned column, struct sql_value *value_ret)
{
	const struct cursor *cursor = (const struct cursor *)base;
	const struct name_frame *frame = &cursor->frames.frames[cursor->at];
	const struct name *name = names_get(base->context->names, frame->name);

	switch (column) {
	case FRAME_STACK:
		sql_value_u64(value_ret, base->row);
		break;
	case FRAME_POSITION:
		sql_value_u64(value_ret, cursor->position);
		break;
	case FRAME_FUNCTION:
		sql_value_text(value_ret, name->function);
		break;
	case FRAME_FILE:
		sql_value_text(value_ret, or_null(frame->file));
		break;
	case FRAME_LINE:
		sql_value_unless(value_ret, frame->line, 0);
		break;
	case FRAME_MODULE:
		sql_value_text(value_ret, or_null(name->module));
		break;
	case FRAME_INLINED:
		sql_value_u64(value_ret, frame->is_inlined);
		break;
	case FRAME_ROLE:
		sql_value_text(value_ret, role_word(name->role));
		break;
	default:
		sql_value_u64(value_ret, model_stacks(base->context->model)[cursor->node].pc);
		break;
	}
	return NULL;
}

static uint64_t row_id(const struct sql_cursor *base)
{
	return base->row << 31 | (((const struct cursor *)base)->position & INT32_MAX);
}

static uint64_t row_count(const struct sql_context *context)
{
	return model_stack_count(context->model) * FRAMES_PER_STACK;
}

const struct sql_table sql_frames = {
	.name = "frames",
	.about = "the functions on every stack, inlined ones included",
	.columns = columns,
	.column_count = array_size(columns),
	.rows_per_key = FRAMES_PER_STACK,
	.row_count = row_count,
	.cursor_bytes = sizeof(struct cursor),
	.begin = begin,
	.next = next,
	.value = value,
	.row_id = row_id,
};
