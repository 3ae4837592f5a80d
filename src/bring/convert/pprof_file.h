/*
 * pprof_file: the tables of a pprof profile (profile.proto), as stored in the file. Internal to
 * convert. One thread at a time.
 */
#ifndef MEMTAPE_CONVERT_PPROF_FILE_H
#define MEMTAPE_CONVERT_PPROF_FILE_H

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "convert/source.h"

/* Strings are given by number; numbers not in the file mean "". */
struct pprof_type {
	uint64_t name;
	uint64_t unit;
};

struct pprof_sample {
	size_t first_location; /* index in locations_of, innermost first */
	size_t location_count;
	size_t first_value; /* index in values: one per type */
	size_t value_count;
};

struct pprof_mapping {
	uint64_t begin;
	uint64_t end;
	uint64_t offset;
	uint64_t path;
	uint64_t build_id;
};

struct pprof_line {
	uint64_t function;
	uint64_t line;
};

struct pprof_location {
	uint64_t mapping;  /* id; 0: none */
	uint64_t address;  /* of the call */
	size_t first_line; /* index in lines, innermost first */
	size_t line_count;
};

struct pprof_function {
	uint64_t name;
	uint64_t mangled;
	uint64_t file;
};

VEC_DEFINE(pprof_type_vec, struct pprof_type);
VEC_DEFINE(pprof_sample_vec, struct pprof_sample);
VEC_DEFINE(pprof_mapping_vec, struct pprof_mapping);
VEC_DEFINE(pprof_line_vec, struct pprof_line);
VEC_DEFINE(pprof_location_vec, struct pprof_location);
VEC_DEFINE(pprof_function_vec, struct pprof_function);

/* All zeros is an empty one. Maps lead from ids to indices in the vectors. */
struct pprof_file {
	struct pprof_type_vec types;
	struct pprof_sample_vec samples;
	struct vec_u64 locations_of;
	struct vec_u64 values;
	struct pprof_mapping_vec mappings;
	struct map mapping_at;
	struct pprof_line_vec lines;
	struct pprof_location_vec locations;
	struct map location_at;
	struct pprof_function_vec functions;
	struct map function_at;
	struct vec_u64 strings; /* offset of each in text */
	struct str text;
	struct vec_u8 message; /* the current field */
	uint64_t period;
	uint64_t time_ns; /* since 1970, when it was written */
	bool no_memory;
};

void pprof_file_deinit(struct pprof_file *file);
CLEAN_DEFINE_DEINIT(pprof_file_deinit, struct pprof_file);

/*
 * Reads all of source. ERR_FORMAT: not such a message at all. *why_ret: why reading stopped early,
 * at the source's position; NULL: complete.
 */
struct err *pprof_file_read(struct pprof_file *file, struct source *source, const char **why_ret);

const char *pprof_text(const struct pprof_file *file, uint64_t string);

#endif
