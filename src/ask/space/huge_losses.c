#include "space/huge_losses.h"

#include "base/sort.h"

enum { RANGES_MAX = 1024 /* that are told apart: later ones are only in the sum */ };

static bool is_loss(const struct model_note *note, uint64_t from_ns, uint64_t until_ns)
{
	const struct tape_huge_lost *lost = &note->huge_lost;

	return note->type == TAPE_EXT_HUGE_LOST && note->ns >= from_ns && note->ns <= until_ns &&
	       lost->begin < lost->end && lost->page_bytes > 0 && lost->lost_bytes > 0;
}

/* One that overlaps it is of the same mapping. */
static struct huge_loss *loss_at(struct huge_losses *losses, const struct tape_huge_lost *lost)
{
	for (size_t i = 0; i < losses->count; i++)
		if (losses->items[i].begin < lost->end && lost->begin < losses->items[i].end)
			return &losses->items[i];
	return NULL;
}

static void loss_add(struct huge_losses *losses, const struct model_note *note)
{
	const struct tape_huge_lost *lost = &note->huge_lost;
	const uint64_t count = div_up(lost->lost_bytes, lost->page_bytes);
	struct huge_loss *loss = loss_at(losses, lost);

	losses->split_count += count;
	losses->page_bytes = lost->page_bytes;
	if (!loss && losses->count == RANGES_MAX)
		return;
	if (!loss) {
		loss = &losses->items[losses->count++];
		*loss = (struct huge_loss) { .begin = lost->begin,
					     .end = lost->end,
					     .ns = note->ns,
					     .page_bytes = lost->page_bytes };
	}
	loss->count += count;
	if (lost->before_bytes <= loss->before_bytes)
		return;
	loss->before_bytes = lost->before_bytes;
	loss->begin = lost->begin;
	loss->end = lost->end;
	loss->ns = note->ns;
}

static int compare(const void *context, const void *a, const void *b)
{
	const struct huge_loss *left = a, *right = b;

	(void)context;
	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return (left->begin > right->begin) - (left->begin < right->begin);
}

struct err *huge_losses_find(const struct model *model, uint64_t from_ns, uint64_t until_ns,
			     struct arena *arena, struct huge_losses *losses_ret)
{
	struct huge_losses losses = { 0 };
	struct err *err = NULL;
	size_t count = 0;

	for (size_t i = 0; i < model_note_count(model); i++)
		count += is_loss(&model_notes(model)[i], from_ns, until_ns);
	losses.items = arena_array(arena, u64_min(count, RANGES_MAX) + 1, sizeof(*losses.items));
	if (!losses.items)
		return err_nomem();
	for (size_t i = 0; i < model_note_count(model); i++)
		if (is_loss(&model_notes(model)[i], from_ns, until_ns))
			loss_add(&losses, &model_notes(model)[i]);
	if (!sort_stable(losses.items, losses.count, sizeof(*losses.items), compare, NULL))
		return err_nomem();
	losses.count = u64_min(losses.count, HUGE_LOSSES_MAX);
	for (size_t i = 0; i < losses.count && !err; i++)
		err = range_owner_find(model, losses.items[i].ns, losses.items[i].begin,
				       losses.items[i].end, arena, &losses.items[i].owner);
	*losses_ret = losses;
	return err;
}
