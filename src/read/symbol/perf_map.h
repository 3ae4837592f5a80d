/*
 * perf_map: names of code that a program generated at run time, from the file /tmp/perf-PID.map
 * that JIT compilers write: lines of "START SIZE NAME", numbers in hexadecimal. Later lines win, as
 * code is replaced. Immutable once opened.
 */
#ifndef MEMTAPE_SYMBOL_PERF_MAP_H
#define MEMTAPE_SYMBOL_PERF_MAP_H

#include "base/file.h"

struct perf_map;

/* ERR_LIMIT: the file is too long. Invalid lines are skipped. */
struct err *perf_map_open(const char *path, const struct file_trust *trust,
			  struct perf_map **map_ret);
void perf_map_close(struct perf_map *map); /* accepts NULL */
CLEAN_DEFINE(perf_map_close, struct perf_map *);

/* From text, which it copies. */
struct err *perf_map_parse(const char *text, size_t len, struct perf_map **map_ret);

/* NULL: no code covers it. Lives as long as the map. */
const char *perf_map_find(const struct perf_map *map, uint64_t address);

#endif
