#include <math.h>

#include "triage/parts.h"

enum { PERCENT = 100, HUNDREDTHS = 100, KIB = 1024, US_PER_S = 1000000, NS_PER_S = 1000000000 };

/* --- arithmetic ------------------------------------------------------------------------------- */

uint64_t known_minus(uint64_t from, uint64_t what)
{
	if (from == SYSTEM_UNKNOWN || what == SYSTEM_UNKNOWN)
		return SYSTEM_UNKNOWN;
	return from > what ? from - what : 0;
}

uint64_t known_plus(uint64_t a, uint64_t b)
{
	uint64_t sum;

	if (a == SYSTEM_UNKNOWN || b == SYSTEM_UNKNOWN || __builtin_add_overflow(a, b, &sum))
		return SYSTEM_UNKNOWN;
	return sum;
}

double rate_of(const struct making *making, uint64_t first, uint64_t last)
{
	if (making->seconds <= 0 || first == SYSTEM_UNKNOWN || last == SYSTEM_UNKNOWN ||
	    last < first)
		return NAN;
	return (double)(last - first) / making->seconds;
}

/* --- growth ----------------------------------------------------------------------------------- */

struct trend trend_of(const struct looks *looks,
		      uint64_t (*value)(const struct look *look, const void *context),
		      const void *context)
{
	struct trend trend = { .slope = NAN, .fit = NAN };
	double x_mean = 0, y_mean = 0, xx = 0, xy = 0, yy = 0;

	for (size_t i = 0; i < looks->count; i++) {
		const uint64_t y = value(&looks->items[i], context);
		const uint64_t since = looks->items[i].monotonic_ns - looks->items[0].monotonic_ns;
		const double x = (double)since / NS_PER_S;
		double x_off, y_off;

		if (y == SYSTEM_UNKNOWN)
			continue;
		trend.count++;
		x_off = x - x_mean; /* the means and sums so far are brought up to date */
		y_off = (double)y - y_mean;
		x_mean += x_off / (double)trend.count;
		y_mean += y_off / (double)trend.count;
		xx += x_off * (x - x_mean);
		xy += x_off * ((double)y - y_mean);
		yy += y_off * ((double)y - y_mean);
	}
	if (trend.count >= 2 && xx > 0)
		trend.slope = xy / xx;
	if (trend.count > 2 && xx > 0)
		trend.fit = yy > 0 ? xy * xy / (xx * yy) : 1;
	return trend;
}

uint64_t time_to(uint64_t used, uint64_t limit, double slope)
{
	static const double ns_max = 0x1p62;
	double ns;

	if (used == SYSTEM_UNKNOWN || limit == SYSTEM_UNKNOWN || !(slope > 0))
		return SHAPE_NONE;
	if (used >= limit)
		return 0;
	ns = (double)(limit - used) / slope * NS_PER_S;
	return ns < ns_max ? (uint64_t)ns : SHAPE_NONE;
}

/* --- the system ------------------------------------------------------------------------------- */

static void memory_fill(const struct memory_info *info, const struct look *look,
			struct triage_memory *memory)
{
	const char *mode = look_text(look, "/proc/sys/vm/overcommit_memory");
	const int64_t overcommit = process_signed(mode);

	*memory = (struct triage_memory) {
		.total = info->total,
		.used = known_minus(info->total, info->available),
		.free = info->free,
		.shared = info->shared,
		.buffers = info->buffers,
		.cached = info->cached,
		.reclaimable = info->reclaimable,
		.buff_cache =
			known_plus(known_plus(info->buffers, info->cached), info->reclaimable),
		.available = info->available,
		.anonymous = info->anonymous,
		.slab = info->slab,
		.page_tables = info->page_tables,
		.kernel_stack = info->kernel_stack,
		.active = info->active,
		.inactive = info->inactive,
		.dirty = info->dirty,
		.corrupted = info->corrupted,
		.committed = info->committed,
		.commit_limit = info->commit_limit,
		.overcommit = overcommit < 0 ? SHAPE_NONE : (uint64_t)overcommit,
	};
	memory->used_percent = verdict_percent(memory->used, memory->total);
	memory->available_percent = verdict_percent(memory->available, memory->total);
	memory->commit_percent =
		verdict_percent(info->committed, known_plus(info->total, info->swap_total));
}

static void swap_fill(const struct memory_info *info, struct triage_swap *swap)
{
	*swap = (struct triage_swap) {
		.total = info->swap_total,
		.used = known_minus(info->swap_total, info->swap_free),
		.free = info->swap_free,
		.cached = info->swap_cached,
	};
	swap->used_percent = verdict_percent(swap->used, swap->total);
}

static void rates_fill(const struct making *making, struct triage_rates *rates)
{
	const double page_kib = (double)making->looks->page_bytes / KIB;
	struct memory_counts a, b;

	memory_counts_read(look_text(making->first, "/proc/vmstat"), &a);
	memory_counts_read(look_text(making->last, "/proc/vmstat"), &b);
	*rates = (struct triage_rates) {
		.swap_in_kib = rate_of(making, a.swapped_in, b.swapped_in) * page_kib,
		.swap_out_kib = rate_of(making, a.swapped_out, b.swapped_out) * page_kib,
		.paged_in_kib = rate_of(making, a.paged_in_kib, b.paged_in_kib),
		.paged_out_kib = rate_of(making, a.paged_out_kib, b.paged_out_kib),
		.faults = rate_of(making, a.faults, b.faults),
		.major_faults = rate_of(making, a.major_faults, b.major_faults),
		.freed = rate_of(making, a.freed, b.freed),
		.scanned_kswapd = rate_of(making, a.scanned_kswapd, b.scanned_kswapd),
		.scanned_direct = rate_of(making, a.scanned_direct, b.scanned_direct),
		.stolen = rate_of(making, a.stolen, b.stolen),
		.stalls = rate_of(making, a.stalls, b.stalls),
	};
	rates->efficiency = rates->scanned_kswapd + rates->scanned_direct;
	rates->efficiency =
		rates->efficiency > 0 ? rates->stolen * PERCENT / rates->efficiency : NAN;
	making->triage->oom_kills = b.oom_kills;
	making->triage->new_oom_kills = making->seconds > 0 && a.oom_kills <= b.oom_kills
						? known_minus(b.oom_kills, a.oom_kills)
						: SHAPE_NONE;
}

static double percent_of_hundredths(uint64_t value)
{
	return value == SYSTEM_UNKNOWN ? NAN : (double)value / HUNDREDTHS;
}

static void pressure_fill(const struct making *making, struct triage_pressure *pressure)
{
	struct memory_pressure a, b;

	memory_pressure_read(look_text(making->first, "/proc/pressure/memory"), &a);
	memory_pressure_read(look_text(making->last, "/proc/pressure/memory"), &b);
	*pressure = (struct triage_pressure) {
		.some_avg10 = percent_of_hundredths(b.some_avg10),
		.some_avg60 = percent_of_hundredths(b.some_avg60),
		.full_avg10 = percent_of_hundredths(b.full_avg10),
		.full_avg60 = percent_of_hundredths(b.full_avg60),
		.some_now = rate_of(making, a.some_total_us, b.some_total_us) * PERCENT / US_PER_S,
		.full_now = rate_of(making, a.full_total_us, b.full_total_us) * PERCENT / US_PER_S,
	};
}

void making_memory(struct making *making)
{
	struct triage *triage = making->triage;

	memory_info_read(look_text(making->last, "/proc/meminfo"), &making->info);
	memory_fill(&making->info, making->last, &triage->memory);
	swap_fill(&making->info, &triage->swap);
	rates_fill(making, &triage->rates);
	pressure_fill(making, &triage->pressure);
}
