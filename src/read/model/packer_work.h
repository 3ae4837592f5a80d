/*
 * packer_work: processing of rows and ends on their way to the file, by any thread. Internal to
 * model.
 */
#ifndef MEMTAPE_MODEL_PACKER_WORK_H
#define MEMTAPE_MODEL_PACKER_WORK_H

#include "model/packer.h"

enum { PIECES = 256, PIECE_BITS = 20 /* ticks: a few ms */ };

/* Inputs and results of converting the rows of a segment to ns. */
struct telling {
	struct packer *packer; /* NULL: no free is later than the horizon */
	const struct clock *clock;
	struct clock_piece alloc_piece;
	struct clock_piece free_pieces[PIECES]; /* frees are spread over some seconds */
	struct vec_u64 chains;			/* row << 32 | chain of live rows */
	uint64_t horizon;
	uint64_t first_row;
	bool keeps_chains;
	struct err *err; /* the first */
};

/* The row's chain may continue if it is realloc'ed. */
void telling_keep(struct telling *telling, uint64_t row, uint32_t chain);

/* Stores ends in the rows that are in memory; others become patches of the packer's. */
struct err *apply_ends(struct rows *rows, const struct freed_entry *entries, size_t count);

/* Converts times to ns, packs the items to `out` and writes them; *place says where. */
struct err *segment_write(struct image *image, struct row *rows, uint32_t count,
			  struct telling *telling, uint8_t *out, struct segment *place);
struct err *freed_write(struct image *image, struct freed_entry *entries, uint32_t count,
			const struct clock *clock, uint8_t *out, struct freed_block *place);

/* pthread_create, without signals: they belong to the program's own threads. */
int packer_thread_start(pthread_t *thread, void *(*function)(void *), void *context);

#endif
