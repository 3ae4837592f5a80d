/*
 * passes: going through rows, batch after batch, whatever part of them is selected.
 *
 *	struct pass pass = pass_begin(model, selection);
 *	while (pass_next(&pass)) {
 *		pass_read(&pass, MODEL_SIZE, sizes);
 *		for (size_t i = 0; i < pass.count; i++) ...
 */
#ifndef MEMTAPE_SELECT_PASSES_H
#define MEMTAPE_SELECT_PASSES_H

#include "select/selection.h"

struct pass {
	const struct model *model;
	const struct selection *selection; /* NULL: all rows */
	uint64_t at;			   /* where the next batch starts */
	uint64_t begin;			   /* rows before it are left out */
	uint64_t end;			   /* rows from here on are left out */
	size_t count;			   /* rows of this batch, at most MODEL_BATCH */
	uint64_t rows[MODEL_BATCH];	   /* their numbers, ascending */
};

/* selection may be NULL: all of them. */
struct pass pass_begin(const struct model *model, const struct selection *selection);

/* Rows allocated from from_ns until until_ns, both inclusive. */
struct pass pass_begin_between(const struct model *model, const struct selection *selection,
			       uint64_t from_ns, uint64_t until_ns);

bool pass_next(struct pass *pass); /* false: no more rows */

/* Whether every row of the model is selected. */
bool pass_is_all(const struct pass *pass);

/* Reads pass->count values to values[]. */
void pass_read(const struct pass *pass, enum model_column column, uint64_t *values);

/* Columns that most passes read. Large: not for the stack. */
struct pass_rows {
	uint64_t size[MODEL_BATCH];
	uint64_t alloc_ns[MODEL_BATCH];
	uint64_t free_ns[MODEL_BATCH];
	uint64_t flags[MODEL_BATCH];
	uint64_t stack[MODEL_BATCH];
};

void pass_rows_read(const struct pass *pass, struct pass_rows *rows);

/* Whether the row is selected; selection may be NULL: all are. */
bool pass_has(const struct selection *selection, uint64_t row);

#endif
