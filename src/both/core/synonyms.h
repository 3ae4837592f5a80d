/*
 * synonyms: variables of bytehound (memory-profiler), which runs without a command of its own and
 * is set up by them alone. Those that say what memtape can do are understood; of the others it is
 * said that they are without effect.
 */
#ifndef MEMTAPE_CORE_SYNONYMS_H
#define MEMTAPE_CORE_SYNONYMS_H

#include "core/core.h"

#define SYNONYM_PREFIX	    "MEMORY_PROFILER_"
#define SYNONYM_OUTPUT	    SYNONYM_PREFIX "OUTPUT" /* the tape's name, as for us */
#define SYNONYM_FREE_STACKS SYNONYM_PREFIX "GRAB_BACKTRACES_ON_FREE" /* 1 if it is not set */
#define SYNONYM_FOLLOW	    SYNONYM_PREFIX "TRACK_CHILD_PROCESSES"

/* What they take for true. */
static inline bool synonym_is_true(const char *text)
{
	return (text[0] == '1' && !text[1]) || strncmp(text, "true", 5) == 0;
}

/* The length of the name in "NAME=value" if it is one of theirs that we have no use for; else 0. */
static inline size_t synonym_unused(const char *entry)
{
	static const char *const used[] = { SYNONYM_OUTPUT, SYNONYM_FREE_STACKS, SYNONYM_FOLLOW };
	const char *equals = strchr(entry, '=');
	const size_t len = equals ? (size_t)(equals - entry) : 0;

	if (len == 0 || strncmp(entry, SYNONYM_PREFIX, sizeof(SYNONYM_PREFIX) - 1) != 0)
		return 0;
	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++) {
		if (strlen(used[i]) == len && memcmp(used[i], entry, len) == 0)
			return 0;
	}
	return len;
}

#endif
