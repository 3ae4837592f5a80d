#include "bpf/watch_parts.h"

#include <stdlib.h>

#include "scan/objects.h"
#include "symbol/elf_names.h"

void watch_module_file(pid_t pid, uint64_t begin, uint64_t end, struct str *path)
{
	str_printf(path, "/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)begin,
		   (unsigned long long)end);
}

const struct watch_module *watch_module_find(const struct watch *watch, uint64_t pc)
{
	for (size_t i = watch->modules.count; i-- > 0;)
		if (pc >= watch->modules.items[i].begin && pc < watch->modules.items[i].end)
			return &watch->modules.items[i];
	return NULL;
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

/* The object of a file, read once. A file that cannot be read has no rows and no names. */
static struct err *object_find(struct watch *watch, const char *key, const char *path,
			       uint32_t *object_ret)
{
	CLEAN(elf_file_close) struct elf_file *file = NULL;
	const uint32_t id = interner_put(&watch->keys, key, strlen(key));
	struct watch_object *object;

	if (id == UINT32_MAX)
		return err_nomem();
	*object_ret = id;
	if (id < watch->objects.count)
		return NULL;
	object = watch_objects_add(&watch->objects);
	if (!object)
		return err_nomem();
	*object = (struct watch_object) { 0 };
	err_destroy(elf_file_open(path, &file));
	return file && file->is_64 ? object_read(watch, file, object) : NULL;
}

/* --- a process ------------------------------------------------------------------------------- */

/* Also when another file has been loaded there before. */
static struct err *module_add(struct watch *watch, pid_t pid, const struct maps *maps,
			      const struct capture_module *found)
{
	const struct maps_entry *entry = maps_find(maps, found->begin);
	const struct watch_module *before = watch_module_find(watch, found->begin);
	struct watch_module module = { found->begin, found->end, found->bias, NULL, 0 };
	CLEAN(str_deinit) struct str file = { 0 };
	CLEAN(str_deinit) struct str key = { 0 };
	struct err *err;

	if (!entry)
		return NULL;
	watch_module_file(pid, entry->begin, entry->end, &file);
	str_printf(&key, "%llu %s", (unsigned long long)entry->inode, found->path);
	if (file.failed || key.failed)
		return err_nomem();
	err = object_find(watch, str_text(&key), str_text(&file), &module.object);
	if (err)
		return err;
	if (before && before->begin == module.begin && before->object == module.object)
		return NULL;
	module.path = arena_strdup(&watch->arena, found->path);
	return module.path && watch_modules_push(&watch->modules, module) ? NULL : err_nomem();
}

/* The ranges that are there now, behind all others: a walk under way sees the old ones or these. */
static struct err *put_ranges(struct watch *watch, pid_t pid, const struct capture_stacks *stacks)
{
	struct probes_process process = { .first_range = watch->next_range };
	struct err *err = NULL;

	for (size_t i = 0; i < stacks->modules.count && !err; i++) {
		const struct watch_module *module =
			watch_module_find(watch, stacks->modules.items[i].begin);
		const struct watch_object *object =
			module ? &watch->objects.items[module->object] : NULL;
		const struct probes_range range = {
			module ? module->begin : 0,	module ? module->end : 0,
			module ? module->bias : 0,	object ? object->first_row : 0,
			object ? object->row_count : 0,
		};

		if (!module || object->row_count == 0)
			continue;
		if (process.range_count == PROBES_PROCESS_RANGES ||
		    watch->next_range == PROBES_RANGES_MAX) {
			watch->is_full = true;
			break;
		}
		err = kernel_put_range(watch->kernel, watch->next_range++, &range);
		process.range_count++;
	}
	return err ? err : kernel_put_process(watch->kernel, (uint32_t)pid, &process);
}

struct err *watch_read_process(struct watch *watch, pid_t pid)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	CLEAN(capture_stacks_deinit) struct capture_stacks stacks = { 0 };
	const struct memory memory = memory_of_process(pid);
	struct err *err = maps_read_briefly(pid, &maps);

	if (err)
		return err;
	if (!capture_stacks_init(&stacks))
		return err_nomem();
	err = objects_find(&maps, &memory, &stacks);
	for (size_t i = 0; i < stacks.modules.count && !err; i++)
		err = module_add(watch, pid, &maps, &stacks.modules.items[i]);
	return err ? err : put_ranges(watch, pid, &stacks);
}
