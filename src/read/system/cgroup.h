/*
 * cgroup: where a process's cgroup is, which limits memory, and what its files say: version 2, or the
 * memory controller of version 1. Texts may be NULL (not read) and may be anything.
 */
#ifndef MEMTAPE_SYSTEM_CGROUP_H
#define MEMTAPE_SYSTEM_CGROUP_H

#include "system/looks.h"
#include "system/memory.h"

enum { CGROUP_LEVELS_MAX = 16 };

/* A cgroup, or one above it. */
struct cgroup_place {
	const char *directory; /* of its files: /sys/fs/cgroup/user.slice */
	const char *name;      /* as seen from where it is mounted: /user.slice */
};

/* From the process's own upwards; all in the arena. */
struct cgroup_places {
	struct cgroup_place items[CGROUP_LEVELS_MAX];
	size_t count; /* 0: no controller of memory was found */
	bool is_v1;
	bool is_part; /* what is mounted is not the top of the hierarchy: this is a container */
};

/* Of /proc/PID/cgroup and a process's mountinfo. */
struct err *cgroup_places_find(const char *cgroup, const char *mountinfo, struct arena *arena,
			       struct cgroup_places *places);

/* What is not known, or not limited, is SYSTEM_UNKNOWN. Bytes, and counts since it was made. */
struct cgroup_info {
	uint64_t usage, limit, high, peak;
	uint64_t inactive_file; /* of the usage: cache that is freed first */
	uint64_t anonymous, file;
	uint64_t swap, swap_limit;
	uint64_t limit_hits; /* times that the limit made somebody wait for memory to be freed */
	uint64_t high_hits;
	uint64_t ooms; /* times that nothing could be freed at the limit; version 2 counts them */
	uint64_t oom_kills;
	struct memory_pressure pressure;
};

void cgroup_info_read(const struct look *look, const struct cgroup_places *places, size_t level,
		      struct cgroup_info *info);

/* The names of the files that cgroup_info_read looks for in a directory; NULL at the end. */
const char *const *cgroup_files(bool is_v1);

/* The usage without the cache that is freed first: what reaches the limit. */
uint64_t cgroup_working_set(const struct cgroup_info *info);

#endif
