/*
 * collector: runs a program alongside its recorder. Chunks that the recorder seals are packed and
 * appended to the tape, memory usage is sampled, signals and job control are passed on, and when
 * the program has ended, however it ended, the tape is closed with everything that was recorded.
 *
 * The program is never held up without bound: when the tape cannot grow, the recorder is told to
 * stop, the program runs on, and the tape says why and how much is missing.
 *
 * One run at a time per process (signal handlers). Memory: the spool and a few chunks.
 */
#ifndef MEMTAPE_COLLECT_COLLECTOR_H
#define MEMTAPE_COLLECT_COLLECTOR_H

#include <sys/resource.h>

#include "base/options.h"
#include "collect/attach.h"
#include "collect/companion.h"
#include "collect/memory_limits.h"
#include "collect/program.h"
#include "tape/tape_exec.h"

/* A request from outside the program about its recording. */
struct collector_wish {
	enum collector_wish_kind {
		COLLECTOR_MARK,	  /* a mark, now */
		COLLECTOR_SHOW,	  /* bring the tape up to date with everything recorded so far */
		COLLECTOR_STOP,	  /* end the tape now; the program goes on */
		COLLECTOR_PAUSE,  /* record no allocations from now on */
		COLLECTOR_RESUME, /* and again */
		COLLECTOR_SCAN	  /* begin a leak scan, or say how it is */
	} kind;
	const char *mark; /* the text; valid until the next request is taken */
	uint32_t scan;	  /* SCAN: the one that is asked about; 0: a new one */
};

struct collector_granted {
	bool done;	     /* false: nothing is being recorded at present */
	uint64_t tape_bytes; /* SHOW: size of the part of the tape recorded so far */
	uint64_t ticks;	     /* SHOW: the current time, in tape ticks */
	bool has_changed;    /* PAUSE, RESUME: false: it was so already */
	uint32_t scan;	     /* SCAN: its number */
	bool is_scanning;    /* SCAN: it goes on */
	uint64_t pause_ns;   /* SCAN: how long the program stood still */
	const char *trouble; /* SCAN: why it has no result; "", NULL: it has */
};

enum { COLLECTOR_FORMERS_MAX = 16 }; /* listed individually */

/*
 * What the process was before an exec. Its tape is kept if settings.follow is set; otherwise it
 * exists until it has been examined.
 */
struct collector_former {
	const char *path; /* of the tape if it is kept; else NULL */
	struct tape_before figures;
	const char *name; /* of the program; "" until it has been examined */
};

struct collector_settings {
	const char *output; /* pattern, see collect/pattern.h */
	bool overwrite;
	bool follow;  /* children record to their own tapes */
	bool session; /* follow: in a folder, which output names, see collect/session_writer.h */
	const char *follow_names; /* follow only these: patterns, comma-separated; NULL, "": all */
	bool follow_exec; /* record what the program becomes by exec, see collector_former */
	bool stacks;	  /* of allocations */
	bool free_stacks; /* of frees */
	bool calls;	  /* also depths of stacks and frees of NULL */
	bool counts;	  /* calls are counted instead of recorded */
	bool maps;	  /* counts: also mmap and related calls */
	bool moments;	  /* counts: also write a memusage data file, TAPE.dat */
	bool is_passing;  /* tapes are read once: no memory usage samples, children's stay raw */
	bool latency;	  /* record the duration of calls */
	struct option_list allocators; /* own function names, checked: collect/allocators.h */
	enum collector_leak_scan {
		COLLECTOR_NO_SCAN,
		COLLECTOR_SCAN_EXIT,   /* when the program ends */
		COLLECTOR_SCAN_SIGNAL, /* and whenever this process gets SIGUSR1 */
		COLLECTOR_SCAN_PERIOD  /* and each leak_period_ns */
	} leak_scan;
	uint64_t leak_period_ns;
	uint32_t leak_heuristics; /* set of enum tape_scan_heuristic */
	uint64_t staleness_ns;	  /* between looks at which pages were touched; 0: none */
	bool is_paused;		  /* recording begins paused, */
	uint64_t delay_ns;	  /* and is resumed after this time; 0: when somebody says so */
	uint64_t duration_ns;	  /* how long until it is paused; 0: until somebody says so */
	uint64_t toggles;	  /* signals to the program that pause and resume: bits 1 to 63 */
	bool zero;		  /* blocks are filled with zeros */
	uint32_t trace_kinds;	  /* what the kernel does: set of 1 << enum tape_kernel_kind */
	/*
	 * These kinds are not traced, and why; 0: all are, but of page faults those within system
	 * calls cannot be seen. Before recording begins. Needed for trace_kinds.
	 */
	void (*on_untraced)(void *context, uint32_t kinds, const char *why);
	struct limits limits;	 /* at which snapshots are made */
	uint64_t tape_bytes_max; /* then recording ends, and the program goes on; 0: no limit */
	bool rotates;		 /* or old detail is left out, see collect/rotation.h */
	bool selfcheck;		 /* the recorder verifies its own stacks */
	bool live;		 /* events reach the tape within half a second */
	int level;		 /* compression level; 0: none */
	uint32_t chunk_bytes;
	uint32_t chunk_count;
	/* Of collector_attach: recording has begun. May be NULL. */
	void (*on_attached)(void *context, const struct attach_report *report);
	bool is_inline;	    /* of collector_attach: functions themselves lead to the recorder */
	uint64_t attach_ns; /* of collector_attach: how long; 0: until a signal or the end */
	/* Called before the program starts, with its tape's path. An error prevents the start. */
	struct err *(*on_ready)(void *context, const char *path); /* may be NULL */
	/* Called often while it runs: returns a request; false: none. Must not wait. Needs live. */
	bool (*take_wish)(void *context, struct collector_wish *wish); /* may be NULL */
	/* Result of the request taken last. Must not wait. */
	void (*grant)(void *context, const struct collector_granted *granted);
	/* Plays the tape while it is recorded, see result.companion; NULL: not wanted. */
	const struct companion_player *player;
	/* At the end: name (in arena) and figures of a program, from its tape. May be NULL. */
	struct err *(*look)(const char *tape_path, struct arena *arena,
			    struct collector_former *former);
	void *context;
};

/* Outcome of a run. Strings live in the arena given to collector_run. */
struct collector_result {
	const char *path;	  /* of the tape; NULL: there is none, the recorder never started */
	const char *session_path; /* of the folder of all tapes; NULL: there is none */
	int wait_status;	  /* as from waitpid */
	struct rusage usage;
	uint64_t wall_ns;
	uint64_t tape_bytes;
	uint64_t event_count;	  /* on the tape */
	uint64_t missing_count;	  /* events known to be lost */
	uint64_t truncated_count; /* stacks cut short */
	uint64_t collector_cpu_ns;
	const char *fault;	       /* why recording stopped early; NULL: it did not */
	struct attach_report attached; /* of collector_attach */
	const char *sysroot;	       /* where the process's files are for us; NULL: here */
	bool was_stopped;	       /* on request; the other members cover the time until then */
	bool is_left_attached;	       /* nothing is recorded any more, but it was not let go */
	const char *replaced; /* the program became another one, which ...; NULL: it did not */
	struct collector_former formers[COLLECTOR_FORMERS_MAX]; /* the last of them, in order */
	uint32_t former_count;
	uint32_t former_more;	  /* number of programs before those */
	uint32_t others_left;	  /* children of another processor or word size, not recorded */
	uint32_t static_left;	  /* statically linked ones, */
	uint32_t barred_left;	  /* and those that the recorder cannot be given to */
	bool children_worked;	  /* most CPU time was used by children, not recorded */
	const char **child_paths; /* of children's tapes, packed or not */
	uint32_t child_path_count;
	uint32_t child_count; /* tapes of children packed */
	/* Of the tape, with what played it; the caller's. NULL: nothing did. */
	struct companion *companion;
	bool is_asked_to_end; /* SIGINT, SIGTERM or SIGHUP came once there was nothing to stop */
	uint32_t child_raw_count; /* still being written, or not packed for lack of space */
};

/*
 * Runs program to its end. On error it did not run; *exec_errno_ret is then the errno of the failed
 * exec (0: another cause). Signals are restored when it returns.
 */
struct err *collector_run(const struct collector_settings *settings, const struct program *program,
			  struct arena *arena, struct collector_result *result,
			  int *exec_errno_ret);

/*
 * The same for a process that runs already; program says what it is. Ends with the process, after
 * settings.attach_ns, or when this process gets SIGINT, SIGTERM, SIGHUP or SIGQUIT: then the process
 * is let go, and goes on unrecorded. An error: it was not attached to, or *path is its tape but it
 * could not be let go.
 */
struct err *collector_attach(const struct collector_settings *settings, pid_t pid,
			     const struct program *program, struct arena *arena,
			     struct collector_result *result);

#endif
