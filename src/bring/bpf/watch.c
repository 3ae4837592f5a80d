#include "bpf/watch.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
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
	watch_modules_deinit(&watch->modules);
	interner_deinit(&watch->keys);
	arena_deinit(&watch->arena);
	free(watch);
}

/* --- probes ---------------------------------------------------------------------------------- */

/*
 * A call whose entry is seen but not its return would seem to go on: so first the probes at returns,
 * which do nothing without the others.
 */
static struct err *probe_module(struct watch *watch, const struct watch_module *module,
				const char *path)
{
	static const enum kernel_program order[] = { KERNEL_LEAVE, KERNEL_FREE, KERNEL_ENTER };
	const struct places *places = &watch->objects.items[module->object].places;
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
	return err_wrap(err, "%s", module->path);
}

static struct err *probe_all(struct watch *watch)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	const pid_t pid = watch->settings.pid;
	struct err *err = maps_read_briefly(pid, &maps);

	for (size_t i = 0; i < watch->modules.count && !err; i++) {
		const struct watch_module *module = &watch->modules.items[i];
		const struct maps_entry *entry = maps_find(&maps, module->begin);
		CLEAN(str_deinit) struct str path = { 0 };

		if (!entry)
			continue;
		watch_module_file(pid, entry->begin, entry->end, &path);
		err = path.failed ? err_nomem() : probe_module(watch, module, str_text(&path));
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

	for (size_t i = 0; i < watch->modules.count; i++)
		if (objects_is_recorder(watch->modules.items[i].path))
			return err_new(ERR_STATE, "process %d is recorded by memtape already",
				       (int)pid);
	if (watch->modules.count > 0)
		return NULL;
	if (kill(pid, 0) < 0 && errno == ESRCH)
		return err_new(ERR_NOT_FOUND, "there is no process %d", (int)pid);
	return err_new(ERR_UNSUPPORTED,
		       "process %d has no 64-bit program: only those of this machine's kind can be "
		       "watched",
		       (int)pid);
}

static struct err *begin(struct watch *watch)
{
	const struct kernel_settings settings = {
		.sample_bytes = watch->settings.sample_bytes,
		.row_capacity = ROW_CAPACITY,
		.block_capacity = watch->settings.block_count
					  ? (uint32_t)watch->settings.block_count
					  : BLOCK_CAPACITY,
	};
	struct timespec now;
	struct err *err = kernel_open(&settings, &watch->kernel);

	watch->row_capacity = settings.row_capacity;
	if (!err)
		err = watch_read_process(watch, watch->settings.pid);
	if (!err)
		err = check_process(watch);
	if (err)
		return err;
	clock_gettime(CLOCK_REALTIME, &now);
	watch->begin_realtime_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	watch->begin_ns = monotonic_ns();
	return probe_all(watch);
}

struct err *watch_open(const struct watch_settings *settings, struct watch **watch_ret)
{
	CLEAN(watch_close) struct watch *watch = calloc(1, sizeof(*watch));
	struct err *err;

	assert(settings->pid > 0);
	if (!watch)
		return err_nomem();
	watch->settings = *settings;
	err = begin(watch);
	if (err)
		return err;
	*watch_ret = steal(watch);
	return NULL;
}

struct err *watch_poll(struct watch *watch)
{
	uint32_t pid;

	while (!watch->is_full && kernel_take_stranger(watch->kernel, &pid))
		err_destroy(watch_read_process(watch, (pid_t)pid)); /* it may be gone */
	return NULL;
}

void watch_describe(const struct watch *watch, struct str *text)
{
	str_add_counted(text, watch->probe_count, "function");
	str_add(text, " probed");
	if (watch->cheap_count < watch->probe_count)
		str_printf(text, ", %zu of them where it costs more than usual",
			   watch->probe_count - watch->cheap_count);
}
