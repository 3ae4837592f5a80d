/*
 * flame_parts: a flame graph before it is drawn, whatever it was made of. Internal to plot.
 */
#ifndef MEMTAPE_PLOT_FLAME_PARTS_H
#define MEMTAPE_PLOT_FLAME_PARTS_H

#include "base/map.h"
#include "plot/flame.h"
#include "plot/flame_layout.h"

enum {
	FLAME_MARGIN = 16,
	FLAME_HEAD = 84,  /* title, subtitle */
	FLAME_LEGEND = 20 /* what colours mean, where they mean something */
};

/* What is shown of a frame, beside where it lies. */
struct flame_facts {
	const struct name *name;
	const char *file; /* NULL: not known, or several */
	uint32_t line;
	uint64_t calls, bytes, self;
	const struct model_stack_sums *sums; /* all metrics; NULL: not known, or not of memory */
	uint64_t before, after;		     /* of differences */
};

struct flame_picture {
	struct str *out;
	const struct flame_settings *settings;
	enum metric metric;
	bool is_diff;
	unsigned width, row, font, top; /* pixels */
	uint64_t scale;	    /* values are that many times as large: for parts of units of work */
	uint64_t value_min; /* smaller frames were left out; 0: none were */
	struct flame_layout layout;
	struct flame_facts *facts; /* by frame of the layout */
	struct map name_numbers;   /* name -> position in the table of names + 1 */
	struct interner files;
};

extern const struct name flame_root_name;

/* Everything but what is private to it is there. */
struct err *flame_picture_write(struct flame_picture *picture);

/* The frames as JSON in an element of their own, and the script. false: no memory. */
bool flame_data_write(struct flame_picture *picture);

unsigned flame_height(const struct flame_picture *picture);

/* Where the letters of a label stand below the top of its row, pixels. */
unsigned flame_baseline(const struct flame_picture *picture);

/* Width of a letter of the labels, which are of one width each. */
unsigned flame_char_hundredths(const struct flame_picture *picture);

/* "12.3 MiB": in units of the metric. */
void flame_add_value(const struct flame_picture *picture, uint64_t value);

/* Of a colour, as it is perceived, of 255: green counts most. */
unsigned flame_brightness(uint32_t rgb);

/* The styles of what is not as usual. */
void flame_look_write(const struct flame_picture *picture);

#endif
