/*
 * maps: the mappings of a process, from /proc/PID/smaps or maps, as far as a scan needs them.
 */
#ifndef MEMTAPE_SCAN_MAPS_H
#define MEMTAPE_SCAN_MAPS_H

#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

struct maps_entry {
	uint64_t begin, end;
	uint64_t inode;
	uint32_t name; /* offset in texts */
	bool is_readable, is_writable, is_executable, is_shared;
	bool is_file;	  /* of a file: name is its path */
	bool is_undumped; /* not in core dumps: the recorder's own memory is not */
};

VEC_DEFINE(maps_entries, struct maps_entry);

struct maps {
	struct maps_entries entries; /* by address */
	struct str texts;
};

struct err *maps_read(pid_t pid, struct maps *maps);

/* Without is_undumped: the kernel does not look at every page for it. */
struct err *maps_read_briefly(pid_t pid, struct maps *maps);

void maps_deinit(struct maps *maps);
CLEAN_DEFINE_DEINIT(maps_deinit, struct maps);

const char *maps_name(const struct maps *maps, const struct maps_entry *entry);

/* Whether it is of a file with this name, in whatever folder. */
bool maps_is_named(const struct maps *maps, const struct maps_entry *entry, const char *name);

/* The first one of such a file; NULL: none. */
const struct maps_entry *maps_find_file(const struct maps *maps, const char *name);

/* The one that contains the address; NULL: none. */
const struct maps_entry *maps_find(const struct maps *maps, uint64_t address);

/* Whether all of these addresses are in some, and writable, if that is wanted. */
bool maps_cover(const struct maps *maps, uint64_t begin, uint64_t end, bool is_writable);

#endif
