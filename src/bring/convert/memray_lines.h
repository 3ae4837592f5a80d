/*
 * memray_lines: line numbers of Python code, from the line tables of CPython code objects. Internal
 * to convert.
 */
#ifndef MEMTAPE_CONVERT_MEMRAY_LINES_H
#define MEMTAPE_CONVERT_MEMRAY_LINES_H

#include "core/core.h"

/*
 * The line of the instruction at a byte offset; version as in PY_VERSION_HEX. 0: unknown, always
 * for tables of versions before 3.11.
 */
uint32_t memray_line(uint32_t version, const uint8_t *table, size_t bytes, int64_t first_line,
		     int64_t offset);

#endif
