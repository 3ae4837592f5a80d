/*
 * What the kernel says of NUMA nodes, and what a tape says: any text is read to its end, and what is
 * found is within bounds.
 */
#include <stdlib.h>

#include "collect/nodes.h"
#include "space/node_use.h"

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void on_number(void *context, unsigned number)
{
	unsigned *count = context;

	check(number < 1 << 16);
	++*count;
}

static void check_line(const char *line)
{
	struct node_look look = { 0 };
	struct node_range range;
	struct nodes_line of;
	unsigned percent, count = 0;

	if (nodes_line_parse(line, &of))
		for (size_t i = 0; i < NODES_MAX; i++)
			check(of.kib[i] < UINT64_C(1) << 60);
	(void)nodes_list_parse(line, on_number, &count);
	if (node_range_parse(line, &range))
		check(range.begin < range.end);
	if (node_sums_parse(line, &look)) {
		check(node_look_home(&look, &percent) < NODE_USE_MAX);
		check(percent <= 100);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEAN(free) char *text = malloc(size + 1);

	check(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	for (char *line = text, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		check_line(line);
	}
	return 0;
}
