#include "plot/ticks.h"

#include <assert.h>
#include <math.h>

enum { UNITS_MAX = 9, DECIMALS_MAX = 9 };

struct unit {
	double size;
	const char *name;
};

static const struct unit byte_units[UNITS_MAX] = {
	{ 1, "B" },	   { 0x1p10, "KiB" }, { 0x1p20, "MiB" }, { 0x1p30, "GiB" },
	{ 0x1p40, "TiB" }, { 0x1p50, "PiB" }, { 0x1p60, "EiB" },
};

static const struct unit count_units[UNITS_MAX] = {
	{ 1, "" }, { 1e6, "M" }, { 1e9, "G" }, { 1e12, "T" }, { 1e15, "P" },
};

static const struct unit time_units[UNITS_MAX] = {
	{ 1, "ns" }, { 1e3, "us" }, { 1e6, "ms" }, { 1e9, "s" }, { 60e9, "min" }, { 3600e9, "h" },
};

static const struct unit plain_units[UNITS_MAX] = { { 1, "" } };

static const struct unit *units_of(enum ticks_unit unit)
{
	switch (unit) {
	case TICKS_BYTES:
	case TICKS_BYTE_RATE:
		return byte_units;
	case TICKS_NS:
		return time_units;
	case TICKS_COUNT:
	case TICKS_COUNT_RATE:
		return count_units;
	case TICKS_PLAIN:
		break;
	}
	return plain_units;
}

static const char *suffix_of(enum ticks_unit unit)
{
	return unit == TICKS_BYTE_RATE || unit == TICKS_COUNT_RATE ? "/s" : "";
}

/* The largest unit not larger than value, or the smallest of all. */
static const struct unit *unit_for(enum ticks_unit unit, double value)
{
	const struct unit *units = units_of(unit);
	const struct unit *best = units;

	for (size_t i = 0; i < UNITS_MAX && units[i].name; i++) {
		if (units[i].size <= value * (1 + 1e-9))
			best = &units[i];
	}
	return best;
}

static double step_decimal(double value)
{
	const double power = pow(10, floor(log10(value) + 1e-9));
	const double rest = value / power;

	return power * (rest <= 1 + 1e-9 ? 1 : rest <= 2 + 1e-9 ? 2 : rest <= 5 + 1e-9 ? 5 : 10);
}

/* Minutes and hours are divided as on a clock. */
static double step_clock(double value, double unit)
{
	static const double minutes[] = { 1, 2, 5, 10, 15, 30, 60 };
	static const double hours[] = { 1, 2, 3, 6, 12, 24, 48 };
	const double *steps = unit == 60e9 ? minutes : hours;

	for (size_t i = 0; i < array_size(minutes); i++) {
		if (steps[i] * unit >= value * (1 - 1e-9))
			return steps[i] * unit;
	}
	return step_decimal(value / (24 * 3600e9)) * (24 * 3600e9);
}

double ticks_step(enum ticks_unit unit, double value, double max)
{
	const bool is_time = unit == TICKS_NS;
	/* All labels use the largest value's unit, so bytes are divided into tenths of it. */
	const struct unit *of = unit_for(unit, is_time ? value : max);
	double step;

	assert((unsigned)unit <= TICKS_PLAIN);
	if (is_time && value > 30e9)
		return step_clock(value, value > 1800e9 ? 3600e9 : 60e9);
	step = step_decimal(value / of->size) * of->size;
	if (is_time && step > 20e9 && step <= 50e9)
		return 30e9;
	if (unit != TICKS_PLAIN && !is_time && step < 1)
		step = 1; /* no halves */
	return step;
}

static unsigned decimals_for(double step)
{
	unsigned decimals = 0;

	while (decimals < DECIMALS_MAX && fabs(step - round(step)) > 1e-6 * step) {
		step *= 10;
		decimals++;
	}
	return decimals;
}

static void add_plain(struct str *out, double value, unsigned decimals)
{
	const double rounded = round(value);

	if (decimals == 0 && rounded >= 0 && rounded < 1e15)
		str_add_grouped(out, (uint64_t)rounded);
	else
		str_add_double(out, value, decimals);
}

/* All ticks of an axis use one unit, with the decimals that the step needs. */
static void label_make(char *label, enum ticks_unit unit, double value, double step, double most)
{
	const struct unit *of = unit_for(unit, most);
	CLEAN(str_deinit) struct str text = { 0 };

	if (value == 0 && unit != TICKS_PLAIN) {
		str_add_char(&text, '0');
	} else {
		add_plain(&text, value / of->size, decimals_for(step / of->size));
		if (*of->name)
			str_printf(&text, " %s", of->name);
		str_add(&text, suffix_of(unit));
	}
	str_format(label, STR_SHORT_BYTES, "%s", str_text(&text));
}

/* Seconds rather than minutes while steps are in seconds. */
static double label_most(enum ticks_unit unit, double max, double step)
{
	return unit == TICKS_NS && step < 60e9 && max >= 1e9 ? 1e9 : max;
}

void ticks_linear(enum ticks_unit unit, double min, double max, double step, struct ticks *ticks)
{
	double at = ceil(min / step - 1e-9) * step;

	assert(min <= max);
	ticks->count = 0;
	for (; at <= max + step * 1e-6 && ticks->count < TICKS_MAX; at += step) {
		struct tick *tick = &ticks->items[ticks->count++];

		*tick = (struct tick) { .value = fabs(at) < step * 1e-6 ? 0 : at };
		label_make(tick->label, unit, tick->value, step, label_most(unit, max, step));
	}
}

static void log_tick(struct ticks *ticks, enum ticks_unit unit, double value, bool is_minor)
{
	struct tick *tick;

	if (ticks->count == TICKS_MAX)
		return;
	tick = &ticks->items[ticks->count++];
	*tick = (struct tick) { .value = value, .is_minor = is_minor };
	if (!is_minor) {
		CLEAN(str_deinit) struct str text = { 0 };

		ticks_add_value(&text, unit, value);
		str_format(tick->label, sizeof(tick->label), "%s", str_text(&text));
	}
}

void ticks_log(enum ticks_unit unit, double min, double max, unsigned count_max,
	       struct ticks *ticks)
{
	const double base = units_of(unit) == byte_units ? 2 : 10;
	const int first = (int)ceil(log(min) / log(base) - 1e-9);
	const int last = (int)floor(log(max) / log(base) + 1e-9);
	const int count = last - first + 1;
	int every = 1;

	assert(min > 0 && min <= max);
	assert(count_max > 0);
	ticks->count = 0;
	while (count > (int)(count_max > 0 ? count_max : 1) * every)
		every = base == 10 && every == 2 ? 3 : every * 2;
	for (int i = first; i <= last; i++) {
		const bool is_minor = ((i % every) + every) % every != 0;

		if (!is_minor || every <= 4)
			log_tick(ticks, unit, pow(base, i), is_minor);
	}
}

void ticks_add_value(struct str *out, enum ticks_unit unit, double value)
{
	const struct unit *of = unit_for(unit, value);
	const double scaled = value / of->size;
	const bool is_round = fabs(scaled - round(scaled)) < 1e-9 * (scaled + 1);

	assert((unsigned)unit <= TICKS_PLAIN);
	if (value == 0 && unit != TICKS_PLAIN) {
		str_add_char(out, '0');
		return;
	}
	add_plain(out, scaled, is_round ? 0 : scaled < 10 ? 2 : 1);
	if (*of->name)
		str_printf(out, " %s", of->name);
	str_add(out, suffix_of(unit));
}
