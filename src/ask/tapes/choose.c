#include "tapes/tapes.h"

#include <assert.h>
#include <strings.h>

#include "base/sort.h"

const char *const tapes_sort_words[] = { [TAPES_BY_AGE] = "age",
					 [TAPES_BY_BEGIN] = "begin",
					 [TAPES_BY_DURATION] = "duration",
					 [TAPES_BY_HOST] = "host",
					 [TAPES_BY_LIVE] = "live",
					 [TAPES_BY_PEAK] = "peak",
					 [TAPES_BY_PROGRAM] = "program",
					 [TAPES_BY_SIZE] = "size",
					 NULL };

enum gist_depth tapes_need(const struct tapes_wanted *wanted)
{
	switch (wanted->sort) {
	case TAPES_BY_DURATION:
	case TAPES_BY_LIVE:
	case TAPES_BY_PEAK:
		return GIST_WHOLE;
	case TAPES_BY_HOST:
	case TAPES_BY_PROGRAM:
		return GIST_TITLE;
	case TAPES_BY_AGE:
	case TAPES_BY_BEGIN:
	case TAPES_BY_SIZE:
		break;
	}
	return wanted->find || wanted->program || wanted->host ? GIST_TITLE : GIST_NONE;
}

/* --- which ------------------------------------------------------------------------------------ */

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

static bool has_word(const struct gists_row *row, const char *word, size_t len)
{
	const struct gist *gist = row->gist;
	const char *const texts[] = { row->tape->file, gist ? gist->program : NULL,
				      gist ? gist->command : NULL, gist ? gist->host : NULL,
				      gist ? gist->release : NULL };

	for (size_t i = 0; i < array_size(texts); i++) {
		for (const char *at = text_or_empty(texts[i]); *at; at++)
			if (strncasecmp(at, word, len) == 0)
				return true;
	}
	return false;
}

static bool has_words(const struct gists_row *row, const char *words)
{
	for (const char *at = words; *at;) {
		const size_t len = strcspn(at, " \t");

		if (len > 0 && !has_word(row, at, len))
			return false;
		at += len + strspn(at + len, " \t");
	}
	return true;
}

static bool has_id(const struct tapes_wanted *wanted, const char *id)
{
	for (size_t i = 0; i < wanted->id_count; i++)
		if (strcmp(wanted->ids[i], id) == 0)
			return true;
	return false;
}

static uint64_t age_of(const struct folder_tape *tape, uint64_t now_ns)
{
	return now_ns > tape->written_ns ? now_ns - tape->written_ns : 0;
}

static bool is_wanted(const struct tapes_wanted *wanted, const struct gists_row *row,
		      uint64_t now_ns)
{
	const struct folder_tape *tape = row->tape;
	const char *program = text_or_empty(row->gist ? row->gist->program : NULL);
	const char *host = text_or_empty(row->gist ? row->gist->host : NULL);

	return (!wanted->is_live || tape->is_live) && tape->bytes >= wanted->larger_bytes &&
	       (!wanted->newer_ns || age_of(tape, now_ns) <= wanted->newer_ns) &&
	       (!wanted->older_ns || age_of(tape, now_ns) > wanted->older_ns) &&
	       (!wanted->program || strcmp(program, wanted->program) == 0) &&
	       (!wanted->host || strcmp(host, wanted->host) == 0) &&
	       (!wanted->find || has_words(row, wanted->find)) &&
	       (!wanted->ids || has_id(wanted, tape->id));
}

/* --- in which order --------------------------------------------------------------------------- */

struct order {
	const struct gists_row *rows;
	enum tapes_sort sort;
	bool reverse;
};

/* The larger ones come first; what is not known is the least. */
static uint64_t number_of(const struct gists_row *row, enum tapes_sort sort)
{
	const struct gist *gist = row->gist && row->gist->depth == GIST_WHOLE ? row->gist : NULL;

	switch (sort) {
	case TAPES_BY_BEGIN:
		return row->tape->begin_ns;
	case TAPES_BY_DURATION:
		return gist ? gist->duration_ns + 1 : 0;
	case TAPES_BY_LIVE:
		return gist ? gist->live_bytes + 1 : 0;
	case TAPES_BY_PEAK:
		return gist ? gist->peak_bytes + 1 : 0;
	case TAPES_BY_SIZE:
		return row->tape->bytes;
	default:
		return row->tape->written_ns;
	}
}

static int compare_texts(const char *a, const char *b)
{
	if (!a || !b)
		return (a == NULL) - (b == NULL); /* unknown ones last */
	return strcasecmp(a, b);
}

static int compare(const void *context, const void *a, const void *b)
{
	const struct order *order = context;
	const struct gists_row *left = &order->rows[*(const uint32_t *)a];
	const struct gists_row *right = &order->rows[*(const uint32_t *)b];
	int result;

	if (order->sort == TAPES_BY_PROGRAM)
		result = compare_texts(left->gist ? left->gist->program : NULL,
				       right->gist ? right->gist->program : NULL);
	else if (order->sort == TAPES_BY_HOST)
		result = compare_texts(left->gist ? left->gist->host : NULL,
				       right->gist ? right->gist->host : NULL);
	else
		result = sort_compare_u64(number_of(right, order->sort),
					  number_of(left, order->sort));
	return order->reverse ? -result : result;
}

struct err *tapes_choose(const struct gists_row *rows, size_t count,
			 const struct tapes_wanted *wanted, uint64_t now_ns, struct arena *arena,
			 const uint32_t **chosen_ret, size_t *chosen_count_ret,
			 uint64_t *match_count_ret)
{
	const struct order order = { rows, wanted->sort, wanted->reverse };
	uint32_t *chosen = arena_array(arena, count + 1, sizeof(*chosen));
	size_t found = 0, offset;

	assert(rows || count == 0);
	if (!chosen)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		if (is_wanted(wanted, &rows[i], now_ns))
			chosen[found++] = (uint32_t)i;
	if (!sort_stable(chosen, found, sizeof(*chosen), compare, &order))
		return err_nomem();
	offset = u64_min(wanted->offset, found);
	*match_count_ret = found;
	*chosen_ret = chosen + offset;
	*chosen_count_ret = found - offset;
	if (wanted->limit > 0)
		*chosen_count_ret = u64_min(*chosen_count_ret, wanted->limit);
	return NULL;
}
