/*
 * index: everything a full model knows, as one file beside the tape. Internal to model; the layout
 * is in docs/index-format.md.
 *
 * The file is untrusted like a tape: it is checked when it is opened, and values in rows are
 * checked when they are read.
 */
#ifndef MEMTAPE_MODEL_INDEX_H
#define MEMTAPE_MODEL_INDEX_H

#include "model/checkpoints.h"
#include "model/parts.h"

/* Identifies the tape of an index; a changed or replaced tape has another. */
struct index_identity {
	uint64_t tape_bytes;
	uint64_t tape_mtime_ns;
	uint64_t head_hash; /* of the header page */
	uint64_t tail_hash; /* of the last bytes */
	uint8_t uuid[TAPE_UUID_BYTES];
};

/* Of an existing tape; ERR_SYSTEM if it cannot be read. */
struct err *index_identify(const char *tape_path, struct index_identity *identity_ret);

enum index_section {
	INDEX_FACTS,
	INDEX_TEXTS,
	INDEX_ARGV,
	INDEX_STACKS,
	INDEX_STACK_SEATS,
	INDEX_STACK_SUMS,
	INDEX_STACK_LINKS,
	INDEX_STACK_TOTALS,
	INDEX_STACK_USABLES,
	INDEX_SIGHTINGS,
	INDEX_MODULES,
	INDEX_THREADS,
	INDEX_USAGES,
	INDEX_SYSTEMS,
	INDEX_NOTES,
	INDEX_DAMAGE,
	INDEX_CLOCK,
	INDEX_TIMELINE,
	INDEX_SEGMENTS,
	INDEX_FREED,
	INDEX_CHAINS,
	INDEX_CHECKPOINTS,
	INDEX_PEAK_TIES,
	INDEX_LATENCIES, /* by function; empty if not recorded */
	INDEX_STACK_LATENCIES,
	INDEX_STRAYS,
	INDEX_SCANS,
	INDEX_SCAN_BLOCKS,  /* of all scans, one after the other */
	INDEX_SCAN_HOLDERS, /* the same */
	INDEX_SCAN_FRAMES,
	INDEX_POOLS, /* of a model of them, whose rows have their pool where others have the slack */
	INDEX_SECTIONS
};

struct index_part {
	uint64_t offset;
	uint64_t bytes;
};

enum { INDEX_VERSION = 15 };
#define INDEX_MAGIC "MTINDEX\n"

struct index_header {
	uint8_t magic[8];
	uint32_t version;
	uint32_t header_bytes;
	uint64_t layout; /* hash of the sizes of the types that are stored as in memory */
	struct index_identity identity;
	uint64_t file_bytes;
	uint64_t checksum; /* of this header, with this field 0, and of all sections in order */
	struct index_part parts[INDEX_SECTIONS];
};

static_assert(sizeof(struct index_header) <= IMAGE_HEADER_BYTES, "a page");

/* Single values. Texts are offsets in INDEX_TEXTS. */
struct index_facts {
	struct model_process process; /* its texts as offsets; argv none */
	struct model_totals totals;
	struct model_function functions[TAPE_FN_COUNT];
	struct model_size_bucket sizes[MODEL_SIZE_BUCKETS];
	struct model_quality quality;
	struct model_stack_sums stacks_used;
	uint64_t row_count;
	uint64_t freed_count;
	uint64_t rows_at_peak;
	uint64_t clock_start_ticks;
	uint64_t clock_start_ns;
	double clock_slope;
	uint64_t clock_is_estimated;
	uint64_t timeline_begin_ticks;
	uint64_t timeline_span_ticks;
	uint64_t is_of_pools;
};

uint64_t index_layout(void);

/* Of the header, with its checksum set to 0, and its sections, in a mapped file. */
uint64_t index_checksum(const struct index_header *header, const uint8_t *file);

/* Writes a model that was built with rows to the image that holds its rows. */
struct err *index_write(const struct model *model, const struct rows *rows,
			const struct checkpoints *checkpoints, const struct replay *replay,
			const struct index_identity *identity, struct image *image);

/*
 * The model in a file; fd is borrowed. ERR_FORMAT: not a valid index of this version; ERR_STATE: of
 * another tape (identity NULL: not checked).
 */
struct err *index_read(int fd, const struct index_identity *identity, struct model **model_ret);

/* Where the index of a tape is searched, in this order; the caller frees. NULL: out of memory. */
char *index_path_beside(const char *tape_path);
/* NULL also if there is no usable folder; creates the folder if requested. */
char *index_path_cached(const struct index_identity *identity, bool makes_folder);

#endif
