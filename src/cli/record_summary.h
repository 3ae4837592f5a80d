/*
 * record_summary: the summary on standard error when the recorded program has ended.
 */
#ifndef MEMTAPE_CLI_RECORD_SUMMARY_H
#define MEMTAPE_CLI_RECORD_SUMMARY_H

#include "collect/collector.h"

/*
 * The tape's path and what is missing on it; with findings, also what it shows. `allocators` are
 * those the recorder was told to look for.
 */
struct err *record_summary_print(const struct program *program,
				 const struct collector_result *result,
				 const struct option_list *allocators, bool findings);

/* For collector_settings.look. */
struct err *record_summary_look(const char *tape_path, struct arena *arena,
				struct collector_former *former);

#endif
