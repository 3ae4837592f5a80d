#include "scan/safe.h"

#include <assert.h>

#include "scan/objects.h"
#include "scan/stack_frames.h"

struct object {
	const struct capture_module *module;
	struct exports exports;
	bool is_loader;
	bool is_libc;
	uint64_t malloc_begin, malloc_end; /* addresses of its allocator; equal: it has none */
};

struct safe {
	struct memory memory;
	struct living living;	/* its objects */
	struct object *objects; /* of each of its modules */
	struct frame_tables *tables;
};

void safe_destroy(struct safe *safe)
{
	if (!safe)
		return;
	for (size_t i = 0; safe->objects && i < safe->living.stacks.modules.count; i++)
		exports_deinit(&safe->objects[i].exports);
	free(safe->objects);
	frame_tables_destroy(safe->tables);
	living_deinit(&safe->living);
	free(safe);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Functions of an allocator stand together in libc, with static ones between and around them: up to
 * the functions before and behind that others have.
 */
static void find_allocator(struct object *object)
{
	static const char *const names[] = { "malloc",
					     "free",
					     "calloc",
					     "realloc",
					     "memalign",
					     "aligned_alloc",
					     "posix_memalign",
					     "malloc_trim",
					     "mallopt",
					     "malloc_info",
					     "malloc_usable_size" };
	const struct exports *exports = &object->exports;
	uint64_t low = UINT64_MAX, high = 0, begin = 0, end = UINT64_MAX;

	if (!exports_find(exports, "malloc"))
		return;
	for (size_t i = 0; i < array_size(names); i++) {
		const struct exports_function *function = exports_find(exports, names[i]);

		if (function) {
			low = u64_min(low, function->begin);
			high = u64_max(high, function->end);
		}
	}
	for (size_t i = 0; i < exports->functions.count; i++) {
		const struct exports_function *function = &exports->functions.items[i];

		if (function->end <= low)
			begin = u64_max(begin, function->end);
		if (function->begin >= high)
			end = u64_min(end, function->begin);
	}
	object->malloc_begin = object->module->bias + begin;
	object->malloc_end = object->is_libc ? object->module->bias + end : object->module->end;
	if (!object->is_libc)
		object->malloc_begin = object->module->begin;
}

static bool read_objects(struct safe *safe)
{
	const struct capture_module_vec *modules = &safe->living.stacks.modules;

	safe->objects = calloc(modules->count + 1, sizeof(*safe->objects));
	if (!safe->objects)
		return false;
	for (size_t i = 0; i < modules->count; i++) {
		struct object *object = &safe->objects[i];
		const char *name = last_part(modules->items[i].path);

		object->module = &modules->items[i];
		object->is_libc = objects_is_libc(object->module->path);
		object->is_loader = strncmp(name, "ld-", 3) == 0;
		if (!exports_read(object->module->path, &object->exports))
			return false;
		find_allocator(object);
	}
	return true;
}

struct err *safe_create(pid_t pid, const char *root, const struct maps *maps,
			const struct memory *memory, struct safe **safe_ret)
{
	CLEAN(safe_destroy) struct safe *safe = calloc(1, sizeof(*safe));
	struct err *err;

	if (!safe)
		return err_nomem();
	safe->memory = *memory;
	if (!capture_stacks_init(&safe->living.stacks))
		return err_nomem();
	err = objects_find(root, maps, memory, &safe->living.stacks);
	if (err)
		return err;
	safe->tables = frame_tables_create(&safe->living);
	if (!safe->tables || !read_objects(safe))
		return err_nomem();
	if (!safe_dlopen(safe))
		return err_new(ERR_UNSUPPORTED,
			       "process %d cannot be attached to: it is statically linked, or its "
			       "C library is not glibc 2.34 or later; start it with `memtape "
			       "record` instead, if it is linked dynamically",
			       (int)pid);
	*safe_ret = steal(safe);
	return NULL;
}

uint64_t safe_dlopen(const struct safe *safe)
{
	for (size_t i = 0; i < safe->living.stacks.modules.count; i++) {
		const struct object *object = &safe->objects[i];
		const struct exports_function *function =
			object->is_libc && !object->is_loader
				? exports_find(&object->exports, "dlopen")
				: NULL;

		if (function && exports_find(&object->exports, "gnu_get_libc_version"))
			return object->module->bias + function->begin;
	}
	return 0;
}

/* Of libc, that hold a lock which loading takes, or are about to end the thread or the process. */
static bool is_busy(const char *name)
{
	static const char *const names[] = { "dl_iterate_phdr",
					     "dlopen",
					     "dlmopen",
					     "dlclose",
					     "dlsym",
					     "dlvsym",
					     "dladdr",
					     "dladdr1",
					     "dlinfo",
					     "dlerror",
					     "pthread_create",
					     "pthread_exit",
					     "pthread_detach",
					     "pthread_getattr_np",
					     "pthread_attr_setaffinity_np",
					     "fork",
					     "_Fork",
					     "vfork",
					     "posix_spawn",
					     "posix_spawnp",
					     "exit",
					     "quick_exit",
					     "_exit",
					     "atexit",
					     "on_exit",
					     "__cxa_atexit",
					     "__cxa_finalize",
					     "__register_atfork",
					     "pthread_atfork",
					     "execve",
					     "iconv_open",
					     "setuid",
					     "setgid",
					     "setresuid",
					     "setresgid" };

	for (size_t i = 0; i < array_size(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

struct look {
	const struct safe *safe;
	unsigned locks;
};

static bool see(void *context, uint64_t pc)
{
	struct look *look = context;

	for (size_t i = 0; i < look->safe->living.stacks.modules.count; i++) {
		const struct object *object = &look->safe->objects[i];
		const char *name;

		if (pc < object->module->begin || pc >= object->module->end)
			continue;
		name = object->is_libc ? exports_name(&object->exports, pc - object->module->bias)
				       : NULL;
		if (object->is_loader || (name && is_busy(name)))
			look->locks |= SAFE_LOADER;
		if (pc >= object->malloc_begin && pc < object->malloc_end)
			look->locks |= SAFE_ALLOCATOR;
	}
	return true;
}

unsigned safe_locks(struct safe *safe, const struct maps *maps, const struct stop_thread *thread)
{
	const struct maps_entry *stack = maps_find(maps, thread->registers[ARCH_REGSET_SP]);
	struct look look = { .safe = safe };

	assert(thread->is_stopped);
	return stack && stack_frames_walk(safe->tables, &safe->memory, thread, stack->end, see,
					  &look)
		       ? look.locks
		       : SAFE_LOADER | SAFE_ALLOCATOR;
}
