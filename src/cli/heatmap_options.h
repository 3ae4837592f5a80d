/*
 * heatmap_options: options of `memtape heatmap`.
 */
#ifndef MEMTAPE_CLI_HEATMAP_OPTIONS_H
#define MEMTAPE_CLI_HEATMAP_OPTIONS_H

#include "base/arena.h"
#include "cli/reading.h"
#include "plot/heat_svg.h"

enum { HEATMAP_SCALE_DEFAULT = -1, HEATMAP_SCALE_LOG = 0, HEATMAP_SCALE_LINEAR = 1 };

/* Texts are numbers in the units of the input. NULL: not given. */
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

/* From two columns of text. Lives in the arena. */
struct err *heatmap_of_text(const struct heatmap_options *options, struct arena *arena,
			    struct heat *heat);

/*
 * Nanoseconds in one of the text's units, by its label: "us" is 1000. 0: not a time.
 */
double heatmap_value_ns(const struct heatmap_options *options);

/* Parses the whole text as a finite number. ERR_USAGE names the option. */
struct err *heatmap_number(const char *option, const char *text, double *number_ret);

#endif
