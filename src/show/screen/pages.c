#include "screen/lines.h"

#include "model/names.h"

static void add_frame(struct lines *lines, const struct frame *frame, size_t number)
{
	CLEAN(str_deinit) struct str text = { 0 };
	char head[STR_SHORT_BYTES];

	str_format(head, sizeof(head), "%2zu  ", number);
	lines_add_item(lines, frame->folded ? CELL_DIM : CELL_BOLD, 1, head,
		       frame->function ? frame->function : "?");
	if (frame->file)
		str_add(&text, frame->file);
	if (frame->file && frame->line > 0)
		str_printf(&text, ":%llu", (unsigned long long)frame->line);
	if (frame->module)
		str_printf(&text, "%s%s", text.len > 0 ? "  " : "",
			   names_short_path(frame->module));
	if (frame->inlined)
		str_add(&text, "  (inlined)");
	if (text.len > 0)
		lines_add_wrapped(lines, CELL_DIM, 5, str_text(&text));
	lines->failed |= text.failed;
}

static const struct now_site *site_find(const struct screen *screen)
{
	const struct now_answer *now = screen->data.now;
	const struct now_site *sites = now ? now->sites.items : NULL;

	for (size_t i = 0; sites && i < now->sites.count; i++)
		if (sites[i].place.hash == screen->site)
			return &sites[i];
	return NULL;
}

static void add_site(struct lines *lines, const struct now_site *site)
{
	const struct now_rates *rates = &site->rates;
	CLEAN(str_deinit) struct str text = { 0 };

	str_add_iec(&text, rates->live_bytes);
	str_add(&text, " alive in ");
	str_add_counted(&text, rates->live_count, "block");
	str_add(&text, "; in the window ");
	str_add(&text, rates->growth_bytes > 0 ? "+" : "");
	str_add_iec_signed(&text, rates->growth_bytes);
	str_add(&text, ", ");
	str_add_counted(&text, rates->allocated_count, "allocation");
	str_add(&text, " of ");
	str_add_iec(&text, rates->allocated_bytes);
	str_add(&text, " (");
	str_add_percent(&text, rates->temporary_count, rates->allocated_count);
	str_add(&text, " temporary), ");
	str_add_counted(&text, rates->freed_count, "block");
	str_add(&text, " freed");
	lines_add_wrapped(lines, CELL_PLAIN, 1, str_text(&text));
	lines_add(lines, CELL_PLAIN, 0, "");
	str_clear(&text);
	str_add(&text, site->stacks == 1 ? "Its stack" : "The stack with most alive, one of ");
	if (site->stacks != 1)
		str_add_grouped(&text, site->stacks);
	lines_add(lines, CELL_VALUE, 1, str_text(&text));
	lines->failed |= text.failed;
}

void lines_of_stack(const struct screen *screen, struct lines *lines)
{
	const struct now_site *site = site_find(screen);
	const struct frame *frames = site ? site->callers.items : NULL;

	if (!site) {
		lines_add_wrapped(lines, CELL_DIM, 1,
				  "This function has nothing alive any more, and did nothing in "
				  "the window.");
		return;
	}
	add_site(lines, site);
	for (size_t i = 0; i < site->callers.count; i++)
		add_frame(lines, &frames[i], i);
}

/* --- findings --------------------------------------------------------------------------------- */

static void add_also(struct lines *lines, const struct finding_answer *also)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_add(&text, "Also ");
	str_add_iec(&text, also->bytes);
	str_printf(&text, ": %s", also->title);
	lines_add_wrapped(lines, CELL_BOLD, 13, str_text(&text));
	lines_add_wrapped(lines, CELL_PLAIN, 13, also->evidence);
	lines->failed |= text.failed;
}

static void add_finding(struct lines *lines, const struct screen *screen,
			const struct finding_answer *finding)
{
	const struct finding_answer *also = finding->also.items;
	CLEAN(str_deinit) struct str text = { 0 };
	CLEAN(str_deinit) struct str size = { 0 };

	str_add_iec(&size, finding->bytes);
	str_printf(&text, "%10s  %s%s", str_text(&size), finding->title,
		   finding->possible ? " (possible)" : "");
	lines_add_wrapped(lines, CELL_ALARM, 1, str_text(&text));
	str_clear(&text);
	if (finding->place.function) {
		str_add(&text, finding->place.function);
		if (finding->place.file)
			str_printf(&text, "  %s:%llu", names_short_path(finding->place.file),
				   (unsigned long long)finding->place.line);
		lines_add_wrapped(lines, CELL_BOLD, 13, str_text(&text));
	}
	lines_add_wrapped(lines, CELL_PLAIN, 13, finding->evidence);
	lines_add_wrapped(lines, CELL_GOOD, 13, finding->advice);
	for (size_t i = 0; i < finding->also.count; i++)
		add_also(lines, &also[i]);
	str_clear(&text);
	str_add(&text, "memtape report ");
	str_add_shell(&text, screen->data.tape ? screen->data.tape : "TAPE");
	str_printf(&text, " %s", finding->command);
	lines_add_wrapped(lines, CELL_DIM, 13, str_text(&text));
	lines_add(lines, CELL_PLAIN, 0, "");
	lines->failed |= text.failed | size.failed;
}

void lines_of_findings(const struct screen *screen, struct lines *lines)
{
	const struct findings_answer *found = screen->data.findings;
	const struct finding_answer *items = found ? found->findings.items : NULL;

	if (!found)
		lines_add(lines, CELL_DIM, 1, "They are being looked for ...");
	else if (found->findings.count == 0)
		lines_add(lines, CELL_GOOD, 1, "Nothing was found that stands out.");
	for (size_t i = 0; items && i < found->findings.count; i++)
		add_finding(lines, screen, &items[i]);
	for (size_t i = 0; found && i < found->missing.count; i++) {
		if (i == 0)
			lines_add(lines, CELL_VALUE, 1, "Not looked for");
		lines_add_wrapped(lines, CELL_DIM, 1, found->missing.items[i]);
	}
}

/* --- help ------------------------------------------------------------------------------------- */

static const struct {
	const char *key, *what; /* what NULL: a heading */
} help[] = {
	{ "A program", NULL },
	{ "Up Down", "choose a function; also j k, PgUp PgDn, Home End" },
	{ "Enter", "its stack" },
	{ "s F6", "sort by the next column; 1 to 5: by live, growth, allocations, bytes, blocks" },
	{ "/ F4", "a filter of allocations, as `size >= 1MiB` (memtape-filter(7)); empty: all" },
	{ "w", "the window of growth and rates: 10 s, 1 min, 10 min, 1 h, the whole run" },
	{ "f F5", "all findings, with what to do" },
	{ "p Space", "pause: the figures stay as they are; the program goes on" },
	{ "r", "read the tape at once" },
	{ "Esc", "back: to the functions, to the list" },
	{ "q F10", "quit; the recording goes on" },
	{ "The list", NULL },
	{ "Enter", "go into a process that is recorded" },
	{ "a", "record one from now on, until memtape top ends" },
	{ "STATE", "recorded, or in parentheses why it cannot be attached to" },
	{ "/", "only processes with this in name, command, user or number" },
	{ "The columns", NULL },
	{ "LIVE", "bytes alive now, requested by this function" },
	{ "BLOCKS", "how many blocks these are" },
	{ "GROWTH/s", "how much more is alive than at the window's beginning, a second" },
	{ "ALLOCS/s", "allocations a second in the window" },
	{ "BYTES/s", "allocated bytes a second in the window" },
};

void lines_of_help(const struct screen *screen, struct lines *lines)
{
	char key[STR_SHORT_BYTES];

	(void)screen;
	for (size_t i = 0; i < array_size(help); i++) {
		if (!help[i].what) {
			lines_add(lines, CELL_VALUE, 1, help[i].key);
			continue;
		}
		str_format(key, sizeof(key), "%-10s ", help[i].key);
		lines_add_item(lines, CELL_PLAIN, 1, key, help[i].what);
	}
}
