#include "questions/leaks.h"

#include <assert.h>

#include "base/str.h"

const char *const loss_keys[] = {
	[LOSS_DEFINITE] = "definitely_lost",
	[LOSS_INDIRECT] = "indirectly_lost",
	[LOSS_POSSIBLE] = "possibly_lost",
	[LOSS_REACHABLE] = "still_reachable",
	[LOSS_SUPPRESSED] = "suppressed",
	[LOSS_NOT_SCANNED] = "not_scanned",
	[LOSS_KINDS] = NULL,
};

const char *const loss_words[] = {
	[LOSS_DEFINITE] = "definitely lost",
	[LOSS_INDIRECT] = "indirectly lost",
	[LOSS_POSSIBLE] = "possibly lost",
	[LOSS_REACHABLE] = "still reachable",
	[LOSS_SUPPRESSED] = "suppressed",
	[LOSS_NOT_SCANNED] = "not scanned",
	[LOSS_KINDS] = NULL,
};

static const struct member loss_sum_members[] = {
	MEMBER(struct model_sum, bytes, BYTES, NULL),
	MEMBER_AS("blocks", struct model_sum, count, COUNT, NULL),
};
const struct shape shape_loss_sum = SHAPE("LossSum", struct model_sum, loss_sum_members);

#define KIND(key, kind, doc)                                                                       \
	MEMBER_AS(key, struct loss_classes, sums[kind], OBJECT, doc, .shape = &shape_loss_sum)

static const struct member loss_classes_members[] = {
	KIND("definitely_lost", LOSS_DEFINITE, "no pointer leads to them"),
	KIND("indirectly_lost", LOSS_INDIRECT, "only lost blocks point to them"),
	KIND("possibly_lost", LOSS_POSSIBLE,
	     "only pointers into the middle of a block lead to them"),
	KIND("still_reachable", LOSS_REACHABLE, "pointers to their beginnings lead to them"),
	KIND("suppressed", LOSS_SUPPRESSED, "of any class; a suppression matches their stack"),
	KIND("not_scanned", LOSS_NOT_SCANNED, "on the tape, but the scan did not know of them"),
};
const struct shape shape_loss_classes =
	SHAPE("LeakClasses", struct loss_classes, loss_classes_members);

struct err *loss_kinds_parse(const char *text, unsigned *kinds_ret)
{
	static const struct {
		const char *word;
		unsigned kinds;
	} words[] = {
		{ "definite", 1 << LOSS_DEFINITE },
		{ "possible", 1 << LOSS_POSSIBLE },
		{ "indirect", 1 << LOSS_INDIRECT },
		{ "reachable", 1 << LOSS_REACHABLE },
		{ "all", 1 << LOSS_DEFINITE | 1 << LOSS_POSSIBLE | 1 << LOSS_INDIRECT |
				 1 << LOSS_REACHABLE },
		{ "growing", 1 << LOSS_GROWING },
	};
	unsigned kinds = 0;

	for (const char *at = text;;) {
		const char *end = strchrnul(at, ',');
		size_t i = 0;

		while (i < array_size(words) &&
		       (strlen(words[i].word) != (size_t)(end - at) ||
			strncmp(words[i].word, at, (size_t)(end - at)) != 0))
			i++;
		if (i == array_size(words))
			return err_new(ERR_USAGE,
				       "'%.*s': expected definite, possible, indirect, "
				       "reachable, all or growing, separated by commas",
				       (int)(end - at), at);
		kinds |= words[i].kinds;
		if (!*end)
			break;
		at = end + 1;
	}
	*kinds_ret = kinds;
	return NULL;
}

/* --- scans ------------------------------------------------------------------------------------ */

static const char *const reason_words[] = { "unknown", "exit", "killed", "request",
					    "period",  "core", NULL };
static const char *const heuristic_words[] = { "stdstring", "length64", "newarray",
					       "multipleinheritance" };

static const struct member scan_members[] = {
	MEMBER(struct scan_facts, id, PLAIN, "counts the scans of a tape from 1"),
	MEMBER(struct scan_facts, time_ns, NS, "when the program stood still"),
	MEMBER(struct scan_facts, reason, TEXT, "what it was made for", .words = reason_words),
	MEMBER(struct scan_facts, trouble, TEXT, "why there is no result", .optional = true),
	MEMBER(struct scan_facts, pause_ns, NS, "how long the program stood still"),
	MEMBER(struct scan_facts, scan_ns, NS, "CPU time of the scan"),
	MEMBER(struct scan_facts, threads, COUNT, "that were stopped and examined"),
	MEMBER(struct scan_facts, missed_threads, COUNT,
	       "that could not be stopped: what they hold may look lost"),
	MEMBER(struct scan_facts, heuristics, TEXTS,
	       "pointers into the middle of a block that count as if to its beginning"),
	MEMBER(struct scan_facts, root_bytes, BYTES, "searched outside of blocks"),
	MEMBER(struct scan_facts, block_bytes, BYTES, "searched in blocks"),
	MEMBER(struct scan_facts, unread_bytes, BYTES,
	       "that could not be read: what they point to may look lost"),
	MEMBER(struct scan_facts, off_tape_bytes, BYTES, "in blocks that are not on the tape"),
	MEMBER(struct scan_facts, off_tape_blocks, COUNT, "that are not on the tape"),
};
const struct shape shape_scan_facts = SHAPE("LeakScan", struct scan_facts, scan_members);

struct err *scan_facts_find(const struct model_scan *scan, struct arena *arena,
			    struct scan_facts *facts_ret)
{
	const char **heuristics =
		arena_array(arena, array_size(heuristic_words), sizeof(*heuristics));
	size_t count = 0;

	if (!heuristics)
		return err_nomem();
	for (size_t i = 0; i < array_size(heuristic_words); i++)
		if (scan->heuristics >> i & 1)
			heuristics[count++] = heuristic_words[i];
	*facts_ret = (struct scan_facts) {
		.id = scan->id,
		.time_ns = scan->ns,
		.reason = reason_words[scan->reason <= TAPE_SCAN_CORE ? scan->reason : 0],
		.trouble = scan->trouble[0] ? scan->trouble : NULL,
		.pause_ns = scan->pause_ns,
		.scan_ns = scan->scan_ns,
		.threads = scan->thread_count,
		.missed_threads = scan->missed_threads,
		.heuristics = { heuristics, count },
		.root_bytes = scan->root_bytes,
		.block_bytes = scan->block_bytes,
		.unread_bytes = scan->unread_bytes,
		.off_tape_bytes = scan->off_tape.bytes,
		.off_tape_blocks = scan->off_tape.count,
	};
	return NULL;
}

/* --- blocks ----------------------------------------------------------------------------------- */

bool loss_view_has(const struct loss_view *view, const struct model_scan_block *block)
{
	return selection_has_block(view->selection, block);
}

enum loss_kind loss_kind_of(const struct model_scan_block *block)
{
	static const enum loss_kind kinds[TAPE_SCAN_CLASS_COUNT] = {
		[TAPE_SCAN_UNKNOWN] = LOSS_NOT_SCANNED, [TAPE_SCAN_REACHABLE] = LOSS_REACHABLE,
		[TAPE_SCAN_POSSIBLE] = LOSS_POSSIBLE,	[TAPE_SCAN_INDIRECT] = LOSS_INDIRECT,
		[TAPE_SCAN_DEFINITE] = LOSS_DEFINITE,
	};

	assert(block->class < TAPE_SCAN_CLASS_COUNT);
	return kinds[block->class];
}

enum loss_kind loss_view_kind(const struct loss_view *view, const struct model_scan_block *block)
{
	return view->rule_of && view->rule_of[block->stack] ? LOSS_SUPPRESSED : loss_kind_of(block);
}

struct err *loss_view_find(const struct asked *asked, const struct model_scan *scan,
			   struct loss_view *view_ret)
{
	CLEAN(free) uint8_t *wanted = calloc(model_stack_count(asked->model) + 1, 1);

	*view_ret = (struct loss_view) { .scan = scan, .selection = asked->selection };
	if (!wanted)
		return err_nomem();
	for (uint64_t i = 0; i < scan->block_count; i++)
		if (loss_view_has(view_ret, &scan->blocks[i]))
			wanted[scan->blocks[i].stack] = 1;
	return suppressor_match(asked->selection->facts->suppressor, wanted, asked->arena,
				&view_ret->rule_of);
}

void loss_view_sum(const struct loss_view *view, struct loss_classes *classes_ret)
{
	*classes_ret = (struct loss_classes) { 0 };
	for (uint64_t i = 0; i < view->scan->block_count; i++) {
		const struct model_scan_block *block = &view->scan->blocks[i];
		struct model_sum *sum;

		if (!loss_view_has(view, block))
			continue;
		sum = &classes_ret->sums[loss_view_kind(view, block)];
		sum->count++;
		sum->bytes += block->size_bytes;
	}
}
