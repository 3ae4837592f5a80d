/*
 * jit_names: names of code that a recorded process made while it ran, from the files that its
 * compiler left for perf: jit-PID.dump, which knows times, and /tmp/perf-PID.map, which does not.
 * Immutable; all it returns lives as long as it does.
 */
#ifndef MEMTAPE_MODEL_JIT_NAMES_H
#define MEMTAPE_MODEL_JIT_NAMES_H

#include "model/model.h"
#include "symbol/jitdump.h"

struct jit_names;

/*
 * A dump is looked for where compilers leave it: in the process's folder, in /tmp and below
 * ~/.debug/jit. Files that were last written before the process began are another's, and so are
 * those that belong neither to the user nor to root. NULL: no memory.
 */
struct jit_names *jit_names_open(const struct model_process *process);
void jit_names_close(struct jit_names *jit); /* accepts NULL */
CLEAN_DEFINE(jit_names_close, struct jit_names *);

/* What was at pc at ns, nanoseconds since recording began. False: nothing is known. */
bool jit_names_find(const struct jit_names *jit, uint64_t pc, uint64_t ns,
		    struct jit_place *place_ret);

#endif
