/*
 * palette: one colour per module, the same in every picture and every run.
 */
#ifndef MEMTAPE_PLOT_PALETTE_H
#define MEMTAPE_PLOT_PALETTE_H

#include "model/names.h"

/* Class names of flame.css. Static strings. */
const char *palette_hue(const struct name *name);   /* by module */
const char *palette_shade(const struct name *name); /* by function */

/* The same as 0xrrggbb for light backgrounds, for viewers without CSS. */
uint32_t palette_rgb(const struct name *name);

/* Differences: a step from 0 (all gone) through PALETTE_CHANGES / 2 (unchanged) to all new. */
enum { PALETTE_CHANGES = 11 };

unsigned palette_change(uint64_t before, uint64_t after);
const char *palette_change_class(unsigned step);
uint32_t palette_change_rgb(unsigned step);

#endif
