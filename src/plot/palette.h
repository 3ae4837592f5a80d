/*
 * palette: one colour per module, the same in every picture and every run.
 */
#ifndef MEMTAPE_PLOT_PALETTE_H
#define MEMTAPE_PLOT_PALETTE_H

#include "model/names.h"

/* Classes of flame.css. Constant texts. */
const char *palette_hue(const struct name *name);   /* by module */
const char *palette_shade(const struct name *name); /* by function */

/* The same as 0xrrggbb for light paper, where nobody understands CSS. */
uint32_t palette_rgb(const struct name *name);

#endif
