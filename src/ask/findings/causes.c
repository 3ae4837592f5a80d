#include "findings/causes.h"

#include <assert.h>
#include <string.h>

#include "base/sort.h"

/* A bad free is a mistake of its own, of two places: where it is freed and where it came from. */
static bool has_place(const struct cause_part *part)
{
	return part->place.name > NAME_NO_STACK && !part->finder->is_apart &&
	       !finding_is_error(&part->finding);
}

static bool is_same_cause(const struct cause_part *a, const struct cause_part *b)
{
	return has_place(a) && a->place.name == b->place.name && a->place.line == b->place.line;
}

/* What is nowhere keeps its order, before all others. */
static int compare_parts(const void *context, const void *a, const void *b)
{
	const struct cause_part *left = a, *right = b;

	(void)context;
	if (has_place(left) != has_place(right))
		return has_place(left) ? 1 : -1;
	if (!has_place(left))
		return 0;
	if (left->place.name != right->place.name)
		return left->place.name < right->place.name ? -1 : 1;
	if (left->place.line != right->place.line)
		return left->place.line < right->place.line ? -1 : 1;
	if (left->finder->is_leading != right->finder->is_leading)
		return left->finder->is_leading ? -1 : 1;
	return sort_compare_u64(right->finding.rank, left->finding.rank);
}

/*
 * Their blocks are the same ones: what is at stake is the most that one of them says, not their
 * sum. Bytes that only passed through are at stake where no others are.
 */
static uint64_t stake_of(const struct cause_part *parts, size_t count)
{
	uint64_t stays = 0, passes = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t *most = parts[i].finder->is_passing ? &passes : &stays;

		*most = u64_max(*most, parts[i].finding.bytes);
	}
	return stays > 0 ? stays : passes;
}

/* Moves the first part of the type that the leading one names before it; the others keep their order. */
static void better_part_lead(struct cause_part *parts, size_t count)
{
	const char *better = parts[0].finder->better;

	for (size_t i = 1; better && i < count; i++) {
		const struct cause_part part = parts[i];

		if (strcmp(part.finder->type, better) != 0)
			continue;
		memmove(&parts[1], &parts[0], i * sizeof(*parts));
		parts[0] = part;
		return;
	}
}

static struct err *join(const struct cause_part *parts, size_t count, struct arena *arena,
			struct finding *cause)
{
	struct finding *also = arena_array(arena, count, sizeof(*also));

	if (!also)
		return err_nomem();
	*cause = parts[0].finding;
	cause->stake_bytes = stake_of(parts, count);
	for (size_t i = 1; i < count; i++) {
		also[i - 1] = parts[i].finding;
		also[i - 1].stake_bytes = parts[i].finding.bytes;
		cause->rank = u64_max(cause->rank, parts[i].finding.rank);
		cause->is_serious |= parts[i].finding.is_serious;
	}
	cause->also = also;
	cause->also_count = count - 1;
	return NULL;
}

struct err *causes_join(struct cause_part *parts, size_t count, struct arena *arena,
			struct finding **causes_ret, size_t *count_ret)
{
	struct finding *causes = arena_array(arena, count + 1, sizeof(*causes));
	size_t cause_count = 0;

	if (!causes || !sort_stable(parts, count, sizeof(*parts), compare_parts, NULL))
		return err_nomem();
	for (size_t i = 0, end; i < count; i = end) {
		struct err *err;

		for (end = i + 1; end < count && is_same_cause(&parts[i], &parts[end]);)
			end++;
		better_part_lead(&parts[i], end - i);
		err = join(&parts[i], end - i, arena, &causes[cause_count++]);
		if (err)
			return err;
	}
	assert(cause_count <= count);
	*causes_ret = causes;
	*count_ret = cause_count;
	return NULL;
}
