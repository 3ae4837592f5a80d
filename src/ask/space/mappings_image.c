#include "space/mappings_image.h"

#include <assert.h>

#include "base/number.h"

enum { PAGE_BYTES = 4096, PROT_BITS = 3 };

/* Above is no user memory, only a page or so of the kernel, [vsyscall]. */
static const uint64_t USER_END = UINT64_C(1) << 57;
static const uint64_t KERNEL_BYTES_MAX = UINT64_C(1) << 20;

void mappings_image_deinit(struct mappings_image *image)
{
	mappings_extent_vec_deinit(&image->all);
	interner_deinit(&image->names);
}

const char *mappings_image_name(const struct mappings_image *image,
				const struct mappings_extent *extent)
{
	assert(extent->name < image->names.count);
	return image->names.texts[extent->name];
}

/* --- lines --------------------------------------------------------------------------------- */

/* A number and one space after it; false: invalid or too large. */
static bool take_number(const char **ptr, unsigned base, uint64_t *value_ret)
{
	const char *at = *ptr;
	uint64_t value = 0;

	for (; *at && *at != ' '; at++) {
		unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
				 : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a' + 10)
							    : 99;

		if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	if (at == *ptr || *at != ' ')
		return false;
	*ptr = at + 1;
	*value_ret = value;
	return true;
}

static bool take_kib(const char **ptr, uint64_t *bytes_ret)
{
	return take_number(ptr, 10, bytes_ret) &&
	       !__builtin_mul_overflow(*bytes_ret, 1024, bytes_ret);
}

/* The word before the next space; false: the line ends first. */
static bool take_word(const char **ptr, const char **word_ret, size_t *len_ret)
{
	const size_t len = strcspn(*ptr, " \n");

	if (len == 0 || (*ptr)[len] != ' ')
		return false;
	*word_ret = *ptr;
	*len_ret = len;
	*ptr += len + 1;
	return true;
}

static bool take_perms(const char **ptr, struct mappings_extent *extent)
{
	const char *word;
	size_t len;

	if (!take_word(ptr, &word, &len) || len != 4)
		return false;
	for (uint32_t i = 0; i < PROT_BITS; i++)
		extent->prot |= (uint32_t)(word[i] == "rwx"[i]) << i;
	extent->is_shared = word[3] == 's';
	return true;
}

static bool take_marks(const char **ptr, struct mappings_extent *extent)
{
	const char *word;
	size_t len;

	if (!take_word(ptr, &word, &len))
		return false;
	for (uint32_t i = 0; i < 4; i++)
		if (memchr(word, "ndwg"[i], len))
			extent->marks |= 1u << i;
	return true;
}

static bool take_runs(const char **ptr, struct mappings_extent *extent)
{
	const char *word;
	size_t len;

	if (!take_word(ptr, &word, &len))
		return false;
	if (word[0] != '-')
		extent->runs = word;
	return true;
}

enum line_kind { LINE_BAD, LINE_MAPPED, LINE_NOTHING, LINE_NO_MEMORY };

static bool take_range(const char **ptr, uint64_t *begin_ret, uint64_t *end_ret)
{
	return take_number(ptr, 16, begin_ret) && take_number(ptr, 16, end_ret) &&
	       *begin_ret < *end_ret && *begin_ret % PAGE_BYTES == 0 && *end_ret % PAGE_BYTES == 0;
}

const char *mappings_image_range(const char *line, uint64_t *begin_ret, uint64_t *end_ret)
{
	return take_range(&line, begin_ret, end_ret) && *end_ret <= USER_END ? line : NULL;
}

/* Parses the start of a line; the rest of it is the name. */
static enum line_kind parse_line(const char *line, struct mappings_image *image,
				 struct mappings_extent *extent)
{
	*extent = (struct mappings_extent) { 0 };
	if (!take_range(&line, &extent->begin, &extent->end) ||
	    (extent->end > USER_END && extent->end - extent->begin > KERNEL_BYTES_MAX))
		return LINE_BAD;
	if (line[0] == '-' && (line[1] == '\n' || !line[1]))
		return LINE_NOTHING;
	if (!take_perms(&line, extent) || !take_marks(&line, extent) ||
	    !take_kib(&line, &extent->rss_bytes) || !take_kib(&line, &extent->anonymous_bytes) ||
	    !take_kib(&line, &extent->swap_bytes) || !take_runs(&line, extent))
		return LINE_BAD;
	if (extent->rss_bytes > extent->end - extent->begin ||
	    extent->anonymous_bytes > extent->rss_bytes)
		return LINE_BAD;
	extent->name = interner_put(&image->names, line, strcspn(line, "\n"));
	return extent->name == UINT32_MAX ? LINE_NO_MEMORY : LINE_MAPPED;
}

/* --- the image ----------------------------------------------------------------------------- */

static size_t extent_at(const struct mappings_extent_vec *all, uint64_t address)
{
	size_t low = 0, high = all->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (all->items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * The remaining part of a partly replaced extent, for which there is no line of its own.
 */
static struct mappings_extent part_of(struct mappings_extent extent, uint64_t begin, uint64_t end)
{
	const uint64_t resident = mappings_extent_resident(&extent, begin, end);

	extent.begin = begin;
	extent.end = end;
	extent.rss_bytes = resident;
	extent.anonymous_bytes = u64_min(extent.anonymous_bytes, resident);
	extent.runs = NULL;
	return extent;
}

/* Replaces [begin, end) by the extent, or removes it. */
static bool replace(struct mappings_extent_vec *all, uint64_t begin, uint64_t end,
		    const struct mappings_extent *extent)
{
	struct mappings_extent put[3];
	size_t first = extent_at(all, begin), last = first, count = 0;

	if (!mappings_extent_vec_reserve(all, all->count + 3))
		return false;
	while (last < all->count && all->items[last].begin < end)
		last++;
	if (first < last && all->items[first].begin < begin)
		put[count++] = part_of(all->items[first], all->items[first].begin, begin);
	if (extent)
		put[count++] = *extent;
	if (first < last && all->items[last - 1].end > end)
		put[count++] = part_of(all->items[last - 1], end, all->items[last - 1].end);
	memmove(&all->items[first + count], &all->items[last],
		(all->count - last) * sizeof(*all->items));
	memcpy(&all->items[first], put, count * sizeof(*put));
	all->count = all->count - (last - first) + count;
	return true;
}

bool mappings_image_apply(struct mappings_image *image, const char *text, bool begins_anew)
{
	assert(text);
	if (begins_anew)
		image->all.count = 0;
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		struct mappings_extent extent;
		const enum line_kind kind = parse_line(line, image, &extent);

		if (kind == LINE_NO_MEMORY ||
		    (kind != LINE_BAD && !replace(&image->all, extent.begin, extent.end,
						  kind == LINE_MAPPED ? &extent : NULL)))
			return false;
		if (!line[strcspn(line, "\n")])
			break; /* an unterminated last line */
	}
	return true;
}

/* --- resident pages ------------------------------------------------------------------------ */

struct mappings_runs mappings_runs_begin(const struct mappings_extent *extent)
{
	assert(extent->begin <= extent->end);
	return (struct mappings_runs) { .at = extent->runs,
					.address = extent->begin,
					.end = extent->end };
}

/* Pages of the next run, at most those left; 0 at the end or if it is not a number. */
static uint64_t take_run(struct mappings_runs *runs, enum mappings_pages *kind_ret)
{
	const uint64_t most = (runs->end - runs->address) / PAGE_BYTES;
	uint64_t pages = 0;
	char letter = 0;

	for (; *runs->at && !strchr(", \n", *runs->at); runs->at++) {
		const char c = *runs->at;
		const unsigned digit = c >= 'a' ? (unsigned)(c - 'a' + 10) : (unsigned)(c - '0');

		letter = c;
		if (c != 's' && c != 'z')
			pages = u64_min(pages, most) * 16 + (digit & 15);
	}
	if (*runs->at == ',')
		runs->at++;
	if (letter == 's' || letter == 'z') {
		*kind_ret = letter == 's' ? MAPPINGS_SWAPPED : MAPPINGS_ZERO;
	} else {
		*kind_ret = runs->next;
		runs->next = *kind_ret == MAPPINGS_RESIDENT ? MAPPINGS_ABSENT : MAPPINGS_RESIDENT;
	}
	return u64_min(pages, most);
}

bool mappings_runs_any(struct mappings_runs *runs, enum mappings_pages *kind_ret,
		       uint64_t *begin_ret, uint64_t *end_ret)
{
	while (runs->at && *runs->at && *runs->at != ' ' && *runs->at != '\n' &&
	       runs->address < runs->end) {
		*begin_ret = runs->address;
		*end_ret = runs->address += take_run(runs, kind_ret) * PAGE_BYTES;
		if (*begin_ret < *end_ret && *kind_ret != MAPPINGS_ABSENT)
			return true;
	}
	return false;
}

bool mappings_runs_next(struct mappings_runs *runs, uint64_t *begin_ret, uint64_t *end_ret)
{
	enum mappings_pages kind;

	while (mappings_runs_any(runs, &kind, begin_ret, end_ret))
		if (kind == MAPPINGS_RESIDENT)
			return true;
	return false;
}

bool mappings_extent_tells_swap(const struct mappings_extent *extent)
{
	struct mappings_runs runs = mappings_runs_begin(extent);
	enum mappings_pages kind;
	uint64_t begin, end;

	if (extent->swap_bytes == 0)
		return true;
	while (mappings_runs_any(&runs, &kind, &begin, &end))
		if (kind == MAPPINGS_SWAPPED)
			return true;
	return false;
}

bool mappings_extent_is_exact(const struct mappings_extent *extent)
{
	assert(extent->begin <= extent->end);
	return extent->runs || extent->rss_bytes == 0 ||
	       extent->rss_bytes == extent->end - extent->begin;
}

/* An even share of the extent's below `address`; the shares of ranges side by side add up. */
static uint64_t resident_before(const struct mappings_extent *extent, uint64_t address)
{
	return u64_mul_div(extent->rss_bytes, address - extent->begin, extent->end - extent->begin);
}

uint64_t mappings_extent_resident(const struct mappings_extent *extent, uint64_t begin,
				  uint64_t end)
{
	struct mappings_runs runs = mappings_runs_begin(extent);
	uint64_t resident = 0, from, to;

	begin = u64_max(begin, extent->begin);
	end = u64_min(end, extent->end);
	if (begin >= end)
		return 0;
	if (!extent->runs)
		return resident_before(extent, end) - resident_before(extent, begin);
	while (mappings_runs_next(&runs, &from, &to) && from < end)
		if (to > begin)
			resident += u64_min(to, end) - u64_max(from, begin);
	return resident;
}
