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

#include "bpf/kernel_shared.h"

#include "bpf/kernel_random.bpf.h"
#include "bpf/kernel_state.bpf.h"
#include "bpf/kernel_walk.bpf.h"

/* As what it calls demands. */
char probes_license[] SEC("license") = "Dual MIT/GPL";

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
	__u64 id = current_id();
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
	struct probes_key key = { .address = address, .pid = current_id() >> 32 };
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

	if (own_pid && current_id() >> 32 == own_pid)
		return 0;
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
	struct probes_key key = { .address = thread->old, .pid = current_id() >> 32 };

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

static __always_inline int note_end(__u32 is_exec)
{
	__u64 id = current_id();
	__u32 pid = id >> 32;
	struct probes_end_of end = { .ns = bpf_ktime_get_ns(), .is_exec = is_exec };

	if ((__u32)id == pid && bpf_map_lookup_elem(&processes, &pid))
		bpf_map_update_elem(&ends, &pid, &end, BPF_ANY);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int probe_exit(void *context)
{
	return note_end(0);
}

SEC("raw_tp/sched_process_exec")
int probe_exec(void *context)
{
	return note_end(1);
}
