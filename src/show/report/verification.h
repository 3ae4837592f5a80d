/*
 * verification: whether a tape is whole (answer/verification.h), in words.
 */
#ifndef MEMTAPE_REPORT_VERIFICATION_H
#define MEMTAPE_REPORT_VERIFICATION_H

#include "questions/verification.h"
#include "report/report.h"

/* tape: its path, as the user wrote it. */
struct err *verification_write(const struct verification *found, const char *tape, FILE *out);

#endif
