/*
 * oracle: takes the stack of every allocation and free a second time, with an unwinder that is not
 * ours, and writes it to the file named by ORACLE_OUTPUT. To be preloaded *behind* the recorder:
 * then both see the same call of the same process, and every stack on the tape must be the
 * oracle's.
 *
 * A record: u32 kind (1 allocation, 2 free), u32 thread id, u64 address, u64 frame count, u64
 * program counters, innermost first. Frames of the recorder, of this library and of operator new
 * above malloc are left out: the first frame is the caller of the hooked function.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#ifndef ORACLE_LIBGCC /* no other unwinder is there */
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#else
static int unw_backtrace(void **frames, int count)
{
	(void)frames;
	return count - count;
}
#endif

/* A function may not jump to another one through its table of addresses there. */
#if defined(__mips__) || defined(__i386__)
enum { BETWEEN_FREE = 1 };
#else
enum { BETWEEN_FREE = 0 };
#endif

#define EXPORT __attribute__((visibility("default")))

enum { ALLOCATED = 1, FREED = 2, FRAMES_MAX = 2048, OWN_FRAMES_MAX = 12 };

struct range {
	uintptr_t begin, end;
};

struct walk {
	void **frames;
	int count;
};

#ifndef ORACLE_MUSL
void *__libc_malloc(size_t size);
void __libc_free(void *block);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t align, size_t size);
#else /* which shows no such names; its calloc() calls malloc(), which is no call of the program's */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define ALONE(call)                                                                                \
	({                                                                                         \
		const bool was_inside = inside;                                                    \
		void *block_of_it;                                                                 \
		inside = true;                                                                     \
		block_of_it = (call);                                                              \
		inside = was_inside;                                                               \
		block_of_it;                                                                       \
	})
#define __libc_malloc(size)	     NEXT(malloc)(size)
#define __libc_free(block)	     NEXT(free)(block)
#define __libc_calloc(count, size)   ALONE(NEXT(calloc)(count, size))
#define __libc_realloc(block, size)  ALONE(NEXT(realloc)(block, size))
#define __libc_memalign(align, size) ALONE(NEXT(aligned_alloc)(align, size))

/* What libgcc, which is linked in, takes from a glibc of its time: where an object's tables are. */
struct found_object {
	unsigned long long flags;
	void *begin, *end;
	void *link_map, *tables;
};

struct wanted_object {
	uintptr_t address;
	struct found_object found;
};

static int look_for_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct wanted_object *wanted = arg;
	struct found_object found = { 0 };
	bool is_it = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		const uintptr_t begin = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type == PT_GNU_EH_FRAME)
			found.tables = (void *)begin;
		if (phdr->p_type != PT_LOAD || wanted->address < begin ||
		    wanted->address >= begin + phdr->p_memsz)
			continue;
		is_it = true;
		found.begin = (void *)begin;
		found.end = (void *)(begin + phdr->p_memsz);
	}
	if (!is_it || !found.tables)
		return 0;
	wanted->found = found;
	return 1;
}

int _dl_find_object(void *address, struct found_object *found_ret)
{
	struct wanted_object wanted = { .address = (uintptr_t)address };

	if (!dl_iterate_phdr(look_for_object, &wanted))
		return -1;
	*found_ret = wanted.found;
	return 0;
}
#endif

/* Of libgcc by name: libunwind has functions of these names, too. */
static _Unwind_Reason_Code (*libgcc_backtrace)(_Unwind_Trace_Fn note, void *arg);
static uintptr_t (*libgcc_get_ip)(struct _Unwind_Context *context);

#ifdef __ARM_EABI__ /* there it is a macro: register 15, without the bit that says which code it is */
static _Unwind_VRS_Result (*libgcc_get)(struct _Unwind_Context *, _Unwind_VRS_RegClass, uint32_t,
					_Unwind_VRS_DataRepresentation, void *);

static uintptr_t get_ip(struct _Unwind_Context *context)
{
	uint32_t value = 0;

	libgcc_get(context, _UVRSC_CORE, 15, _UVRSD_UINT32, &value);
	return value & ~1u;
}
#endif

static int output = -1;
static pid_t recorded_process; /* forked children are not looked at */
static struct range ranges[4]; /* the recorder, this library, libstdc++ */
static __thread bool inside __attribute__((tls_model("initial-exec")));

static const char *const RANGE_NAMES[] = { "libmemtape", "oracle", "libstdc++" };

static bool within(const struct range *range, const void *pc)
{
	return (uintptr_t)pc >= range->begin && (uintptr_t)pc < range->end;
}

static int note_range(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (size_t i = 0; i < 3; i++) {
		if (!strstr(info->dlpi_name, RANGE_NAMES[i]))
			continue;
		for (int j = 0; j < info->dlpi_phnum; j++) {
			const ElfW(Phdr) *phdr = &info->dlpi_phdr[j];

			if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_X) {
				ranges[i].begin = info->dlpi_addr + phdr->p_vaddr;
				ranges[i].end = ranges[i].begin + phdr->p_memsz;
			}
		}
	}
	return 0;
}

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *arg)
{
	struct walk *walk = arg;
	uintptr_t pc = libgcc_get_ip(context);

	if (walk->count == FRAMES_MAX || !pc)
		return _URC_END_OF_STACK;
	walk->frames[walk->count++] = (void *)pc;
	return _URC_NO_REASON;
}

static int walk_stack(void **frames)
{
	struct walk walk = { frames, 0 };

	if (!libgcc_backtrace)
		return unw_backtrace(frames, FRAMES_MAX);
	libgcc_backtrace(note_frame, &walk);
	return walk.count;
}

/*
 * How many of the innermost frames belong to the hook. One operator new of libstdc++ may stand
 * between two hooks; two of its frames are its own allocation, of an exception for instance.
 * Nothing stands between a free and its hook, where operator delete jumps to free.
 */
static int own_frames(uint32_t kind, void **frames, int count)
{
	int own = 0, others = kind == FREED && !BETWEEN_FREE;

	for (int i = 0; i < count && i < OWN_FRAMES_MAX; i++) {
		if (within(&ranges[0], frames[i]) || within(&ranges[1], frames[i]))
			own = i + 1, others = kind == FREED && !BETWEEN_FREE;
		else if (++others > 1 || !within(&ranges[2], frames[i]))
			break;
	}
	return own;
}

static void note(uint32_t kind, const void *address)
{
	void *frames[FRAMES_MAX];
	uint64_t pcs[FRAMES_MAX];
	int count, own;
	struct {
		uint32_t kind, thread;
		uint64_t address, count;
	} head;

	if (output < 0 || inside || !address || getpid() != recorded_process)
		return;
	inside = true;
	count = walk_stack(frames);
	own = own_frames(kind, frames, count);
	head.kind = kind;
	head.thread = (uint32_t)syscall(SYS_gettid);
	head.address = (uintptr_t)address;
	head.count = (uint64_t)(count - own);
	for (int i = own; i < count; i++)
		pcs[i - own] = (uintptr_t)frames[i];
	struct iovec parts[2] = {
		{ &head, sizeof(head) },
		{ pcs, (size_t)head.count * sizeof(pcs[0]) },
	};
	if (writev(output, parts, 2) < 0)
		_exit(97);
	inside = false;
}

EXPORT void *malloc(size_t size)
{
	void *block = __libc_malloc(size);

	note(ALLOCATED, block);
	return block;
}

EXPORT void free(void *block)
{
	note(FREED, block);
	__libc_free(block);
}

EXPORT void *calloc(size_t count, size_t size)
{
	void *block = __libc_calloc(count, size);

	note(ALLOCATED, block);
	return block;
}

EXPORT void *realloc(void *block, size_t size)
{
	void *moved;

	note(FREED, block);
	moved = __libc_realloc(block, size);
	note(ALLOCATED, moved);
	return moved;
}

EXPORT void *memalign(size_t align, size_t size)
{
	void *block = __libc_memalign(align, size);

	note(ALLOCATED, block);
	return block;
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
	void *block = __libc_memalign(align, size);

	note(ALLOCATED, block);
	return block;
}

EXPORT int posix_memalign(void **block_ret, size_t align, size_t size)
{
	void *block;

	if (align % sizeof(void *) || !align || (align & (align - 1)))
		return 22;
	block = __libc_memalign(align, size);
	note(ALLOCATED, block);
	if (!block)
		return 12;
	*block_ret = block;
	return 0;
}

static void find_libgcc(void)
{
#ifdef ORACLE_MUSL
	libgcc_get_ip = _Unwind_GetIP;
	libgcc_backtrace = _Unwind_Backtrace;
}
#else
	void *handle = dlopen("libgcc_s.so.1", RTLD_NOW);

	if (!handle)
		_exit(96);
#ifdef __ARM_EABI__
	*(void **)&libgcc_get = dlsym(handle, "_Unwind_VRS_Get");
	libgcc_get_ip = get_ip;
#else
	*(void **)&libgcc_get_ip = dlsym(handle, "_Unwind_GetIP");
#endif
	*(void **)&libgcc_backtrace = dlsym(handle, "_Unwind_Backtrace");
}
#endif

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("ORACLE_OUTPUT");
	const char *unwinder = getenv("ORACLE_UNWINDER");
	void *frames[FRAMES_MAX];

	if (!path)
		return;
	recorded_process = getpid();
	if (unwinder && !strcmp(unwinder, "libgcc"))
		find_libgcc();
	inside = true;
	dl_iterate_phdr(note_range, NULL);
	walk_stack(frames); /* whatever it initialises, it does now */
	inside = false;
	unsetenv("ORACLE_OUTPUT");
	output = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC | O_APPEND, 0600);
	if (output >= 0) { /* out of the way of programs that expect low numbers */
		int high = fcntl(output, F_DUPFD_CLOEXEC, 700);

		close(output);
		output = high;
	}
}
