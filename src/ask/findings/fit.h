/*
 * fit: how a curve of live bytes develops over time: a line fit, and its classification. Pure
 * arithmetic on equally spaced values.
 */
#ifndef MEMTAPE_FINDINGS_FIT_H
#define MEMTAPE_FINDINGS_FIT_H

#include <stddef.h>
#include <stdint.h>

struct fit {
	double slope; /* per step */
	double begin; /* the line's value at the first point */
	double r2;    /* 0 .. 1: share of the variance that the line explains; 1 for a constant */
};

/* Least squares. count 0 and 1 give a flat line. */
struct fit fit_line(const uint64_t *values, size_t count);

enum growth_kind {
	GROWTH_NONE,	/* comes down again, or fluctuates */
	GROWTH_ONCE,	/* reached early and kept: initialisation */
	GROWTH_PLATEAU, /* grew, then stopped: a full cache */
	GROWTH_STEADY	/* grows linearly to the end, like a leak */
};

struct growth {
	enum growth_kind kind;
	struct fit fit; /* from `begin` on */
	size_t begin;	/* 0, or where growth continued after build-up */
	uint64_t grown; /* from there: last value minus first; 0 if negative */
	size_t rises;	/* steps that went up */
};

/* The first value is the start: for a curve that starts from nothing it is 0. */
struct growth growth_of(const uint64_t *values, size_t count);

#endif
