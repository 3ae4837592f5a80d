/*
 * kernel: the programs and tables in the kernel. kernel_load.c is the only file that knows libbpf.
 *
 * Private to the room. One thread at a time.
 */
#ifndef MEMTAPE_BPF_KERNEL_H
#define MEMTAPE_BPF_KERNEL_H

#include <sys/types.h>

#include "base/err.h"
#include "bpf/kernel_shared.h"

struct kernel;

struct kernel_settings {
	uint64_t sample_bytes; /* 0: every block */
	bool has_own;	       /* probes of all processes: not of this one */
	uint32_t row_capacity;
	uint32_t block_capacity;
};

/* ERR_UNSUPPORTED: not built in, or the kernel cannot; ERR_STATE: this user may not. */
struct err *kernel_open(const struct kernel_settings *settings, struct kernel **kernel_ret);

/* Removes all probes; whoever is in a probed function goes on. Accepts NULL. */
void kernel_close(struct kernel *kernel);
CLEAN_DEFINE(kernel_close, struct kernel *);

enum kernel_program { KERNEL_ENTER, KERNEL_LEAVE, KERNEL_FREE };

struct kernel_place {
	uint64_t offset; /* in the file */
	uint64_t cookie;
};

/* At bytes of a file, in one process or, if pid is -1, in all. */
struct err *kernel_attach(struct kernel *kernel, enum kernel_program program, pid_t pid,
			  const char *path, const struct kernel_place *places, size_t count);

struct err *kernel_put_rows(struct kernel *kernel, uint32_t first, const struct probes_row *rows,
			    uint32_t count);
struct err *kernel_put_range(struct kernel *kernel, uint32_t index,
			     const struct probes_range *range);
struct err *kernel_put_process(struct kernel *kernel, uint32_t pid,
			       const struct probes_process *process);

/* Takes one process whose code was not known somewhere. False: there is none. */
bool kernel_take_stranger(struct kernel *kernel, uint32_t *pid_ret);

/* Takes the end of one of the processes that were put. False: there is none. */
bool kernel_take_end(struct kernel *kernel, uint32_t *pid_ret, struct probes_end_of *end_ret);

void kernel_counts(const struct kernel *kernel, uint64_t counts[PROBES_COUNTS]);

/* Visits what there is, while it changes: entries may be missed or come twice. */
struct err *kernel_blocks_each(struct kernel *kernel,
			       bool (*visit)(void *context, const struct probes_key *key,
					     const struct probes_block *block),
			       void *context);
struct err *kernel_stacks_each(struct kernel *kernel,
			       bool (*visit)(void *context, uint64_t key,
					     const struct probes_stack *stack),
			       void *context);

void kernel_forget_block(struct kernel *kernel, const struct probes_key *key);

#endif
