/*
 * launch: what has to be there before a program is started, from the settings of a run.
 */
#ifndef MEMTAPE_COLLECT_LAUNCH_H
#define MEMTAPE_COLLECT_LAUNCH_H

#include "collect/collector.h"
#include "collect/spool.h"
#include "write/writer.h"

/* The spool; smaller than asked for where files may not be that large. Undone by spool_close. */
struct err *launch_spool(const struct collector_settings *settings, struct spool *spool);

/* The environment that makes the program load the recorder, with its options; in arena. */
struct err *launch_environment(const struct collector_settings *settings, const struct spool *spool,
			       struct arena *arena, char ***environment_ret);

/* The tape, under the pattern's name; ERR_STATE: it exists. Undone by writer_close. */
struct err *launch_output(const struct collector_settings *settings, const struct program *program,
			  pid_t pid, struct writer *writer);

#endif
