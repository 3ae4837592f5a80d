/*
 * /api/v1/findings: what is wrong on a tape, the worst first; what `memtape report findings` says.
 */
#include "findings/findings.h"

#include "http/api_parts.h"
#include "select/fields.h"
#include "sums/name_hash.h"

enum { FRAMES_MAX = 1000 };

/* All null where it is about the whole program. */
static void place_emit(struct call *call, struct names *names, const struct finding *finding)
{
	const struct name_frame *frame = finding_frame(finding, call->model, names);
	const struct name *name = frame ? names_get(names, frame->name) : NULL;

	emit_text(call->emit, "function", name ? name->function : NULL);
	emit_text(call->emit, "module", name && name->module[0] ? name->module_short : NULL);
	emit_text(call->emit, "file", frame ? frame->file : NULL);
	json_u64_or_null(call->emit, "line", frame ? frame->line : 0, 0);
	if (name)
		json_hash(call->emit, "hash", name_hash(call->model, name));
	else
		emit_null(call->emit, "hash");
}

static void link_emit(struct emit *emit, const struct finding_link *link)
{
	emit_object(emit, "link");
	emit_text(emit, "page", link->page);
	emit_text(emit, "q", link->filter);
	emit_text(emit, "m", link->metric);
	emit_text(emit, "at", link->at);
	emit_text(emit, "from", link->from);
	emit_text(emit, "until", link->until);
	emit_text(emit, "sort", link->sort);
	emit_end(emit);
}

/* Of a bad free: where it was freed, where the block was allocated and, of two frees, the first. */
static void stacks_emit(struct call *call, struct names *names, const struct finding *finding)
{
	const struct finding_stack freed = { "freed", "freed by", finding->stack };

	emit_list(call->emit, "stacks");
	for (size_t i = 0; finding->stack_count > 0 && i <= finding->stack_count; i++) {
		const struct finding_stack *stack = i == 0 ? &freed : &finding->stacks[i - 1];

		emit_object(call->emit, NULL);
		emit_text(call->emit, "role", stack->role);
		emit_text(call->emit, "title", stack->words);
		api_stack(call, names, "stack", stack->stack, FRAMES_MAX);
		emit_end(call->emit);
	}
	emit_end(call->emit);
}

static void finding_emit(struct call *call, struct names *names, const struct finding *finding)
{
	struct emit *emit = call->emit;

	emit_object(emit, NULL);
	emit_text(emit, "type", finding->type);
	emit_text(emit, "title", finding->title);
	emit_u64(emit, "bytes", finding->bytes, EMIT_BYTES);
	json_u64_or_null(emit, "count", finding->count, FIELD_NONE);
	emit_text(emit, "evidence", finding->evidence);
	emit_text(emit, "advice", finding->advice);
	place_emit(call, names, finding);
	link_emit(emit, &finding->link);
	stacks_emit(call, names, finding);
	emit_bool(emit, "possible", finding->is_possible);
	emit_end(emit);
}

static struct err *run(struct call *call)
{
	struct findings findings;
	struct names *names;
	struct err *err = call_names(call, &names);

	if (!err)
		err = findings_find(call->model, names, &call->limits, call->arena, &findings);
	if (err)
		return err;
	emit_list(call->emit, "findings");
	for (size_t i = 0; i < findings.count; i++)
		finding_emit(call, names, &findings.items[i]);
	emit_end(call->emit);
	json_texts(call->emit, "missing", findings.missing, findings.missing_count);
	return NULL;
}

const struct route route_api_findings = {
	.path = "/api/v1/findings",
	.summary = "what is wrong on the tape, the worst first, with evidence and advice",
	.answer = "Findings",
	.flags = ROUTE_TAPE | ROUTE_PATIENT,
	.run = run,
};
