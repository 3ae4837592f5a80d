/*
 * packer: the thread beside the replay that makes segments of rows and writes them. Internal to
 * model.
 *
 * Times of a tape are ticks, whose meaning is known up to the last reading of the clock. A row
 * freed after that is given its free as a patch, which is turned into nanoseconds at the end; a
 * segment that was filled after that waits in a file of raw rows.
 */
#ifndef MEMTAPE_MODEL_PACKER_H
#define MEMTAPE_MODEL_PACKER_H

#include "model/rows.h"

static const size_t PACKER_ROWS_BYTES = sizeof(struct row) * MODEL_SEGMENT;
static const size_t PACKER_FREED_BYTES = sizeof(struct freed_entry) * FREED_BLOCK;

void packer_init(struct packer *packer, uint64_t patches_bytes);
void packer_deinit(struct packer *packer);

/* Takes the job's items; waits if it is far behind. Begins the thread. */
struct err *packer_give(struct rows *rows, struct pack_job job);

/* A place in the directory for one more segment, or block; false: out of memory. */
bool packer_expect(struct rows *rows);
bool packer_expect_freed(struct rows *rows);

/* Memory of a job that is done, to be used again; NULL: none at the moment. */
void *packer_spare(struct packer *packer, bool is_freed);

/* The chain of a row that was not freed when it was given; ROW_NONE: none. May wait for it. */
uint32_t packer_chain_of(struct rows *rows, uint32_t row);

/* Ends the thread; what it met. */
struct err *packer_finish(struct packer *packer);

/* Packs all that is in memory or raw, on several threads; the clock is sealed. */
struct err *packer_pack_rest(struct rows *rows);

#endif
