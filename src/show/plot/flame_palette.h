/*
 * flame_palette: colours of a flame graph other than by module: flamegraph.pl's palettes. A
 * function's colour depends on its name alone, so it is the same in every picture.
 */
#ifndef MEMTAPE_PLOT_FLAME_PALETTE_H
#define MEMTAPE_PLOT_FLAME_PALETTE_H

#include "model/names.h"

enum flame_palette {
	FLAME_BY_MODULE, /* palette.h */
	FLAME_HOT,
	FLAME_MEM,
	FLAME_IO,
	FLAME_RED,
	FLAME_GREEN,
	FLAME_BLUE,
	FLAME_AQUA,
	FLAME_YELLOW,
	FLAME_PURPLE,
	FLAME_ORANGE,
	FLAME_JAVA, /* this and the following choose a palette above by the kind of name */
	FLAME_JS,
	FLAME_PERL,
	FLAME_CHAIN,
	FLAME_WAKEUP
};

/* In the order of the enum, NULL at the end. */
extern const char *const flame_palette_words[];

/* 0xrrggbb. Not for FLAME_BY_MODULE. */
uint32_t flame_palette_rgb(enum flame_palette palette, const struct name *name);

#endif
