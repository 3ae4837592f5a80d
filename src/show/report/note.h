/*
 * note: members of rows that several reports have: who did it and where. Internal to report.
 */
#ifndef MEMTAPE_REPORT_NOTE_H
#define MEMTAPE_REPORT_NOTE_H

#include "report/report.h"

/* The thread's number; null for MODEL_NO_THREAD. */
void note_thread(struct emit *emit, const char *key, const struct model *model, uint32_t thread);

/* "stack": its functions from the innermost outwards; none for CAPTURE_STACK_NONE. */
void note_stack(struct emit *emit, const struct report_context *context, uint32_t stack);

#endif
