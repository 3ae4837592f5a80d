/*
 * answered: reports whose answer is a value (answer/question.h): one question for text, JSON and
 * CSV. Internal to report.
 */
#ifndef MEMTAPE_REPORT_ANSWERED_H
#define MEMTAPE_REPORT_ANSWERED_H

#include "answer/about.h"
#include "answer/speak.h"
#include "report/report.h"

/* The subject of the report, except times that it may choose itself. */
struct asked answered_of(const struct report_context *context);

/* Runs the report's question and writes the answer. */
struct err *answered_report_run(const struct report *report, const struct report_context *context,
				FILE *out);

/* Text: all members of the answer, its lists as tables with headings. */
struct err *answered_document(const struct question *question, const struct report_context *context,
			      const void *answer, FILE *out);

/* Text: the answer's list as a table. */
struct err *answered_table(const struct question *question, const struct report_context *context,
			   const void *answer, FILE *out);

#endif
