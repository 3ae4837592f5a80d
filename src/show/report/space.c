/*
 * space: a map of the heap, cell by cell, and a list of everything else that is mapped; by default
 * where most of the heap was free.
 */
#include "report/moment.h"
#include "report/quality.h"
#include "space/rss.h"
#include "space/space_cells.h"
#include "space/space_waste.h"

enum {
	ROW_CELLS = 64,
	ROWS_MAX = 40, /* of all maps together, about */
	JSON_CELLS = 4096,
	ADDRESS_COLUMNS = 16,
	NUMBER_COLUMNS = 11
};

struct answer {
	const struct report_context *context;
	struct space *space;
	struct space_waste waste;
	uint64_t heap_bytes;
	struct space_cell *cells; /* of one region at a time */
};

static const char *region_name(const struct answer *answer, const struct space_region *region)
{
	const struct mapping_vec *all = mappings_all(space_mappings(answer->space));
	const char *name = region->mapping < all->count ? all->items[region->mapping].name : "";

	return name[0] ? name : mapping_kind_words[region->kind];
}

/* --- people -------------------------------------------------------------------------------- */

static const char *cell_glyph(const struct space_cell *cell, uint64_t bytes)
{
	static const char *const shades[] = { "░", "▒", "▓", "█" };

	if (cell->live > 0)
		return shades[u64_min((cell->live - 1) * 4 / bytes, 3)];
	return cell->resident > 0 ? "·" : " ";
}

static void add_rows(struct text *text, const struct answer *answer,
		     const struct space_region *region, uint64_t cell_bytes)
{
	const uint64_t count = div_up(region->end - region->begin, cell_bytes);

	space_cells_fill(answer->space, region->begin, region->end, cell_bytes, answer->cells);
	for (uint64_t first = 0; first < count; first += ROW_CELLS) {
		CLEAN(str_deinit) struct str address = { 0 };

		str_add_hex(&address, region->begin + first * cell_bytes);
		text_right(text, TEXT_DIM, str_text(&address), ADDRESS_COLUMNS);
		str_add(&text->out, " ");
		for (uint64_t i = first; i < u64_min(first + ROW_CELLS, count); i++)
			str_add(&text->out, cell_glyph(&answer->cells[i], cell_bytes));
		str_add_char(&text->out, '\n');
	}
}

static void add_region(struct text *text, const struct answer *answer,
		       const struct space_region *region, uint64_t cell_bytes)
{
	CLEAN(str_deinit) struct str title = { 0 };
	CLEAN(str_deinit) struct str facts = { 0 };

	str_add(&title, region_name(answer, region));
	str_add(&title, "  ");
	str_add_iec(&title, region->end - region->begin);
	str_add_iec(&facts, region->resident);
	str_add(&facts, " resident, ");
	str_add_iec(&facts, region->live);
	str_add(&facts, " in live blocks, longest free run ");
	str_add_iec(&facts, region->largest_free);
	text_heading(text, str_text(&title), str_text(&facts));
	add_rows(text, answer, region, cell_bytes);
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
static void add_others(struct text *text, const struct answer *answer)
{
	struct {
		uint64_t count, mapped, resident;
	} kinds[MAPPING_KINDS] = { 0 };
	struct space_parts parts = space_parts_begin(answer->space);
	struct space_part part;
	char number[STR_SHORT_BYTES];

	while (space_parts_next(&parts, &part)) {
		kinds[part.kind].count++;
		kinds[part.kind].mapped += part.end - part.begin;
		kinds[part.kind].resident += part.resident;
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

static struct err *space_text(struct answer *answer, FILE *out)
{
	const struct space_region_vec *regions = &answer->waste.regions;
	const uint64_t cell_bytes =
		space_cell_bytes(answer->heap_bytes, (uint64_t)ROWS_MAX * ROW_CELLS);
	const uint64_t top = answer->context->settings->with.top
				     ? answer->context->settings->with.top
				     : ROWS_MAX;
	CLEAN(text_deinit) struct text text = text_begin(answer->context->settings);
	CLEAN(str_deinit) struct str title = { 0 };

	text_head(&text, answer->context->model);
	str_add(&title, "The address space after ");
	str_add_duration(&title, answer->waste.ns);
	text_heading(&text, str_text(&title), NULL);
	if (answer->waste.snapshot == SIZE_MAX)
		str_add(&text.out, "  there is no picture of the address space on this tape\n");
	else
		add_legend(&text, cell_bytes);
	for (size_t i = 0; i < u64_min(regions->count, top); i++)
		add_region(&text, answer, &regions->items[i], cell_bytes);
	if (regions->count > top) {
		str_add(&text.out, "  ... and ");
		str_add_counted(&text.out, regions->count - top, "region");
		str_add(&text.out, " more\n");
	}
	if (answer->waste.snapshot != SIZE_MAX)
		add_others(&text, answer);
	quality_text(&text, answer->context);
	return text_write(&text, out);
}

/* --- programs ------------------------------------------------------------------------------ */

static void emit_cells(struct emit *emit, const struct answer *answer,
		       const struct space_region *region, uint64_t cell_bytes)
{
	const uint64_t count = div_up(region->end - region->begin, cell_bytes);

	space_cells_fill(answer->space, region->begin, region->end, cell_bytes, answer->cells);
	emit_u64(emit, "cell_bytes", cell_bytes, EMIT_BYTES);
	emit_list(emit, "live");
	for (uint64_t i = 0; i < count; i++)
		emit_u64(emit, NULL, answer->cells[i].live, EMIT_BYTES);
	emit_end(emit);
	emit_list(emit, "resident");
	for (uint64_t i = 0; i < count; i++)
		emit_u64(emit, NULL, answer->cells[i].resident, EMIT_BYTES);
	emit_end(emit);
}

static void emit_regions(struct emit *emit, const struct answer *answer)
{
	const struct space_region_vec *regions = &answer->waste.regions;

	emit_list(emit, "regions");
	for (size_t i = 0; i < regions->count; i++) {
		const struct space_region *region = &regions->items[i];

		emit_object(emit, NULL);
		emit_address(emit, "begin", region->begin);
		emit_address(emit, "end", region->end);
		emit_text(emit, "kind", mapping_kind_words[region->kind]);
		emit_text(emit, "name", region_name(answer, region));
		emit_u64(emit, "resident_bytes", region->resident, EMIT_BYTES);
		emit_u64(emit, "live_bytes", region->live, EMIT_BYTES);
		emit_u64(emit, "free_pages", region->free_pages, EMIT_COUNT);
		emit_u64(emit, "longest_free_bytes", region->largest_free, EMIT_BYTES);
		emit_u64(emit, "tail_free_bytes", region->tail_free, EMIT_BYTES);
		emit_cells(emit, answer, region,
			   space_cell_bytes(region->end - region->begin, JSON_CELLS));
		emit_end(emit);
	}
	emit_end(emit);
}

static void emit_parts(struct emit *emit, const struct answer *answer)
{
	static const struct emit_column columns[] = {
		{ .key = "begin" },
		{ .key = "end" },
		{ .key = "kind" },
		{ .key = "name" },
		{ .key = "resident_bytes" },
		{ .key = "live_bytes" },
		{ .key = "live_resident_bytes" },
		{ .key = "pages_known" },
	};
	const struct mapping_vec *all = mappings_all(space_mappings(answer->space));
	struct space_parts parts = space_parts_begin(answer->space);
	struct space_part part;

	emit_table(emit, emit_format_of(emit) == EMIT_JSON ? "extents" : NULL, columns,
		   array_size(columns));
	while (space_parts_next(&parts, &part)) {
		emit_row(emit);
		emit_address(emit, "begin", part.begin);
		emit_address(emit, "end", part.end);
		emit_text(emit, "kind", mapping_kind_words[part.kind]);
		emit_text(emit, "name",
			  part.mapping < all->count ? all->items[part.mapping].name : "");
		emit_u64(emit, "resident_bytes", part.resident, EMIT_BYTES);
		emit_u64(emit, "live_bytes", part.live, EMIT_BYTES);
		emit_u64(emit, "live_resident_bytes", part.live_resident, EMIT_BYTES);
		emit_bool(emit, "pages_known", part.is_exact);
		emit_end(emit);
	}
	emit_end(emit);
}

static struct err *space_emit(struct answer *answer, FILE *out)
{
	const struct emit_settings settings = { .format = answer->context->settings->format };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);

	if (!emit)
		return err_nomem();
	if (settings.format != EMIT_JSON) {
		emit_parts(emit, answer);
		return emit_finish(emit);
	}
	emit_object(emit, NULL);
	emit_u64(emit, "at_ns", answer->waste.ns, EMIT_DURATION);
	emit_bool(emit, "has_snapshot", answer->waste.snapshot != SIZE_MAX);
	emit_regions(emit, answer);
	emit_parts(emit, answer);
	quality_emit(emit, answer->context);
	emit_end(emit);
	return emit_finish(emit);
}

/* --- all of it ----------------------------------------------------------------------------- */

static struct err *prepare(struct answer *answer)
{
	const uint64_t cells = (uint64_t)ROWS_MAX * ROW_CELLS + 1;
	uint64_t ns = 0;
	struct err *err = report_moment_most_free(answer->context, &ns);

	if (!err)
		err = space_create(answer->context->model, &answer->space);
	if (!err)
		err = space_waste_find(answer->context->model, answer->space, ns,
				       answer->context->arena, &answer->waste);
	if (err)
		return err;
	for (size_t i = 0; i < answer->waste.regions.count; i++)
		answer->heap_bytes +=
			answer->waste.regions.items[i].end - answer->waste.regions.items[i].begin;
	answer->cells = arena_array(answer->context->arena, u64_max(cells, JSON_CELLS),
				    sizeof(*answer->cells));
	return answer->cells ? NULL : err_nomem();
}

static struct err *run(const struct report_context *context, FILE *out)
{
	struct answer answer = { .context = context };
	struct err *err = prepare(&answer);

	if (!err)
		err = context->settings->format == EMIT_TEXT ? space_text(&answer, out)
							     : space_emit(&answer, out);
	space_waste_deinit(&answer.waste);
	space_destroy(answer.space);
	return err;
}

const struct report report_space = {
	.name = "space",
	.summary = "a map of the heap and of the address space",
	.depth = MODEL_FULL,
	.instead = "--at chooses the moment",
	.run = run,
};
