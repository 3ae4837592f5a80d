/*
 * packer: the thread that packs rows into segments and writes them during replay. Internal to
 * model.
 *
 * Times of a tape are ticks, which can be converted up to the last reading of the clock. A row
 * freed after that gets its free as a patch, converted to nanoseconds at the end; a segment filled
 * after that waits in a file of raw rows.
 */
#ifndef MEMTAPE_MODEL_PACKER_H
#define MEMTAPE_MODEL_PACKER_H

#include "model/rows.h"

static const size_t PACKER_ROWS_BYTES = sizeof(struct row) * MODEL_SEGMENT;
static const size_t PACKER_FREED_BYTES = sizeof(struct freed_entry) * FREED_BLOCK;

void packer_init(struct packer *packer, uint64_t patches_bytes);
void packer_deinit(struct packer *packer);

/* Takes ownership of the job's items; waits if far behind. Starts the thread. */
struct err *packer_give(struct rows *rows, struct pack_job job);

/* An entry in the directory for one more segment, or block; false: out of memory. */
bool packer_expect(struct rows *rows);
bool packer_expect_freed(struct rows *rows);

/* Memory of a finished job, for reuse; NULL: none at the moment. */
void *packer_spare(struct packer *packer, bool is_freed);

/* The chain of a row that was not freed when it was queued; ROW_NONE: none. May wait for it. */
uint32_t packer_chain_of(struct rows *rows, uint32_t row);

/* Ends the thread; returns its error. */
struct err *packer_finish(struct packer *packer);

/* Packs everything in memory or raw, on several threads; the clock is sealed. */
struct err *packer_pack_rest(struct rows *rows);

#endif
