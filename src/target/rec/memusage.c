#include "rec/memusage.h"

#include <errno.h>
#include <unistd.h>

#include "rec/calls.h"
#include "rec/moments.h"
#include "rec/path.h"
#include "rec/summary.h"

#include "core/poison.h"

static const char OUTPUT[] = "MEMUSAGE_OUTPUT=";
static const char SUFFIX[] = ".%p";	  /* for later processes */
static const char TAPE_SUFFIX[] = ".dat"; /* beside a tape, for the command that reads both */

/* MEMUSAGE_OUTPUT=PATTERN for children. */
static char children[sizeof(OUTPUT) + 2 * REC_PATH_BYTES + sizeof(SUFFIX)];

void rec_memusage_options(void)
{
	const char *output = rec_env_get("MEMUSAGE_OUTPUT");

	rec.options = (struct rec_options) {
		.follow = true,
		.calls = true,
		.counts = true,
		.table = true,
		.maps = rec_env_get("MEMUSAGE_TRACE_MMAP") != NULL,
		.moments = output && *output,
	};
}

bool rec_memusage_begin(bool is_child)
{
	if (!rec_summary_wanted())
		return false;
	rec_summary_begin(is_child);
	return true;
}

/* The pattern from which this very file was made, for all later processes. */
static bool is_of_parent(const char *pattern)
{
	const size_t len = strlen(pattern), suffix = sizeof(SUFFIX) - 1;

	return pattern[0] == '/' && len > suffix &&
	       memcmp(pattern + len - suffix, SUFFIX, suffix) == 0;
}

/* The name in use now, which is not a pattern, and a suffix that is one. */
static void children_make(const char *path)
{
	size_t len = sizeof(OUTPUT) - 1;

	if (is_of_parent(rec_env_get("MEMUSAGE_OUTPUT")))
		return;
	memcpy(children, OUTPUT, len);
	for (; *path; path++) {
		children[len++] = *path;
		if (*path == '%')
			children[len++] = '%';
	}
	memcpy(children + len, SUFFIX, sizeof(SUFFIX));
}

static bool open_own(void)
{
	const char *pattern = rec.is_child && *children ? children + sizeof(OUTPUT) - 1
							: rec_env_get("MEMUSAGE_OUTPUT");
	const int rc = rec_moments_open(pattern, true);

	if (rc < 0)
		rec_summary_complain(rc == -EINVAL ? ": it is no file that can be replaced"
						   : ": it cannot be written",
				     rec.moments.path, -rc);
	else if (!rec.is_child)
		children_make(rec.moments.path);
	return rc == 0;
}

static bool open_beside_tape(void)
{
	static char pattern[REC_PATH_BYTES];
	const char *tape = rec_env_get("MEMTAPE_OUTPUT");
	const size_t len = tape ? strlen(tape) : 0;

	if (len == 0 || len + sizeof(TAPE_SUFFIX) > sizeof(pattern))
		return false;
	memcpy(pattern, tape, len);
	memcpy(pattern + len, TAPE_SUFFIX, sizeof(TAPE_SUFFIX));
	return rec_moments_open(pattern, false) == 0;
}

bool rec_memusage_data(void)
{
	CHECK(rec.header);
	rec.wants_moments = true;
	return rec.options.table ? open_own() : open_beside_tape();
}

void rec_memusage_rename(void)
{
	if (!*children || !environ)
		return;
	for (char **entry = environ; *entry; entry++)
		if (strncmp(*entry, OUTPUT, sizeof(OUTPUT) - 1) == 0)
			*entry = children;
}

/* NULL: out of memory. */
static struct rec_sums *sums_make(void)
{
	struct rec_sums *sums = sys_map_private(sizeof(*sums));

	if (sums)
		rec_calls_sum(sums);
	return sums;
}

void rec_memusage_end(void)
{
	struct rec_sums *sums = sums_make();

	if (!sums)
		return;
	if (rec.options.moments)
		rec_moments_close(sums->calls.heap_peak, sums->calls.stack_peak);
	rec_summary_write(sums);
	sys_munmap(sums, sizeof(*sums));
}

void rec_replaced(bool is_now)
{
	struct rec_sums *sums;

	if (!rec.options.moments)
		return;
	if (!is_now) {
		rec_moments_reopen();
		return;
	}
	sums = sums_make();
	if (!sums)
		return;
	rec_moments_close(sums->calls.heap_peak, sums->calls.stack_peak);
	sys_munmap(sums, sizeof(*sums));
}
