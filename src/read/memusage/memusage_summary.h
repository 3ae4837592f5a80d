/* memusage_summary: memusage's text, laid out byte for byte as glibc's library prints it. */
#ifndef MEMTAPE_MEMUSAGE_MEMUSAGE_SUMMARY_H
#define MEMTAPE_MEMUSAGE_MEMUSAGE_SUMMARY_H

#include "base/str.h"
#include "model/calls.h"

void memusage_summary_add(struct str *text, const struct calls *calls, bool has_mappings,
			  bool has_colour);

#endif
