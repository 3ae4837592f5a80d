/*
 * program: what the program of a tape is called.
 */
#ifndef MEMTAPE_ANSWER_PROGRAM_H
#define MEMTAPE_ANSWER_PROGRAM_H

#include "model/model.h"

/*
 * What it was called as: its file may be one of several names, as redis-server and redis-check-rdb
 * are. The last part of a path within the model; "": nothing is known yet.
 */
const char *program_name(const struct model *model);

/* How it ended, in a word: by enum tape_end_kind, NULL at the end. */
extern const char *const program_end_words[];

/* Whether it is known with which exit code or signal. */
bool program_has_status(const struct model_process *process);

#endif
