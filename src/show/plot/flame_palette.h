/*
 * flame_palette: the colours of a flame graph that are not those of modules: flamegraph.pl's
 * palettes. A function has the same colour in every picture, by its name alone.
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
	FLAME_JAVA, /* this and the following: a palette above, by what kind of name it is */
	FLAME_JS,
	FLAME_PERL,
	FLAME_CHAIN,
	FLAME_WAKEUP
};

/* In the order of the enum, NULL at the end. */
extern const char *const flame_palette_words[];

/* 0xrrggbb. Not of FLAME_BY_MODULE. */
uint32_t flame_palette_rgb(enum flame_palette palette, const struct name *name);

#endif
