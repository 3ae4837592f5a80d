/*
 * /data/<id>/mallopts: calls of mallopt.
 */
#include "http/bytehound/data.h"

#include <malloc.h>

/* The parameter's name, one of them in bytehound's spelling. NULL: unknown parameter. */
static const char *parameter_name(int64_t key)
{
	switch (key) {
	case M_MXFAST:
		return "M_MXFAST";
	case M_TRIM_THRESHOLD:
		return "M_TRIM_THRESHOLD";
	case M_TOP_PAD:
		return "M_TOP_PAD";
	case M_MMAP_THRESHOLD:
		return "M_MMAP_THRESHOLD";
	case M_MMAP_MAX:
		return "M_MMAP_MAX";
	case M_CHECK_ACTION:
		return "M_CHECK_ACTION";
	case M_PERTURB:
		return "M_PERTURB";
	case M_ARENA_TEST:
		return "M_ARENA_TEST";
	case M_ARENA_MAX:
		return "M_ARENA_MAX";
	default:
		return NULL;
	}
}

static void setting_emit(struct data *data, const struct model_note *note)
{
	const uint64_t start_ns = model_process(data->call->model)->start_realtime_ns;

	emit_object(data->emit, NULL);
	data_timeval(data, "timestamp", start_ns + note->ns);
	data_thread(data, "thread", note->thread);
	data_backtrace(data, note->stack);
	emit_i64(data->emit, "raw_param", note->setting.key);
	if (parameter_name(note->setting.key))
		emit_text(data->emit, "param", parameter_name(note->setting.key));
	emit_i64(data->emit, "value", note->setting.value);
	emit_i64(data->emit, "result", note->setting.result);
	emit_end(data->emit);
}

static struct err *run(struct call *call)
{
	struct data data;
	struct err *err = data_begin(call, &data);

	if (err)
		return err;
	emit_list(data.emit, NULL);
	for (size_t i = 0; i < model_note_count(call->model); i++) {
		if (model_notes(call->model)[i].type == TAPE_EXT_MALLOPT)
			setting_emit(&data, &model_notes(call->model)[i]);
	}
	emit_end(data.emit);
	return data_end(&data, NULL);
}

const struct route route_data_mallopts = {
	.path = "/data/{c}/mallopts",
	.summary = "calls of mallopt, as memory-profiler has them",
	.type = "application/json; charset=utf-8",
	.flags = ROUTE_TAPE | ROUTE_RAW | ROUTE_LENIENT,
	.run = run,
};
