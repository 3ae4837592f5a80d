#include "memusage/memusage_summary.h"

#include "base/number.h"
#include "core/core.h"

enum { BAR_WIDTH = 50, HUNDRED = 100 };

struct writer {
	struct str *text;
	bool has_colour;
};

/* The letters of a terminal's "select graphic rendition". */
static void colour(const struct writer *writer, const char *code)
{
	if (writer->has_colour)
		str_printf(writer->text, "\033[%sm", code);
}

static void add_number(struct str *text, uint64_t value, int width)
{
	str_printf(text, "%*llu", width, (unsigned long long)value);
}

static void add_heading(const struct writer *writer, const struct calls *calls)
{
	struct str *text = writer->text;

	str_add_char(text, '\n');
	colour(writer, "01;32");
	str_add(text, "Memory usage summary:");
	colour(writer, "0;0");
	str_add(text, " heap total: ");
	str_add_u64(text, calls->heap_total);
	str_add(text, ", heap peak: ");
	str_add_u64(text, calls->heap_peak);
	str_add(text, ", stack peak: ");
	str_add_u64(text, calls->stack_peak);
	str_add_char(text, '\n');
	colour(writer, "04;34");
	str_add(text, "         total calls   total memory   failed calls");
	colour(writer, "0");
	str_add_char(text, '\n');
}

static void add_row(const struct writer *writer, const char *label, const struct calls_row *row)
{
	struct str *text = writer->text;

	colour(writer, "00;34");
	str_printf(text, "%7s|", label);
	colour(writer, "0");
	str_add_char(text, ' ');
	add_number(text, row->calls, 10);
	str_add(text, "   ");
	add_number(text, row->bytes, 12);
}

static void add_failed(const struct writer *writer, const struct calls_row *row)
{
	str_add(writer->text, "   ");
	if (row->failed)
		colour(writer, "01;41");
	add_number(writer->text, row->failed, 12);
	colour(writer, "00;00");
}

static void add_blocks(const struct writer *writer, const struct calls *calls)
{
	static const char *const labels[] = { "malloc", "realloc", "calloc", "aligned" };

	for (size_t i = CALLS_MALLOC; i <= CALLS_ALIGNED; i++) {
		if (i == CALLS_ALIGNED && calls->rows[i].calls == 0)
			continue; /* glibc has no such row */
		add_row(writer, labels[i], &calls->rows[i]);
		add_failed(writer, &calls->rows[i]);
		if (i == CALLS_REALLOC)
			str_printf(writer->text, "  (nomove:%llu, dec:%llu, free:%llu)",
				   (unsigned long long)calls->realloc_nomove,
				   (unsigned long long)calls->realloc_dec,
				   (unsigned long long)calls->realloc_free);
		str_add_char(writer->text, '\n');
	}
	add_row(writer, "free", &calls->rows[CALLS_FREE]);
	str_add_char(writer->text, '\n');
}

static void add_mappings(const struct writer *writer, const struct calls *calls)
{
	static const char *const labels[] = { "mmap(r)", "mmap(w)", "mmap(a)", "mremap", "munmap" };

	for (size_t i = 0; i < array_size(labels); i++) {
		const size_t row = CALLS_MMAP_READ + i;

		add_row(writer, labels[i], &calls->rows[row]);
		add_failed(writer, &calls->rows[row]);
		if (row == CALLS_MREMAP)
			str_printf(writer->text, "  (nomove: %llu, dec:%llu)",
				   (unsigned long long)calls->mremap_nomove,
				   (unsigned long long)calls->mremap_dec);
		str_add_char(writer->text, '\n');
	}
}

/* part / whole * factor, rounded down, for whole > 0. */
static unsigned share(uint64_t part, uint64_t whole, unsigned factor)
{
	return (unsigned)u64_mul_div(part, factor, whole);
}

static void add_bucket(const struct writer *writer, const struct calls *calls, size_t index,
		       uint64_t most)
{
	const uint64_t count = calls->buckets[index];
	const unsigned percent = share(count, calls->sized_count, HUNDRED);
	struct str *text = writer->text;

	if (index == CALLS_BUCKET_COUNT)
		str_add(text, "   large   ");
	else
		str_printf(text, "%5zu-%-5zu", index * CALLS_BUCKET_BYTES,
			   (index + 1) * CALLS_BUCKET_BYTES - 1);
	add_number(text, count, 12);
	str_add_char(text, ' ');
	if (percent == 0)
		str_add(text, " <1% ");
	else
		str_printf(text, "%3u%% ", percent);
	colour(writer, "41;37");
	str_add_repeated(text, '=', share(count, most, BAR_WIDTH));
	colour(writer, "0;0");
	str_add_char(text, '\n');
}

static void add_histogram(const struct writer *writer, const struct calls *calls)
{
	uint64_t most = 0;

	colour(writer, "01;32");
	str_add(writer->text, "Histogram for block sizes:");
	colour(writer, "0;0");
	str_add_char(writer->text, '\n');
	for (size_t i = 0; i <= CALLS_BUCKET_COUNT; i++)
		most = u64_max(most, calls->buckets[i]);
	for (size_t i = 0; i <= CALLS_BUCKET_COUNT; i++)
		if (calls->buckets[i] > 0)
			add_bucket(writer, calls, i, most);
}

void memusage_summary_add(struct str *text, const struct calls *calls, bool has_mappings,
			  bool has_colour)
{
	const struct writer writer = { text, has_colour };

	add_heading(&writer, calls);
	add_blocks(&writer, calls);
	if (has_mappings)
		add_mappings(&writer, calls);
	add_histogram(&writer, calls);
}
