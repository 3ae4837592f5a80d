/*
 * findings: what is wrong, one finding a cause, the worst first, with evidence, advice and the
 * command that shows each.
 */
#ifndef MEMTAPE_QUESTIONS_FINDINGS_H
#define MEMTAPE_QUESTIONS_FINDINGS_H

#include "answer/about.h"
#include "answer/frame.h"
#include "findings/findings.h"

struct finding_answer {
	const char *type, *title;
	uint64_t bytes, count;
	const char *evidence, *advice;
	struct place place;
	const char *page, *report, *filter, *metric, *at, *from, *until, *sort;
	const char *command;
	uint32_t stack, allocated_stack, freed_before_stack;
	bool possible;
	bool serious;
	uint64_t stake_bytes;
	struct shape_rows also; /* of struct finding_answer, without place, stake and also */
};

struct findings_answer {
	struct shape_rows findings; /* of struct finding_answer */
	struct shape_texts missing;
	struct model_sum leaked;
	uint64_t total; /* number of findings, ignoring asked->top */
	struct quality quality;
};

extern const struct shape shape_findings;

#endif
