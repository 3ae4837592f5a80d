#include "trees/focus.h"

#include <assert.h>

#include "base/big.h"
#include "base/vec.h"
#include "sums/name_hash.h"

VEC_DEFINE(focus_places, struct focus_place);

enum fit { FIT_NOT, FIT_PART, FIT_BASE, FIT_FULL };

/*
 * The base of "void ns::f<int>(char) const" is ns::f: from after the return type to the brackets.
 */
static bool base_is(const char *function, const char *word)
{
	const size_t len = strlen(word);

	for (const char *at = strstr(function, word); at; at = strstr(at + 1, word)) {
		const bool begins = at == function || at[-1] == ' ' || at[-1] == ':';

		if (begins && (at[len] == '(' || at[len] == '<' || at[len] == '\0'))
			return true;
	}
	return false;
}

static enum fit name_fit(const char *function, const char *word)
{
	if (strcmp(function, word) == 0)
		return FIT_FULL;
	if (base_is(function, word))
		return FIT_BASE;
	return strstr(function, word) ? FIT_PART : FIT_NOT;
}

/* There are few names and many frames: each name is matched once. */
struct fits {
	const struct model *model;
	struct names *names;
	const char *word; /* NULL: by hash */
	uint64_t hash;
	struct vec_u8 known; /* by name: 1 + enum fit; 0: unknown */
};

static enum fit fits_ask(const struct fits *fits, uint32_t number)
{
	const struct name *name = names_get(fits->names, number);

	if (fits->word)
		return name_fit(name->function, fits->word);
	return name_hash(fits->model, name) == fits->hash ? FIT_FULL : FIT_NOT;
}

static enum fit fits_get(struct fits *fits, uint32_t name)
{
	while (fits->known.count <= name) {
		if (!vec_u8_push(&fits->known, 0))
			return FIT_NOT;
	}
	if (fits->known.items[name] == 0)
		fits->known.items[name] = (uint8_t)(1 + fits_ask(fits, name));
	return (enum fit)(fits->known.items[name] - 1);
}

/* Marks stacks with allocations in them or in their descendants. */
static uint8_t *mark_used(const struct sums *sums)
{
	const struct capture_stack *stacks = model_stacks(sums->model);
	uint8_t *used = big_calloc(model_stack_count(sums->model) + 1, 1);

	for (size_t i = model_stack_count(sums->model); used && i-- > CAPTURE_STACK_FIRST;) {
		used[i] |= metric_sums_any(sums_of_stack(sums, i));
		used[stacks[i].parent] |= used[i];
	}
	return used;
}

static enum fit best_fit(struct fits *fits, const struct model *model, const uint8_t *used)
{
	enum fit best = FIT_NOT;

	for (uint32_t i = CAPTURE_STACK_FIRST; i < model_stack_count(model); i++) {
		const struct name_frames frames =
			used[i] ? names_frames(fits->names, i) : (struct name_frames) { 0 };

		for (size_t j = 0; j < frames.count; j++)
			best = (enum fit)u64_max(best, fits_get(fits, frames.frames[j].name));
	}
	return best;
}

/* Sets used: whether the function is on the stack, at or outside its innermost frame. */
static struct err *places_collect(struct fits *fits, const struct model *model, uint8_t *used,
				  enum fit least, struct focus_places *places)
{
	const struct capture_stack *stacks = model_stacks(model);

	memset(used, 0, CAPTURE_STACK_FIRST);
	for (uint32_t i = CAPTURE_STACK_FIRST; i < model_stack_count(model); i++) {
		const bool is_inside =
			stacks[i].parent >= CAPTURE_STACK_FIRST && used[stacks[i].parent] == 2;
		const struct name_frames frames = used[i] && !is_inside
							  ? names_frames(fits->names, i)
							  : (struct name_frames) { 0 };

		if (is_inside)
			used[i] = 2;
		for (size_t j = frames.count; j-- > 0;) {
			const struct focus_place place = { i, (uint32_t)j };

			if (fits_get(fits, frames.frames[j].name) < least)
				continue;
			if (!focus_places_push(places, place))
				return err_nomem();
			used[i] = 2;
			break;
		}
	}
	return NULL;
}

static const struct name_frame special_frames[CAPTURE_STACK_FIRST] = {
	[CAPTURE_STACK_TRUNCATED] = { .name = NAME_TRUNCATED },
	[CAPTURE_STACK_NONE] = { .name = NAME_NO_STACK },
};

const struct name_frame *focus_frame(struct names *names, const struct focus_place *place)
{
	assert(place->stack != CAPTURE_STACK_ROOT);
	if (place->stack < CAPTURE_STACK_FIRST)
		return &special_frames[place->stack];
	return &names_frames(names, place->stack).frames[place->frame];
}

/* Adds the special stacks for unknown or truncated stacks. */
static bool specials_collect(const struct fits *fits, const struct sums *sums, const uint8_t *used,
			     struct focus_places *places)
{
	static const uint32_t stacks[] = { CAPTURE_STACK_TRUNCATED, CAPTURE_STACK_NONE };

	for (size_t i = 0; i < array_size(stacks) && !fits->word; i++) {
		const uint32_t stack = stacks[i];

		if ((used[stack] || metric_sums_any(sums_of_stack(sums, stack))) &&
		    fits_ask(fits, special_frames[stack].name) == FIT_FULL)
			return focus_places_push(places, (struct focus_place) { .stack = stack });
	}
	return true;
}

static struct err *places_take(const struct focus_places *places, struct arena *arena,
			       struct focus *focus_ret)
{
	struct focus focus = { .count = places->count };

	focus.places = arena_array(arena, places->count + 1, sizeof(*focus.places));
	if (!focus.places)
		return err_nomem();
	if (places->count > 0)
		memcpy(focus.places, places->items, places->count * sizeof(*places->items));
	*focus_ret = focus;
	return NULL;
}

/* Collects the places of the best-matching functions. */
static struct err *fits_find(struct fits *fits, const struct sums *sums,
			     struct focus_places *places)
{
	CLEAN(free) uint8_t *used = mark_used(sums);
	enum fit least;
	struct err *err;

	if (!used || !specials_collect(fits, sums, used, places))
		return err_nomem();
	if (places->count > 0)
		return NULL;
	/* a hash matches or not */
	least = fits->word ? best_fit(fits, sums->model, used) : FIT_FULL;
	if (least == FIT_NOT)
		return err_new(ERR_NOT_FOUND, "no function '%s' in any stack that allocated",
			       fits->word);
	err = places_collect(fits, sums->model, used, least, places);
	if (!err && places->count == 0)
		err = err_new(ERR_NOT_FOUND, "no function %016llx in any stack that allocated",
			      (unsigned long long)fits->hash);
	return err;
}

static struct err *find_and_take(struct fits *fits, const struct sums *sums, struct arena *arena,
				 struct focus *focus_ret)
{
	CLEAN(focus_places_deinit) struct focus_places places = { 0 };
	struct err *err = fits_find(fits, sums, &places);

	assert(!fits->word || fits->hash == 0);
	vec_u8_deinit(&fits->known);
	return err ? err : places_take(&places, arena, focus_ret);
}

struct err *focus_find(const struct sums *sums, struct names *names, const char *word,
		       struct arena *arena, struct focus *focus_ret)
{
	struct fits fits = { .model = sums->model, .names = names, .word = word };

	assert(word);
	assert(sums->stacks.items);
	if (!*word)
		return err_new(ERR_USAGE, "a function without a name");
	return find_and_take(&fits, sums, arena, focus_ret);
}

struct err *focus_find_hash(const struct sums *sums, struct names *names, uint64_t hash,
			    struct arena *arena, struct focus *focus_ret)
{
	struct fits fits = { .model = sums->model, .names = names, .hash = hash };

	assert(sums->stacks.items);
	return find_and_take(&fits, sums, arena, focus_ret);
}
