/*
 * The program in the kernel that copies a process's page tables, as memtape asks it to, on memtape's
 * own thread. Built for the BPF machine; kernel_pages.c loads and runs it.
 *
 * The process is the one whose /proc/PID/mem memtape has open: that holds its address space, so that
 * the uppermost table is there for as long. Tables below it may go at any moment, and their memory
 * may be anybody's then: nothing is done with it but to copy it, and the entry is read again to tell.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/kernel_pages_shared.h"

char pages_license[] SEC("license") = "Dual MIT/GPL";

/* What is read of the kernel's structures; where it is in them the kernel's BTF says. */
#define KERNEL_STRUCT __attribute__((preserve_access_index))

struct mm_struct {
	void *pgd;
} KERNEL_STRUCT;

struct file {
	void *private_data;
} KERNEL_STRUCT;

struct fdtable {
	struct file **fd;
} KERNEL_STRUCT;

struct files_struct {
	struct fdtable *fdt;
} KERNEL_STRUCT;

struct task_struct {
	struct files_struct *files;
} KERNEL_STRUCT;

struct pages_request request;
struct pages_entry entries[PAGES_UNITS_MAX];
__u64 top; /* where the uppermost table is; 0: not found */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PAGES_UNITS_MAX);
	__type(key, __u32);
	__type(value, struct pages_table);
} tables SEC(".maps");

enum { PRESENT = 1 << 0, HUGE = 1 << 7 };

#define FRAME 0x00003ffffffff000ULL

/* Of a table, the entry for an address; 0 also if it cannot be read. */
static __always_inline __u64 entry_at(__u64 table, __u64 address, __u32 shift)
{
	__u64 entry = 0;

	bpf_probe_read_kernel(&entry, sizeof(entry),
			      (void *)(table + ((address >> shift & 511) << 3)));
	return entry;
}

/* Where the table below is; 0: there is none. */
static __always_inline __u64 below(__u64 table, __u64 address, __u32 shift)
{
	__u64 entry = table ? entry_at(table, address, shift) : 0;

	return (entry & (PRESENT | HUGE)) == PRESENT ? request.base + (entry & FRAME) : 0;
}

static long unit_read(__u32 index, void *context)
{
	__u64 address = request.address + ((__u64)index << 21);
	__u64 table = *(__u64 *)context, entry;
	__u32 key = index;
	struct pages_table *copy;

	if (index >= PAGES_UNITS_MAX)
		return 1;
	if (request.levels == 5)
		table = below(table, address, 48);
	table = below(below(table, address, 39), address, 30);
	entry = table ? entry_at(table, address, 21) : 0;
	entries[index].before = entries[index].after = entry;
	if ((entry & (PRESENT | HUGE)) != PRESENT)
		return 0;
	copy = bpf_map_lookup_elem(&tables, &key);
	if (!copy ||
	    bpf_probe_read_kernel(copy, sizeof(*copy), (void *)(request.base + (entry & FRAME))))
		entries[index].after = 0; /* as if it had changed */
	else
		entries[index].after = entry_at(table, address, 21);
	return 0;
}

/* Attached to nothing: memtape runs it. */
SEC("raw_tp/sys_enter")
int pages_read(void *context)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct file **files = BPF_CORE_READ(task, files, fdt, fd), *file = 0;
	struct mm_struct *mm;
	__u64 pgd;

	bpf_probe_read_kernel(&file, sizeof(file), files + request.fd);
	mm = (struct mm_struct *)BPF_CORE_READ(file, private_data);
	pgd = (__u64)BPF_CORE_READ(mm, pgd);
	top = pgd;
	if (pgd)
		bpf_loop((__u32)request.units, unit_read, &pgd, 0);
	return 0;
}
