#include "tapes/pruned.h"

static const char *const rule_words[] = {
	[PRUNE_AGE] = "age", [PRUNE_COUNT] = "count", [PRUNE_BYTES] = "size", NULL
};
static const char *const outcome_words[] = {
	[PRUNE_REMOVED] = "removed", [PRUNE_IN_USE] = "in use", [PRUNE_FAILED] = "failed", NULL
};

static const struct member row_members[] = {
	MEMBER(struct pruned_row, path, TEXT, NULL, .is_wide = true),
	MEMBER(struct pruned_row, age_ns, NS, "since it was last written", .title = "age"),
	MEMBER(struct pruned_row, size_bytes, BYTES, "with its index and spool", .title = "size"),
	MEMBER(struct pruned_row, rule, TEXT, "by which it goes", .words = rule_words,
	       .left = true),
	MEMBER(struct pruned_row, outcome, TEXT,
	       "removed (in a dry run: would be), in use, or failed", .words = outcome_words,
	       .left = true),
	MEMBER(struct pruned_row, file, TEXT, "its name without folders", .title = "name",
	       .left = true, .elastic = true),
	MEMBER(struct pruned_row, reason, TEXT, "why it is still there", .left = true,
	       .nullable = true),
};
static const struct shape shape_row = SHAPE("PrunedTape", struct pruned_row, row_members);

static const struct member pruned_members[] = {
	MEMBER(struct pruned, folder, TEXT, "its path"),
	MEMBER(struct pruned, dry_run, FLAG, "whether all is still there"),
	MEMBER(struct pruned, removed_count, COUNT, "tapes and sessions"),
	MEMBER(struct pruned, removed_bytes, BYTES, NULL),
	MEMBER(struct pruned, kept_count, COUNT, "that are left"),
	MEMBER(struct pruned, kept_bytes, BYTES, NULL),
	MEMBER(struct pruned, in_use_count, COUNT, "of these, what the rules would remove"),
	MEMBER(struct pruned, failed_count, COUNT, "of these, what could not be removed"),
	MEMBER(struct pruned, tapes, ROWS, "that the rules name, oldest first",
	       .shape = &shape_row),
};
const struct shape shape_pruned = SHAPE("Pruned", struct pruned, pruned_members);

struct taking {
	struct pruned_row_vec rows;
	struct arena *arena;
	uint64_t now_ns;
	bool failed;
};

static void step_take(void *context, const struct prune_step *step)
{
	struct taking *taking = context;
	const struct pruned_row row = {
		.path = step->tape->path,
		.file = step->tape->file,
		.size_bytes = step->tape->bytes,
		.age_ns = taking->now_ns - u64_min(taking->now_ns, step->tape->written_ns),
		.rule = rule_words[step->rule],
		.outcome = outcome_words[step->outcome],
		.reason = step->reason ? arena_strdup(taking->arena, step->reason) : NULL,
	};

	taking->failed |= (step->reason && !row.reason) || !pruned_row_vec_push(&taking->rows, row);
}

struct err *pruned_make(const struct folder *folder, const struct keep_rules *rules,
			uint64_t now_ns, bool dry, struct arena *arena, struct pruned *pruned)
{
	struct taking taking = { .arena = arena, .now_ns = now_ns };
	const struct prune_counts counts =
		folder_prune(folder, rules, now_ns, dry, step_take, &taking);
	struct pruned_row *rows = arena_array(arena, taking.rows.count + 1, sizeof(*rows));

	taking.failed |= !rows;
	if (!taking.failed && taking.rows.count > 0)
		memcpy(rows, taking.rows.items, taking.rows.count * sizeof(*rows));
	*pruned = (struct pruned) {
		.folder = folder->path,
		.dry_run = dry,
		.tapes = { .items = rows, .count = taking.rows.count },
		.removed_count = counts.removed_count,
		.removed_bytes = counts.removed_bytes,
		.kept_count = counts.kept_count,
		.kept_bytes = counts.kept_bytes,
		.in_use_count = counts.in_use_count,
		.failed_count = counts.failed_count,
	};
	pruned_row_vec_deinit(&taking.rows);
	return taking.failed ? err_nomem() : NULL;
}
