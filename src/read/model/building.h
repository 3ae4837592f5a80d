/*
 * building: a model without rows, built while its tape is being recorded (capture/playing.h). It is
 * the model that model_load makes of the finished tape, or an error.
 *
 * One thread at a time.
 */
#ifndef MEMTAPE_MODEL_BUILDING_H
#define MEMTAPE_MODEL_BUILDING_H

#include "capture/playing.h"
#include "model/model.h"

struct model_building;

/* header: of the tape. release: see capture_playing_create. */
struct err *model_building_create(const struct tape_header *header,
				  void (*release)(void *context, struct capture_growing *growing),
				  void *context, struct model_building **building_ret);
void model_building_destroy(struct model_building *building); /* NULL is fine */
CLEAN_DEFINE(model_building_destroy, struct model_building *);

/* Where the tape's chunks go; lives as long as the building. */
struct capture_playing *model_building_playing(struct model_building *building);

/* As capture_playing_go. Call this one. */
struct err *model_building_go(struct model_building *building, const uint32_t *stop);

/* Memory in use, or soon to be used, without the chunks. */
size_t model_building_bytes(const struct model_building *building);

/*
 * The tape is finished, and all its chunks were given. ERR_STATE: the model cannot be had this way.
 * The building has served its purpose, also on failure.
 */
struct err *model_building_finish(struct model_building *building, const char *tape_path,
				  struct model **model_ret);

#endif
