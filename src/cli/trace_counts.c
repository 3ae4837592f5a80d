#include "cli/trace_counts.h"

#include <assert.h>
#include <stdio.h>

#include "base/emit.h"
#include "base/monotonic.h"
#include "base/str.h"

enum { COLUMNS = 13, TIME_COLUMNS = 10 };

static void add_numbers(struct str *out, const struct trace_counts *counts, const uint64_t *values)
{
	char number[STR_SHORT_BYTES];

	for (uint32_t kind = 0; kind < TAPE_KERNEL_KINDS; kind++)
		if (counts->kinds >> kind & 1)
			str_printf(out, "%*s", COLUMNS, str_grouped(number, values[kind]));
}

static void add_heading(struct str *out, const struct trace_counts *counts)
{
	str_printf(out, "%*s", TIME_COLUMNS, "time");
	for (uint32_t kind = 0; kind < TAPE_KERNEL_KINDS; kind++)
		if (counts->kinds >> kind & 1)
			str_printf(out, "%*s", COLUMNS, tracing_kind_name(kind));
	str_add(out, counts->process_count > 0 ? "  process\n" : "\n");
}

static void add_text(struct str *out, struct trace_counts *counts, uint64_t ns,
		     const uint64_t *values, const struct tracing_recent *recent, size_t count)
{
	if (!counts->has_heading)
		add_heading(out, counts);
	counts->has_heading = true;
	str_printf(out, "%*.1f", TIME_COLUMNS, (double)ns / 1e9);
	add_numbers(out, counts, values);
	str_add(out, counts->process_count > 0 ? "  all\n" : "\n");
	for (size_t i = 0; i < count; i++) {
		str_add_repeated(out, ' ', TIME_COLUMNS);
		add_numbers(out, counts, recent[i].counts);
		str_add(out, "  ");
		str_add_terminal(out, recent[i].name);
		str_printf(out, " (%d)\n", (int)recent[i].pid);
	}
}

static void emit_numbers(struct emit *emit, const struct trace_counts *counts,
			 const uint64_t *values)
{
	for (uint32_t kind = 0; kind < TAPE_KERNEL_KINDS; kind++)
		if (counts->kinds >> kind & 1)
			emit_u64(emit,
				 kind == TAPE_KERNEL_MAJOR_FAULT  ? "major_faults"
				 : kind == TAPE_KERNEL_HUGE_SPLIT ? "thp_splits"
								  : tracing_kind_name(kind),
				 values[kind], EMIT_COUNT);
}

static struct err *print_json(const struct trace_counts *counts, uint64_t ns,
			      const uint64_t *values, const struct tracing_recent *recent,
			      size_t count)
{
	CLEAN(emit_destroy)
	struct emit *emit = emit_create(
		stdout, &(struct emit_settings) { .format = EMIT_JSON, .compact = true });

	if (!emit)
		return err_nomem();
	emit_object(emit, NULL);
	emit_u64(emit, "ns", ns, EMIT_DURATION);
	emit_numbers(emit, counts, values);
	if (counts->process_count > 0) {
		emit_list(emit, "processes");
		for (size_t i = 0; i < count; i++) {
			emit_object(emit, NULL);
			emit_u64(emit, "pid", (uint64_t)recent[i].pid, EMIT_PLAIN);
			emit_text(emit, "name", recent[i].name);
			emit_numbers(emit, counts, recent[i].counts);
			emit_end(emit);
		}
		emit_end(emit);
	}
	emit_end(emit);
	return emit_finish(emit);
}

struct err *trace_counts_show(struct trace_counts *counts, struct tracing *tracing)
{
	CLEAN(str_deinit) struct str out = { 0 };
	CLEAN(free) struct tracing_recent *recent = NULL;
	uint64_t values[TAPE_KERNEL_KINDS];
	const uint64_t now_ns = monotonic_ns();
	size_t count = 0;

	assert(counts->process_count <= TRACE_COUNTS_PROCESSES_MAX);
	if (!counts->period_ns || now_ns < counts->next_ns)
		return NULL;
	counts->next_ns += counts->period_ns;
	recent = calloc(counts->process_count + 1, sizeof(*recent));
	if (!recent)
		return err_nomem();
	if (counts->process_count > 0)
		count = tracing_recent(tracing, recent, counts->process_count);
	for (uint32_t kind = 0; kind < TAPE_KERNEL_KINDS; kind++) {
		const uint64_t counted = tracing_count(tracing, kind).count;

		values[kind] = counted - counts->before[kind];
		counts->before[kind] = counted;
	}
	if (counts->is_json)
		return print_json(counts, now_ns - counts->begin_ns, values, recent, count);
	add_text(&out, counts, now_ns - counts->begin_ns, values, recent, count);
	if (out.failed)
		return err_nomem();
	if (fputs(str_text(&out), stdout) < 0 || fflush(stdout) != 0)
		return err_errno("write to standard output");
	return NULL;
}
