/*
 * scans: which leak scan of a tape an answer is about.
 */
#ifndef MEMTAPE_SUMS_SCANS_H
#define MEMTAPE_SUMS_SCANS_H

#include "base/err.h"
#include "model/scans.h"

/* The last scan with a result, or the last one; NULL: none. */
const struct model_scan *scan_last(const struct model *model);

/*
 * The scan with this number; 0: the last one with a result. ERR_NOT_FOUND: there is none, or it has
 * no result.
 */
struct err *scan_choose(const struct model *model, uint64_t id, const struct model_scan **scan_ret);

#endif
