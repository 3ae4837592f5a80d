#include "folder/prune.h"

#include "folder/remove.h"

/* False: it stays. left: how much there is with it. */
static bool rule_find(const struct keep_rules *rules, const struct folder_tape *tape,
		      uint64_t now_ns, const struct prune_counts *left, enum prune_rule *rule_ret)
{
	if (rules->age_ns != KEEP_ALL && now_ns > tape->written_ns &&
	    now_ns - tape->written_ns > rules->age_ns)
		*rule_ret = PRUNE_AGE;
	else if (left->kept_count > rules->count)
		*rule_ret = PRUNE_COUNT;
	else if (left->kept_bytes > rules->bytes)
		*rule_ret = PRUNE_BYTES;
	else
		return false;
	return true;
}

static void counts_take(struct prune_counts *counts, const struct prune_step *step)
{
	if (step->outcome == PRUNE_REMOVED) {
		counts->removed_count++;
		counts->removed_bytes += step->tape->bytes;
		counts->kept_count--;
		counts->kept_bytes -= step->tape->bytes;
	}
	counts->in_use_count += step->outcome == PRUNE_IN_USE;
	counts->failed_count += step->outcome == PRUNE_FAILED;
}

struct prune_counts folder_prune(const struct folder *folder, const struct keep_rules *rules,
				 uint64_t now_ns, bool dry,
				 void (*visit)(void *context, const struct prune_step *step),
				 void *context)
{
	struct prune_counts counts = { 0 };
	size_t newest = SIZE_MAX;

	for (size_t i = 0; i < folder->count; i++) {
		if (folder->tapes[i].is_link)
			continue;
		newest = newest == SIZE_MAX ? i : newest; /* they are in this order */
		counts.kept_count++;
		counts.kept_bytes += folder->tapes[i].bytes;
	}
	for (size_t i = folder->count; newest != SIZE_MAX && i-- > newest + 1;) {
		struct prune_step step = { .tape = &folder->tapes[i] };
		CLEAN(err_destroy) struct err *err = NULL;

		if (step.tape->is_link || !rule_find(rules, step.tape, now_ns, &counts, &step.rule))
			continue;
		err = folder_tape_remove(step.tape, dry);
		if (err) {
			step.reason = err_message(err);
			step.outcome = err_code_of(err) == ERR_STATE ? PRUNE_IN_USE : PRUNE_FAILED;
		}
		counts_take(&counts, &step);
		if (visit)
			visit(context, &step);
	}
	return counts;
}
