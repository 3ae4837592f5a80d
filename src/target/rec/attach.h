/*
 * attach: recording in a process that was not started with us. libmemtape-attach.so has the same
 * objects as libmemtape.so and shows only memtape_attach() and its like: who loads it
 * (tape/tape_attach.h) has nothing of it in the way of anybody's symbols.
 *
 * Loaded objects call the allocator through places that the loader has filled (slots.c). Attaching
 * leads them to our hooks; detaching puts back what was there, byte for byte. Threads may be inside
 * hooks at that time, and pointers to them may be kept: so the library is never unloaded, and its
 * hooks pass calls on. A process may be attached to again.
 */
#ifndef MEMTAPE_REC_ATTACH_H
#define MEMTAPE_REC_ATTACH_H

#include "rec/allocators.h"
#include "tape/tape_attach.h"

/* Whether this library is libmemtape-attach.so: default.c. */
extern const bool rec_is_attach;

/* What the process's environment would say, had it been started with us; NULL: not set. */
const char *rec_attach_env(const char *name);

/* A descriptor of the spool, to be left open; -1: it has its path. */
int rec_attach_spool(void);

/* The process's number as its collector knows it, in a PID namespace of its own. */
uint32_t rec_attach_pid(void);

/* The hook to which a call place is led; 0: none. Always 0 in the other libraries. */
uint64_t rec_attach_hook(const struct allocator_slot *slot);

/* The hook of a function of which a program looks up the address; the address itself: none. */
void *rec_attach_symbol(void *address);

/* Keeps what was in a place before it was changed. False: no room, so leave it as it is. */
bool rec_attach_log(arch_word *place, arch_word before, arch_word after);

/* Where the process has the function of that name; 0: nowhere. */
uint64_t rec_attach_real(const char *name);

/* --- inline.c: functions whose first instructions lead to us */

struct rec_real;

void rec_inline_begin(void);			   /* which functions there are */
void rec_inline_tell(struct tape_attach *asked);   /* where that stands */
void rec_inline_found(struct rec_real *found);	   /* those that lead to us already */
void rec_real_divert(uint64_t real, uint64_t way); /* real.c: what is called instead of it */

/* What the rest has for it: */
void rec_attach_anew(void);    /* init.c: the next start is of a new tape */
void rec_modules_forget(void); /* module.c: the next scan notes all objects */
void rec_tape_cover(void);     /* fork.c: the tape is left, private memory takes its place */
void rec_lane_give_back(void); /* lane_end.c: the lane was taken on a stack of another's */

/* Called by who attaches, on a thread of the process, while nobody holds a lock of the loader. */
void rec_attach(struct tape_attach *asked);
void memtape_attach(struct tape_attach *asked);

/*
 * Then: leads the places to us. All other threads stand still, so that nothing is recorded before;
 * none of them holds a lock of the loader.
 */
void rec_lead(struct tape_attach *asked);
void memtape_lead(struct tape_attach *asked);

/* And: calls the functions on the ways that were made. Takes no locks. */
void rec_inline(struct tape_attach *asked);
void memtape_inline(struct tape_attach *asked);

/* The same; takes no locks. */
void rec_detach(struct tape_attach *asked);
void memtape_detach(struct tape_attach *asked);

#endif
