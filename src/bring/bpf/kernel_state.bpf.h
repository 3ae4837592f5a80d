/*
 * kernel_state: what the programs in the kernel keep, and the tables that memtape fills. For
 * kernel_probes.bpf.c.
 */
#ifndef MEMTAPE_BPF_KERNEL_STATE_BPF_H
#define MEMTAPE_BPF_KERNEL_STATE_BPF_H

const volatile __u64 sample_bytes = 0; /* one sample each so many bytes; 0: every block */
const volatile __u32 own_pid = 0;      /* memtape's: it is not watched */

/* Numbers of processes and threads are those of memtape's namespace. */
const volatile __u64 namespace_device = 0, namespace_inode = 0; /* 0: the first one */
__u64 counts[PROBES_COUNTS];

struct task_struct;

struct walk {
	__u64 pc, sp, bp;
	__u64 hash;
	__u32 first_range, range_count;
	__u8 is_exact;
	__u8 is_guess; /* pc was found by frame pointer */
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

/* When processes ended, or became another program. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 12);
	__type(key, __u32);
	__type(value, struct probes_end_of);
} ends SEC(".maps");

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

/* Which process calls, and in the low half which thread. */
static __always_inline __u64 current_id(void)
{
	struct bpf_pidns_info info = {};

	if (!namespace_inode)
		return bpf_get_current_pid_tgid();
	if (bpf_get_ns_current_pid_tgid(namespace_device, namespace_inode, &info, sizeof(info)))
		return 0;
	return (__u64)info.tgid << 32 | info.pid;
}

static __always_inline void count(__u32 what)
{
	__u64 index = opaque(what);

	if (index < PROBES_COUNTS)
		__sync_fetch_and_add(&counts[index], 1);
}

#endif
