#include "collect/nodes.h"

#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/clock.h"

enum {
	PART_BYTES =
		TAPE_RECORD_BYTES_MAX - TAPE_EXTENDED_BYTES - (int)sizeof(struct tape_node_use),
	PATH_BYTES = 4096,
	LINE_BYTES = 8192,
	LINE_ROOM = 64 + NODES_MAX * 24,
	MAPPING_KIB_MIN = 1 << 10, /* smaller ones are only in the sums */
	MAPPINGS_MAX = 1000,	   /* of a look */
	THREADS_MAX = 512,	   /* the same */
	LIST_NUMBERS_MAX = 1 << 16,
	STAT_UTIME = 14,
	STAT_STIME = 15,
	STAT_PROCESSOR = 39,
	COST_FACTOR = 200 /* half a percent */
};

static const uint64_t PERIOD_NS = 1000000000;

/* --- words ----------------------------------------------------------------------------------- */

static bool take_number(const char **at, uint64_t *value_ret)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*value_ret = strtoull(*at, &end, 10);
	*at = end;
	return true;
}

bool nodes_list_parse(const char *text, void (*visit)(void *context, unsigned number),
		      void *context)
{
	uint64_t first, last;

	while (*text && *text != '\n') {
		if (!take_number(&text, &first))
			return false;
		last = first;
		if (*text == '-') {
			text++;
			if (!take_number(&text, &last))
				return false;
		}
		if (last < first || last >= LIST_NUMBERS_MAX)
			return false;
		for (; first <= last; first++)
			visit(context, (unsigned)first);
		if (*text == ',')
			text++;
		else if (*text && *text != '\n')
			return false;
	}
	return true;
}

/* Shared memory without a file of its own looks like one. */
static bool is_file(const char *name)
{
	static const char *const memory[] = { "/dev/shm/", "/memfd:", "/SYSV", "/dev/zero",
					      "/anon_hugepage" };

	for (size_t i = 0; i < array_size(memory); i++)
		if (strncmp(name, memory[i], strlen(memory[i])) == 0)
			return false;
	return true;
}

/* "7f01 default anon=3 dirty=3 N0=1 N1=2 kernelpagesize_kB=4": pages of the last word's size. */
bool nodes_line_parse(const char *text, struct nodes_line *line_ret)
{
	struct nodes_line line = { 0 };
	uint64_t page_kib = 4;
	char *end;

	line.begin = strtoull(text, &end, 16);
	if (end == text || *end != ' ')
		return false;
	for (const char *word = strchr(end + 1, ' '); word; word = strchr(word, ' ')) {
		const char *at = ++word;
		uint64_t node, pages;

		if (strncmp(word, "file=", 5) == 0)
			line.is_file = is_file(word + 5);
		if (strncmp(word, "kernelpagesize_kB=", 18) == 0) {
			at += 18;
			if (!take_number(&at, &page_kib) || page_kib == 0 || page_kib > 1 << 24)
				return false;
		}
		if (*at++ != 'N' || !take_number(&at, &node) || *at++ != '=' ||
		    !take_number(&at, &pages))
			continue;
		if (node < NODES_MAX)
			line.kib[node] = u64_min(pages, UINT32_MAX);
	}
	for (size_t i = 0; i < NODES_MAX; i++)
		line.kib[i] *= page_kib;
	*line_ret = line;
	return true;
}

/* --- files ----------------------------------------------------------------------------------- */

static FILE *file_open(const struct nodes *nodes, const char *name)
{
	char path[PATH_BYTES];

	return fopen(str_format(path, sizeof(path), "%s%s", nodes->root, name), "re");
}

static bool read_line(const struct nodes *nodes, const char *name, char *line, size_t bytes)
{
	CLEAN(fclose) FILE *file = file_open(nodes, name);

	return file && fgets(line, (int)bytes, file);
}

static void on_node(void *context, unsigned number)
{
	struct nodes *nodes = context;

	if (number < NODES_MAX)
		nodes->set |= UINT64_C(1) << number;
}

struct of_node {
	struct nodes *nodes;
	uint8_t node;
};

static void on_cpu(void *context, unsigned number)
{
	const struct of_node *of = context;

	if (number < NODES_CPUS_MAX)
		of->nodes->node_of_cpu[number] = of->node;
}

void nodes_open(struct nodes *nodes, const char *root, pid_t pid)
{
	char line[LINE_BYTES], name[STR_SHORT_BYTES];

	assert(pid > 0);
	*nodes = (struct nodes) { .root = root, .pid = pid };
	memset(nodes->node_of_cpu, 0xff, sizeof(nodes->node_of_cpu));
	if (!read_line(nodes, "/sys/devices/system/node/online", line, sizeof(line)) ||
	    !nodes_list_parse(line, on_node, nodes) || __builtin_popcountll(nodes->set) < 2) {
		nodes->set = 0;
		return;
	}
	for (uint8_t i = 0; i < NODES_MAX; i++) {
		str_format(name, sizeof(name), "/sys/devices/system/node/node%u/cpulist", i);
		if (nodes->set >> i & 1 && read_line(nodes, name, line, sizeof(line)))
			(void)nodes_list_parse(line, on_cpu, &(struct of_node) { nodes, i });
	}
}

void nodes_close(struct nodes *nodes)
{
	nodes_threads_deinit(&nodes->threads);
}

bool nodes_are_due(const struct nodes *nodes, uint64_t now_ns)
{
	return nodes->set != 0 && now_ns >= nodes->due_ns;
}

/* --- threads --------------------------------------------------------------------------------- */

/* The field of a stat file; the name before the third may contain anything. */
static uint64_t stat_field(const char *text, int field)
{
	const char *at = strrchr(text, ')');

	for (int i = 2; at && i < field; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

static uint64_t ticks_before(const struct nodes *nodes, pid_t tid)
{
	for (size_t i = 0; i < nodes->threads.count; i++)
		if (nodes->threads.items[i].tid == tid)
			return nodes->threads.items[i].ticks;
	return 0;
}

/* What it ran before the first look may have been anywhere. */
static bool thread_take(struct nodes *nodes, pid_t tid, const char *stat, struct nodes_threads *met)
{
	const uint64_t ticks = stat_field(stat, STAT_UTIME) + stat_field(stat, STAT_STIME);
	const uint64_t cpu = stat_field(stat, STAT_PROCESSOR), before = ticks_before(nodes, tid);
	const uint8_t node = cpu < NODES_CPUS_MAX ? nodes->node_of_cpu[cpu] : UINT8_MAX;

	if (nodes->has_threads && node < NODES_MAX)
		nodes->ticks[node] += ticks - u64_min(ticks, before);
	return nodes_threads_push(met, (struct nodes_thread) { tid, ticks });
}

static void threads_look(struct nodes *nodes)
{
	char path[PATH_BYTES], name[STR_SHORT_BYTES], line[LINE_BYTES];
	DIR *folder = opendir(
		str_format(path, sizeof(path), "%s/proc/%d/task", nodes->root, (int)nodes->pid));
	struct nodes_threads met = { 0 };
	bool ok = folder;

	for (struct dirent *entry; ok && met.count < THREADS_MAX && (entry = readdir(folder));) {
		const pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		str_format(name, sizeof(name), "/proc/%d/task/%d/stat", (int)nodes->pid, (int)tid);
		if (tid > 0 && read_line(nodes, name, line, sizeof(line)))
			ok = thread_take(nodes, tid, line, &met);
	}
	if (folder)
		closedir(folder);
	nodes_threads_deinit(&nodes->threads);
	nodes->threads = met;
	nodes->has_threads = true;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* The end of the mapping that begins there; 0: it is not known. */
static uint64_t end_of(const struct space_snapshot *space, uint64_t begin)
{
	size_t low = 0, high = space->extents.count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (space->extents.items[middle].begin < begin)
			low = middle + 1;
		else
			high = middle;
	}
	return low < space->extents.count && space->extents.items[low].begin == begin
		       ? space->extents.items[low].end
		       : 0;
}

static void add_mapping(struct str *text, const struct nodes_line *line, uint64_t end)
{
	const char *between = " ";

	str_printf(text, "%llx %llx", (unsigned long long)line->begin, (unsigned long long)end);
	for (unsigned i = 0; i < NODES_MAX; i++) {
		if (line->kib[i] == 0)
			continue;
		str_printf(text, "%s%u:%llu", between, i, (unsigned long long)line->kib[i]);
		between = ",";
	}
	str_add_char(text, '\n');
}

/* Sums, and the lines of mappings. */
static void memory_look(struct nodes *nodes, const struct space_snapshot *space, struct str *text)
{
	char name[STR_SHORT_BYTES], buffer[LINE_BYTES];
	CLEAN(fclose) FILE *file = NULL;
	struct nodes_line line;
	size_t count = 0;

	memset(nodes->kib, 0, sizeof(nodes->kib));
	file = file_open(nodes,
			 str_format(name, sizeof(name), "/proc/%d/numa_maps", (int)nodes->pid));
	while (file && fgets(buffer, sizeof(buffer), file)) {
		uint64_t kib = 0, end;

		if (!nodes_line_parse(buffer, &line) || line.is_file)
			continue;
		for (size_t i = 0; i < NODES_MAX; i++) {
			nodes->kib[i] += line.kib[i];
			kib += line.kib[i];
		}
		if (kib < MAPPING_KIB_MIN || count == MAPPINGS_MAX)
			continue;
		end = end_of(space, line.begin);
		if (end == 0)
			continue;
		add_mapping(text, &line, end);
		count++;
	}
}

/* --- writing --------------------------------------------------------------------------------- */

/* "0 0 NODE:KIB:MS,..." of all nodes. */
static void add_sums(const struct nodes *nodes, struct str *text)
{
	const uint64_t ticks_per_s = (uint64_t)u64_max((uint64_t)sysconf(_SC_CLK_TCK), 1);
	const char *between = " ";

	str_add(text, "0 0");
	for (unsigned i = 0; i < NODES_MAX; i++) {
		if (!(nodes->set >> i & 1))
			continue;
		str_printf(text, "%s%u:%llu:%llu", between, i, (unsigned long long)nodes->kib[i],
			   (unsigned long long)(nodes->ticks[i] * 1000 / ticks_per_s));
		between = ",";
	}
	str_add_char(text, '\n');
}

void nodes_look(struct nodes *nodes, const struct space_snapshot *space, uint64_t now_ns,
		void (*part)(void *context, uint32_t part, uint32_t flags, const char *text),
		void *context)
{
	const uint64_t begun_ns = clock_cpu_ns();
	CLEAN(str_deinit) struct str sums = { 0 }, mappings = { 0 };
	const char *at, *end;
	uint32_t number = 0;

	assert(nodes->set != 0);
	threads_look(nodes);
	memory_look(nodes, space, &mappings);
	add_sums(nodes, &sums);
	nodes->due_ns = now_ns + u64_max(PERIOD_NS, (clock_cpu_ns() - begun_ns) * COST_FACTOR);
	if (sums.failed || mappings.failed)
		return;
	end = str_text(&mappings) + mappings.len;
	part(context, number++, mappings.len == 0 ? TAPE_NODE_USE_LAST : 0, str_text(&sums));
	for (at = str_text(&mappings); at < end;) {
		const char *until = end;
		CLEAN(str_deinit) struct str lines = { 0 };

		if (end - at > PART_BYTES - LINE_ROOM) {
			until = at + PART_BYTES - LINE_ROOM;
			until = memchr(until, '\n', (size_t)(end - until));
			until = until ? until + 1 : end;
		}
		str_add_bytes(&lines, at, (size_t)(until - at));
		part(context, number++, until == end ? TAPE_NODE_USE_LAST : 0, str_text(&lines));
		at = until;
	}
}
