/*
 * record_player: the model for the summary, built while the program is recorded.
 */
#ifndef MEMTAPE_CLI_RECORD_PLAYER_H
#define MEMTAPE_CLI_RECORD_PLAYER_H

#include "collect/collector.h"
#include "model/model.h"

extern const struct companion_player record_player;

/*
 * The model of the result's tape, without rows, as model_load makes it: what was built while
 * recording, or NULL where that is not to be had. *why_not_ret says why, and lives as long as the
 * result.
 */
struct model *record_player_model(const struct collector_result *result, struct arena *arena,
				  const char **why_not_ret);

#endif
