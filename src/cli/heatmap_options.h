/*
 * heatmap_options: what `memtape heatmap` was asked for.
 */
#ifndef MEMTAPE_CLI_HEATMAP_OPTIONS_H
#define MEMTAPE_CLI_HEATMAP_OPTIONS_H

#include "base/arena.h"
#include "cli/reading.h"
#include "plot/heat_svg.h"

enum { HEATMAP_SCALE_DEFAULT = -1, HEATMAP_SCALE_LOG = 0, HEATMAP_SCALE_LINEAR = 1 };

/* Texts are numbers, of values as they are in the input. NULL: not given. */
struct heatmap_options {
	const char *input;
	const char *output;
	bool force;
	const char *title;
	int time_unit; /* of the text's first column */
	const char *label;
	const char *old_label; /* --unitslatency */
	const char *min;
	const char *max;
	uint64_t rows;
	const char *row_step;
	const char *column_seconds;
	uint64_t columns_max;
	uint64_t columns;
	const char *font;
	uint64_t font_size;
	uint64_t box_size;
	bool has_accumulated;
	bool has_grid;
	const char *reference;
	bool is_delta;
	int what;
	int scale; /* HEATMAP_SCALE_DEFAULT: text is linear, tapes are logarithmic */
	bool is_linear_colour;
	uint64_t count_max;
	struct reading_part_options part;
};

/* Of two columns of text. Lives in the arena. */
struct err *heatmap_of_text(const struct heatmap_options *options, struct arena *arena,
			    struct heat *heat);

/*
 * How many nanoseconds one of the text's values is, by its label: "us" is 1000. 0: it is no time.
 */
double heatmap_value_ns(const struct heatmap_options *options);

/* A finite number, the whole text. ERR_USAGE, telling which option. */
struct err *heatmap_number(const char *option, const char *text, double *number_ret);

#endif
