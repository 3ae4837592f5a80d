#include "http/bytehound/data.h"

#include <inttypes.h>

enum { NS_PER_S = 1000000000 };

/* By stack: allocations made by it or below it. Parents come before children. */
static uint64_t *counts_find(struct call *call)
{
	const struct model *model = call->model;
	const size_t count = model_stack_count(model);
	const struct capture_stack *stacks = model_stacks(model);
	uint64_t *counts = arena_array(call->arena, count, sizeof(*counts));

	if (!counts)
		return NULL;
	for (size_t i = 0; i < count; i++)
		counts[i] = model_stack_sums(model, i)->allocated.count;
	for (size_t i = count; i-- > CAPTURE_STACK_FIRST;)
		counts[stacks[i].parent] += counts[i];
	return counts;
}

struct err *data_begin(struct call *call, struct data *data_ret)
{
	const struct emit_settings settings = { .format = EMIT_JSON };
	struct data data = { .call = call, .counts = counts_find(call) };
	struct err *err = call_names(call, &data.names);

	if (err)
		return err;
	data.emit = emit_create(call->out, &settings);
	if (!data.emit || !data.counts) {
		emit_destroy(data.emit);
		return err_nomem();
	}
	*data_ret = data;
	return NULL;
}

struct err *data_end(struct data *data, struct err *err)
{
	if (!err)
		err = emit_finish(data->emit);
	emit_destroy(data->emit);
	return err;
}

void data_timeval(struct data *data, const char *key, uint64_t ns)
{
	emit_object(data->emit, key);
	emit_u64(data->emit, "secs", ns / NS_PER_S, EMIT_PLAIN);
	emit_u64(data->emit, "fract_nsecs", ns % NS_PER_S, EMIT_PLAIN);
	emit_end(data->emit);
}

void data_moment(struct data *data, const char *key, uint64_t ns)
{
	const struct model_process *process = model_process(data->call->model);
	char name[64];

	data_timeval(data, key, process->start_realtime_ns + ns);
	data_timeval(data, str_format(name, sizeof(name), "%s_relative", key), ns);
	emit_ratio(data->emit, str_format(name, sizeof(name), "%s_relative_p", key),
		   process->duration_ns ? (double)ns / (double)process->duration_ns : 0, 6);
}

void data_no_moment(struct data *data, const char *key)
{
	char name[64];

	emit_null(data->emit, key);
	emit_null(data->emit, str_format(name, sizeof(name), "%s_relative", key));
	emit_null(data->emit, str_format(name, sizeof(name), "%s_relative_p", key));
}

void data_address(struct data *data, const char *key, uint64_t address)
{
	char name[64], digits[17];

	emit_u64(data->emit, key, address, EMIT_PLAIN);
	emit_text(data->emit, str_format(name, sizeof(name), "%s_s", key),
		  str_format(digits, sizeof(digits), "%016" PRIx64, address));
}

void data_thread(struct data *data, const char *key, uint64_t thread)
{
	if (thread != MODEL_NO_THREAD)
		emit_u64(data->emit, key, model_thread(data->call->model, thread)->tid, EMIT_PLAIN);
}

static void frame_emit(struct data *data, uint32_t stack, const struct name_frame *frame)
{
	const struct capture_stack *at = &model_stacks(data->call->model)[stack];
	const struct name *name = names_get(data->names, frame->name);
	const char *slash = strrchr(name->module, '/');

	emit_object(data->emit, NULL);
	data_address(data, "address", at->exact ? at->pc : at->pc - 1);
	emit_u64(data->emit, "count", data->counts[stack], EMIT_PLAIN);
	if (name->module[0])
		emit_text(data->emit, "library", slash ? slash + 1 : name->module);
	if (name->is_known) {
		emit_text(data->emit, "function", name->function);
		emit_text(data->emit, "raw_function", name->full);
	}
	if (frame->file)
		emit_text(data->emit, "source", frame->file);
	if (frame->line)
		emit_u64(data->emit, "line", frame->line, EMIT_PLAIN);
	if (frame->line && frame->column)
		emit_u64(data->emit, "column", frame->column, EMIT_PLAIN);
	emit_bool(data->emit, "is_inline", frame->is_inlined);
	emit_end(data->emit);
}

void data_backtrace(struct data *data, uint64_t stack)
{
	const struct capture_stack *stacks = model_stacks(data->call->model);
	struct vec_u32 path = { 0 };
	bool ok = true;

	emit_u64(data->emit, "backtrace_id", stack, EMIT_PLAIN);
	emit_list(data->emit, "backtrace");
	for (; stack >= CAPTURE_STACK_FIRST; stack = stacks[stack].parent)
		ok &= vec_u32_push(&path, (uint32_t)stack);
	while (ok && path.count > 0) {
		const uint32_t at = path.items[--path.count];
		const struct name_frames frames = names_frames(data->names, at);

		for (size_t i = frames.count; i-- > 0;)
			frame_emit(data, at, &frames.frames[i]);
	}
	if (!ok)
		emit_fail(data->emit);
	emit_end(data->emit);
	vec_u32_deinit(&path);
}
