/*
 * rotation: keeps the tape's size below a limit for as long as the program runs. Before the tape has
 * more than half of it, a thread writes a smaller one (capture/rotate.h): what lives, its stacks
 * however old, and the latest detail. The tape goes on meanwhile. Then what came since is added, and
 * the new file takes the tape's name: whenever this process is killed, that name has a whole tape.
 *
 * Together both files are not larger than the limit. If what lives does not fit, or the disk is
 * full, the tape goes on as it is until the limit, where recording ends.
 *
 * All functions are for the collector's thread.
 */
#ifndef MEMTAPE_COLLECT_ROTATION_H
#define MEMTAPE_COLLECT_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

struct collector;

/* Smaller limits than this are not worth it: a tape has a chunk of each thread at least. */
enum { ROTATION_BYTES_MIN = 16 << 20 };

/* Begins one if it is due; takes the result when there is one. Never waits for it. */
void rotation_look(struct collector *collector);

/*
 * Takes sealed chunks, as many as the tape may have before the next look. Where it is as large as it
 * may be until the new one is there, so few that the recorder waits. Returns how many.
 */
uint32_t rotation_drain(struct collector *collector);

/* Whether the tape may have another chunk before the next look. */
bool rotation_has_room(const struct collector *collector);

/* Somebody has been told a size of the tape: the file stays for a moment in which it is opened. */
void rotation_wait(struct collector *collector);

/* Ends one that goes on: what is in the spool is written next. The tape is whole in any case. */
void rotation_stop(struct collector *collector);

/* After that: if the tape is full, its fault says why nothing was left out. May be repeated. */
void rotation_end(struct collector *collector);

#endif
