/*
 * theme: the colours of pictures, 0xrrggbbaa. They are distinguishable with red-green colour
 * blindness: those of lines are from M. Okabe and K. Ito, "Color Universal Design"
 * (jfly.uni-koeln.de), lighter on dark backgrounds. Internal to plot.
 */
#ifndef MEMTAPE_PLOT_THEME_H
#define MEMTAPE_PLOT_THEME_H

#include "core/core.h"

enum { THEME_BANDS = 12 };

struct theme {
	uint32_t paper;
	uint32_t ink;
	uint32_t soft; /* labels */
	uint32_t grid;
	uint32_t axis;
	uint32_t heap;
	uint32_t rss;
	uint32_t stack;
	uint32_t allocated;
	uint32_t total;
	uint32_t other; /* without a colour of their own */
	uint32_t bands[THEME_BANDS];
	uint32_t heat[2]; /* of a cell with one event, with most */
};

extern const struct theme theme_light, theme_dark;

/* The same colour, translucent: alpha 0 .. 255. */
static inline uint32_t theme_fade(uint32_t rgba, unsigned alpha)
{
	return (rgba & 0xffffff00) | alpha;
}

/* Mixes two colours: share 0 is a, 1 is b. */
uint32_t theme_mix(uint32_t a, uint32_t b, double share);

#endif
