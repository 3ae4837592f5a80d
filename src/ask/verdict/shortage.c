#include "verdict/shortage.h"

#include <math.h>

#include "base/number.h"
#include "system/looks.h"

enum {
	NS_PER_S = 1000000000, /* rates are over at least a second, or over all there is */
	KIB = 1024,
	HUNDREDTHS = 100,
	WORTH_SHARE = 10,	/* of the time */
	SWAPPED_WORTH = 1 << 20 /* less in all is the kernel tidying up */
};

static const char *const names[SHORTAGE_KINDS] = { [SHORTAGE_MEMORY] = "memory",
						   [SHORTAGE_SWAP] = "swap",
						   [SHORTAGE_CGROUP] = "cgroup",
						   [SHORTAGE_SWAPPING] = "swapping",
						   [SHORTAGE_PRESSURE] = "pressure",
						   [SHORTAGE_WAITING] = "waiting",
						   [SHORTAGE_LIMIT_HITS] = "limit_hits",
						   [SHORTAGE_KILLS] = "oom_kills",
						   [SHORTAGE_CGROUP_KILLS] = "cgroup_kills" };

/* All samples being judged, one after the other. */
struct judging {
	const struct model *model;
	struct arena *arena;
	struct shortages *shortages;
	double severity[SHORTAGE_KINDS];	      /* of the worst so far */
	uint64_t total[SHORTAGE_KINDS];		      /* of counts: what they grew by so far */
	const struct model_system *now, *last, *base; /* base: at least a second ago, if there is */
	struct shortage_place place;
	bool is_same_cgroup; /* as at `last` */
	struct str words;
	struct err *err;
};

/* --- figures ---------------------------------------------------------------------------------- */

uint64_t shortage_grown(uint64_t before, uint64_t after)
{
	if (before == SYSTEM_UNKNOWN || after == SYSTEM_UNKNOWN || after < before)
		return UINT64_MAX;
	return after - before;
}

void shortage_place_follow(struct shortage_place *place, const struct model *model, uint64_t ns)
{
	const struct model_note *notes = model_notes(model);
	const size_t count = model_note_count(model);

	if (!place->name)
		place->name = "";
	for (; place->note_count < count && notes[place->note_count].ns <= ns; place->note_count++)
		if (notes[place->note_count].type == TAPE_EXT_CGROUP) {
			place->name = notes[place->note_count].text;
			place->number++;
		}
}

static double percent_of(uint64_t hundredths)
{
	return hundredths == SYSTEM_UNKNOWN ? NAN : (double)hundredths / HUNDREDTHS;
}

static uint64_t known_minus(uint64_t from, uint64_t what)
{
	if (from == SYSTEM_UNKNOWN || what == SYSTEM_UNKNOWN)
		return SYSTEM_UNKNOWN;
	return from > what ? from - what : 0;
}

uint64_t shortage_working_set(const struct tape_system *system)
{
	return system->cgroup_inactive_bytes == SYSTEM_UNKNOWN
		       ? system->cgroup_bytes
		       : known_minus(system->cgroup_bytes, system->cgroup_inactive_bytes);
}

/* Times of a damaged tape may be anything. */
static uint64_t since(const struct model_system *before, const struct model_system *after)
{
	return after->ns > before->ns ? after->ns - before->ns : 0;
}

/* KiB a second since the base; in a time of less than a second, of a second. */
static double rate(const struct judging *judging, uint64_t before, uint64_t after)
{
	const uint64_t grown = shortage_grown(before, after);
	const uint64_t ns = since(judging->base, judging->now);

	if (grown == UINT64_MAX || judging->base == judging->now)
		return NAN;
	return (double)grown / KIB * NS_PER_S / (double)u64_max(ns, NS_PER_S);
}

/* --- judging ---------------------------------------------------------------------------------- */

/* The words are those of the moment: kept where it is the worst so far. */
static void judge(struct judging *judging, enum shortage_kind kind, enum verdict_level level,
		  double severity)
{
	struct shortage *shortage = &judging->shortages->items[kind];
	const uint64_t since_ns = judging->last ? since(judging->last, judging->now) : 0;

	if (level == VERDICT_UNKNOWN) {
		str_clear(&judging->words);
		return;
	}
	if (level >= VERDICT_WARNING)
		shortage->short_ns += since_ns;
	if (shortage->ns == UINT64_MAX || level > shortage->level ||
	    (level == shortage->level && severity > judging->severity[kind])) {
		shortage->words = arena_strdup(judging->arena, str_text(&judging->words));
		if (!shortage->words || judging->words.failed)
			judging->err = err_nomem();
		shortage->level = level;
		shortage->ns = judging->now->ns;
		judging->severity[kind] = severity;
	}
	str_clear(&judging->words);
}

static void judge_machine(struct judging *judging)
{
	const struct tape_system *now = &judging->now->system, *base = &judging->base->system;
	const uint64_t swapped = known_minus(now->swap_bytes, now->swap_free_bytes);
	const double some = percent_of(now->some_avg10), full = percent_of(now->full_avg10);
	const double in = rate(judging, base->swapped_in_bytes, now->swapped_in_bytes);
	const double out = rate(judging, base->swapped_out_bytes, now->swapped_out_bytes);

	judge(judging, SHORTAGE_MEMORY,
	      verdict_memory(&judging->words, now->available_bytes, now->memory_bytes),
	      -(double)now->available_bytes);
	judge(judging, SHORTAGE_SWAP, verdict_swap(&judging->words, swapped, now->swap_bytes),
	      (double)swapped);
	if (!isnan(in) && !isnan(out))
		judge(judging, SHORTAGE_SWAPPING, verdict_swapping(&judging->words, in, out),
		      in + out);
	if (!isnan(some))
		judge(judging, SHORTAGE_PRESSURE, verdict_pressure(&judging->words, some, full),
		      some + (isnan(full) ? 0 : full));
}

static void judge_cgroup(struct judging *judging)
{
	const struct tape_system *now = &judging->now->system;
	const uint64_t limit = u64_min(now->cgroup_limit_bytes, now->cgroup_high_bytes);
	const double some = percent_of(now->cgroup_some_avg10);
	const double full = percent_of(now->cgroup_full_avg10);
	enum verdict_level level;

	if (now->cgroup_bytes != SYSTEM_UNKNOWN && limit != SYSTEM_UNKNOWN) {
		judge(judging, SHORTAGE_CGROUP,
		      verdict_limit(&judging->words, shortage_working_set(now), limit,
				    judging->place.name),
		      (double)shortage_working_set(now) / (double)u64_max(limit, 1));
	} else if (now->cgroup_bytes != SYSTEM_UNKNOWN) {
		str_printf(&judging->words, "%s has no limit", judging->place.name);
		judge(judging, SHORTAGE_CGROUP, VERDICT_OK, 0);
	}
	if (isnan(some))
		return;
	level = verdict_pressure(&judging->words, some, full);
	str_printf(&judging->words, ", in %s", judging->place.name);
	judge(judging, SHORTAGE_WAITING, level, some + (isnan(full) ? 0 : full));
}

/* "/jobs was 12 times at its limit"; "a process was killed for want of memory, in /jobs". */
static void add_count(struct judging *judging, enum shortage_kind kind)
{
	const uint64_t total = judging->total[kind];
	struct str *words = &judging->words;

	if (kind == SHORTAGE_LIMIT_HITS) {
		str_printf(words, "%s was ", judging->place.name);
		if (total > 0)
			str_add_counted(words, total, "time");
		else
			str_add(words, "never");
		str_add(words, " at its limit");
		return;
	}
	if (total > 0)
		str_add_grouped(words, total);
	else
		str_add(words, "no");
	str_add(words, total <= 1 ? " process was" : " processes were");
	str_add(words, " killed for want of memory, ");
	if (kind == SHORTAGE_CGROUP_KILLS)
		str_printf(words, "in %s", judging->place.name);
	else
		str_add(words, "on the whole machine");
}

/* A count that grew since the last sample; its words are about all of the time. */
static void judge_count(struct judging *judging, enum shortage_kind kind, uint64_t before,
			uint64_t after, enum verdict_level (*level_of)(uint64_t grown))
{
	const uint64_t grown = shortage_grown(before, after);

	if (grown == UINT64_MAX)
		return;
	judging->total[kind] += grown;
	add_count(judging, kind);
	judge(judging, kind, level_of(grown), (double)judging->total[kind]);
}

static enum verdict_level level_of_kills(uint64_t grown)
{
	return verdict_kills(grown, grown);
}

static uint64_t known_plus(uint64_t a, uint64_t b)
{
	if (a == SYSTEM_UNKNOWN || b == SYSTEM_UNKNOWN)
		return u64_min(a, b); /* the one that is known, if any */
	return a + b < a ? SYSTEM_UNKNOWN : a + b;
}

static void judge_counts(struct judging *judging)
{
	const struct tape_system *now = &judging->now->system;
	const struct tape_system *last = &judging->last->system;

	judge_count(judging, SHORTAGE_KILLS, last->oom_kills, now->oom_kills, level_of_kills);
	if (!judging->is_same_cgroup)
		return;
	judge_count(judging, SHORTAGE_LIMIT_HITS,
		    known_plus(last->cgroup_limit_hits, last->cgroup_high_hits),
		    known_plus(now->cgroup_limit_hits, now->cgroup_high_hits), verdict_limit_hits);
	judge_count(judging, SHORTAGE_CGROUP_KILLS, last->cgroup_oom_kills, now->cgroup_oom_kills,
		    level_of_kills);
}

/* --- all of it -------------------------------------------------------------------------------- */

/*
 * Processes that wait or are killed need not be of this machine's memory: it may be the limit of a
 * cgroup with which the program has nothing to do.
 */
static bool is_of_machine(const struct shortages *shortages)
{
	return shortages->items[SHORTAGE_MEMORY].level >= VERDICT_WARNING ||
	       shortages->items[SHORTAGE_SWAPPING].level >= VERDICT_WARNING ||
	       shortages->items[SHORTAGE_LIMIT_HITS].level >= VERDICT_WARNING;
}

static bool is_worth(const struct judging *judging, enum shortage_kind kind)
{
	const struct model_system *systems = model_systems(judging->model);
	const size_t count = judging->shortages->sample_count;
	const struct shortage *shortage = &judging->shortages->items[kind];
	const struct tape_system *first = &systems[0].system, *last = &systems[count - 1].system;

	if (shortage->level < VERDICT_WARNING)
		return false;
	if (kind == SHORTAGE_KILLS && judging->total[kind] <= judging->total[SHORTAGE_CGROUP_KILLS])
		return false; /* it is the same */
	if ((kind == SHORTAGE_PRESSURE || kind == SHORTAGE_KILLS) &&
	    !is_of_machine(judging->shortages))
		return false;
	if (shortage->level == VERDICT_CRITICAL || kind == SHORTAGE_LIMIT_HITS)
		return true;
	if (kind == SHORTAGE_SWAPPING &&
	    known_plus(shortage_grown(first->swapped_in_bytes, last->swapped_in_bytes),
		       shortage_grown(first->swapped_out_bytes, last->swapped_out_bytes)) <
		    SWAPPED_WORTH)
		return false;
	return shortage->short_ns >= judging->shortages->span_ns / WORTH_SHARE;
}

static void finish(struct judging *judging)
{
	struct shortages *shortages = judging->shortages;

	for (size_t kind = 0; kind < SHORTAGE_KINDS; kind++) {
		struct shortage *shortage = &shortages->items[kind];

		if (shortage->level != VERDICT_UNKNOWN && shortages->level == VERDICT_UNKNOWN)
			shortages->level = VERDICT_OK;
		shortage->is_worth = is_worth(judging, (enum shortage_kind)kind);
		if (shortage->is_worth && shortage->level > shortages->level)
			shortages->level = shortage->level;
	}
}

static void judge_all(struct judging *judging)
{
	const struct model_system *systems = model_systems(judging->model);
	size_t base = 0;

	for (size_t i = 0; i < judging->shortages->sample_count && !judging->err; i++) {
		const size_t number = judging->place.number;

		while (base + 1 < i && since(&systems[base + 1], &systems[i]) >= NS_PER_S)
			base++;
		judging->now = &systems[i];
		judging->last = i > 0 ? &systems[i - 1] : NULL;
		judging->base = &systems[base];
		shortage_place_follow(&judging->place, judging->model, systems[i].ns);
		judging->is_same_cgroup = judging->place.number == number;
		judge_machine(judging);
		judge_cgroup(judging);
		if (judging->last)
			judge_counts(judging);
	}
}

struct err *shortages_find(const struct model *model, struct arena *arena,
			   struct shortages *shortages_ret)
{
	struct shortages shortages = { .level = VERDICT_UNKNOWN,
				       .sample_count = model_system_count(model) };
	struct judging judging = { .model = model, .arena = arena, .shortages = &shortages };
	const struct model_system *systems = model_systems(model);

	for (size_t kind = 0; kind < SHORTAGE_KINDS; kind++)
		shortages.items[kind] = (struct shortage) { .name = names[kind],
							    .level = VERDICT_UNKNOWN,
							    .ns = UINT64_MAX,
							    .words = "not known" };
	if (shortages.sample_count > 0) {
		shortages.span_ns = since(&systems[0], &systems[shortages.sample_count - 1]);
		judge_all(&judging);
		finish(&judging);
	}
	str_deinit(&judging.words);
	if (!judging.err)
		*shortages_ret = shortages;
	return judging.err;
}

/* --- words ------------------------------------------------------------------------------------ */

const struct shortage *shortages_worst(const struct shortages *shortages)
{
	const struct shortage *worst = NULL;

	for (size_t kind = SHORTAGE_KINDS;
	     kind-- > 0;) { /* what happened is more than what is near */
		const struct shortage *shortage = &shortages->items[kind];

		if (shortage->is_worth && (!worst || shortage->level > worst->level))
			worst = shortage;
	}
	return worst;
}

const char *shortages_subject(const struct shortages *shortages)
{
	for (size_t kind = 0; kind < SHORTAGE_KINDS; kind++)
		if (shortages->items[kind].is_worth && kind != SHORTAGE_CGROUP &&
		    kind != SHORTAGE_WAITING && kind != SHORTAGE_LIMIT_HITS &&
		    kind != SHORTAGE_CGROUP_KILLS)
			return "The system";
	return "The program's cgroup";
}

static void add_one(const struct shortage *shortage, struct str *words)
{
	if (words->len > 0)
		str_add(words, "; ");
	str_add(words, shortage->words);
	str_add(words, " (after ");
	str_add_duration(words, shortage->ns);
	str_add(words, ")");
}

void shortages_add_words(const struct shortages *shortages, struct str *words)
{
	CLEAN(str_deinit) struct str text = { 0 };

	for (int level = VERDICT_CRITICAL; level >= VERDICT_WARNING; level--)
		for (size_t kind = SHORTAGE_KINDS; kind-- > 0;)
			if (shortages->items[kind].is_worth &&
			    (int)shortages->items[kind].level == level)
				add_one(&shortages->items[kind], &text);
	str_add(words, str_text(&text));
	words->failed |= text.failed;
}
