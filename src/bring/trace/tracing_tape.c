#include "trace/tracing_tape.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "base/monotonic.h"
#include "base/str.h"
#include "convert/compose.h"
#include "core/hash.h"

struct tracing_tape {
	struct tracing_settings settings;
	struct tracing *tracing;
	struct composer *composer;
	uint64_t begin_ns;
	struct map frames; /* hash -> the composer's number */
};

/* --- what the tracing finds --------------------------------------------------------------------- */

static uint32_t frame_number(struct tracing_tape *tape, const struct code_frame *frame)
{
	const struct code_module *module = frame->module;
	const uint64_t words[] = { frame->pc, frame->is_exact, module ? module->begin : 0,
				   module ? module->bias : 0, module ? module->file + 1 : 0 };
	bool is_new;
	uint64_t *place = map_put(&tape->frames, hash_bytes(words, sizeof(words), 1), &is_new);
	struct compose_frame of = { .pc = frame->pc, .exact = frame->is_exact };

	if (!place)
		return 0;
	if (!is_new)
		return (uint32_t)*place;
	if (module)
		of.module = composer_module(tape->composer,
					    &(struct compose_module) {
						    .path = module->path,
						    .build_id = module->build_id,
						    .build_id_bytes = module->build_id_bytes,
						    .begin = module->begin,
						    .end = module->end,
						    .bias = module->bias,
					    });
	*place = composer_frame(tape->composer, &of);
	return (uint32_t)*place;
}

/* Of all processes each has a frame of its own outside of all others. */
static uint32_t process_stack(struct tracing_tape *tape, pid_t pid, uint32_t outside)
{
	const char *process =
		tape->settings.pid > 0 ? NULL : tracing_process_name(tape->tracing, pid);
	CLEAN(str_deinit) struct str name = { 0 };
	struct compose_name names = { 0 };

	if (tape->settings.pid > 0)
		return outside;
	str_printf(&name, "%s (%d)", process ? process : "process", (int)pid);
	if (name.failed)
		return outside;
	names.function = str_text(&name);
	return composer_stack(
		tape->composer, outside,
		composer_frame(tape->composer,
			       &(struct compose_frame) { .names = &names, .name_count = 1 }));
}

static uint32_t on_stack(void *context, pid_t pid, const struct tracing_stack *stack)
{
	struct tracing_tape *tape = context;
	uint32_t number = process_stack(tape, pid,
					!stack		  ? COMPOSE_NO_STACK
					: stack->is_whole ? COMPOSE_ROOT
							  : COMPOSE_TRUNCATED);

	for (size_t i = stack ? stack->count : 0; i-- > 0;)
		number = composer_stack(tape->composer, number,
					frame_number(tape, &stack->frames[i]));
	return number;
}

static bool on_event(void *context, uint64_t ns, uint32_t tid, const struct tape_kernel *event,
		     uint32_t stack)
{
	struct tracing_tape *tape = context;

	composer_time(tape->composer, ns - u64_min(ns, tape->begin_ns));
	composer_thread(tape->composer, tid, tracing_thread_name(tape->tracing, tid));
	composer_kernel(tape->composer, event, stack);
	return true;
}

/* --- begin and end ------------------------------------------------------------------------------ */

static uint64_t realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void describe(struct tracing_tape *tape)
{
	const struct tracing_settings *settings = &tape->settings;
	char link[STR_SHORT_BYTES], exe[4096] = "all processes";
	const char *const only[] = { exe };
	const char *const *argv = settings->argv ? settings->argv : only;
	uint32_t argc = 0;
	ssize_t len;

	if (settings->pid > 0) {
		len = readlink(str_format(link, sizeof(link), "/proc/%d/exe", (int)settings->pid),
			       exe, sizeof(exe) - 1);
		exe[len > 0 ? len : 0] = '\0';
	}
	if (settings->argv)
		str_format(exe, sizeof(exe), "%s", settings->argv[0]);
	while (settings->argv ? settings->argv[argc] != NULL : argc < 1)
		argc++;
	composer_source(tape->composer, TAPE_IMPORT_KERNEL, exe);
	composer_allow_empty(tape->composer);
	composer_process(tape->composer,
			 &(struct compose_process) {
				 .exe = exe,
				 .cwd = "",
				 .argv = argv,
				 .argc = argc,
				 .pid = settings->pid > 0 ? (uint32_t)settings->pid : 0,
				 .page_bytes = (uint32_t)sysconf(_SC_PAGESIZE),
				 .elf_machine = ARCH_ELF_MACHINE,
				 .start_realtime_ns = realtime_ns(),
			 });
}

struct err *tracing_tape_open(const struct tracing_settings *settings, const char *path,
			      bool overwrite, struct tracing_tape **tape_ret)
{
	CLEAN(tracing_tape_close) struct tracing_tape *tape = calloc(1, sizeof(*tape));
	const struct tracing_output output = { .stack = on_stack,
					       .event = on_event,
					       .context = tape };
	struct err *err;

	if (!tape)
		return err_nomem();
	tape->settings = *settings;
	err = composer_create(path, overwrite, &tape->composer);
	if (!err)
		err = tracing_open(settings, &output, &tape->tracing);
	if (err)
		return err;
	describe(tape);
	tape->begin_ns = monotonic_ns();
	err = tracing_begin(tape->tracing);
	if (err)
		return err;
	*tape_ret = steal(tape);
	return NULL;
}

void tracing_tape_close(struct tracing_tape *tape)
{
	if (!tape)
		return;
	tracing_close(tape->tracing);
	composer_destroy(tape->composer);
	map_deinit(&tape->frames);
	free(tape);
}

struct tracing *tracing_tape_tracing(const struct tracing_tape *tape)
{
	return tape->tracing;
}

static void write_count(struct tracing_tape *tape, enum tape_kernel_kind kind)
{
	const struct tracing_count count = tracing_count(tape->tracing, kind);
	const uint32_t period = kind == TAPE_KERNEL_OOM ? 1 : tape->settings.period;
	const bool is_user_only = tracing_is_user_only(tape->tracing);
	uint64_t lost = count.lost;

	if (period == 1) /* a call whose result is lost is, too */
		lost = count.count - u64_min(count.recorded, count.count);
	composer_kernel_count(tape->composer,
			      &(struct tape_kernel_count) {
				      .kind = kind,
				      .period = period,
				      .count = count.count,
				      .lost = lost,
				      .limits = is_user_only ? TAPE_KERNEL_USER_ONLY : 0,
			      });
}

struct err *tracing_tape_finish(struct tracing_tape *tape)
{
	struct compose_result result;
	struct err *err;

	tracing_end(tape->tracing);
	err = tracing_take(tape->tracing);
	if (err)
		return err;
	composer_time(tape->composer, monotonic_ns() - tape->begin_ns);
	for (uint32_t kind = 0; kind < TAPE_KERNEL_KINDS; kind++)
		if (tape->settings.kinds >> kind & 1)
			write_count(tape, kind);
	return composer_finish(tape->composer, &result);
}
