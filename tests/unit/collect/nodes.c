/* The files of a machine with several nodes are made up, in a folder. */
#include "../test.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/nodes.h"

enum { PID = 77 };

struct tree {
	char root[64];
	struct nodes *nodes;
	struct space_snapshot space;
	struct str text;
	uint32_t parts;
	bool is_complete;
};

/* Makes the folders above it, too. */
static void put(const struct tree *tree, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", tree->root, name);
	for (char *at = path + strlen(tree->root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(path, 0700);
		*at = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void put_thread(const struct tree *tree, int tid, unsigned ticks, unsigned cpu)
{
	char name[64], stat[512];

	snprintf(name, sizeof(name), "proc/%d/task/%d/stat", PID, tid);
	snprintf(stat, sizeof(stat),
		 "%d (a) b (c) S 1 1 1 0 -1 4194304 1 0 0 0 %u %u 0 0 20 0 1 0 9 1 1 1 1 1 1 1 1 0 "
		 "0 0 "
		 "0 0 0 0 17 %u 0 0 0\n",
		 tid, ticks / 2, ticks - ticks / 2, cpu);
	put(tree, name, stat);
}

static int make(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	const struct space_extent extents[] = {
		{ .begin = 0x1000000, .end = 0x3000000 },
		{ .begin = 0x7f0000000000, .end = 0x7f0004000000 },
	};

	assert_non_null(tree);
	strcpy(tree->root, "/tmp/memtape-unit-XXXXXX");
	assert_non_null(mkdtemp(tree->root));
	tree->nodes = calloc(1, sizeof(*tree->nodes));
	assert_non_null(tree->nodes);
	for (size_t i = 0; i < 2; i++)
		assert_true(space_extents_push(&tree->space.extents, extents[i]));
	put(tree, "sys/devices/system/node/online", "0-1\n");
	put(tree, "sys/devices/system/node/node0/cpulist", "0-1,4\n");
	put(tree, "sys/devices/system/node/node1/cpulist", "2-3\n");
	put(tree, "proc/77/numa_maps",
	    "00400000 default file=/bin/x mapped=5000 N0=5000 kernelpagesize_kB=4\n"
	    "01000000 default heap anon=1024 dirty=1024 N0=1024 kernelpagesize_kB=4\n"
	    "7f0000000000 bind:1 anon=8192 dirty=8192 N0=192 N1=8000 kernelpagesize_kB=4\n"
	    "7f0010000000 default file=/dev/shm/x dirty=100 N1=100 kernelpagesize_kB=4\n"
	    "7f0020000000 default file=/anon_hugepage\\040(deleted) huge anon=3 N1=3 "
	    "kernelpagesize_kB=2048\n"
	    "7fff00000000 default stack anon=4 dirty=4 N0=4 kernelpagesize_kB=4\n");
	put_thread(tree, 77, 500, 0);
	*state = tree;
	return 0;
}

static int take_away(const char *path, const struct stat *info, int flag, struct FTW *place)
{
	(void)info;
	(void)flag;
	(void)place;
	return remove(path);
}

static int unmake(void **state)
{
	struct tree *tree = *state;

	nodes_close(tree->nodes);
	free(tree->nodes);
	nftw(tree->root, take_away, 16, FTW_DEPTH | FTW_PHYS);
	space_extents_deinit(&tree->space.extents);
	str_deinit(&tree->text);
	free(tree);
	return 0;
}

static void take_part(void *context, uint32_t part, uint32_t flags, const char *text)
{
	struct tree *tree = context;

	assert_int_equal(part, tree->parts++);
	assert_true(strlen(text) + TAPE_EXTENDED_BYTES + sizeof(struct tape_node_use) <=
		    TAPE_RECORD_BYTES_MAX);
	tree->is_complete = flags & TAPE_NODE_USE_LAST;
	str_add(&tree->text, text);
}

static const char *look(struct tree *tree)
{
	str_clear(&tree->text);
	tree->parts = 0;
	tree->is_complete = false;
	nodes_look(tree->nodes, &tree->space, 1, take_part, tree);
	assert_true(tree->is_complete);
	return str_text(&tree->text);
}

static void memory_is_counted_by_node(void **state)
{
	struct tree *tree = *state;

	nodes_open(tree->nodes, tree->root, PID);
	assert_true(nodes_are_due(tree->nodes, 0));
	assert_string_equal(look(tree), "0 0 0:4880:0,1:38544:0\n"
					"1000000 3000000 0:4096\n"
					"7f0000000000 7f0004000000 0:768,1:32000\n");
	assert_false(nodes_are_due(tree->nodes, 2));
	assert_true(nodes_are_due(tree->nodes, UINT64_MAX));
}

static void time_counts_for_the_node_where_a_thread_is_met(void **state)
{
	struct tree *tree = *state;
	char sums[128];

	nodes_open(tree->nodes, tree->root, PID);
	look(tree);
	put_thread(tree, 77, 700, 4);
	put_thread(tree, 78, 100, 2);
	look(tree);
	put_thread(tree, 77, 750, 3);
	look(tree);
	snprintf(sums, sizeof(sums), "0 0 0:4880:%ld,1:38544:%ld\n",
		 200 * 1000 / sysconf(_SC_CLK_TCK), 150 * 1000 / sysconf(_SC_CLK_TCK));
	assert_memory_equal(str_text(&tree->text), sums, strlen(sums));
}

static void one_node_is_not_looked_at(void **state)
{
	static const char *const lists[] = { "0\n",   "1\n",	      "",	"0-\n", "rubbish\n",
					     "5-2\n", "0-99999999\n", "64-70\n" };
	struct tree *tree = *state;

	for (size_t i = 0; i < array_size(lists); i++) {
		put(tree, "sys/devices/system/node/online", lists[i]);
		nodes_open(tree->nodes, tree->root, PID);
		assert_false(nodes_are_due(tree->nodes, UINT64_MAX));
	}
	nodes_open(tree->nodes, "/nonexistent", PID);
	assert_false(nodes_are_due(tree->nodes, UINT64_MAX));
}

static void rubbish_is_left_out(void **state)
{
	struct tree *tree = *state;

	put(tree, "proc/77/numa_maps",
	    "\nrubbish\n7f 0000\n01000000 default N0=x N=3 N1= N99=5 N1=512 N0 "
	    "kernelpagesize_kB=4\n"
	    "7f0000000000 default N1=512 kernelpagesize_kB=0\n"
	    "7f0000000000 default N1=99999999999999999999 kernelpagesize_kB=4\n");
	put(tree, "proc/77/task/77/stat", "77 (x");
	put(tree, "proc/77/task/78/stat", "");
	put(tree, "sys/devices/system/node/node1/cpulist", "99999,x\n");
	nodes_open(tree->nodes, tree->root, PID);
	assert_string_equal(look(tree), "0 0 0:0:0,1:17179871228:0\n"
					"1000000 3000000 1:2048\n"
					"7f0000000000 7f0004000000 1:17179869180\n");
}

static void a_process_that_is_gone_has_nothing(void **state)
{
	struct tree *tree = *state;

	nodes_open(tree->nodes, tree->root, PID + 1);
	assert_string_equal(look(tree), "0 0 0:0:0,1:0:0\n");
}

static void many_mappings_are_several_parts(void **state)
{
	enum { COUNT = 900 };
	struct tree *tree = *state;
	CLEAN(str_deinit) struct str maps = { 0 };
	size_t lines = 0;

	tree->space.extents.count = 0;
	for (unsigned i = 0; i < COUNT; i++) {
		const uint64_t begin = 0x7f0000000000 + ((uint64_t)i << 24);

		str_printf(&maps, "%llx default anon=512 N0=256 N1=256 kernelpagesize_kB=4\n",
			   (unsigned long long)begin);
		assert_true(space_extents_push(
			&tree->space.extents,
			(struct space_extent) { .begin = begin, .end = begin + (2 << 20) }));
	}
	put(tree, "proc/77/numa_maps", str_text(&maps));
	nodes_open(tree->nodes, tree->root, PID);
	for (const char *at = look(tree); *at; at = strchr(at, '\n') + 1)
		lines++;
	assert_int_equal(lines, COUNT + 1);
	assert_true(tree->parts > 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory_is_counted_by_node),
		TEST(time_counts_for_the_node_where_a_thread_is_met),
		TEST(one_node_is_not_looked_at),
		TEST(rubbish_is_left_out),
		TEST(a_process_that_is_gone_has_nothing),
		TEST(many_mappings_are_several_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
