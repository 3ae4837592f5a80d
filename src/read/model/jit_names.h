/*
 * jit_names: names of JIT code of a recorded process, from the files that its compiler left for
 * perf: jit-PID.dump, which has times, and /tmp/perf-PID.map, which does not. Immutable; everything
 * it returns lives as long as it does.
 */
#ifndef MEMTAPE_MODEL_JIT_NAMES_H
#define MEMTAPE_MODEL_JIT_NAMES_H

#include "model/model.h"
#include "symbol/jitdump.h"

struct jit_names;

/*
 * A dump is searched where compilers leave it: in the process's folder, in /tmp and below
 * ~/.debug/jit. Files last written before the process began belong to another one and are ignored,
 * as are those owned neither by the user nor by root. NULL: out of memory.
 */
struct jit_names *jit_names_open(const struct model_process *process);
void jit_names_close(struct jit_names *jit); /* accepts NULL */
CLEAN_DEFINE(jit_names_close, struct jit_names *);

/* The code at pc at ns, nanoseconds since recording began. False: unknown. */
bool jit_names_find(const struct jit_names *jit, uint64_t pc, uint64_t ns,
		    struct jit_place *place_ret);

#endif
