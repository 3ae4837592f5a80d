#include "questions/findings.h"

#include "answer/sum.h"
#include "questions/questions.h"
#include "select/facts.h"

static const struct member said_members[] = {
	MEMBER(struct finding_answer, type, TEXT, "the kind of problem"),
	MEMBER(struct finding_answer, title, TEXT, "what is wrong"),
	MEMBER(struct finding_answer, bytes, BYTES, "affected"),
	MEMBER(struct finding_answer, count, COUNT, "what is counted is in the evidence",
	       .nullable = true),
	MEMBER(struct finding_answer, evidence, TEXT, "one sentence with figures"),
	MEMBER(struct finding_answer, advice, TEXT, "what to do"),
};
static const struct shape shape_said = SHAPE("FindingWords", struct finding_answer, said_members);

static const struct member shown_members[] = {
	MEMBER(struct finding_answer, page, TEXT, "page of the app with the details",
	       .nullable = true),
	MEMBER(struct finding_answer, report, TEXT, "report with the details", .nullable = true),
	MEMBER(struct finding_answer, filter, TEXT, "of page and report", .nullable = true),
	MEMBER(struct finding_answer, metric, TEXT, "of the page", .nullable = true),
	MEMBER(struct finding_answer, at, TEXT, "a moment", .nullable = true),
	MEMBER(struct finding_answer, from, TEXT, "a moment", .nullable = true),
	MEMBER(struct finding_answer, until, TEXT, "a moment", .nullable = true),
	MEMBER(struct finding_answer, sort, TEXT, "of page and report", .nullable = true),
	MEMBER(struct finding_answer, command, TEXT,
	       "the same figures: what follows `memtape report TAPE`"),
	MEMBER(struct finding_answer, stack, FRAMES,
	       "of a bad free: where the block was freed; otherwise the stack with most",
	       .nullable = true),
	MEMBER(struct finding_answer, allocated_stack, FRAMES,
	       "of a bad free: where the block was allocated", .nullable = true),
	MEMBER(struct finding_answer, freed_before_stack, FRAMES,
	       "of a double free: the first free", .nullable = true),
	MEMBER(struct finding_answer, possible, FLAG, "the tape does not prove it"),
	MEMBER(struct finding_answer, serious, FLAG,
	       "an error, or memory that stays; false: it costs time only"),
};
static const struct shape shape_shown =
	SHAPE("FindingDetails", struct finding_answer, shown_members);

static const struct member also_members[] = {
	MEMBER_ALL_OF(struct finding_answer, shape_said),
	MEMBER_ALL_OF(struct finding_answer, shape_shown),
};
static const struct shape shape_also =
	SHAPE("FindingEvidence", struct finding_answer, also_members);

static const struct member finding_members[] = {
	MEMBER_ALL_OF(struct finding_answer, shape_said),
	MEMBER(struct finding_answer, place, FLAT, NULL, .shape = &shape_place),
	MEMBER_ALL_OF(struct finding_answer, shape_shown),
	MEMBER(struct finding_answer, stake_bytes, BYTES,
	       "at stake in all: the most of it and of `also`, whose blocks are the same ones"),
	MEMBER(struct finding_answer, also, ROWS,
	       "other kinds of problem at the same line, the strongest first: the same cause",
	       .shape = &shape_also, .is_data = true),
};
static const struct shape shape_finding = SHAPE("Finding", struct finding_answer, finding_members);

static const struct member findings_members[] = {
	MEMBER(struct findings_answer, findings, ROWS, "one a cause, the worst first",
	       .shape = &shape_finding),
	MEMBER(struct findings_answer, missing, TEXTS,
	       "what could not be looked for, and how to record it"),
	MEMBER(struct findings_answer, leaked, OBJECT,
	       "never freed and not suppressed, whatever was found", .shape = &shape_sum),
	MEMBER(struct findings_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
const struct shape shape_findings = SHAPE("Findings", struct findings_answer, findings_members);

static bool takes_at(const char *report)
{
	for (size_t i = 0; question_table[i]; i++)
		if (strcmp(question_table[i]->name, report) == 0)
			return question_table[i]->takes & TAKES(at);
	return false;
}

/* The words after "memtape report TAPE"; NULL: out of memory. */
static const char *command_of(const struct finding_link *link, struct arena *arena)
{
	const struct {
		const char *option;
		const char *value;
	} options[] = {
		{ "filter", link->filter }, { "at", takes_at(link->report) ? link->at : NULL },
		{ "idle", link->idle },	    { "from", link->from },
		{ "until", link->until },   { "sort", link->sort },
	};
	CLEAN(str_deinit) struct str command = { 0 };

	str_add(&command, link->report);
	for (size_t i = 0; i < array_size(options); i++) {
		if (!options[i].value)
			continue;
		str_printf(&command, " --%s ", options[i].option);
		str_add_shell(&command, options[i].value);
	}
	return command.failed ? NULL : arena_strdup(arena, str_text(&command));
}

static uint32_t stack_or_none(uint32_t stack)
{
	return stack == 0 || stack == FINDING_NO_STACK ? CAPTURE_STACK_NONE : stack;
}

/* Filters cannot name allocators. */
static enum walk_mode sites_mode(const struct asked *asked)
{
	return asked->mode == WALK_ALL ? WALK_EXACT : asked->mode;
}

static struct err *finding_fill(const struct asked *asked, const struct finding *finding,
				struct finding_answer *answer)
{
	const struct finding_link *link = &finding->link;

	*answer = (struct finding_answer) {
		.type = finding->type,
		.title = finding->title,
		.bytes = finding->bytes,
		.count = finding->count,
		.evidence = finding->evidence,
		.advice = finding->advice,
		.place = place_of(
			asked->model, asked->names,
			finding_frame(finding, asked->model, asked->names, sites_mode(asked))),
		.page = link->page,
		.report = link->report,
		.filter = link->filter,
		.metric = link->metric,
		.at = link->at,
		.from = link->from,
		.until = link->until,
		.sort = link->sort,
		.command = command_of(link, asked->arena),
		.stack = stack_or_none(finding->stack),
		.allocated_stack = stack_or_none(finding->allocated_stack),
		.freed_before_stack = stack_or_none(finding->freed_before_stack),
		.possible = finding->is_possible,
		.serious = finding->is_serious,
		.stake_bytes = finding->stake_bytes,
	};
	return answer->command ? NULL : err_nomem();
}

static struct err *also_fill(const struct asked *asked, const struct finding *finding,
			     struct finding_answer *answer)
{
	struct finding_answer *also =
		arena_array(asked->arena, finding->also_count + 1, sizeof(*also));
	struct err *err = also ? NULL : err_nomem();

	for (size_t i = 0; i < finding->also_count && !err; i++)
		err = finding_fill(asked, &finding->also[i], &also[i]);
	answer->also = (struct shape_rows) { .items = also, .count = finding->also_count };
	return err;
}

static struct err *ask(const struct asked *asked, void *result)
{
	struct findings_answer *answer = result;
	struct finding_answer *items;
	struct findings found;
	struct suppressor *suppressor =
		asked->selection ? asked->selection->facts->suppressor : NULL;
	struct err *err = findings_find(asked->model, asked->names, sites_mode(asked), suppressor,
					asked->limits, asked->arena, &found);
	size_t count;

	if (err)
		return err;
	count = asked->with->top ? u64_min(asked->with->top, found.count) : found.count;
	items = arena_array(asked->arena, count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count && !err; i++) {
		err = finding_fill(asked, &found.items[i], &items[i]);
		if (!err)
			err = also_fill(asked, &found.items[i], &items[i]);
	}
	answer->findings = (struct shape_rows) { items, count };
	answer->missing = (struct shape_texts) { found.missing, found.missing_count };
	answer->leaked = found.leaked;
	answer->total = found.count;
	return err ? err : quality_find(asked, &answer->quality);
}

const struct question question_findings = {
	.name = "findings",
	.summary = "what is wrong, one finding a cause, the worst first, and what to do",
	.shape = &shape_findings,
	.depth = MODEL_FULL,
	.takes = TAKES(top),
	.is_patient = true,
	.instead = "the command of a finding has a filter of its own",
	.ask = ask,
};
