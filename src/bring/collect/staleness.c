#include "collect/staleness.h"

#include <assert.h>
#include <sys/ptrace.h>

#include "base/monotonic.h"
#include "collect/clock.h"
#include "collect/leaks.h"
#include "scan/leak_scan.h"

enum {
	PART_BYTES = TAPE_RECORD_BYTES_MAX - TAPE_EXTENDED_BYTES - (int)sizeof(struct tape_touched),
	RUNS_BYTES = 2048, /* of a line, about */
	LINE_ROOM = 64,	   /* its addresses */
	HELD_MAX = 8,
	LOOKS_MAX = 2000,	/* of long runs, about: sets the time between them */
	LOOK_BYTES = 256 << 10, /* of one look, about: above, gaps between pages are closed */
	GAP_MAX = 1 << 10,	/* pages */
	LOOK_RARITY = 100,	/* a look takes at most one part in so many of the time */
	PAGE_SHIFT = 12
};

/* --- the record -------------------------------------------------------------------------------- */

/* Pages that are alike; kind is as in RUNS. */
struct piece {
	uint64_t begin, end;
	char kind;
};

/*
 * A look being written. Pieces are held back until it is known whether they are a gap between
 * touched pages that counts as touched: the first one is touched, the others are the gap.
 */
struct looking {
	struct collector *collector;
	struct tape_touched record;
	struct str text;
	struct str runs;    /* of the line that is open */
	uint64_t begin, at; /* of the line, and where its runs end */
	uint64_t end;	    /* of the range */
	struct piece held[HELD_MAX];
	size_t held_count;
	size_t bytes;
};

static void part_write(struct looking *looking, unsigned flags)
{
	struct tape_touched record = looking->record;

	record.flags = (uint16_t)(record.flags | flags);
	collector_note(looking->collector, TAPE_EXT_TOUCHED, &record, sizeof(record),
		       str_text(&looking->text));
	looking->bytes += looking->text.len;
	looking->record.part++;
	str_clear(&looking->text);
}

/* The runs so far become a line, and what follows is the next one. */
static void line_end(struct looking *looking)
{
	if (looking->runs.len == 0)
		return;
	if (looking->text.len + looking->runs.len + LINE_ROOM > PART_BYTES)
		part_write(looking, 0);
	str_printf(&looking->text, "%llx %llx %s\n", (unsigned long long)looking->begin,
		   (unsigned long long)looking->at, str_text(&looking->runs));
	str_clear(&looking->runs);
	looking->begin = looking->at;
}

static void held_write(struct looking *looking)
{
	for (size_t i = 0; i < looking->held_count; i++) {
		const struct piece *piece = &looking->held[i];

		str_printf(&looking->runs, "%c%llx", piece->kind,
			   (unsigned long long)((piece->end - piece->begin) >> PAGE_SHIFT));
		looking->at = piece->end;
		if (looking->runs.len > RUNS_BYTES)
			line_end(looking);
	}
	looking->held_count = 0;
}

static void piece_add(struct looking *looking, uint64_t begin, uint64_t end, char kind)
{
	const uint64_t gap = (uint64_t)looking->record.gap_pages << PAGE_SHIFT;
	struct piece *held = looking->held;
	const size_t count = looking->held_count;

	if (begin >= end)
		return;
	if (count > 0 && (held[count - 1].kind == kind ||
			  (kind == '+' && held[0].kind == '+' && begin - held[0].end <= gap))) {
		looking->held_count = kind == '+' && held[0].kind == '+' ? 1 : count;
		held[looking->held_count - 1].end = end;
		return;
	}
	if (count == HELD_MAX || kind == '+' || (count > 0 && end - held[0].end > gap))
		held_write(looking);
	held[looking->held_count++] = (struct piece) { begin, end, kind };
}

static uint64_t pieces_end(const struct looking *looking)
{
	return looking->held_count ? looking->held[looking->held_count - 1].end : looking->at;
}

static void range_end(struct looking *looking)
{
	piece_add(looking, pieces_end(looking), looking->end, '-');
	held_write(looking);
	line_end(looking);
}

static void range(void *context, uint64_t begin, uint64_t end)
{
	struct looking *looking = context;

	range_end(looking);
	looking->begin = looking->at = begin;
	looking->end = end;
}

static void pages(void *context, uint64_t begin, uint64_t end, bool is_touched)
{
	struct looking *looking = context;

	assert(begin >= pieces_end(looking) && begin < end);
	piece_add(looking, pieces_end(looking), begin, '-');
	piece_add(looking, begin, end, is_touched ? '+' : '=');
}

/* What is scattered over many pages is written more coarsely next time. */
static void gap_adjust(struct staleness *staleness, size_t bytes)
{
	if (bytes > LOOK_BYTES && staleness->gap_pages < GAP_MAX)
		staleness->gap_pages = staleness->gap_pages ? staleness->gap_pages * 2 : 1;
	else if (bytes < LOOK_BYTES / 8)
		staleness->gap_pages /= 2;
}

/* --- looks ------------------------------------------------------------------------------------- */

static struct tape_touched record_of(const struct collector *collector, unsigned flags)
{
	return (struct tape_touched) {
		.begin_ticks = collector_ticks(collector),
		.period_ns = collector->settings->staleness_ns,
		.flags = (uint16_t)flags,
		.kind = collector->staleness.kind,
		.gap_pages = collector->staleness.gap_pages,
	};
}

static void look(struct collector *collector, unsigned flags)
{
	struct staleness *staleness = &collector->staleness;
	struct looking looking = { .collector = collector, .record = record_of(collector, flags) };
	const struct watched_visitor visitor = { range, pages, &looking };
	const uint64_t begin_ns = clock_cpu_ns();

	if (staleness->kind == TAPE_TOUCHED_USES ? accessed_look(&staleness->accessed, &visitor)
						 : written_look(&staleness->written, &visitor)) {
		range_end(&looking);
		part_write(&looking, TAPE_TOUCHED_LAST);
		gap_adjust(staleness, looking.bytes);
	}
	str_deinit(&looking.text);
	str_deinit(&looking.runs);
	staleness->look_ns = staleness->kind == TAPE_TOUCHED_USES ? clock_cpu_ns() - begin_ns : 0;
}

static void note_reason(struct collector *collector, unsigned flags, struct err *err)
{
	const struct tape_touched record = record_of(collector, flags | TAPE_TOUCHED_LAST);

	collector_note(collector, TAPE_EXT_TOUCHED, &record, sizeof(record), err_message(err));
	err_destroy(err);
}

/* By accessed bits if that is possible, else by write-protection. The program stands still. */
static struct err *watch(struct collector *collector, struct err **blind)
{
	struct staleness *staleness = &collector->staleness;
	struct stop *stop = &collector->leaks.stop;
	struct err *err;

	if (!*blind)
		*blind = accessed_begin(&staleness->accessed, stop);
	if (!*blind) {
		staleness->kind = TAPE_TOUCHED_USES;
		return NULL;
	}
	err = written_open(&staleness->written, stop);
	if (!err)
		staleness->kind = TAPE_TOUCHED_WRITES;
	return err;
}

static void begin(struct collector *collector)
{
	struct staleness *staleness = &collector->staleness;
	struct err *blind = accessed_open(&staleness->accessed, collector->child.pid);
	struct err *err = leak_scan_check_machine(&collector->header);

	staleness->has_begun = true;
	if (!err)
		err = leaks_stop_all(collector);
	if (!err) {
		err = watch(collector, &blind);
		stop_end(&collector->leaks.stop);
	}
	if (staleness->kind != TAPE_TOUCHED_USES)
		accessed_close(&staleness->accessed);
	if (blind)
		note_reason(collector, TAPE_TOUCHED_BLIND, blind);
	if (err)
		note_reason(collector, TAPE_TOUCHED_TROUBLE, err);
	else
		look(collector, TAPE_TOUCHED_FIRST);
}

/*
 * When the next look is due. Clearing accessed bits keeps the program from mapping and unmapping
 * memory meanwhile: that is to be rare, however large the program.
 */
static uint64_t due_after(const struct collector *collector, uint64_t begin_ns)
{
	const uint64_t period_ns = collector->settings->staleness_ns;
	const uint64_t run_ns = begin_ns - collector->begin_ns;
	const uint64_t rare_ns = collector->staleness.look_ns * LOOK_RARITY;

	return monotonic_ns() + u64_max(period_ns, u64_max(run_ns / LOOKS_MAX, rare_ns));
}

void staleness_look(struct collector *collector)
{
	const uint64_t now_ns = monotonic_ns();
	struct staleness *staleness = &collector->staleness;

	if (collector->settings->staleness_ns == 0 || !collector_is_recording(collector) ||
	    now_ns < staleness->due_ns)
		return;
	if (!staleness->has_begun)
		begin(collector);
	else if (staleness->kind)
		look(collector, 0);
	staleness->due_ns = due_after(collector, now_ns);
}

void staleness_look_last(struct collector *collector)
{
	if (collector->staleness.kind && collector_is_recording(collector))
		look(collector, TAPE_TOUCHED_EXIT);
}

void staleness_end(struct collector *collector)
{
	if (collector->staleness.kind == TAPE_TOUCHED_USES)
		accessed_close(&collector->staleness.accessed);
	else if (collector->staleness.kind)
		written_close(&collector->staleness.written);
	collector->staleness = (struct staleness) { 0 };
}
