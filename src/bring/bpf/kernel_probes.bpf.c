/*
 * The programs that run in the kernel, at the entry and the return of functions that allocate, and
 * in those that free. Built for the BPF machine; kernel_load.c loads and attaches them.
 *
 * They read no structure of the kernel, so they are the same for each kernel that has what they call
 * (5.17: bpf_loop()).
 */
#include <linux/bpf.h>

#include <asm/ptrace.h>

#include <bpf/bpf_helpers.h>

#include "bpf/kernel_random.bpf.h"
#include "bpf/kernel_shared.h"

enum { KIND_SP = 1, KIND_BP, KIND_DEREF, KIND_SIGNAL, KIND_END }; /* enum unwind_kind */
enum { CONTEXT_BP = 120, CONTEXT_SP = 160, CONTEXT_PC = 168 };	  /* ARCH_CONTEXT_* */

char probes_license[] SEC("license") =
	"GPL"; /* what its helpers demand; the source is MIT as well */

const volatile __u64 sample_bytes = 0; /* one sample each so many bytes; 0: every block */
__u64 counts[PROBES_COUNTS];

struct task_struct;

struct walk {
	__u64 pc, sp, bp;
	__u64 hash;
	__u32 first_range, range_count;
	__u8 is_exact;
};

/* What a thread is at. */
struct thread {
	__u64 sp; /* of the call that is under way; 0: none */
	__u64 size;
	__u64 place;	    /* of posix_memalign */
	__u64 old;	    /* of realloc */
	__u64 until_sample; /* bytes */
	__u32 fn;
	__u8 has_old;
	__u8 is_sampling; /* until_sample is set */
	__u8 is_sample;	  /* the call's block is followed */
	struct probes_block old_block;
	struct walk walk;
	struct probes_stack stack;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 20);
	__type(key, struct probes_key);
	__type(value, struct probes_block);
} blocks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 16);
	__type(key, __u64);
	__type(value, struct probes_stack);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set before it is loaded */
	__type(key, __u32);
	__type(value, struct probes_row);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROBES_RANGES_MAX);
	__type(key, __u32);
	__type(value, struct probes_range);
} ranges SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 12);
	__type(key, __u32);
	__type(value, struct probes_process);
} processes SEC(".maps");

/* Processes whose code was not known somewhere: their mappings are read again. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 10);
	__type(key, __u32);
	__type(value, __u32);
} strangers SEC(".maps");

/* The verifier sees the comparison only of what the compiler takes for unknown. */
static __always_inline __u64 opaque(__u64 value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

static __always_inline void count(__u32 what)
{
	__u64 index = opaque(what);

	if (index < PROBES_COUNTS)
		__sync_fetch_and_add(&counts[index], 1);
}

/* --- unwinding ------------------------------------------------------------------------------- */

static __always_inline struct probes_range *range_find(const struct walk *walk, __u64 pc)
{
	__u32 low = walk->first_range, high = walk->first_range + walk->range_count;
	struct probes_range *found = 0;

	for (int i = 0; i < PROBES_RANGE_STEPS && low < high; i++) {
		__u32 middle = low + (high - low) / 2;
		struct probes_range *range = bpf_map_lookup_elem(&ranges, &middle);

		if (!range)
			return 0;
		if (range->begin <= pc) {
			found = range;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return found && pc < found->end ? found : 0;
}

static __always_inline __u32 rule_find(const struct probes_range *range, __u64 pc)
{
	__u32 low = range->first_row, high = range->first_row + range->row_count;
	__u32 in_object = pc - range->bias;
	__u32 rule = 0;

	for (int i = 0; i < PROBES_ROW_STEPS && low < high; i++) {
		__u32 middle = low + (high - low) / 2;
		struct probes_row *row = bpf_map_lookup_elem(&rows, &middle);

		if (!row)
			return 0;
		if (row->pc <= in_object) {
			rule = row->rule;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return rule;
}

static __always_inline int load(__u64 address, __u64 *ret)
{
	return bpf_probe_read_user(ret, sizeof(*ret), (const void *)address) == 0;
}

static __always_inline int step_signal(struct walk *walk, __u64 context)
{
	__u64 pc, sp, bp;

	if (!load(context + CONTEXT_PC, &pc) || !load(context + CONTEXT_SP, &sp) ||
	    !load(context + CONTEXT_BP, &bp))
		return PROBES_NO_MEMORY;
	walk->pc = pc;
	walk->sp = sp;
	walk->bp = bp;
	walk->is_exact = 1;
	return PROBES_WHOLE;
}

/* To the caller's frame; *is_end: there is none. */
static __always_inline int step(struct walk *walk, __u32 rule, int *is_end)
{
	__u32 kind = rule & 15, saved = rule >> 4 & 2047;
	__s64 offset = (__s64)(__s16)(rule >> 15 & 0xffff) * 8;
	__u64 cfa, bp = walk->bp, pc;

	if (kind == KIND_END) {
		*is_end = 1;
		return PROBES_WHOLE;
	}
	if (kind == KIND_SIGNAL)
		return step_signal(walk, walk->sp + (__u64)(rule >> 15 & 0xffff) * 8);
	if (kind == KIND_SP)
		cfa = walk->sp + (__u64)(rule >> 15 & 0xffff) * 8;
	else if (kind == KIND_BP)
		cfa = walk->bp + offset;
	else if (kind != KIND_DEREF)
		return PROBES_NO_RULE;
	else if (!load(walk->bp + offset, &cfa))
		return PROBES_NO_MEMORY;
	if (cfa <= walk->sp) /* it would not end */
		return PROBES_NO_RULE;
	if (saved && !load(kind == KIND_DEREF ? walk->bp : cfa - 8 * (__u64)saved, &bp))
		return PROBES_NO_MEMORY;
	if (!load(cfa - 8, &pc))
		return PROBES_NO_MEMORY;
	*is_end = pc == 0;
	walk->pc = pc;
	walk->sp = cfa;
	walk->bp = bp;
	walk->is_exact = 0;
	return PROBES_WHOLE;
}

struct loop {
	struct thread *thread;
};

/* One frame of the stack. 1: the last. */
static long walk_frame(__u32 i, void *context)
{
	struct thread *thread = ((struct loop *)context)->thread;
	struct walk *walk = &thread->walk;
	struct probes_range *range;
	__u64 depth = opaque(thread->stack.depth);
	__u64 frame = walk->pc | (walk->is_exact ? PROBES_EXACT : 0);
	int is_end = 0;

	if (depth >= PROBES_FRAMES_MAX)
		return 1;
	thread->stack.frames[depth] = frame;
	thread->stack.depth = depth + 1;
	walk->hash = (walk->hash + frame) * 0x9e3779b97f4a7c15ULL;
	walk->hash ^= walk->hash >> 29;
	range = range_find(walk, walk->pc - !walk->is_exact);
	if (!range) {
		thread->stack.end = PROBES_NO_OBJECT;
		return 1;
	}
	thread->stack.end = step(walk, rule_find(range, walk->pc - !walk->is_exact), &is_end);
	if (thread->stack.end != PROBES_WHOLE)
		return 1;
	if (is_end)
		return 1;
	if (depth + 1 == PROBES_FRAMES_MAX)
		thread->stack.end = PROBES_TOO_DEEP;
	return 0;
}

/* The caller's stack of a function that has just returned; returns its key. */
static __always_inline __u64 stack_walk(struct thread *thread, struct pt_regs *regs, __u32 pid)
{
	struct probes_process *process = bpf_map_lookup_elem(&processes, &pid);
	struct loop loop = { thread };

	thread->walk.pc = regs->rip;
	thread->walk.sp = regs->rsp;
	thread->walk.bp = regs->rbp;
	thread->walk.hash = pid;
	thread->walk.first_range = process ? process->first_range : 0;
	thread->walk.range_count = process ? process->range_count : 0;
	thread->walk.is_exact = 0;
	thread->stack.depth = 0;
	thread->stack.end = PROBES_WHOLE;
	thread->stack.pid = pid;
	bpf_loop(PROBES_FRAMES_MAX, walk_frame, &loop, 0);
	if (thread->stack.end != PROBES_WHOLE) {
		count(PROBES_TRUNCATED + thread->stack.end);
		if (thread->stack.end == PROBES_NO_OBJECT)
			bpf_map_update_elem(&strangers, &pid, &pid, BPF_ANY);
	}
	return thread->walk.hash ^ thread->stack.end;
}

/* --- blocks ---------------------------------------------------------------------------------- */

static __always_inline void stack_add(struct thread *thread, __u64 key, __u64 size)
{
	struct probes_stack *stack = bpf_map_lookup_elem(&stacks, &key);

	if (!stack) {
		thread->stack.allocated_count = thread->stack.allocated_bytes = 0;
		thread->stack.freed_count = thread->stack.freed_bytes = 0;
		bpf_map_update_elem(&stacks, &key, &thread->stack, BPF_NOEXIST);
		stack = bpf_map_lookup_elem(&stacks, &key);
	}
	if (!stack) {
		count(PROBES_STACKS_LOST);
		return;
	}
	__sync_fetch_and_add(&stack->allocated_count, 1);
	__sync_fetch_and_add(&stack->allocated_bytes, size);
}

static __always_inline void stack_remove(const struct probes_block *block)
{
	__u64 key = block->stack;
	struct probes_stack *stack = bpf_map_lookup_elem(&stacks, &key);

	count(PROBES_FREED);
	if (!stack)
		return;
	__sync_fetch_and_add(&stack->freed_count, 1);
	__sync_fetch_and_add(&stack->freed_bytes, block->size);
}

static __always_inline void block_add(struct thread *thread, struct pt_regs *regs, __u64 address)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct probes_key key = { .address = address, .pid = id >> 32 };
	struct probes_block block = { .size = thread->size, .tid = id, .fn = thread->fn };

	block.ns = bpf_ktime_get_ns();
	block.stack = stack_walk(thread, regs, key.pid);
	count(PROBES_ALLOCATED);
	if (bpf_map_update_elem(&blocks, &key, &block, BPF_ANY)) {
		count(PROBES_BLOCKS_LOST);
		return;
	}
	stack_add(thread, block.stack, block.size);
}

/* Whether it was one of ours; it is copied then. */
static __always_inline int block_take(__u64 address, struct probes_block *copy)
{
	struct probes_key key = { .address = address, .pid = bpf_get_current_pid_tgid() >> 32 };
	struct probes_block *block = bpf_map_lookup_elem(&blocks, &key);

	if (!block)
		return 0;
	*copy = *block;
	return bpf_map_delete_elem(&blocks, &key) == 0;
}

/* 0 if that is too much: the call will fail. */
static __always_inline __u64 product(__u64 count, __u64 size)
{
	__u64 limit = opaque(count ? ~0ULL / count : 0); /* else it is 128 bits, which BPF lacks */

	return size > limit ? 0 : count * size;
}

/* --- sampling ------------------------------------------------------------------------------- */

static __always_inline int is_sampled(struct thread *thread, __u64 size)
{
	if (!sample_bytes)
		return 1;
	if (!thread->is_sampling)
		thread->until_sample = sample_distance(sample_bytes);
	thread->is_sampling = 1;
	if (size < thread->until_sample) {
		thread->until_sample -= size;
		return 0;
	}
	thread->until_sample = sample_distance(sample_bytes);
	return 1;
}

/* --- the probes ------------------------------------------------------------------------------ */

/* What a call asks for. */
static __always_inline void thread_ask(struct thread *thread, struct pt_regs *regs, __u32 shape)
{
	thread->place = 0;
	thread->old = 0;
	if (shape == PROBES_SIZE) {
		thread->size = regs->rdi;
	} else if (shape == PROBES_PRODUCT) {
		thread->size = product(regs->rdi, regs->rsi);
	} else if (shape == PROBES_ALIGNED) {
		thread->size = regs->rsi;
	} else if (shape == PROBES_POSIX) {
		thread->place = regs->rdi;
		thread->size = regs->rdx;
	} else if (shape == PROBES_REALLOC) {
		thread->old = regs->rdi;
		thread->size = regs->rsi;
	} else {
		thread->old = regs->rdi;
		thread->size = product(regs->rsi, regs->rdx);
	}
}

/*
 * A function that is called by another of them on the same stack is not counted: the outer one is
 * what the program called. One that it has jumped to has the same stack pointer. A call that never
 * returned (longjmp) is known by a stack pointer above its own.
 */
static __always_inline int is_inner(const struct thread *thread, __u64 sp, __u32 fn)
{
	return thread->sp && (sp < thread->sp || (sp == thread->sp && fn != thread->fn));
}

SEC("uprobe")
int probe_enter(struct pt_regs *regs)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	struct thread *thread =
		bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u32 fn = cookie >> 8;

	if (!thread) {
		count(PROBES_THREADS_LOST);
		return 0;
	}
	if (is_inner(thread, regs->rsp, fn))
		return 0;
	thread->sp = regs->rsp;
	thread->fn = fn;
	thread_ask(thread, regs, cookie & 255);
	thread->is_sample = is_sampled(thread, thread->size);
	/* A moment later another thread may have the address. */
	thread->has_old = thread->old && block_take(thread->old, &thread->old_block);
	return 0;
}

static __always_inline void old_back(struct thread *thread)
{
	struct probes_key key = { .address = thread->old, .pid = bpf_get_current_pid_tgid() >> 32 };

	if (bpf_map_update_elem(&blocks, &key, &thread->old_block, BPF_ANY))
		count(PROBES_BLOCKS_LOST);
}

SEC("uretprobe")
int probe_leave(struct pt_regs *regs)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);
	__u64 address = regs->rax;

	if (!thread || !thread->sp || regs->rsp != thread->sp + 8)
		return 0;
	thread->sp = 0;
	if (thread->place) {
		__u64 place = thread->place, result = address;

		address = 0;
		if ((__u32)result == 0)
			load(place, &address);
	}
	if (!address) {
		count(PROBES_FAILED);
		if (thread->has_old && thread->size)
			old_back(thread);
		else if (thread->has_old)
			stack_remove(&thread->old_block);
		return 0;
	}
	if (thread->has_old)
		stack_remove(&thread->old_block);
	if (thread->is_sample)
		block_add(thread, regs, address);
	return 0;
}

SEC("uprobe")
int probe_free(struct pt_regs *regs)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);
	struct probes_block block;

	if (!regs->rdi || (thread && is_inner(thread, regs->rsp, 0)))
		return 0;
	if (block_take(regs->rdi, &block))
		stack_remove(&block);
	else
		count(PROBES_FREED_UNKNOWN);
	return 0;
}
