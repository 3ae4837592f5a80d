#include "questions/address_space.h"

enum { PARTS = 3 };

struct share {
	enum rss_band band;
	int64_t bytes;
};

/* Bands between live blocks and RSS, largest first. */
static size_t shares_of(const struct rss_sample *sample, struct share shares[RSS_BANDS])
{
	size_t count = 0;

	for (unsigned band = RSS_SLACK; band < RSS_BANDS; band++) {
		size_t at = count;

		if (sample->bands[band] <= 0)
			continue;
		while (at > 0 && shares[at - 1].bytes < sample->bands[band]) {
			shares[at] = shares[at - 1];
			at--;
		}
		shares[at] = (struct share) { .band = band, .bytes = sample->bands[band] };
		count++;
	}
	return count;
}

static const char *share_words(enum rss_band band)
{
	static const char *const words[RSS_BANDS] = {
		[RSS_SLACK] = "blocks being larger than requested",
		[RSS_FREE] = "free memory and overhead inside the heap",
		[RSS_PROGRAM] = "anonymous memory that the program mapped itself",
		[RSS_UNSEEN] = "anonymous memory that was mapped unseen",
		[RSS_FILE] = "mapped files",
		[RSS_SHARED] = "shared memory",
		[RSS_MODULE] = "code and data of modules",
		[RSS_STACK] = "stacks",
		[RSS_MEMTAPE] = "memtape itself",
		[RSS_KERNEL] = "kernel pages",
		[RSS_REMAINDER] = "of unknown use",
	};

	return words[band] ? words[band] : rss_band_words[band];
}

/* "; in the heap 3,112 live blocks keep 2,100 pages, and 70,000 pages are wholly free". */
static void add_pins(struct str *out, const struct space_waste *waste)
{
	if (waste->free_pages + waste->partial_pages == 0)
		return;
	str_add(out, " Of the heap's pages ");
	str_add_grouped(out, waste->free_pages);
	str_add(out, " are wholly free (");
	str_add_iec(out, waste->free_pages << SPACE_PAGE_SHIFT);
	str_add(out, "), and ");
	str_add_grouped(out, waste->partial_pages);
	str_add(out, " are kept by ");
	str_add_counted(out, waste->partial_blocks, "live block");
	str_add(out, " that leave ");
	str_add_iec(out, waste->wasted);
	str_add(out, " of them unused.");
}

void rss_words(struct str *out, const struct rss *rss, const struct space_waste *waste)
{
	const struct rss_sample *peak;
	struct share shares[RSS_BANDS];
	int64_t above;
	size_t count;

	if (rss->samples.count == 0) {
		str_add(out, "This tape has no samples of resident memory.");
		return;
	}
	peak = &rss->samples.items[rss->peak];
	count = shares_of(peak, shares);
	above = (int64_t)peak->rss_bytes - peak->bands[RSS_LIVE];
	str_add(out, "At its highest RSS is ");
	str_add_iec_signed(out, above < 0 ? -above : above);
	str_add(out, above < 0 ? " below" : " above");
	str_add(out, " the live blocks");
	for (size_t i = 0; i < u64_min(count, PARTS); i++) {
		str_add(out, i == 0 ? ": " : ", ");
		str_add_iec_signed(out, shares[i].bytes);
		str_add(out, " is ");
		str_add(out, share_words(shares[i].band));
	}
	str_add(out, ".");
	if (peak->bands[RSS_UNTOUCHED] < 0) {
		str_add(out, " ");
		str_add_iec_signed(out, -peak->bands[RSS_UNTOUCHED]);
		str_add(out, " of live blocks is not resident: never written to, or swapped out.");
	}
	if (waste)
		add_pins(out, waste);
}
