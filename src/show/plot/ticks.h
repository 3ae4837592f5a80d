/*
 * ticks: round numbers along an axis, and their labels. Steps are 1, 2 or 5 times a power of ten -
 * of a unit: bytes are in IEC units, times in those of the clock. Internal to plot.
 */
#ifndef MEMTAPE_PLOT_TICKS_H
#define MEMTAPE_PLOT_TICKS_H

#include "base/str.h"

enum ticks_unit {
	TICKS_COUNT,
	TICKS_BYTES,
	TICKS_NS,
	TICKS_COUNT_RATE, /* per second */
	TICKS_BYTE_RATE,
	TICKS_PLAIN /* anything, including fractions */
};

enum { TICKS_MAX = 64 };

struct tick {
	double value;
	bool is_minor; /* on a logarithmic axis: a line without a label */
	char label[STR_SHORT_BYTES];
};

struct ticks {
	struct tick items[TICKS_MAX];
	size_t count;
};

/* Multiples of the step within min .. max. */
void ticks_linear(enum ticks_unit unit, double min, double max, double step, struct ticks *ticks);

/* Powers of ten (bytes: of two) within min .. max, both over 0. */
void ticks_log(enum ticks_unit unit, double min, double max, unsigned count_max,
	       struct ticks *ticks);

/* The smallest round step that is at least `value`, for a linear scale up to max. */
double ticks_step(enum ticks_unit unit, double value, double max);

/* A single value for humans: "12.3 MiB", "1,234", "20 ms". */
void ticks_add_value(struct str *out, enum ticks_unit unit, double value);

#endif
