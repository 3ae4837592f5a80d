/*
 * /list: the served tapes, in memory-profiler's format.
 */
#include "arch/machine.h"
#include "http/bytehound/data.h"
#include "http/server.h"
#include "select/facts.h"

/* Frames of the deepest stack, without inlined ones. */
static uint64_t depth_max(const struct model *model, struct arena *arena)
{
	const struct capture_stack *stacks = model_stacks(model);
	const size_t count = model_stack_count(model);
	uint32_t *depths = arena_array(arena, count, sizeof(*depths));
	uint32_t most = 0;

	for (size_t i = CAPTURE_STACK_FIRST; depths && i < count; i++) {
		depths[i] = depths[stacks[i].parent] + 1;
		most = depths[i] > most ? depths[i] : most;
	}
	return most;
}

static uint64_t used_stacks(const struct model *model)
{
	uint64_t count = 0;

	for (size_t i = 0; i < model_stack_count(model); i++)
		count += model_stack_sums(model, i)->allocated.count > 0;
	return count;
}

static void tape_emit(struct data *data, const char *id, const struct model *model)
{
	const struct model_process *process = model_process(model);
	const struct model_totals *totals = model_totals(model);
	CLEAN(str_deinit) struct str command = { 0 };

	emit_object(data->emit, NULL);
	emit_text(data->emit, "id", id);
	emit_text(data->emit, "executable", process->exe);
	for (uint32_t i = 0; i < process->argc; i++)
		str_printf(&command, "%s%s", i ? " " : "", process->argv[i]);
	emit_text(data->emit, "cmdline", str_text(&command));
	emit_text(data->emit, "architecture", arch_machine_name(process->elf_machine));
	emit_u64(data->emit, "final_allocated", totals->leaked.bytes, EMIT_PLAIN);
	emit_u64(data->emit, "final_allocated_count", totals->leaked.count, EMIT_PLAIN);
	data_timeval(data, "runtime", process->duration_ns);
	emit_u64(data->emit, "unique_backtrace_count", used_stacks(model), EMIT_PLAIN);
	emit_u64(data->emit, "maximum_backtrace_depth", depth_max(model, data->call->arena),
		 EMIT_PLAIN);
	data_timeval(data, "timestamp", process->start_realtime_ns);
	emit_end(data->emit);
}

static struct err *run(struct call *call)
{
	const struct emit_settings settings = { .format = EMIT_JSON };
	struct data data = { .call = call, .emit = emit_create(call->out, &settings) };
	struct tapes *tapes = call->server->tapes;
	struct err *err = NULL;

	if (!data.emit)
		return err_nomem();
	emit_list(data.emit, NULL);
	for (struct tape *tape = tapes_first(tapes); tape && !err; tape = tape->next) {
		struct loaded *loaded = NULL;

		err = tapes_acquire(tape, 0, &call->limits, &loaded);
		if (!err)
			tape_emit(&data, tape->id, loaded->model);
		tapes_release(loaded);
	}
	emit_end(data.emit);
	return data_end(&data, err);
}

const struct route route_data_list = {
	.path = "/list",
	.summary = "the tapes there are, as memory-profiler has them",
	.type = "application/json; charset=utf-8",
	.flags = ROUTE_RAW | ROUTE_UNCACHED | ROUTE_LENIENT,
	.run = run,
};
