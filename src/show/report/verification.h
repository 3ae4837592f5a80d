/*
 * verification: whether a tape is complete and undamaged (answer/verification.h), as text.
 */
#ifndef MEMTAPE_REPORT_VERIFICATION_H
#define MEMTAPE_REPORT_VERIFICATION_H

#include "questions/verification.h"
#include "report/report.h"

/* tape: its path as given by the user. width: columns of the terminal; 0: it is none. */
struct err *verification_write(const struct verification *found, const char *tape, unsigned width,
			       FILE *out);

#endif
