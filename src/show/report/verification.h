/*
 * verification: whether a tape is complete and undamaged (answer/verification.h), as text.
 */
#ifndef MEMTAPE_REPORT_VERIFICATION_H
#define MEMTAPE_REPORT_VERIFICATION_H

#include "questions/verification.h"
#include "report/report.h"

/* tape: its path as given by the user. */
struct err *verification_write(const struct verification *found, const char *tape, FILE *out);

#endif
