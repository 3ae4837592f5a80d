/*
 * packer_work: what is done to rows and ends on their way to the file, by whichever thread.
 * Internal to model.
 */
#ifndef MEMTAPE_MODEL_PACKER_WORK_H
#define MEMTAPE_MODEL_PACKER_WORK_H

#include "model/packer.h"

enum { PIECES = 256, PIECE_BITS = 20 /* ticks: a few ms */ };

/* What turning the rows of a segment into ns needs and finds. */
struct telling {
	struct packer *packer; /* NULL: no free is later than the horizon */
	const struct clock *clock;
	struct clock_piece alloc_piece;
	struct clock_piece free_pieces[PIECES]; /* frees are spread over some seconds */
	struct vec_u64 chains;			/* row << 32 | chain of rows that are alive */
	uint64_t horizon;
	uint64_t first_row;
	bool keeps_chains;
	struct err *err; /* the first */
};

/* The row's chain may go on when it is realloc'ed. */
void telling_keep(struct telling *telling, uint64_t row, uint32_t chain);

/* Puts ends into the rows that are in memory; those of others become patches of the packer's. */
struct err *apply_ends(struct rows *rows, const struct freed_entry *entries, size_t count);

/* Times become ns and the items are packed to `out`, written, and *place says where. */
struct err *segment_write(struct image *image, struct row *rows, uint32_t count,
			  struct telling *telling, uint8_t *out, struct segment *place);
struct err *freed_write(struct image *image, struct freed_entry *entries, uint32_t count,
			const struct clock *clock, uint8_t *out, struct freed_block *place);

/* pthread_create, without signals: they belong to the program's own threads. */
int packer_thread_start(pthread_t *thread, void *(*function)(void *), void *context);

#endif
