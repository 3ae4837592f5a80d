/*
 * command: finds commands by name, and suggests a similar one.
 */
#include "cli/command.h"

#include <assert.h>
#include <string.h>

#include "core/core.h"

enum { NAME_BYTES_MAX = 32 };

const struct command *command_find(const char *name)
{
	assert(name);
	for (const struct command *const *at = command_table; *at; at++)
		if (strcmp((*at)->name, name) == 0)
			return *at;
	return NULL;
}

/* Edit distance (insert, delete, replace: 1 each); names over the maximum length are far away. */
static size_t name_distance(const char *from, const char *to)
{
	size_t row[NAME_BYTES_MAX + 1];
	size_t to_len = strlen(to);

	if (to_len > NAME_BYTES_MAX || strlen(from) > NAME_BYTES_MAX)
		return NAME_BYTES_MAX;
	for (size_t j = 0; j <= to_len; j++)
		row[j] = j;
	for (size_t i = 0; from[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < to_len; j++) {
			size_t replace = diagonal + (from[i] != to[j]);

			diagonal = row[j + 1];
			row[j + 1] = u64_min(replace, u64_min(row[j], row[j + 1]) + 1);
		}
	}
	return row[to_len];
}

const struct command *command_guess(const char *name)
{
	const struct command *best = NULL;
	size_t best_distance = 3;

	assert(name);
	for (const struct command *const *at = command_table; *at; at++) {
		size_t distance = name_distance(name, (*at)->name);

		if (distance < best_distance && distance < strlen((*at)->name)) {
			best = *at;
			best_distance = distance;
		}
	}
	return best;
}

void command_end_signals(sigset_t *set_ret)
{
	sigemptyset(set_ret);
	sigaddset(set_ret, SIGINT);
	sigaddset(set_ret, SIGTERM);
	sigaddset(set_ret, SIGHUP);
}
