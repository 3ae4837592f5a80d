/*
 * scans_load: leak scans while a tape is played. Internal to model.
 */
#ifndef MEMTAPE_MODEL_SCANS_LOAD_H
#define MEMTAPE_MODEL_SCANS_LOAD_H

#include "base/arena.h"
#include "base/vec.h"
#include "capture/scan_image.h"
#include "model/blocks.h"
#include "model/scans.h"

VEC_DEFINE(scan_live_vec, struct block);
VEC_DEFINE(scan_blocks_vec, struct model_scan_block);
VEC_DEFINE(scan_holders_vec, struct model_scan_holder);
VEC_DEFINE(scan_frames_vec, struct model_scan_frame);

enum {
	SCANS_MAX = 4096,
	SCANS_BLOCKS_MAX = 1 << 24 /* of all scans but the last; older ones lose their blocks */
};

/* A scan, and until its result is whole what is needed to join it. */
struct scan_built {
	struct model_scan scan; /* its ns holds ticks until the clock is sealed */
	struct scan_live_vec live;
	struct vec_u8 bytes;
	uint64_t total_bytes;
	bool has_ended; /* the result was joined, or cannot be */
	struct scan_blocks_vec blocks;
	struct scan_holders_vec holders;
	struct scan_frames_vec frames;
};

VEC_DEFINE(scans_built_vec, struct scan_built);

struct scans {
	struct scans_built_vec built;
	struct arena *arena; /* of the model, for texts */
};

void scans_deinit(struct scans *scans);

/* The moment of a scan: blocks are those that are live now. */
struct err *scans_begin(struct scans *scans, const struct tape_scan_begin *begin, uint64_t ticks,
			const struct blocks *blocks);

/* The next part of a result; parts that do not fit end their scan without one. */
struct err *scans_part(struct scans *scans, const struct tape_scan_part *part, const uint8_t *bytes,
		       size_t size);

/* After the last record. modules: all of the tape's. */
struct err *scans_seal(struct scans *scans, const struct capture_module_vec *modules);

/* Memory in use, without texts. */
size_t scans_bytes(const struct scans *scans);

/* Computes the sums of a scan whose blocks are known. */
void scan_sum(struct model_scan *scan);

/* Whether all numbers in a scan read from an index fit the model. */
bool scan_is_sound(const struct model *model, const struct model_scan *scan);

#endif
