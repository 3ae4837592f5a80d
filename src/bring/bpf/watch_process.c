#include "bpf/watch_parts.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/sort.h"
#include "core/hash.h"
#include "scan/exports.h"
#include "scan/objects.h"
#include "symbol/elf_names.h"

VEC_DEFINE(ranges, struct probes_range);

void watch_module_file(pid_t pid, const struct maps_entry *entry, struct str *path)
{
	str_printf(path, "/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)entry->begin,
		   (unsigned long long)entry->end);
}

const struct watch_module *watch_module_find(const struct watch_modules *modules, uint64_t pc)
{
	for (size_t i = modules->count; i-- > 0;)
		if (pc >= modules->items[i].begin && pc < modules->items[i].end)
			return &modules->items[i];
	return NULL;
}

struct watch_process *watch_process_find(const struct watch *watch, pid_t pid)
{
	const uint64_t *index = map_find(&watch->process_of, (uint64_t)pid);

	return index ? &watch->processes.items[*index] : NULL;
}

bool watch_is_over(const struct watch *watch, uint32_t pid, uint64_t ns)
{
	const struct watch_process *process = watch_process_find(watch, (pid_t)pid);

	return process && ns <= process->ended_ns;
}

/* --- objects --------------------------------------------------------------------------------- */

static bool read_news(const struct elf_file *file, struct watch_news *news)
{
	struct elf_names names = { 0 };
	bool ok = elf_names_add(&names, file);

	for (size_t i = 0; i < names.count && ok; i++) {
		const struct elf_name *name = &names.names[i];
		struct watch_new item = { name->address, name->address + name->bytes, TAPE_FN_NEW };

		if (!name->is_open && places_is_new(name->name, &item.fn))
			ok = watch_news_push(news, item);
	}
	elf_names_deinit(&names);
	return ok;
}

static bool exports_malloc(const struct elf_file *file)
{
	CLEAN(exports_deinit) struct exports exports = { 0 };

	return exports_of(file, &exports) && exports_find(&exports, "malloc");
}

static struct err *put_rows(struct watch *watch, const struct tables_rows *rows,
			    struct watch_object *object)
{
	if (rows->count > watch->row_capacity - watch->next_row) {
		watch->is_full = true;
		return NULL;
	}
	object->first_row = watch->next_row;
	object->row_count = (uint32_t)rows->count;
	watch->next_row += object->row_count;
	return kernel_put_rows(watch->kernel, object->first_row, rows->items, object->row_count);
}

static struct err *object_read(struct watch *watch, const struct elf_file *file,
			       struct watch_object *object)
{
	CLEAN(tables_rows_deinit) struct tables_rows rows = { 0 };
	struct err *err;

	if (!places_find(file, &object->places) || !read_news(file, &object->news))
		return err_nomem();
	object->has_own_new = object->news.count > 0 && exports_malloc(file);
	if (file->build_id_bytes > 0) {
		object->build_id = malloc(file->build_id_bytes);
		if (!object->build_id)
			return err_nomem();
		memcpy(object->build_id, file->build_id, file->build_id_bytes);
		object->build_id_bytes = file->build_id_bytes;
	}
	err = tables_read(file, &rows);
	if (err && err_code_of(err) == ERR_LIMIT) { /* its stacks end there, which is counted */
		err_destroy(err);
		return NULL;
	}
	return err ? err : put_rows(watch, &rows, object);
}

struct err *watch_object_find(struct watch *watch, const char *path, uint64_t inode,
			      const char *file_path, uint32_t *object_ret)
{
	CLEAN(elf_file_close) struct elf_file *file = NULL;
	CLEAN(str_deinit) struct str key = { 0 };
	struct watch_object *object;
	uint32_t id;

	str_printf(&key, "%llu %s", (unsigned long long)inode, path);
	id = key.failed ? UINT32_MAX : interner_put(&watch->keys, key.ptr, key.len);
	if (id == UINT32_MAX)
		return err_nomem();
	*object_ret = id;
	if (id < watch->objects.count)
		return NULL;
	object = watch_objects_add(&watch->objects);
	if (!object)
		return err_nomem();
	*object = (struct watch_object) { 0 };
	err_destroy(elf_file_open(file_path, &file));
	return file && file->is_64 ? object_read(watch, file, object) : NULL;
}

/* --- a process ------------------------------------------------------------------------------- */

/* What it has mapped now. */
struct reading {
	struct watch *watch;
	struct watch_process *process;
	struct maps maps;
	struct capture_stacks stacks; /* its modules */
	struct ranges ranges;
};

static void reading_deinit(struct reading *reading)
{
	maps_deinit(&reading->maps);
	capture_stacks_deinit(&reading->stacks);
	ranges_deinit(&reading->ranges);
}
CLEAN_DEFINE_DEINIT(reading_deinit, struct reading);

static bool add_range(struct reading *reading, const struct watch_module *module)
{
	const struct watch_object *object = &reading->watch->objects.items[module->object];
	const struct probes_range range = { module->begin, module->end, module->bias,
					    object->first_row, object->row_count };

	return ranges_push(&reading->ranges, range);
}

/* Also when another file has been loaded there before. */
static struct err *add_module(struct reading *reading, const struct capture_module *found)
{
	struct watch_process *process = reading->process;
	const struct maps_entry *entry = maps_find(&reading->maps, found->begin);
	const struct watch_module *before = watch_module_find(&process->modules, found->begin);
	struct watch_module module = { found->begin, found->end, found->bias, NULL, 0 };
	CLEAN(str_deinit) struct str file = { 0 };
	struct err *err;

	if (!entry)
		return NULL;
	watch_module_file(process->pid, entry, &file);
	err = file.failed ? err_nomem()
			  : watch_object_find(reading->watch, found->path, entry->inode,
					      str_text(&file), &module.object);
	if (err)
		return err;
	if (!add_range(reading, &module))
		return err_nomem();
	if (before && before->begin == module.begin && before->object == module.object)
		return NULL;
	module.path = arena_strdup(&reading->watch->arena, found->path);
	return module.path && watch_modules_push(&process->modules, module) ? NULL : err_nomem();
}

static bool is_in_module(const struct reading *reading, const struct maps_entry *entry)
{
	for (size_t i = 0; i < reading->stacks.modules.count; i++)
		if (entry->begin >= reading->stacks.modules.items[i].begin &&
		    entry->begin < reading->stacks.modules.items[i].end)
			return true;
	return false;
}

/* Code of no module has been made at run time, or moved. It has no rows. */
static bool add_bare(struct reading *reading)
{
	for (size_t i = 0; i < reading->maps.entries.count; i++) {
		const struct maps_entry *entry = &reading->maps.entries.items[i];
		const struct probes_range range = { .begin = entry->begin, .end = entry->end };

		if (entry->is_executable && !is_in_module(reading, entry) &&
		    !ranges_push(&reading->ranges, range))
			return false;
	}
	return sort_by_u64(reading->ranges.items, reading->ranges.count,
			   sizeof(*reading->ranges.items), offsetof(struct probes_range, begin));
}

/*
 * The ranges that are there now, behind all others: a walk under way sees the old ones or these.
 * Nothing if they are the same: then the code that was not known is not to be found, and the process
 * is left alone for a while.
 */
static struct err *put_ranges(struct reading *reading)
{
	enum { REST_NS = 1000000000 };
	struct watch *watch = reading->watch;
	const struct ranges *ranges = &reading->ranges;
	const struct probes_process process = { watch->next_range, (uint32_t)ranges->count };
	const uint64_t signature =
		hash_bytes(ranges->items, ranges->count * sizeof(*ranges->items), 1);
	struct err *err = NULL;

	reading->process->rest_ns = monotonic_ns() + REST_NS;
	if (signature == reading->process->signature)
		return NULL;
	if (ranges->count > PROBES_PROCESS_RANGES ||
	    ranges->count > PROBES_RANGES_MAX - watch->next_range) {
		watch->is_full = true;
		return NULL;
	}
	for (size_t i = 0; i < ranges->count && !err; i++)
		err = kernel_put_range(watch->kernel, watch->next_range++, &ranges->items[i]);
	if (!err)
		err = kernel_put_process(watch->kernel, (uint32_t)reading->process->pid, &process);
	reading->process->signature = signature;
	reading->process->rest_ns = 0;
	return err;
}

struct err *watch_process_put(struct watch *watch, pid_t pid, struct watch_process **ret)
{
	bool is_new;
	uint64_t *index = map_put(&watch->process_of, (uint64_t)pid, &is_new);
	struct watch_process *process;

	if (!index)
		return err_nomem();
	if (is_new) {
		*index = watch->processes.count;
		if (!watch_processes_push(&watch->processes,
					  (struct watch_process) { .pid = pid })) {
			map_remove(&watch->process_of, (uint64_t)pid, NULL);
			return err_nomem();
		}
	}
	process = &watch->processes.items[*index];
	*ret = process;
	return NULL;
}

struct err *watch_read_process(struct watch *watch, pid_t pid)
{
	CLEAN(reading_deinit) struct reading reading = { .watch = watch };
	const struct memory memory = memory_of_process(pid);
	struct err *err = maps_read_briefly(pid, &reading.maps);

	if (!err)
		err = watch_process_put(watch, pid, &reading.process);
	if (err)
		return err;
	if (!capture_stacks_init(&reading.stacks))
		return err_nomem();
	err = objects_find("", &reading.maps, &memory, &reading.stacks);
	for (size_t i = 0; i < reading.stacks.modules.count && !err; i++)
		err = add_module(&reading, &reading.stacks.modules.items[i]);
	if (!err && !add_bare(&reading))
		err = err_nomem();
	if (!err && reading.process->modules.count > 0)
		reading.process->exe = reading.process->modules.items[0].path;
	return err ? err : put_ranges(&reading);
}

/* --- all processes --------------------------------------------------------------------------- */

static bool has_mapped(pid_t pid, uint64_t inode)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	struct err *err = maps_read_briefly(pid, &maps);

	err_destroy(err);
	for (size_t i = 0; i < maps.entries.count && !err; i++)
		if (maps.entries.items[i].is_file && maps.entries.items[i].inode == inode)
			return true;
	return false;
}

struct err *watch_read_all(struct watch *watch, uint64_t inode)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;

	if (!folder)
		return err_errno("/proc");
	while ((entry = readdir(folder))) {
		const long pid = strtol(entry->d_name, NULL, 10);

		if (pid > 0 && pid != getpid() && has_mapped((pid_t)pid, inode))
			err_destroy(watch_read_process(watch, (pid_t)pid)); /* it may be gone */
	}
	closedir(folder);
	return NULL;
}
