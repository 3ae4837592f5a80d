/*
 * kernel_walk: a stack is unwound, by the rows of unwind tables. For kernel_probes.bpf.c.
 */
#ifndef MEMTAPE_BPF_KERNEL_WALK_BPF_H
#define MEMTAPE_BPF_KERNEL_WALK_BPF_H

enum { KIND_SP = 1, KIND_BP, KIND_DEREF, KIND_SIGNAL, KIND_END }; /* enum unwind_kind */
enum { STEP_BYTES_MAX = 64 << 20 };				  /* a frame's */
enum { CONTEXT_BP = 120, CONTEXT_SP = 160, CONTEXT_PC = 168 };	  /* ARCH_CONTEXT_* */

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
	if (cfa <= walk->sp || cfa - walk->sp > STEP_BYTES_MAX) /* it would not end */
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

/* By frame pointer, as code without tables is compiled mostly: what is made at run time. */
static __always_inline __u32 rule_bare(void)
{
	return KIND_BP | 2 << 4 | 2 << 15;
}

/* One frame of the stack. 1: the last. */
static long walk_frame(__u32 i, void *context)
{
	struct thread *thread = ((struct loop *)context)->thread;
	struct walk *walk = &thread->walk;
	struct probes_range *range;
	__u64 depth = opaque(thread->stack.depth);
	__u64 frame = walk->pc | (walk->is_exact ? PROBES_EXACT : 0);
	int is_end = 0;
	__u32 rule;

	if (depth >= PROBES_FRAMES_MAX)
		return 1;
	range = range_find(walk, walk->pc - !walk->is_exact);
	if (!range)
		thread->stack.end = PROBES_NO_OBJECT;
	if (!range && walk->is_guess)
		return 1;
	thread->stack.frames[depth] = frame;
	thread->stack.depth = depth + 1;
	walk->hash = (walk->hash + frame) * 0x9e3779b97f4a7c15ULL;
	walk->hash ^= walk->hash >> 29;
	if (!range)
		return 1;
	rule = rule_find(range, walk->pc - !walk->is_exact);
	walk->is_guess = rule == 0;
	if (walk->is_guess)
		rule = rule_bare();
	thread->stack.end = step(walk, rule, &is_end);
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
	thread->walk.is_exact = thread->walk.is_guess = 0;
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

#endif
