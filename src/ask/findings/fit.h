/*
 * fit: what a curve of live bytes does over time: a straight line through it, and which of the
 * usual courses it takes. Pure arithmetic on equally spaced values.
 */
#ifndef MEMTAPE_FINDINGS_FIT_H
#define MEMTAPE_FINDINGS_FIT_H

#include <stddef.h>
#include <stdint.h>

struct fit {
	double slope; /* a step */
	double begin; /* of the line, at the first value */
	double r2;    /* 0 .. 1: how much of the variance the line explains; 1 for a constant */
};

/* Least squares. count 0 and 1 give a flat line. */
struct fit fit_line(const uint64_t *values, size_t count);

enum growth_kind {
	GROWTH_NONE,	/* comes down again, or goes up and down */
	GROWTH_ONCE,	/* reached early and kept: initialisation */
	GROWTH_PLATEAU, /* grew, and has ended to grow: a cache that is full */
	GROWTH_STEADY	/* grows to the end, as a line does: a leak does so */
};

struct growth {
	enum growth_kind kind;
	struct fit fit; /* from `begin` on */
	size_t begin;	/* 0, or where it went on growing when it had built up what it has */
	uint64_t grown; /* from there: the last value over it; 0 if it is not */
	size_t rises;	/* and steps that went up */
};

/* The first value is where it begins, so a curve from nothing begins with 0. */
struct growth growth_of(const uint64_t *values, size_t count);

#endif
