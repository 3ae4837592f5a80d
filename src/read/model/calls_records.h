/*
 * calls_records: what some extended records of a tape add to counted calls.
 */
#ifndef MEMTAPE_MODEL_CALLS_RECORDS_H
#define MEMTAPE_MODEL_CALLS_RECORDS_H

#include "model/calls.h"
#include "tape/codec.h"

/* PROCESS: pid and name. */
void calls_add_process(struct calls *calls, const struct tape_extended_record *record);

/* IMPORT: what is missing. */
void calls_add_import(struct calls *calls, const struct tape_extended_record *record);

/* CALLS and CALL_SIZES: counts made by the recorder. */
void calls_add_counts(struct calls *calls, const struct tape_extended_record *record);
void calls_add_sizes(struct calls *calls, const struct tape_extended_record *record);

#endif
