#include "scan/safe.h"

#include <assert.h>
#include <sys/syscall.h>

#include "scan/objects.h"
#include "scan/stack_frames.h"

enum { CODE_BYTES_MAX = 64 << 20, STACK_BYTES_MAX = 8 << 20 };

/* Addresses of code. */
struct range {
	uint64_t begin, end;
};

struct object {
	const struct capture_module *module;
	struct exports exports;
	bool is_loader;
	bool is_libc, is_musl;
	struct range malloc, loader; /* its allocator, and of musl its loader; empty: it has none */
};

struct safe {
	struct memory memory;
	struct living living;	/* its objects */
	struct object *objects; /* of each of its modules */
	struct frame_tables *tables;
	const struct object *musl; /* NULL: the C library is another one */
	uint64_t trampoline;	   /* where it returns from signal handlers */
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
 * the functions before and behind that others have. As do those of musl's loader.
 */
static struct range find_range(const struct object *object, const char *const *names, size_t count)
{
	const struct exports *exports = &object->exports;
	uint64_t low = UINT64_MAX, high = 0, begin = 0, end = UINT64_MAX;

	for (size_t i = 0; i < count; i++) {
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
	return (struct range) { object->module->bias + begin,
				end == UINT64_MAX ? object->module->end
						  : object->module->bias + end };
}

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
	static const char *const loader_names[] = { "dlopen", "dladdr", "dl_iterate_phdr" };

	if (!exports_find(&object->exports, "malloc"))
		return;
	object->malloc = object->is_libc
				 ? find_range(object, names, array_size(names))
				 : (struct range) { object->module->begin, object->module->end };
	if (object->is_musl)
		object->loader = find_range(object, loader_names, array_size(loader_names));
}

static bool is_in(const struct range *range, uint64_t pc)
{
	return pc >= range->begin && pc < range->end;
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
		object->is_musl = objects_is_musl(object->module->path);
		object->is_loader = strncmp(name, "ld-", 3) == 0 && !object->is_musl;
		if (!exports_read(object->module->path, &object->exports))
			return false;
		find_allocator(object);
		if (object->is_musl && exports_find(&object->exports, "dlopen"))
			safe->musl = object;
	}
	return true;
}

/* False: what is read is not the code of a C library that is known. */
static bool find_trampoline(struct safe *safe)
{
	const struct capture_module *module = safe->musl->module;
	const size_t bytes = module->end - module->begin;
	CLEAN(free) uint8_t *code = bytes < CODE_BYTES_MAX ? malloc(bytes + 1) : NULL;
	const uint8_t *found = NULL;

	if (code)
		found = memmem(code,
			       safe->memory.read(safe->memory.context, module->begin, code, bytes),
			       arch_trampolines[0].code, arch_trampolines[0].bytes);
	safe->trampoline = found ? module->begin + (uint64_t)(found - code) : 0;
	return found != NULL;
}

struct err *safe_no_libc(pid_t pid)
{
	return err_new(ERR_UNSUPPORTED,
		       "process %d cannot be attached to: it is statically linked, or its C "
		       "library is neither glibc 2.34 or later nor musl; start it with `memtape "
		       "record` instead, if it is linked dynamically",
		       (int)pid);
}

bool safe_has_dlopen(const struct exports *libc, bool is_musl)
{
	return exports_find(libc, "dlopen") &&
	       (is_musl || exports_find(libc, "gnu_get_libc_version"));
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
	if (!safe_dlopen(safe) || (safe->musl && !find_trampoline(safe)))
		return safe_no_libc(pid);
	*safe_ret = steal(safe);
	return NULL;
}

uint64_t safe_function_end(const struct safe *safe, uint64_t begin, const char **name_ret)
{
	for (size_t i = 0; i < safe->living.stacks.modules.count; i++) {
		const struct object *object = &safe->objects[i];
		const struct exports *exports = &object->exports;

		if (begin < object->module->begin || begin >= object->module->end)
			continue;
		for (size_t k = 0; k < exports->functions.count; k++) {
			const struct exports_function *function = &exports->functions.items[k];

			if (object->module->bias + function->begin != begin)
				continue;
			*name_ret = exports_name(exports, function->begin);
			return function->end > function->begin
				       ? object->module->bias + function->end
				       : 0;
		}
	}
	return 0;
}

uint64_t safe_dlopen(const struct safe *safe)
{
	for (size_t i = 0; i < safe->living.stacks.modules.count; i++) {
		const struct object *object = &safe->objects[i];

		if (object->is_libc && !object->is_loader &&
		    safe_has_dlopen(&object->exports, object->is_musl))
			return object->module->bias +
			       exports_find(&object->exports, "dlopen")->begin;
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

enum { MUSL_LOADER = 1 << 8 }; /* beside enum safe_lock: see locks_by_words() */

struct look {
	const struct safe *safe;
	unsigned locks;
	bool has_handler; /* of a signal */
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
		if (is_in(&object->loader, pc) ||
		    (object->is_musl && name && strncmp(name, "dl", 2) == 0))
			look->locks |= MUSL_LOADER;
		else if (object->is_loader || (name && is_busy(name)))
			look->locks |= SAFE_LOADER;
		if (is_in(&object->malloc, pc))
			look->locks |= SAFE_ALLOCATOR;
		look->has_handler |= pc + 1 == look->safe->trampoline;
	}
	return true;
}

/* In a call that neither an allocator nor a loader makes. */
static bool is_waiting(const struct stop_thread *thread)
{
	static const uint64_t numbers[] = {
		SYS_clock_nanosleep,
		SYS_ppoll,
		SYS_pselect6,
		SYS_epoll_pwait,
		SYS_rt_sigsuspend,
		SYS_rt_sigtimedwait,
		SYS_accept4,
		SYS_recvfrom,
		SYS_recvmsg,
		SYS_wait4,
		SYS_waitid,
		SYS_nanosleep,
#ifdef SYS_poll
		SYS_poll,
		SYS_select,
		SYS_pause,
		SYS_epoll_wait,
		SYS_accept,
#endif
	};

	for (size_t i = 0; i < array_size(numbers); i++)
		if (thread->registers[ARCH_REGSET_NUMBER] == numbers[i])
			return true;
	return false;
}

/*
 * musl has no unwind tables. A function that is running has its return address on the stack, so
 * every word counts as one: also old ones, which is on the safe side. Of its allocator and loader
 * those would be everywhere; a thread that waits is not in there, for musl has no lock while the
 * program's functions run, unless in the handler of a signal that came when it was.
 */
static unsigned locks_by_words(struct safe *safe, uint64_t end, const struct stop_thread *thread)
{
	const uint64_t sp = thread->registers[ARCH_REGSET_SP] & ~UINT64_C(7);
	const size_t bytes = end - sp;
	CLEAN(free) uint64_t *words = bytes < STACK_BYTES_MAX ? malloc(bytes + 1) : NULL;
	struct look look = { .safe = safe };

	if (!words || !memory_read(&safe->memory, sp, words, bytes))
		return SAFE_LOADER | SAFE_ALLOCATOR;
	see(&look, thread->registers[ARCH_REGSET_PC]);
	for (size_t i = 0; i < bytes / sizeof(*words); i++)
		see(&look, words[i] - 1);
	if (is_waiting(thread) && !look.has_handler)
		look.locks &= ~(unsigned)(SAFE_ALLOCATOR | MUSL_LOADER);
	return look.locks & MUSL_LOADER ? look.locks | SAFE_LOADER : look.locks;
}

unsigned safe_locks(struct safe *safe, const struct maps *maps, const struct stop_thread *thread)
{
	const struct maps_entry *stack = maps_find(maps, thread->registers[ARCH_REGSET_SP]);
	struct look look = { .safe = safe };

	assert(thread->is_stopped);
	if (stack && safe->musl)
		return locks_by_words(safe, stack->end, thread);
	return stack && stack_frames_walk(safe->tables, &safe->memory, thread, stack->end, see,
					  &look)
		       ? look.locks
		       : SAFE_LOADER | SAFE_ALLOCATOR;
}
