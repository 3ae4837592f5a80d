/*
 * launch: what must exist before a program is started, made from the settings of a run.
 */
#ifndef MEMTAPE_COLLECT_LAUNCH_H
#define MEMTAPE_COLLECT_LAUNCH_H

#include "collect/collector.h"
#include "collect/spool.h"
#include "write/writer.h"

/* The spool; smaller than requested if the file size is limited. Undone by spool_close. */
struct err *launch_spool(const struct collector_settings *settings, struct spool *spool);

/* MEMTAPE_OPTIONS; in arena. NULL: out of memory. */
const char *launch_options(const struct collector_settings *settings, struct arena *arena);

/* Environment that makes the program load the recorder, with its options; in arena. */
struct err *launch_environment(const struct collector_settings *settings,
			       const struct program *program, const struct spool *spool,
			       struct arena *arena, char ***environment_ret);

/* The tape, named by the pattern; ERR_STATE: it exists. Undone by writer_close. */
struct err *launch_output(const struct collector_settings *settings, const char *pattern,
			  const struct program *program, pid_t pid, struct writer *writer);

/* Puts "NAME=..." in the place of the variable of that name, which is borrowed. */
void launch_variable(char **environment, char *variable);

#endif
