/*
 * gate: limits for a comparison, for scripts: "peak>5%,leaked>0,allocated>1MiB".
 *
 * Each condition is a metric (sums/metric.h), '>', and the allowed growth: bytes, a count, or a
 * percentage of the old value.
 */
#ifndef MEMTAPE_COMPARE_GATE_H
#define MEMTAPE_COMPARE_GATE_H

#include "base/err.h"
#include "sums/metric.h"

enum { GATE_CONDITIONS_MAX = 16, GATE_PERCENT_MAX = 1000000 };

struct gate_condition {
	enum metric metric;
	bool is_percent;
	uint64_t limit;	  /* bytes, a count, or thousandths of a percent */
	const char *text; /* as it was written, borrowed, not terminated */
	size_t text_len;
};

struct gate {
	struct gate_condition conditions[GATE_CONDITIONS_MAX];
	size_t count;
};

/* ERR_USAGE. */
struct err *gate_parse(const char *text, struct gate *gate_ret);

/* A value, and its units of work: 1 .. GATE_UNITS_MAX. */
struct gate_value {
	uint64_t value;
	uint64_t units;
};

enum { GATE_UNITS_MAX = 1000000000 };

/* Whether the value per unit grew by more than the condition allows. Exact. */
bool gate_is_exceeded(const struct gate_condition *condition, struct gate_value before,
		      struct gate_value after);

#endif
