/*
 * triage: how a system is off for memory (triage/triage.h), on one screen 80 columns wide.
 */
#ifndef MEMTAPE_REPORT_TRIAGE_H
#define MEMTAPE_REPORT_TRIAGE_H

#include "triage/triage.h"

/* Text, or JSON of the answer's shape. */
struct err *triage_report(const struct triage *triage, bool is_json, bool colour, FILE *out);

#endif
