/*
 * flame_parts: a flame graph before it is drawn, whatever its source. Internal to plot.
 */
#ifndef MEMTAPE_PLOT_FLAME_PARTS_H
#define MEMTAPE_PLOT_FLAME_PARTS_H

#include "base/map.h"
#include "plot/flame.h"
#include "plot/flame_layout.h"

enum {
	FLAME_MARGIN = 16,
	FLAME_HEAD = 84,  /* title, subtitle */
	FLAME_LEGEND = 20 /* meaning of the colours, if they have one */
};

/* Data of a frame, apart from its position. */
struct flame_facts {
	const struct name *name;
	const char *file; /* NULL: unknown, or several */
	uint32_t line;
	uint64_t calls, bytes, self;
	const struct model_stack_sums *sums; /* all metrics; NULL: unknown, or not about memory */
	uint64_t before, after;		     /* for differences */
};

struct flame_picture {
	struct str *out;
	const struct flame_settings *settings;
	enum metric metric;
	bool is_diff;
	unsigned width, row, font, top; /* pixels */
	uint64_t scale;	    /* values are multiplied by this: for fractions of units of work */
	uint64_t value_min; /* smaller frames were left out; 0: none were */
	struct flame_layout layout;
	struct flame_facts *facts; /* by frame of the layout */
	struct map name_numbers;   /* name -> position in the table of names + 1 */
	struct interner files;
};

extern const struct name flame_root_name;

/* Everything must be set except its private members. */
struct err *flame_picture_write(struct flame_picture *picture);

/* The frames as JSON in a separate element, and the script. false: out of memory. */
bool flame_data_write(struct flame_picture *picture);

unsigned flame_height(const struct flame_picture *picture);

/* Baseline of a label, in pixels below the top of its row. */
unsigned flame_baseline(const struct flame_picture *picture);

/* Width of a letter in labels, which are monospaced. */
unsigned flame_char_hundredths(const struct flame_picture *picture);

/* "12.3 MiB": in units of the metric. */
void flame_add_value(const struct flame_picture *picture, uint64_t value);

/* Perceived brightness of a colour, 0 .. 255: green counts most. */
unsigned flame_brightness(uint32_t rgb);

/* Styles for settings other than the defaults. */
void flame_look_write(const struct flame_picture *picture);

#endif
