#include "bpf/watch.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "bpf/watch_parts.h"
#include "scan/maps.h"
#include "scan/objects.h"

enum { ROW_CAPACITY = 1 << 22, BLOCK_CAPACITY = 1 << 20 };

const char *watch_absence(void)
{
	return NULL;
}

void watch_close(struct watch *watch)
{
	if (!watch)
		return;
	kernel_close(watch->kernel);
	for (size_t i = 0; i < watch->objects.count; i++) {
		free(watch->objects.items[i].build_id);
		watch_news_deinit(&watch->objects.items[i].news);
		places_deinit(&watch->objects.items[i].places);
	}
	watch_objects_deinit(&watch->objects);
	for (size_t i = 0; i < watch->processes.count; i++)
		watch_modules_deinit(&watch->processes.items[i].modules);
	watch_processes_deinit(&watch->processes);
	map_deinit(&watch->process_of);
	interner_deinit(&watch->keys);
	watch_blocks_deinit(&watch->blocks);
	watch_stacks_deinit(&watch->stacks);
	vec_u64_deinit(&watch->frames);
	map_deinit(&watch->stack_of);
	watch_lives_deinit(&watch->lives);
	arena_deinit(&watch->arena);
	free(watch);
}

/* --- probes ---------------------------------------------------------------------------------- */

/*
 * A call whose entry is seen but not its return would seem to go on: so first the probes at returns,
 * which do nothing without the others.
 */
static struct err *probe_object(struct watch *watch, uint32_t object, const char *path)
{
	static const enum kernel_program order[] = { KERNEL_LEAVE, KERNEL_FREE, KERNEL_ENTER };
	const struct places *places = &watch->objects.items[object].places;
	struct kernel_place *chosen = arena_array(&watch->arena, places->count, sizeof(*chosen));
	struct err *err = NULL;

	if (places->count > 0 && !chosen)
		return err_nomem();
	for (size_t at = 0; at < array_size(order) && !err; at++) {
		size_t count = 0;

		for (size_t i = 0; i < places->count; i++) {
			const struct place *place = &places->items[i];

			if (place->is_free == (order[at] == KERNEL_FREE))
				chosen[count++] = (struct kernel_place) {
					place->offset, PROBES_COOKIE(place->shape, place->fn)
				};
		}
		err = kernel_attach(watch->kernel, order[at], watch->settings.pid, path, chosen,
				    count);
	}
	watch->probe_count += places->count;
	for (size_t i = 0; i < places->count; i++)
		watch->cheap_count += places->items[i].is_cheap;
	return err;
}

static struct err *probe_process(struct watch *watch)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	const pid_t pid = watch->settings.pid;
	const struct watch_modules *modules = &watch_process_find(watch, pid)->modules;
	struct err *err = maps_read_briefly(pid, &maps);

	for (size_t i = 0; i < modules->count && !err; i++) {
		const struct maps_entry *entry = maps_find(&maps, modules->items[i].begin);
		CLEAN(str_deinit) struct str path = { 0 };

		if (!entry)
			continue;
		watch_module_file(pid, entry, &path);
		err = path.failed ? err_nomem()
				  : probe_object(watch, modules->items[i].object, str_text(&path));
	}
	if (!err && watch->probe_count == 0)
		return err_new(
			ERR_UNSUPPORTED,
			"process %d has no function called malloc: it is linked statically and "
			"stripped, or does not use one; keep its symbols (.symtab)",
			(int)pid);
	return err;
}

/* --- the watch ------------------------------------------------------------------------------- */

static struct err *check_process(const struct watch *watch)
{
	const pid_t pid = watch->settings.pid;
	const struct watch_modules *modules = &watch_process_find(watch, pid)->modules;

	for (size_t i = 0; i < modules->count; i++)
		if (objects_is_recorder(modules->items[i].path))
			return err_new(ERR_STATE, "process %d is recorded by memtape already",
				       (int)pid);
	if (modules->count > 0)
		return NULL;
	return err_new(ERR_UNSUPPORTED,
		       "process %d has no 64-bit program: only those of this machine's kind can be "
		       "watched",
		       (int)pid);
}

static struct err *begin_process(struct watch *watch)
{
	const pid_t pid = watch->settings.pid;
	struct err *err = watch_read_process(watch, pid);

	if (!err)
		err = check_process(watch);
	return err ? err : probe_process(watch);
}

/* The C library is that of memtape itself. */
static struct err *begin_all(struct watch *watch)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	struct err *err = maps_read_briefly(getpid(), &maps);
	uint32_t object;

	if (err)
		return err;
	for (size_t i = 0; i < maps.entries.count; i++) {
		const struct maps_entry *entry = &maps.entries.items[i];
		CLEAN(str_deinit) struct str file = { 0 };

		if (!entry->is_file || !objects_is_libc(maps_name(&maps, entry)))
			continue;
		watch_module_file(getpid(), entry, &file);
		err = file.failed ? err_nomem()
				  : watch_object_find(watch, maps_name(&maps, entry), entry->inode,
						      str_text(&file), &object);
		if (!err)
			err = watch_read_all(watch, entry->inode);
		return err ? err : probe_object(watch, object, str_text(&file));
	}
	return err_new(ERR_UNSUPPORTED, "memtape is linked statically: which C library to watch is "
					"not known");
}

static struct err *begin(struct watch *watch)
{
	const struct kernel_settings settings = {
		.sample_bytes = watch->settings.sample_bytes,
		.has_own = watch->settings.pid < 0,
		.row_capacity = ROW_CAPACITY,
		.block_capacity = watch->settings.block_count
					  ? (uint32_t)watch->settings.block_count
					  : BLOCK_CAPACITY,
	};
	struct timespec now;
	struct err *err = watch_check_safe(watch->settings.pid);

	if (!err)
		err = kernel_open(&settings, &watch->kernel);
	if (err)
		return err;
	watch->row_capacity = settings.row_capacity;
	clock_gettime(CLOCK_REALTIME, &now);
	watch->begin_realtime_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	watch->begin_ns = monotonic_ns();
	return watch->settings.pid < 0 ? begin_all(watch) : begin_process(watch);
}

struct err *watch_open(const struct watch_settings *settings, struct watch **watch_ret)
{
	CLEAN(watch_close) struct watch *watch = calloc(1, sizeof(*watch));
	struct err *err;

	assert(settings->pid > 0 || settings->pid == -1);
	if (!watch)
		return err_nomem();
	watch->settings = *settings;
	err = begin(watch);
	if (err)
		return err;
	*watch_ret = steal(watch);
	return NULL;
}

/* The program has gone, or is another one; of a single process the end is what it is watched for. */
static void take_end(struct watch *watch, pid_t pid, const struct probes_end_of *end)
{
	struct watch_process *process = watch_process_find(watch, pid);

	if (!process || (!end->is_exec && watch->settings.pid > 0))
		return;
	process->ended_ns = end->ns;
	process->modules.count = 0;
	process->signature = process->rest_ns = 0;
	watch->has_ended = true;
	if (end->is_exec)
		err_destroy(watch_read_process(watch, pid)); /* it may be gone */
}

static bool sweep_block(void *context, const struct probes_key *key,
			const struct probes_block *block)
{
	struct watch *watch = context;

	if (watch_is_over(watch, key->pid, block->ns))
		kernel_forget_block(watch->kernel, key);
	return true;
}

/* What programs that have ended had live makes room. */
static struct err *sweep(struct watch *watch)
{
	enum { SWEEP_NS = 1000000000 };
	const uint64_t now_ns = monotonic_ns();

	if (!watch->has_ended || now_ns < watch->next_sweep_ns)
		return NULL;
	watch->has_ended = false;
	watch->next_sweep_ns = now_ns + SWEEP_NS;
	return kernel_blocks_each(watch->kernel, sweep_block, watch);
}

/* A process that cannot be read has ended before anybody knew of it. */
static void read_stranger(struct watch *watch, pid_t pid)
{
	const struct watch_process *known = watch_process_find(watch, pid);
	struct watch_process *process;
	struct err *err;

	if (known && monotonic_ns() < known->rest_ns)
		return;
	err = watch_read_process(watch, pid);
	if (err && !watch_process_put(watch, pid, &process)) {
		process->ended_ns = monotonic_ns();
		watch->has_ended = true;
	}
	err_destroy(err);
}

struct err *watch_poll(struct watch *watch)
{
	enum { STRANGERS_MAX = 64 }; /* at a time: some come again at once */
	struct probes_end_of end;
	uint32_t pid;

	while (kernel_take_end(watch->kernel, &pid, &end))
		take_end(watch, (pid_t)pid, &end);
	for (int i = 0; i < STRANGERS_MAX && !watch->is_full; i++) {
		if (!kernel_take_stranger(watch->kernel, &pid))
			break;
		read_stranger(watch, (pid_t)pid);
	}
	return sweep(watch);
}

void watch_describe(const struct watch *watch, struct str *text)
{
	str_add_counted(text, watch->probe_count, "function");
	str_add(text, " probed");
	if (watch->cheap_count < watch->probe_count)
		str_printf(text, ", %zu of them where it costs more than usual",
			   watch->probe_count - watch->cheap_count);
}
