/*
 * living: what lives in a program at a moment of its tape: blocks, mappings of its own, loaded
 * modules. For a leak scan, which looks at the program's memory at that moment.
 */
#ifndef MEMTAPE_MODEL_LIVING_H
#define MEMTAPE_MODEL_LIVING_H

#include "capture/capture.h"
#include "model/mapped.h"
#include "tape/tape_scan.h"

struct living_block {
	uint64_t address;
	uint64_t size_bytes; /* requested */
};

VEC_DEFINE(living_blocks, struct living_block);
VEC_DEFINE(living_clocks, struct tape_clock_pair);

/* A call that mapped memory. */
struct living_mapping {
	uint64_t begin;
	uint64_t end;
	uint32_t stack; /* of living's stacks */
};

VEC_DEFINE(living_mappings, struct living_mapping);

struct living {
	struct living_blocks blocks; /* by address */
	struct mapped mapped;	     /* by calls that were seen */
	struct living_mappings
		mappings;	      /* these calls, in the order of time: the last one counts */
	struct capture_stacks stacks; /* modules, those unloaded too */
	uint64_t until_ticks;	      /* the moment, shifted; UINT64_MAX: the end */
	uint64_t last_ticks;	      /* of the latest record until then */
	struct living_clocks clocks;  /* readings of the clocks, all of the tape's, in order */
	uint32_t scan_id;	      /* the highest of its leak scans; 0: none */
	struct tape_end end;	      /* the last one, whenever it was; all zeros: none */
};

/* Plays the tape up to these ticks (shifted), included. The caller deinits living on success. */
struct err *living_read(const struct capture *capture, uint64_t until_ticks, struct living *living);

/* Whether a module is loaded at the moment. */
bool living_has(const struct living *living, const struct capture_module *module);
/* The module that is at the address then, up to the end of its last page; NULL: none. */
const struct capture_module *living_module(const struct living *living, uint64_t address);
void living_deinit(struct living *living);
CLEAN_DEFINE_DEINIT(living_deinit, struct living);

#endif
