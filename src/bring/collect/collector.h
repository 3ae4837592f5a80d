/*
 * collector: runs a program beside its recorder. What the recorder seals is packed and appended to
 * the tape, memory usage is sampled, signals and job control are passed on, and when the program
 * has ended in whatever way, the tape is closed with everything that was recorded.
 *
 * The program is never held up without bound: when the tape cannot grow, the recorder is told to
 * stop, the program runs on, and the tape says why and how much is missing.
 *
 * One run at a time in a process (signal handlers). Memory: the spool and a few chunks.
 */
#ifndef MEMTAPE_COLLECT_COLLECTOR_H
#define MEMTAPE_COLLECT_COLLECTOR_H

#include <sys/resource.h>

#include "base/options.h"
#include "collect/program.h"
#include "tape/tape_exec.h"

/* What somebody outside of the program wants of its recording. */
struct collector_wish {
	enum collector_wish_kind {
		COLLECTOR_MARK, /* a mark, now */
		COLLECTOR_SHOW, /* that the tape has all that was recorded until now */
		COLLECTOR_STOP	/* that it ends now; the program goes on */
	} kind;
	const char *mark; /* the text; valid until the next wish is taken */
};

struct collector_granted {
	bool done;	     /* false: nothing is recorded at present */
	uint64_t tape_bytes; /* SHOW: so much of the tape is of the time until now */
	uint64_t ticks;	     /* SHOW: now, as times are on the tape */
};

enum { COLLECTOR_FORMERS_MAX = 16 }; /* that are told apart */

/*
 * What the process was before an exec. Its tape is kept with settings.follow; otherwise it is there
 * until it has been looked at.
 */
struct collector_former {
	const char *path; /* of the tape, when it is kept; else NULL */
	struct tape_before figures;
	const char *name; /* of the program; "" until it has been looked at */
};

struct collector_settings {
	const char *output; /* pattern, see collect/pattern.h */
	bool overwrite;
	bool follow;		  /* children record to tapes of their own */
	const char *follow_names; /* only these of them, patterns with commas; NULL, "": all */
	bool follow_exec; /* the tape is of what the program becomes by exec, see collector_former
			   */
	bool stacks;	  /* of allocations */
	bool free_stacks; /* of frees */
	bool calls;	  /* depths of stacks and frees of NULL, too */
	bool counts;	  /* calls are counted, not recorded */
	bool maps;	  /* counts: also mmap and its kin */
	bool moments;	  /* counts: with a data file of memusage, TAPE.dat */
	bool is_passing;  /* tapes are read once: no samples of memory use, children's stay raw */
	bool latency;	  /* how long calls take */
	struct option_list allocators; /* with names of their own, checked: collect/allocators.h */
	bool selfcheck;		       /* the recorder verifies its own stacks */
	bool live;		       /* what is recorded is on the tape half a second later */
	int level;		       /* of compression; 0: none */
	uint32_t chunk_bytes;
	uint32_t chunk_count;
	/* Before the program starts: where its tape will be. An error keeps it from starting. */
	struct err *(*on_ready)(void *context, const char *path); /* NULL: nobody asks */
	/* While it runs, often: what somebody wants; false: nothing. Must not wait. Needs live. */
	bool (*take_wish)(void *context, struct collector_wish *wish); /* NULL: nobody asks */
	/* What became of the wish taken last. Must not wait. */
	void (*grant)(void *context, const struct collector_granted *granted);
	/* At the end: name (in arena) and figures of a program, from its tape. May be NULL. */
	struct err *(*look)(const char *tape_path, struct arena *arena,
			    struct collector_former *former);
	void *context;
};

/* How it went. Texts live in the arena given to collector_run. */
struct collector_result {
	const char *path; /* of the tape; NULL: there is none, the recorder never began */
	int wait_status;  /* as of waitpid */
	struct rusage usage;
	uint64_t wall_ns;
	uint64_t tape_bytes;
	uint64_t event_count;	  /* on the tape */
	uint64_t missing_count;	  /* events known to be lost */
	uint64_t truncated_count; /* stacks cut short */
	uint64_t collector_cpu_ns;
	const char *fault;    /* why recording stopped early; NULL: it did not */
	bool was_stopped;     /* because somebody wanted it; the rest is of until then */
	const char *replaced; /* the program became another one, which ...; NULL: it did not */
	struct collector_former formers[COLLECTOR_FORMERS_MAX]; /* the last of them, in order */
	uint32_t former_count;
	uint32_t former_more;	  /* programs before those */
	bool children_worked;	  /* most of the time went to children, unseen */
	const char **child_paths; /* of all the tapes of children, packed or not */
	uint32_t child_count;	  /* tapes of children packed */
	uint32_t child_raw_count; /* still being written, or not packed for want of space */
};

/*
 * Runs program to its end. An error: it did not run; *exec_errno_ret is then that of an exec
 * that failed (0: something else). Signals are as before when it returns.
 */
struct err *collector_run(const struct collector_settings *settings, const struct program *program,
			  struct arena *arena, struct collector_result *result,
			  int *exec_errno_ret);

#endif
