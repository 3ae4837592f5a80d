/*
 * synonyms: variables of bytehound (memory-profiler), which has no command and is configured by
 * them alone. Those with a memtape equivalent are supported; the others are reported as having no
 * effect.
 */
#ifndef MEMTAPE_CORE_SYNONYMS_H
#define MEMTAPE_CORE_SYNONYMS_H

#include <signal.h>

#include "core/core.h"

#define SYNONYM_PREFIX	    "MEMORY_PROFILER_"
#define SYNONYM_OUTPUT	    SYNONYM_PREFIX "OUTPUT" /* the tape's name, as in our own variable */
#define SYNONYM_FREE_STACKS SYNONYM_PREFIX "GRAB_BACKTRACES_ON_FREE" /* defaults to 1 */
#define SYNONYM_FOLLOW	    SYNONYM_PREFIX "TRACK_CHILD_PROCESSES"
#define SYNONYM_PAUSED	    SYNONYM_PREFIX "DISABLE_BY_DEFAULT"
#define SYNONYM_ZERO	    SYNONYM_PREFIX "ZERO_MEMORY"
#define SYNONYM_LOG	    SYNONYM_PREFIX "LOG"
#define SYNONYM_LOG_FILE    SYNONYM_PREFIX "LOGFILE"
#define SYNONYM_LOG_BYTES   SYNONYM_PREFIX "LOGFILE_ROTATE_WHEN_BIGGER_THAN"

/* Those that have a signal pause and resume; there by default, here only if they are set. */
static const struct {
	const char *name;
	int signal;
} synonym_toggles[] = { { SYNONYM_PREFIX "REGISTER_SIGUSR1", SIGUSR1 },
			{ SYNONYM_PREFIX "REGISTER_SIGUSR2", SIGUSR2 } };

/* Values that bytehound takes as true. */
static inline bool synonym_is_true(const char *text)
{
	return (text[0] == '1' && !text[1]) || strncmp(text, "true", 5) == 0;
}

/* The length of the name in "NAME=value" if it is an unsupported bytehound variable; else 0. */
static inline size_t synonym_unused(const char *entry)
{
	static const char *const used[] = { SYNONYM_OUTPUT,   SYNONYM_FREE_STACKS, SYNONYM_FOLLOW,
					    SYNONYM_PAUSED,   SYNONYM_ZERO,	   SYNONYM_LOG,
					    SYNONYM_LOG_FILE, SYNONYM_LOG_BYTES };
	const char *equals = strchr(entry, '=');
	const size_t len = equals ? (size_t)(equals - entry) : 0;

	if (len == 0 || strncmp(entry, SYNONYM_PREFIX, sizeof(SYNONYM_PREFIX) - 1) != 0)
		return 0;
	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++) {
		if (strlen(used[i]) == len && memcmp(used[i], entry, len) == 0)
			return 0;
	}
	for (size_t i = 0; i < sizeof(synonym_toggles) / sizeof(*synonym_toggles); i++) {
		if (strlen(synonym_toggles[i].name) == len &&
		    memcmp(synonym_toggles[i].name, entry, len) == 0)
			return 0;
	}
	return len;
}

#endif
