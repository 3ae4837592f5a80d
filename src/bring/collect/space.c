#include "collect/space.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>

#include "collect/space_runs.h"

enum {
	PART_BYTES = TAPE_RECORD_BYTES_MAX - TAPE_EXTENDED_BYTES - (int)sizeof(struct tape_space),
	LINE_ROOM = 512,	   /* the numbers of a line and a name of usual length */
	RUNS_BYTES_MAX = 6400,	   /* of one mapping */
	RUNS_BYTES_ALL = 64 << 10, /* of a snapshot */
	NAME_BYTES_MAX = 1024,	   /* longer ones are cut */
	WHOLE_EVERY = 64,	   /* snapshots: the most that a lost chunk can cost */
	SMAPS_LINE_BYTES = 4096 + 256,
	SMAPS_BUFFER_BYTES = 64 << 10
};

void space_deinit(struct space *space)
{
	space_extents_deinit(&space->now.extents);
	space_extents_deinit(&space->before.extents);
	str_deinit(&space->now.texts);
	str_deinit(&space->before.texts);
}

/* --- reading ------------------------------------------------------------------------------- */

/* "7f01-7f02 rw-p 00000000 fe:00 18500      /usr/lib/name" */
static bool parse_mapping(const char *line, struct space_snapshot *snapshot)
{
	struct space_extent extent = { .marks = "-" };
	unsigned long long begin, end;
	int name_at = 0;
	size_t len;

	if (sscanf(line, "%llx-%llx %4s %*x %*x:%*x %*u %n", &begin, &end, extent.perms, &name_at) <
		    3 ||
	    begin >= end)
		return false;
	len = name_at ? strcspn(line + name_at, "\n") : 0;
	extent.begin = begin;
	extent.end = end;
	extent.name = (uint32_t)snapshot->texts.len;
	str_add_bytes(&snapshot->texts, line + name_at, u64_min(len, NAME_BYTES_MAX));
	str_add_char(&snapshot->texts, '\0');
	return space_extents_push(&snapshot->extents, extent);
}

static bool begins(const char *line, const char *word)
{
	return strncmp(line, word, strlen(word)) == 0;
}

static void parse_marks(const char *line, struct space_extent *extent)
{
	static const char *const flags[] = { " nr", " dd", " wf", " gd" };
	size_t count = 0;

	for (size_t i = 0; i < array_size(flags); i++)
		if (strstr(line, flags[i]))
			extent->marks[count++] = "ndwg"[i];
	if (count == 0)
		extent->marks[count++] = '-';
	extent->marks[count] = '\0';
}

static void parse_detail(const char *line, struct space_extent *extent)
{
	const char *colon = strchr(line, ':');
	const uint64_t value = colon ? strtoull(colon + 1, NULL, 10) : 0;

	if (begins(line, "Rss:"))
		extent->rss_kib = value;
	else if (begins(line, "Pss:"))
		extent->pss_kib = value;
	else if (begins(line, "Anonymous:"))
		extent->anonymous_kib = value;
	else if (begins(line, "AnonHugePages:"))
		extent->huge_kib = value;
	else if (begins(line, "Swap:"))
		extent->swap_kib = value;
	else if (begins(line, "VmFlags:"))
		parse_marks(line, extent);
}

/* Detail lines begin with a capital letter, mappings with a hexadecimal digit. */
static bool read_smaps(struct space_snapshot *snapshot, FILE *file)
{
	char line[SMAPS_LINE_BYTES];

	while (fgets(line, sizeof(line), file)) {
		if (line[0] < 'A' || line[0] > 'Z') {
			if (!parse_mapping(line, snapshot))
				return false;
		} else if (snapshot->extents.count > 0) {
			parse_detail(line, &snapshot->extents.items[snapshot->extents.count - 1]);
		}
	}
	return snapshot->extents.count > 0;
}

/* Pages lent by a device, the kernel or a huge page pool are not part of RSS. */
static bool is_lent(const char *name)
{
	return begins(name, "[vvar") || begins(name, "[vsyscall") ||
	       begins(name, "/anon_hugepage") ||
	       (begins(name, "/dev/") && !begins(name, "/dev/shm/") && !begins(name, "/dev/zero"));
}

static bool is_file(const char *name)
{
	return name[0] == '/';
}

/*
 * Which pages of a file are resident does not matter. Private memory of which none is may have been
 * read; reading each page of a large range is not worth that.
 */
static bool wants_runs(const struct space_snapshot *snapshot, const struct space_extent *extent,
		       bool can_scan)
{
	const uint64_t kib = (extent->end - extent->begin) >> 10;
	const char *name = snapshot->texts.ptr + extent->name;

	if (extent->rss_kib >= kib || is_lent(name))
		return false;
	return extent->anonymous_kib > 0 || extent->swap_kib > 0 ||
	       (can_scan && extent->perms[3] == 'p' && !is_file(name));
}

/* Finds the pages of mappings that are not resident as a whole. */
static void read_runs(struct space_snapshot *snapshot, pid_t pid)
{
	char path[64];
	CLEAN(close) int fd = -1;
	size_t rest = RUNS_BYTES_ALL;

	fd = open(str_format(path, sizeof(path), "/proc/%d/pagemap", (int)pid),
		  O_RDONLY | O_CLOEXEC);
	const bool can_scan = space_can_scan(fd);

	for (size_t i = 0; i < snapshot->extents.count && rest > 0; i++) {
		struct space_extent *extent = &snapshot->extents.items[i];
		const size_t at = snapshot->texts.len;

		if (!wants_runs(snapshot, extent, can_scan) ||
		    !space_runs(fd, extent->begin, extent->end, extent->rss_kib / 4,
				u64_min(rest, RUNS_BYTES_MAX), &snapshot->texts))
			continue;
		rest -= u64_min(snapshot->texts.len - at, rest);
		str_add_char(&snapshot->texts, '\0');
		extent->runs = (uint32_t)at;
	}
}

static FILE *open_text(pid_t pid, const char *name)
{
	char path[64];
	FILE *file = fopen(str_format(path, sizeof(path), "/proc/%d/%s", (int)pid, name), "re");

	if (file)
		setvbuf(file, NULL, _IOFBF, SMAPS_BUFFER_BYTES);
	return file;
}

static bool read_full(struct space *space, pid_t pid)
{
	CLEAN(fclose) FILE *file = open_text(pid, "smaps");

	if (!file || !read_smaps(&space->now, file))
		return false;
	read_runs(&space->now, pid);
	return true;
}

/* --- quick snapshots ----------------------------------------------------------------------- */

/* False: not supported by the kernel. */
static bool scan_extent(struct space_snapshot *snapshot, struct space_extent *extent, int fd,
			size_t *rest)
{
	const char *name = snapshot->texts.ptr + extent->name;
	const bool tells_files = is_file(name) && extent->perms[3] == 'p';
	const bool is_private = extent->perms[3] == 'p';
	const size_t at = snapshot->texts.len;
	const size_t most = is_file(name) ? 0 : u64_min(*rest, RUNS_BYTES_MAX);
	struct space_found found;

	if (is_lent(name))
		return true;
	if (!space_scan(fd, extent->begin, extent->end, tells_files, most, &snapshot->texts,
			&found))
		return false;
	extent->rss_kib = found.resident * 4;
	extent->swap_kib = found.swapped * 4;
	extent->anonymous_kib = is_private ? (found.resident - found.file) * 4 : 0;
	if (found.has_runs) {
		*rest -= u64_min(snapshot->texts.len - at, *rest);
		str_add_char(&snapshot->texts, '\0');
		extent->runs = (uint32_t)at;
	}
	return true;
}

/* Marks do not change by themselves: copy those of the same mapping in the snapshot before. */
static void keep_marks(struct space_snapshot *now, const struct space_snapshot *before)
{
	size_t at = 0;

	for (size_t i = 0; i < now->extents.count; i++) {
		struct space_extent *extent = &now->extents.items[i];
		const struct space_extent *old;

		while (at < before->extents.count && before->extents.items[at].end <= extent->begin)
			at++;
		old = at < before->extents.count ? &before->extents.items[at] : NULL;
		if (old && old->begin < extent->end &&
		    strcmp(before->texts.ptr + old->name, now->texts.ptr + extent->name) == 0)
			memcpy(extent->marks, old->marks, sizeof(extent->marks));
	}
}

static bool read_quick(struct space *space, pid_t pid)
{
	CLEAN(fclose) FILE *file = open_text(pid, "maps");
	CLEAN(close) int fd = -1;
	size_t rest = RUNS_BYTES_ALL;
	char path[64];

	fd = open(str_format(path, sizeof(path), "/proc/%d/pagemap", (int)pid),
		  O_RDONLY | O_CLOEXEC);
	if (!file || fd < 0 || !read_smaps(&space->now, file))
		return false;
	for (size_t i = 0; i < space->now.extents.count; i++) {
		if (!scan_extent(&space->now, &space->now.extents.items[i], fd, &rest)) {
			space->cannot_scan = errno == ENOTTY || errno == EINVAL;
			return false;
		}
	}
	keep_marks(&space->now, &space->before);
	return true;
}

bool space_read(struct space *space, pid_t pid, enum space_depth depth)
{
	struct space_snapshot *now = &space->now;

	assert(pid > 0);
	assert(depth == SPACE_QUICK || depth == SPACE_FULL);
	now->extents.count = 0;
	str_clear(&now->texts);
	str_add_char(&now->texts, '\0');
	if (depth == SPACE_QUICK ? read_quick(space, pid) : read_full(space, pid)) {
		if (!now->texts.failed)
			return true;
	}
	now->extents.count = 0;
	return false;
}

/* --- sums ---------------------------------------------------------------------------------- */

uint64_t space_rss_bytes(const struct space *space)
{
	uint64_t kib = 0;

	for (size_t i = 0; i < space->now.extents.count; i++)
		kib += space->now.extents.items[i].rss_kib;
	return kib << 10;
}

uint64_t space_pss_bytes(const struct space *space)
{
	uint64_t kib = 0;

	for (size_t i = 0; i < space->now.extents.count; i++)
		kib += space->now.extents.items[i].pss_kib;
	return kib << 10;
}

uint64_t space_swap_bytes(const struct space *space)
{
	uint64_t kib = 0;

	for (size_t i = 0; i < space->now.extents.count; i++)
		kib += space->now.extents.items[i].swap_kib;
	return kib << 10;
}

/* --- writing ------------------------------------------------------------------------------- */

struct lines {
	struct str text;
	uint32_t part;
	uint32_t flags;
	void (*say)(void *context, uint32_t part, uint32_t flags, const char *text);
	void *context;
};

static void lines_flush(struct lines *lines, uint32_t flags)
{
	if (!lines->text.failed)
		lines->say(lines->context, lines->part++, lines->flags | flags,
			   str_text(&lines->text));
	str_clear(&lines->text);
}

static void add_nothing(struct lines *lines, uint64_t begin, uint64_t end)
{
	if (lines->text.len > PART_BYTES - LINE_ROOM)
		lines_flush(lines, 0);
	str_printf(&lines->text, "%llx %llx -\n", (unsigned long long)begin,
		   (unsigned long long)end);
}

static void add_extent(struct lines *lines, const struct space_snapshot *snapshot,
		       const struct space_extent *extent)
{
	const char *name = snapshot->texts.ptr + extent->name;
	const char *runs = extent->runs ? snapshot->texts.ptr + extent->runs : "-";

	if (lines->text.len + strlen(name) + strlen(runs) > PART_BYTES - LINE_ROOM)
		lines_flush(lines, 0);
	str_printf(&lines->text, "%llx %llx %s %s %llu %llu %llu %s %s\n",
		   (unsigned long long)extent->begin, (unsigned long long)extent->end,
		   extent->perms, extent->marks, (unsigned long long)extent->rss_kib,
		   (unsigned long long)extent->anonymous_kib, (unsigned long long)extent->swap_kib,
		   runs, name);
}

static bool extents_equal(const struct space_snapshot *left, const struct space_extent *a,
			  const struct space_snapshot *right, const struct space_extent *b)
{
	return a->begin == b->begin && a->end == b->end && a->rss_kib == b->rss_kib &&
	       a->anonymous_kib == b->anonymous_kib && a->swap_kib == b->swap_kib &&
	       strcmp(a->perms, b->perms) == 0 && strcmp(a->marks, b->marks) == 0 &&
	       strcmp(left->texts.ptr + a->name, right->texts.ptr + b->name) == 0 &&
	       strcmp(left->texts.ptr + a->runs, right->texts.ptr + b->runs) == 0;
}

/* Adds the parts of [begin, end) no longer mapped; *at: the first mapping that may overlap it. */
static void add_gone(struct lines *lines, const struct space_snapshot *before, size_t *at,
		     uint64_t begin, uint64_t end)
{
	const struct space_extent *old = before->extents.items;

	while (*at < before->extents.count && old[*at].end <= begin)
		(*at)++;
	for (size_t i = *at; i < before->extents.count && old[i].begin < end; i++)
		add_nothing(lines, u64_max(begin, old[i].begin), u64_min(end, old[i].end));
}

static void add_changes(struct lines *lines, const struct space_snapshot *now,
			const struct space_snapshot *before)
{
	const struct space_extent *old = before->extents.items;
	size_t gone = 0, same = 0;
	uint64_t end = 0;

	for (size_t i = 0; i < now->extents.count; i++) {
		const struct space_extent *extent = &now->extents.items[i];

		add_gone(lines, before, &gone, end, extent->begin);
		end = extent->end;
		while (same < before->extents.count && old[same].begin < extent->begin)
			same++;
		if (same == before->extents.count ||
		    !extents_equal(now, extent, before, &old[same]))
			add_extent(lines, now, extent);
	}
	add_gone(lines, before, &gone, end, UINT64_MAX);
}

void space_write(struct space *space,
		 void (*part)(void *context, uint32_t part, uint32_t flags, const char *text),
		 void *context)
{
	const bool is_whole = space->written_count++ % WHOLE_EVERY == 0;
	struct lines lines = { .flags = is_whole ? TAPE_SPACE_WHOLE : 0,
			       .say = part,
			       .context = context };
	struct space_snapshot swap;

	assert(part);
	if (is_whole)
		space->before.extents.count = 0;
	add_changes(&lines, &space->now, &space->before);
	lines_flush(&lines, TAPE_SPACE_LAST);
	str_deinit(&lines.text);
	swap = space->before;
	space->before = space->now;
	space->now = swap;
}
