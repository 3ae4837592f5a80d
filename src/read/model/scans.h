/*
 * scans: the leak scans of a tape. A scan stopped the program, looked for pointers in its memory and
 * found which blocks can still be reached, from where, and what each of them keeps alive. Its result
 * (capture/scan_image.h) is joined here with the blocks that were live at that time on the tape.
 *
 * Both depths of a model have them (model.h).
 */
#ifndef MEMTAPE_MODEL_SCANS_H
#define MEMTAPE_MODEL_SCANS_H

#include "model/model.h"
#include "tape/tape_scan.h"

static const uint32_t MODEL_NODE_NONE = UINT32_MAX;

enum model_scan_flag {
	MODEL_SCAN_INTERIOR = 1 << 0, /* the pointer in the parent is to the middle of the block */
	MODEL_SCAN_OFF_TAPE = 1 << 1  /* the tape does not know the block: no stack, no row */
};

/* A node of the scan's graph. Parent and dominator are nodes; model_scan_node_is_holder. */
struct model_scan_block {
	uint64_t address;
	uint64_t size_bytes;	 /* requested */
	uint64_t retained_bytes; /* of it and of what would be unreachable without it */
	uint64_t offset; /* in the parent, of the pointer; of a register: 8 times its number */
	uint32_t stack;
	uint32_t thread; /* that allocated it; MODEL_NO_THREAD: unknown */
	uint32_t row;	 /* of the allocation, in a model with rows; UINT32_MAX: none */
	uint32_t parent; /* on a shortest chain from a holder, or from a lost block; NONE: lost */
	uint32_t dominator; /* the nearest node on all chains; NONE: several holders, or lost */
	uint8_t class;	    /* enum tape_scan_class; UNKNOWN: the scan did not know the block */
	uint8_t heuristic;  /* of the pointer in the parent: enum tape_scan_heuristic; 0: none */
	uint8_t flags;	    /* enum model_scan_flag */
	uint8_t reserved;
};

/* What holds blocks and is no block. */
struct model_scan_holder {
	uint32_t kind; /* enum tape_scan_holder */
	uint32_t tid;  /* 0: not a thread's */
	uint64_t begin, end;
	uint64_t retained_bytes; /* sum over what it alone holds */
	const char *name;	 /* of the variable or mapping; "": unknown */
};

/*
 * Words of a stack that belong to a call of a function. Only those in which a chain begins, and some
 * of the calls that have called these.
 */
struct model_scan_frame {
	uint64_t begin, end;
	uint64_t pc;	 /* of code in the function, not after it */
	uint32_t holder; /* number of the stack among the holders */
	uint32_t module; /* index; CAPTURE_MODULE_NONE: outside of all, or unknown */
	uint32_t depth;	 /* calls further in; UINT32_MAX: unknown */
	uint32_t reserved;
};

/* Sums of model_scan are over blocks; those that are not on the tape are in off_tape alone. */
struct model_scan {
	uint64_t ns;	 /* when the program stood still */
	uint32_t id;	 /* counts from 1 */
	uint32_t reason; /* enum tape_scan_reason */
	uint64_t pause_ns;
	uint64_t scan_ns; /* CPU time */
	uint64_t root_bytes;
	uint64_t block_bytes;
	uint64_t unread_bytes;
	uint32_t thread_count;
	uint32_t missed_threads;
	uint32_t heuristics; /* set of enum tape_scan_heuristic */
	uint32_t reserved;
	const char *trouble; /* why there is no result; "": there is */
	struct model_sum classes[TAPE_SCAN_CLASS_COUNT];
	struct model_sum off_tape;
	const struct model_scan_block *blocks; /* by address */
	uint64_t block_count;		       /* below 2^31 */
	const struct model_scan_holder *holders;
	uint64_t holder_count;		       /* below 2^31; node block_count + i is holder i */
	const struct model_scan_frame *frames; /* by holder and address */
	uint64_t frame_count;
};

/* In the order of the tape. Of very many, the first have no result. */
size_t model_scan_count(const struct model *model);
const struct model_scan *model_scan_get(const struct model *model, size_t index);

/* The frame of a holder's stack that has this address; NULL: unknown. */
const struct model_scan_frame *model_scan_frame(const struct model_scan *scan, uint64_t holder,
						uint64_t address);

/* A frame of the call that has called this one; NULL: unknown, or there is none. */
const struct model_scan_frame *model_scan_caller(const struct model_scan *scan,
						 const struct model_scan_frame *frame);

static inline bool model_scan_node_is_holder(const struct model_scan *scan, uint32_t node)
{
	return node != MODEL_NODE_NONE && node >= scan->block_count;
}

#endif
