/*
 * program: the name of the tape's program.
 */
#ifndef MEMTAPE_ANSWER_PROGRAM_H
#define MEMTAPE_ANSWER_PROGRAM_H

#include "base/str.h"
#include "model/model.h"

/*
 * The name it was run as: one file may have several, like redis-server and redis-check-rdb. The
 * last part of a path in the model; "": not known yet.
 */
const char *program_name(const struct model *model);

/* How it was run, with its arguments, or the title that it gave itself; not escaped. */
void program_command_add(struct str *out, const struct model_process *process);

/* How it ended, in a word: by enum tape_end_kind, terminated by NULL. */
extern const char *const program_end_words[];

/* The same in words: "exited 0", "killed by SIGKILL". */
void program_end_add(struct str *out, const struct model_process *process);

/* "SIGKILL"; lives as long as the arena. NULL: out of memory. */
const char *program_signal_name(struct arena *arena, int number);

/* Whether its exit code or signal is known. */
bool program_has_status(const struct model_process *process);

#endif
