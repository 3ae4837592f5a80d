#include "verdict/verdict.h"

#include <assert.h>
#include <math.h>

#include "base/number.h"
#include "system/looks.h"

enum {
	AVAILABLE_WARNING = 15, /* percent of memory, less than */
	AVAILABLE_CRITICAL = 5,
	SWAP_WARNING = 80, /* percent of swap */
	SWAP_CRITICAL = 95,
	LIMIT_WARNING = 80, /* percent of a limit of a cgroup */
	LIMIT_CRITICAL = 95,
	THRASHING_KIB = 1024, /* a second, both in and out */
	PRESSURE_SOME = 10,   /* percent of the last 10 s */
	PRESSURE_FULL = 5,
	PERCENT = 100
};

const char *const verdict_level_words[] = { "ok", "unknown", "warning", "critical", NULL };

/* --- words ------------------------------------------------------------------------------------ */

void verdict_add_iec(struct str *words, uint64_t bytes)
{
	if (bytes == SYSTEM_UNKNOWN)
		str_add(words, "?");
	else
		str_add_iec(words, bytes);
}

void verdict_add_percent(struct str *words, double percent)
{
	str_add_double(words, percent, 1);
	str_add(words, " %");
}

void verdict_add_rate(struct str *words, double rate)
{
	str_add_grouped(words, u64_of_double(rate + 0.5));
}

static void add_part(struct str *words, uint64_t part, uint64_t whole, const char *what)
{
	verdict_add_iec(words, part);
	str_add(words, " of ");
	verdict_add_iec(words, whole);
	str_printf(words, "%s (", what);
	verdict_add_percent(words, verdict_percent(part, whole));
	str_add(words, ")");
}

static enum verdict_level unknown(struct str *words)
{
	str_add(words, "not known");
	return VERDICT_UNKNOWN;
}

/* --- rules ------------------------------------------------------------------------------------ */

enum verdict_level verdict_level(double value, double warning, double critical)
{
	return value >= critical  ? VERDICT_CRITICAL
	       : value >= warning ? VERDICT_WARNING
				  : VERDICT_OK;
}

double verdict_percent(uint64_t part, uint64_t whole)
{
	if (part == SYSTEM_UNKNOWN || whole == SYSTEM_UNKNOWN || whole == 0)
		return NAN;
	return (double)part * PERCENT / (double)whole;
}

enum verdict_level verdict_memory(struct str *words, uint64_t available, uint64_t total)
{
	const double percent = verdict_percent(available, total);

	if (isnan(percent))
		return unknown(words);
	add_part(words, available, total, " available");
	return percent < AVAILABLE_CRITICAL  ? VERDICT_CRITICAL
	       : percent < AVAILABLE_WARNING ? VERDICT_WARNING
					     : VERDICT_OK;
}

enum verdict_level verdict_swap(struct str *words, uint64_t used, uint64_t total)
{
	if (total == SYSTEM_UNKNOWN || used == SYSTEM_UNKNOWN)
		return unknown(words);
	if (total == 0) {
		str_add(words, "there is no swap");
		return VERDICT_OK;
	}
	add_part(words, used, total, " used");
	return verdict_level(verdict_percent(used, total), SWAP_WARNING, SWAP_CRITICAL);
}

enum verdict_level verdict_limit(struct str *words, uint64_t working_set, uint64_t limit,
				 const char *name)
{
	add_part(words, working_set, limit, "");
	str_printf(words, " in %s", name);
	return verdict_level(verdict_percent(working_set, limit), LIMIT_WARNING, LIMIT_CRITICAL);
}

enum verdict_level verdict_swapping(struct str *words, double in_kib, double out_kib)
{
	assert(!isnan(in_kib));
	assert(!isnan(out_kib));
	if (in_kib + out_kib <= 0) {
		str_add(words, "no");
		return VERDICT_OK;
	}
	verdict_add_rate(words, in_kib);
	str_add(words, " KiB in and ");
	verdict_add_rate(words, out_kib);
	str_add(words, " KiB out a second");
	if (in_kib < THRASHING_KIB || out_kib < THRASHING_KIB)
		return VERDICT_WARNING;
	str_add(words, ": what is swapped out is needed again");
	return VERDICT_CRITICAL;
}

enum verdict_level verdict_pressure(struct str *words, double some, double full)
{
	verdict_add_percent(words, some);
	str_add(words, " of the last 10 s something waited for memory");
	if (!isnan(full)) {
		str_add(words, ", ");
		verdict_add_percent(words, full);
		str_add(words, " everything did");
	}
	return full >= PRESSURE_FULL   ? VERDICT_CRITICAL
	       : some >= PRESSURE_SOME ? VERDICT_WARNING
				       : VERDICT_OK;
}

enum verdict_level verdict_limit_hits(uint64_t hits)
{
	return hits > 0 ? VERDICT_WARNING : VERDICT_OK;
}

enum verdict_level verdict_kills(uint64_t count, uint64_t now)
{
	return now > 0 ? VERDICT_CRITICAL : count > 0 ? VERDICT_WARNING : VERDICT_OK;
}
