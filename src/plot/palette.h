/*
 * palette: one colour per module, the same in every picture and every run.
 */
#ifndef MEMTAPE_PLOT_PALETTE_H
#define MEMTAPE_PLOT_PALETTE_H

#include "model/names.h"

/* CSS classes of flame.css, space-separated: hue by module, shade by function. Constant texts. */
const char *palette_hue(const struct name *name);
const char *palette_shade(const struct name *name);

#endif
