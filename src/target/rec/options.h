/* options: what is to be recorded, and how: from the environment, see env.c. A part of rec.h. */
#ifndef MEMTAPE_REC_OPTIONS_H
#define MEMTAPE_REC_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct rec_options {
	bool stacks;
	bool free_stacks;
	bool follow;
	bool exec; /* the program that the process becomes by exec is recorded as well */
	bool selfcheck;
	bool sample;
	/* As memusage counts: depths of stacks, frees of NULL; with stacks according to these: */
	bool calls;
	bool calls_stacks;
	bool calls_free_stacks;
	bool counts;	/* calls are only counted; without stacks */
	bool stack_use; /* how far down stacks are used */
	bool maps;	/* with counts: mmap and the like, too */
	bool moments;	/* with counts: heap and stack after each call, in a memusage file */
	bool table; /* counts are shown at the end, as memusage's library does; there is no tape */
	bool latency; /* durations of calls; then no thread has a lane for the fast face of hooks */
	bool leaks;   /* the collector looks for leaks when the process ends */
	bool paused;  /* recording begins paused, where no collector says so: pause.c */
	bool zero;    /* new blocks and freed ones are filled with zeros; then likewise */
	uint64_t toggles; /* signals that pause and resume: bits 1 to 63 */
};

#endif
