#include "questions/address_space.h"

#include "questions/questions.h"
#include "report/quality.h"

enum {
	ROW_CELLS = 64,
	ROWS_MAX = 40, /* of all maps together, approximately */
	ADDRESS_COLUMNS = 16,
	NUMBER_COLUMNS = 11
};

static const char *cell_glyph(uint64_t live, uint64_t resident, uint64_t bytes)
{
	static const char *const shades[] = { "░", "▒", "▓", "█" };

	if (live > 0)
		return shades[u64_min((live - 1) * 4 / bytes, 3)];
	return resident > 0 ? "·" : " ";
}

static void add_rows(struct text *text, const struct heap_region *row)
{
	const uint64_t count = row->live.count;

	for (uint64_t first = 0; first < count; first += ROW_CELLS) {
		CLEAN(str_deinit) struct str address = { 0 };

		str_add_hex(&address, row->region.begin + first * row->cell_bytes);
		text_right(text, TEXT_DIM, str_text(&address), ADDRESS_COLUMNS);
		str_add(&text->out, " ");
		for (uint64_t i = first; i < u64_min(first + ROW_CELLS, count); i++)
			str_add(&text->out, cell_glyph(row->live.items[i], row->resident.items[i],
						       row->cell_bytes));
		str_add_char(&text->out, '\n');
	}
}

static void add_region(struct text *text, const struct heap_region *row)
{
	const struct space_region *region = &row->region;
	CLEAN(str_deinit) struct str title = { 0 };
	CLEAN(str_deinit) struct str facts = { 0 };

	str_add(&title, row->use);
	str_add(&title, "  ");
	str_add_iec(&title, region->end - region->begin);
	str_add_iec(&facts, region->resident);
	str_add(&facts, " resident, ");
	str_add_iec(&facts, region->live);
	str_add(&facts, " in live blocks, longest free run ");
	str_add_iec(&facts, region->largest_free);
	text_heading(text, str_text(&title), str_text(&facts));
	add_rows(text, row);
}

static void add_legend(struct text *text, uint64_t cell_bytes)
{
	char words[STR_SHORT_BYTES];

	str_add(&text->out, "  one cell is ");
	text_add(text, TEXT_VALUE, str_iec(words, cell_bytes));
	str_add(&text->out, ";  █ ▓ ▒ ░ live in quarters,  · resident without a live byte,  blank "
			    "not resident\n");
}

/* What is mapped besides the heap, summed by kind. */
static void add_others(struct text *text, const struct shape_rows *extents)
{
	struct {
		uint64_t count, mapped, resident;
	} kinds[MAPPING_KINDS] = { 0 };
	const struct extent *items = extents->items;
	char number[STR_SHORT_BYTES];

	for (size_t i = 0; i < extents->count; i++) {
		const struct space_part *part = &items[i].part;

		kinds[part->kind].count++;
		kinds[part->kind].mapped += part->end - part->begin;
		kinds[part->kind].resident += part->resident;
	}
	text_heading(text, "Everything that is mapped", NULL);
	text_right(text, TEXT_DIM, "kind", ADDRESS_COLUMNS);
	text_right(text, TEXT_DIM, "ranges", NUMBER_COLUMNS);
	text_right(text, TEXT_DIM, "mapped", NUMBER_COLUMNS);
	text_right(text, TEXT_DIM, "resident", NUMBER_COLUMNS);
	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < MAPPING_KINDS; i++) {
		if (kinds[i].count == 0)
			continue;
		text_right(text, TEXT_PLAIN, mapping_kind_words[i], ADDRESS_COLUMNS);
		text_right(text, TEXT_PLAIN, str_grouped(number, kinds[i].count), NUMBER_COLUMNS);
		text_right(text, TEXT_PLAIN, str_iec(number, kinds[i].mapped), NUMBER_COLUMNS);
		text_right(text, TEXT_VALUE, str_iec(number, kinds[i].resident), NUMBER_COLUMNS);
		str_add_char(&text->out, '\n');
	}
}

static struct err *space_text(const struct report_context *context, const void *result, FILE *out)
{
	const struct space_answer *answer = result;
	const struct heap_region *regions = answer->regions.items;
	const uint64_t top = context->settings->with.top ? context->settings->with.top : ROWS_MAX;
	const uint64_t count = answer->regions.count;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	CLEAN(str_deinit) struct str title = { 0 };

	text_head(&text, context->model);
	str_add(&title, "The address space after ");
	str_add_duration(&title, answer->at_ns);
	text_heading(&text, str_text(&title), NULL);
	if (!answer->has_snapshot)
		str_add(&text.out, "  this tape has no snapshot of the address space\n");
	else if (count > 0)
		add_legend(&text, regions[0].cell_bytes);
	for (size_t i = 0; i < u64_min(count, top); i++)
		add_region(&text, &regions[i]);
	if (count > top) {
		str_add(&text.out, "  ... and ");
		str_add_counted(&text.out, count - top, "region");
		str_add(&text.out, " more\n");
	}
	if (answer->has_snapshot)
		add_others(&text, &answer->extents);
	quality_text(&text, context);
	return text_write(&text, out);
}

/* So that a cell is the same size in each map. */
static void for_text(struct parameters *with)
{
	if (with->cells == 0)
		with->cells = (uint64_t)ROWS_MAX * ROW_CELLS;
}

const struct report report_space = {
	.question = &question_space,
	.text = space_text,
	.for_text = for_text,
};
