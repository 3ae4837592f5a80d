/*
 * launch: how the sender becomes a process that the program does not notice.
 *
 * A first process is made as by vfork: it runs in the program's memory while the calling thread waits. It
 * has a copy of the descriptors, closes all but two, makes the sender with what is left, and ends; it is
 * waited for here, by a flag without which it can be waited for by nobody. The sender is nobody's child
 * then. Where orphans become children of the program itself (it is the first process of a container,
 * or asked for that), it is made its child at once: one that sends no signal, neither to it nor to a
 * program that it becomes, and that wait() does not find.
 *
 * The sender has a copy of the memory, and gives back all of it that is not needed to run: else every
 * page that the program changes would be kept twice.
 */
#include "stream/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "core/sys.h"
#include "stream/sender.h"

#include "core/poison.h"

enum {
	/* of clone() */
	WITH_MEMORY = 0x100,
	WITH_FILES = 0x400,
	AS_VFORK = 0x4000,
	WITH_PARENT = 0x8000,
	UNTRACED = 0x800000,
	WAIT_ALL = 0x40000000,	/* __WALL of wait4() */
	CALL_CLOSE_RANGE = 436, /* the same for all processors */
	GET_SUBREAPER = 37,	/* of prctl() */
	SET_NAME = 15,
	DONT_FORK = 10,
	FDS_MAX = 65536,
	RANGES = 6,
	STACK_BELOW = 256 << 10,
	STACK_ABOVE = 64 << 10,
	ALIGNMENT = 64 << 10
};

/* The kernel's struct robust_list_head, and the one lock that is in it. */
struct robust {
	struct robust_node {
		struct robust_node *next;
	} head;
	long offset; /* from a node to its word */
	struct robust_node *pending;
	struct robust_node node;
};

struct launch {
	struct sender sender;
	struct stream_range kept[RANGES];
	struct robust robust;
	size_t page_bytes;
	int child_flags;
	int32_t pid; /* of the sender */
};

/* --- memory that is needed to run ---------------------------------------------------------- */

struct object_wanted {
	uint64_t address;
	struct stream_range found;
};

static int object_look(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct object_wanted *wanted = context;
	struct stream_range range = { UINT64_MAX, 0 };

	(void)bytes;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const uint64_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		range.begin = u64_min(range.begin, begin);
		range.end = u64_max(range.end, begin + info->dlpi_phdr[i].p_memsz);
	}
	if (wanted->address < range.begin || wanted->address >= range.end)
		return 0;
	wanted->found = range;
	return 1;
}

/* The loaded object in which something is: this library, and the C library for memcpy and the like. */
static struct stream_range object_of(uint64_t address)
{
	struct object_wanted wanted = { .address = address };

	dl_iterate_phdr(object_look, &wanted);
	return wanted.found;
}

static void objects_find(struct stream_objects *objects)
{
	if (objects->libc.end)
		return;
	objects->own = object_of((uintptr_t)&stream_begin);
	objects->libc = object_of((uintptr_t)&memcpy);
}

static void ranges_sort(struct stream_range *ranges)
{
	for (unsigned i = 1; i < RANGES; i++)
		for (unsigned k = i; k > 0 && ranges[k].begin < ranges[k - 1].begin; k--) {
			const struct stream_range other = ranges[k];

			ranges[k] = ranges[k - 1];
			ranges[k - 1] = other;
		}
}

/* The end of what a program may have; some machines have less than the processor could. */
static void rest_unmap(uint64_t begin)
{
	for (unsigned bits = ARCH_ADDRESS_BITS; bits > 35; bits--) {
		const uint64_t end = (UINT64_C(1) << bits) - 4096;

		if (end <= begin ||
		    sys_munmap((void *)(uintptr_t)begin, (size_t)(end - begin)) == 0)
			return;
	}
}

static __attribute__((noinline)) void others_unmap(struct launch *launch)
{
	const uint64_t sp = (uintptr_t)__builtin_frame_address(0) & -(uint64_t)ALIGNMENT;
	uint64_t at = 0;

	launch->kept[RANGES - 1] = (struct stream_range) { sp - STACK_BELOW, sp + STACK_ABOVE };
	ranges_sort(launch->kept);
	for (unsigned i = 0; i < RANGES; i++) {
		const uint64_t begin = launch->kept[i].begin & -(uint64_t)launch->page_bytes;

		if (begin > at)
			sys_munmap((void *)(uintptr_t)at, (size_t)(begin - at));
		at = u64_max(at, (launch->kept[i].end + ALIGNMENT - 1) & -(uint64_t)ALIGNMENT);
	}
	rest_unmap(at);
}

/* --- the sender ---------------------------------------------------------------------------- */

static _Noreturn void leave(int status)
{
	for (;;)
		SYS_CALL1(SYS_exit_group, status);
}

/* The kernel says in the word when we are gone, however we end. */
static void owner_set(struct launch *launch)
{
	struct robust *robust = &launch->robust;
	uint32_t *word = &launch->sender.shared->owner;

	robust->node.next = &robust->head;
	robust->head.next = &robust->node;
	robust->offset = (long)word - (long)&robust->node;
	if (SYS_CALL2(SYS_set_robust_list, &robust->head, 3 * sizeof(long)) == 0)
		__atomic_store_n(word, (uint32_t)sys_gettid(), __ATOMIC_RELEASE);
}

static __attribute__((noinline)) _Noreturn void sender_live(struct launch *launch)
{
	SYS_CALL0(SYS_setsid);
	SYS_CALL1(SYS_chdir, "/");
	SYS_CALL2(SYS_prctl, SET_NAME, "memtape-stream");
	others_unmap(launch);
	owner_set(launch);
	sender_run(&launch->sender);
	leave(0);
}

static void fds_close_range(unsigned first, unsigned last)
{
	if (first > last || SYS_CALL3(CALL_CLOSE_RANGE, first, last, 0) == 0)
		return;
	for (unsigned fd = first; fd <= last && fd < FDS_MAX; fd++)
		sys_close((int)fd);
}

static void fds_close_others(int one, int other)
{
	const int low = one < other ? one : other, high = one < other ? other : one;

	if (low > 0)
		fds_close_range(0, (unsigned)low - 1);
	if (high > low + 1)
		fds_close_range((unsigned)(low + 1), (unsigned)high - 1);
	fds_close_range((unsigned)high + 1, UINT32_MAX);
}

/* In the program's memory, while its thread waits: nothing of that may be changed here. */
static __attribute__((noinline)) _Noreturn void first_live(struct launch *launch)
{
	long pid;

	fds_close_others(launch->sender.tape_fd, launch->sender.life.fd);
	pid = SYS_CALL2(SYS_clone, launch->child_flags, 0);
	if (pid == 0)
		sender_live(launch);
	launch->pid = (int32_t)pid;
	leave(pid < 0);
}

static __attribute__((noinline)) long first_make(struct launch *launch)
{
	const long pid = SYS_CALL2(SYS_clone, WITH_MEMORY | AS_VFORK | UNTRACED, 0);

	if (pid == 0)
		first_live(launch);
	return pid;
}

static bool orphans_are_ours(void)
{
	int is_reaper = 0;

	SYS_CALL2(SYS_prctl, GET_SUBREAPER, &is_reaper);
	return is_reaper || sys_getpid() == 1;
}

static int processes_make(struct launch *launch)
{
	int status = -1;
	long pid;

	launch->child_flags = WITH_FILES | UNTRACED | (orphans_are_ours() ? WITH_PARENT : 0);
	pid = first_make(launch);
	if (pid < 0)
		return (int)pid;
	SYS_CALL4(SYS_wait4, pid, &status, WAIT_ALL, NULL);
	if (launch->pid)
		return launch->pid < 0 ? launch->pid : 0;
	return status == 0 ? 0 : -ECHILD; /* an emulator may have made it as by fork */
}

/* --- the program's side -------------------------------------------------------------------- */

/* Where the kernel has none there is another way. */
static bool is_refused(int fd)
{
	return fd < 0 && fd != -ENOSYS;
}

/* A filter of system calls that ends who makes one: it ends another one than the program. */
static __attribute__((noinline)) long probe_make(void)
{
	const long pid = SYS_CALL2(SYS_clone, WITH_MEMORY | AS_VFORK | UNTRACED, 0);

	if (pid == 0)
		leave(is_refused(life_memory_file()));
	return pid;
}

static bool probe(void)
{
	int status = -1;
	const long pid = probe_make();

	return pid > 0 && SYS_CALL4(SYS_wait4, pid, &status, WAIT_ALL, NULL) == pid && status == 0;
}

static bool shared_make(struct stream *stream)
{
	const long map = sys_mmap(NULL, stream->page_bytes, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (sys_failed(map))
		return false;
	stream->shared = (struct stream_shared *)map;
	return true;
}

static struct launch *launch_make(const struct stream *stream,
				  const struct stream_settings *settings, const struct life *life)
{
	struct launch *launch = sys_map_private(sizeof(*launch));
	struct sender *sender;
	uint64_t shared = (uintptr_t)stream->shared, region = (uintptr_t)settings->region;

	if (!launch)
		return NULL;
	launch->page_bytes = stream->page_bytes;
	sender = &launch->sender;
	sender->target = *settings->target;
	sender->token = *settings->token;
	sender->shared = stream->shared;
	sender->tape_fd = settings->tape_fd;
	sender->life = *life;
	sender->region = settings->region;
	sender->region_bytes = settings->region_bytes;
	memcpy(sender->program, settings->program,
	       strnlen(settings->program, sizeof(sender->program) - 1));
	objects_find(settings->objects);
	launch->kept[0] = settings->objects->own;
	launch->kept[1] = settings->objects->libc;
	launch->kept[2] = (struct stream_range) { (uintptr_t)launch, (uintptr_t)(launch + 1) };
	launch->kept[3] = (struct stream_range) { shared, shared + stream->page_bytes };
	launch->kept[4] = (struct stream_range) { region, region + settings->region_bytes };
	return launch;
}

int stream_begin(struct stream *stream, const struct stream_settings *settings)
{
	const uint64_t all = UINT64_MAX;
	struct launch *launch = NULL;
	uint64_t saved;
	struct life life = { .fd = -1 };
	int rc;

	*stream = (struct stream) { .page_bytes = settings->page_bytes };
	SYS_CALL4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &saved, 8);
	rc = settings->may_probe && !probe() ? -EPERM : 0;
	if (rc == 0)
		rc = life_make(&life, stream->page_bytes, &stream->life);
	if (rc == 0)
		rc = shared_make(stream) ? 0 : -ENOMEM;
	if (rc == 0)
		launch = launch_make(stream, settings, &life);
	if (rc == 0)
		rc = !launch ? -ENOMEM : launch->kept[1].end ? processes_make(launch) : -ENOEXEC;
	if (rc == 0) {
		stream->pid = launch->pid;
		sys_madvise(stream->shared, stream->page_bytes, DONT_FORK);
	}
	if (life.fd >= 0)
		sys_close(life.fd);
	if (launch)
		sys_munmap(launch, sizeof(*launch));
	SYS_CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &saved, NULL, 8);
	if (rc < 0)
		stream_forget(stream, true);
	return rc;
}

enum stream_state stream_state(const struct stream *stream)
{
	CHECK(stream->shared);
	return (enum stream_state)atomic_load(&stream->shared->state);
}

/* Where the kernel does not say it in the word, there is none: then it is asked for the process. */
bool stream_is_dead(const struct stream *stream, bool may_ask)
{
	const uint32_t owner = __atomic_load_n(&stream->shared->owner, __ATOMIC_ACQUIRE);

	if (owner)
		return owner & STREAM_OWNER_DIED;
	return may_ask && SYS_CALL2(SYS_kill, stream->pid, 0) == -ESRCH;
}

void stream_forget(struct stream *stream, bool is_mapped)
{
	if (is_mapped && stream->life)
		sys_munmap(stream->life, stream->page_bytes);
	if (is_mapped && stream->shared)
		sys_munmap(stream->shared, stream->page_bytes);
	*stream = (struct stream) { 0 };
}

void stream_end(struct stream *stream)
{
	CHECK(stream->shared);
	atomic_store(&stream->shared->is_ending, 1);
}

const char *stream_complaint(enum stream_state state)
{
	switch (state) {
	case STREAM_BEGUN:
	case STREAM_CONNECTED:
	case STREAM_DONE:
		return NULL;
	case STREAM_REFUSED:
		return "the gatherer refuses it: ";
	case STREAM_NOT_A_GATHERER:
		return "there is no `memtape gather` at that address";
	case STREAM_WANTS_TLS:
		return "the gatherer speaks TLS, which the recorder alone does not";
	case STREAM_OTHER_VERSION:
		return "the gatherer has another version";
	case STREAM_WANTS_TOKEN:
		return "the gatherer wants a token: MEMTAPE_TOKEN_FILE names its file";
	case STREAM_HAS_NO_TOKEN:
		return "the gatherer has no token; nothing was sent to it";
	case STREAM_WRONG_TOKEN:
		return "the gatherer has another token";
	case STREAM_IS_NO_FRIEND:
		return "the gatherer does not know the token; nothing was sent to it";
	case STREAM_UNEQUAL:
		return "what the gatherer has differs from the tape";
	case STREAM_LOST_PLACE:
		return "the gatherer has lost what it had, and here it is not any more either";
	case STREAM_NO_TAPE:
		return "it cannot be read here any more";
	case STREAM_NO_PORT:
		return "there is no port that could be listened on";
	}
	return NULL;
}
