/*
 * record_summary: the summary on standard error when the recorded program has ended.
 */
#ifndef MEMTAPE_CLI_RECORD_SUMMARY_H
#define MEMTAPE_CLI_RECORD_SUMMARY_H

#include "collect/collector.h"

struct record_summary_wish {
	bool findings; /* also what the tape shows, */
	bool verbose;  /* and how that was found */
};

/*
 * The tape's path and what is missing on it, and what is wished. `allocators` are those the
 * recorder was told to look for.
 */
struct err *record_summary_print(const struct program *program,
				 const struct collector_result *result,
				 const struct option_list *allocators,
				 const struct record_summary_wish *wish);

/* For collector_settings.look. */
struct err *record_summary_look(const char *tape_path, struct arena *arena,
				struct collector_former *former);

#endif
