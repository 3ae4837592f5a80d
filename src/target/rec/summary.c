#include "rec/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "rec/calls.h"
#include "rec/file.h"
#include "rec/text.h"

#include "core/poison.h"

enum { STDERR = 2, BAR_WIDTH = 50, HUNDRED = 100, LINE_BYTES = 128, REST_BYTES = 4096 };

/* The program's standard error, which it may close (all of coreutils do) or redirect. */
static struct {
	int fd; /* a copy */
	uint64_t id[2];
	bool is_child, has_colour;
	_Atomic uint32_t is_written;
} tty;

/* --- what is wanted ------------------------------------------------------------------------- */

/* The last part of argv[0], as glibc's short name of the program; "" if unknown. */
static const char *program_name(char *room, size_t bytes)
{
	const int fd = sys_open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
	const long len = fd < 0 ? 0 : sys_read(fd, room, bytes - 1);
	const char *name = room;

	if (fd >= 0)
		sys_close(fd);
	room[len > 0 ? len : 0] = '\0';
	for (const char *at = room; *at; at++)
		if (*at == '/')
			name = at + 1;
	return name;
}

bool rec_summary_wanted(void)
{
	static char room[REC_PATH_BYTES]; /* once in a process */
	const char *wanted = rec_env_get("MEMUSAGE_PROG_NAME");
	const char *name;

	if (!wanted || !*wanted)
		return true;
	name = program_name(room, sizeof(room));
	return strlen(name) == strlen(wanted) && memcmp(name, wanted, strlen(wanted)) == 0;
}

/* A child may live on for long, in the background: it must not keep a pipe open. */
void rec_summary_begin(bool is_child)
{
	atomic_store(&tty.is_written, false);
	tty.is_child = is_child;
	if (is_child) {
		if (tty.fd > 0 && rec_fd_is(tty.fd, tty.id))
			sys_close(tty.fd);
		tty.fd = -1;
		return;
	}
	tty.fd = rec_fd_id(STDERR, tty.id) ? rec_fd_high(STDERR) : -1;
}

/* Not a file that the program has opened in its place. */
static int output(void)
{
	if (rec_fd_is(STDERR, tty.id))
		return STDERR;
	return tty.fd > 0 && rec_fd_is(tty.fd, tty.id) ? tty.fd : -1;
}

/* --- text ----------------------------------------------------------------------------------- */

/* Left-aligned. */
static void add_number_left(struct rec_text *text, uint64_t value, size_t width)
{
	const size_t begin = text->len;

	rec_text_add_number(text, value, 0);
	if (text->len - begin < width)
		rec_text_add_repeated(text, ' ', width - (text->len - begin));
}

static void add_colour(struct rec_text *text, const char *code)
{
	if (!tty.has_colour)
		return;
	rec_text_add(text, "\033[");
	rec_text_add(text, code);
	rec_text_add(text, "m");
}

/* --- the table ------------------------------------------------------------------------------ */

struct row {
	const char *label;
	enum tape_calls_row_id id;
};

static uint64_t heap_total(const struct tape_calls *calls)
{
	uint64_t total = 0;

	for (size_t i = 0; i < TAPE_CALLS_ROW_COUNT; i++)
		if (i != TAPE_CALLS_FREE && i != TAPE_CALLS_MUNMAP)
			total += calls->rows[i].bytes;
	return total;
}

static void add_heading(struct rec_text *text, const struct tape_calls *calls)
{
	rec_text_add(text, "\n");
	add_colour(text, "01;32");
	rec_text_add(text, "Memory usage summary:");
	add_colour(text, "0;0");
	rec_text_add(text, " heap total: ");
	rec_text_add_number(text, heap_total(calls), 0);
	rec_text_add(text, ", heap peak: ");
	rec_text_add_number(text, calls->heap_peak, 0);
	rec_text_add(text, ", stack peak: ");
	rec_text_add_number(text, calls->stack_peak, 0);
	rec_text_add(text, "\n");
	add_colour(text, "04;34");
	rec_text_add(text, "         total calls   total memory   failed calls");
	add_colour(text, "0");
	rec_text_add(text, "\n");
}

static void add_marks(struct rec_text *text, const char *first, uint64_t nomove, uint64_t dec)
{
	rec_text_add(text, first);
	rec_text_add_number(text, nomove, 0);
	rec_text_add(text, ", dec:");
	rec_text_add_number(text, dec, 0);
}

static void add_row(struct rec_text *text, const struct tape_calls *calls, struct row asked)
{
	const struct tape_calls_row *row = &calls->rows[asked.id];

	add_colour(text, "00;34");
	rec_text_add(text, asked.label);
	rec_text_add(text, "|");
	add_colour(text, "0");
	rec_text_add_number(text, row->calls, 11);
	rec_text_add_number(text, row->bytes, 15);
	if (asked.id != TAPE_CALLS_FREE) {
		rec_text_add(text, "   ");
		if (row->failed)
			add_colour(text, "01;41");
		rec_text_add_number(text, row->failed, 12);
		add_colour(text, "00;00");
	}
	if (asked.id == TAPE_CALLS_REALLOC) {
		add_marks(text, "  (nomove:", calls->realloc_nomove, calls->realloc_dec);
		rec_text_add(text, ", free:");
		rec_text_add_number(text, calls->realloc_free, 0);
		rec_text_add(text, ")");
	}
	if (asked.id == TAPE_CALLS_MREMAP) {
		add_marks(text, "  (nomove: ", calls->mremap_nomove, calls->mremap_dec);
		rec_text_add(text, ")");
	}
	rec_text_add(text, "\n");
}

static void add_rows(struct rec_text *text, const struct tape_calls *calls)
{
	static const struct row rows[] = {
		{ " malloc", TAPE_CALLS_MALLOC },     { "realloc", TAPE_CALLS_REALLOC },
		{ " calloc", TAPE_CALLS_CALLOC },     { "aligned", TAPE_CALLS_ALIGNED },
		{ "   free", TAPE_CALLS_FREE },	      { "mmap(r)", TAPE_CALLS_MMAP_READ },
		{ "mmap(w)", TAPE_CALLS_MMAP_WRITE }, { "mmap(a)", TAPE_CALLS_MMAP_ANONYMOUS },
		{ " mremap", TAPE_CALLS_MREMAP },     { " munmap", TAPE_CALLS_MUNMAP },
	};

	for (size_t i = 0; i < array_size(rows); i++) {
		const bool is_shown =
			rows[i].id == TAPE_CALLS_ALIGNED
				? calls->rows[rows[i].id].calls > 0
				: rows[i].id < TAPE_CALLS_MMAP_READ || rec.options.maps;

		if (is_shown)
			add_row(text, calls, rows[i]);
	}
}

/* part / whole * factor, rounded down, for whole > 0. */
static uint64_t share(uint64_t part, uint64_t whole, unsigned factor)
{
	return part > UINT64_MAX / factor ? part / (whole / factor) : part * factor / whole;
}

static void add_bar(struct rec_text *text, uint64_t count, uint64_t all, uint64_t most)
{
	const uint64_t percent = share(count, all, HUNDRED);

	rec_text_add_number(text, count, 12);
	if (percent == 0) {
		rec_text_add(text, "  <1% ");
	} else {
		rec_text_add_number(text, percent, 4);
		rec_text_add(text, "% ");
	}
	add_colour(text, "41;37");
	rec_text_add_repeated(text, '=', (size_t)share(count, most, BAR_WIDTH));
	add_colour(text, "0;0");
	rec_text_add(text, "\n");
}

static void add_histogram(struct rec_text *text, const struct rec_sums *sums)
{
	uint64_t all = sums->calls.large, most = sums->calls.large;

	for (size_t i = 0; i < array_size(sums->sizes); i++) {
		all += sums->sizes[i];
		most = u64_max(most, sums->sizes[i]);
	}
	add_colour(text, "01;32");
	rec_text_add(text, "Histogram for block sizes:");
	add_colour(text, "0;0");
	rec_text_add(text, "\n");
	for (size_t i = 0; i < array_size(sums->sizes); i++) {
		if (sums->sizes[i] == 0)
			continue;
		rec_text_add_number(text, i * TAPE_CALL_SIZES_BYTES, 5);
		rec_text_add(text, "-");
		add_number_left(text, (i + 1) * TAPE_CALL_SIZES_BYTES - 1, 5);
		add_bar(text, sums->sizes[i], all, most);
	}
	if (sums->calls.large > 0) {
		rec_text_add(text, "   large   ");
		add_bar(text, sums->calls.large, all, most);
	}
}

/* In one write, so that texts of processes that end together are not interleaved. */
void rec_summary_write(const struct rec_sums *sums)
{
	const size_t room = array_size(sums->sizes) * LINE_BYTES + REST_BYTES;
	const char *no_colour = rec_env_get("NO_COLOR");
	const int fd = output();
	struct rec_text text = { .room = room };

	if (fd < 0 || atomic_exchange(&tty.is_written, true))
		return;
	text.ptr = sys_map_private(room);
	if (!text.ptr)
		return;
	tty.has_colour = !no_colour || !*no_colour;
	add_heading(&text, &sums->calls);
	add_rows(&text, &sums->calls);
	add_histogram(&text, sums);
	rec_fd_write(fd, text.ptr, text.len);
	sys_munmap(text.ptr, room);
}

void rec_summary_complain(const char *what, const char *name, int error)
{
	static char line[REC_PATH_BYTES + LINE_BYTES];
	struct rec_text text = { .ptr = line, .room = sizeof(line) };
	const int fd = output();

	CHECK(what && name);
	rec_text_add(&text, "memusage: ");
	rec_text_add(&text, name);
	rec_text_add(&text, what);
	rec_text_add(&text, " (error ");
	rec_text_add_number(&text, (uint64_t)error, 0);
	rec_text_add(&text, ")\n");
	if (fd >= 0)
		rec_fd_write(fd, text.ptr, text.len);
}
