/*
 * scan: how long a leak scan takes, without a process: memory of its own with blocks in it, of which
 * so many words are pointers to blocks, half of them to beginnings, and a global for each 16 blocks.
 *
 *	scan MIBS BLOCKS PERCENT
 *
 * Prints one line: CPU seconds of the whole and a GiB, nanoseconds a block, pointers and blocks by
 * class, and the largest memory of the program less the blocks. Unlike its neighbours this one is not recorded;
 * it is linked to the scan and built with the tests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "base/big.h"
#include "random.h"
#include "scan/dominators.h"
#include "scan/graph.h"
#include "scan/pointers.h"
#include "scan/reach.h"

static size_t own_read(void *context, uint64_t address, void *buffer, size_t bytes)
{
	(void)context;
	memcpy(buffer, (const void *)(uintptr_t)address, bytes);
	return bytes;
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Blocks of many sizes, as malloc puts them; returns the bytes that they take. */
static uint64_t lay(struct graph_block *blocks, size_t count, uint8_t *memory, uint64_t mean_bytes)
{
	uint64_t at = 16;

	for (size_t i = 0; i < count; i++) {
		const uint64_t size_bytes = 8 + next() % (2 * mean_bytes - 40);

		blocks[i] = (struct graph_block) { (uint64_t)(uintptr_t)memory + at, size_bytes };
		at += (size_bytes + 8 + 15) & ~UINT64_C(15);
	}
	return at;
}

static uint64_t fill(const struct graph_block *blocks, size_t count, unsigned percent)
{
	uint64_t pointers = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t *words = (uint64_t *)(uintptr_t)blocks[i].address;

		for (size_t w = 0; w < blocks[i].size_bytes / 8; w++) {
			const struct graph_block *to = &blocks[next() % count];

			words[w] = next() >> 40;
			if (next() % 100 >= percent)
				continue;
			words[w] = to->address + (next() & 1 ? next() % to->size_bytes : 0);
			pointers++;
		}
	}
	return pointers;
}

static void must(bool holds)
{
	if (!holds) {
		fputs("scan: failed\n", stderr);
		exit(1);
	}
}

static void report(const struct scan_image *image, uint64_t bytes, uint64_t pointers,
		   const double seconds[4])
{
	size_t counts[TAPE_SCAN_CLASS_COUNT] = { 0 };
	const double whole = seconds[0] + seconds[1] + seconds[2] + seconds[3];
	const double classes = whole - seconds[3];
	struct rusage usage;

	for (size_t i = 0; i < image->block_count; i++)
		counts[image->blocks[i].class]++;
	getrusage(RUSAGE_SELF, &usage);
	printf("index %.3f s, pointers %.3f s, classes %.3f s, dominators %.3f s\n", seconds[0],
	       seconds[1], seconds[2], seconds[3]);
	printf("classes and chains %.3f s/GiB, %.0f ns/block; with dominators %.3f s/GiB, %.0f "
	       "ns/block\n",
	       classes * 0x1p30 / (double)bytes, classes * 1e9 / (double)image->block_count,
	       whole * 0x1p30 / (double)bytes, whole * 1e9 / (double)image->block_count);
	printf("%llu pointers, %zu reachable, %zu possible, %zu indirect, %zu definite, %.0f "
	       "bytes/block\n",
	       (unsigned long long)pointers, counts[TAPE_SCAN_REACHABLE],
	       counts[TAPE_SCAN_POSSIBLE], counts[TAPE_SCAN_INDIRECT], counts[TAPE_SCAN_DEFINITE],
	       ((double)usage.ru_maxrss * 1024 - (double)bytes) / (double)image->block_count);
}

/* The steps of graph_scan, each with its time. */
static void scan(const struct graph *graph, uint64_t bytes, uint64_t pointer_count)
{
	struct block_index index;
	struct pointers pointers;
	struct scan_image image = { 0 };
	uint32_t *order;
	double times[5];

	times[0] = cpu_seconds();
	must(!block_index_init(&index, graph->blocks, graph->block_count));
	times[1] = cpu_seconds();
	must(!pointers_init(&pointers, graph, &index));
	times[2] = cpu_seconds();
	image.block_count = graph->block_count;
	image.blocks = big_calloc(graph->block_count + 1, sizeof(*image.blocks));
	image.holders = calloc(graph->holder_count + 1, sizeof(*image.holders));
	order = big_calloc(graph->block_count + 1, sizeof(*order));
	must(image.blocks && image.holders && order);
	for (size_t i = 0; i < graph->block_count; i++)
		image.blocks[i].size_bytes = block_index_size(&index, i);
	must(!reach_fill(&pointers, image.blocks, order));
	times[3] = cpu_seconds();
	must(!dominators_fill(&pointers, order, image.blocks, image.holders));
	times[4] = cpu_seconds();
	report(&image, bytes, pointer_count,
	       (const double[]) { times[1] - times[0], times[2] - times[1], times[3] - times[2],
				  times[4] - times[3] });
	free(order);
	pointers_deinit(&pointers);
	block_index_deinit(&index);
	scan_image_deinit(&image);
}

int main(int argc, char **argv)
{
	struct graph_root root = { 0 };
	uint64_t *globals;
	struct graph_block *blocks;
	uint64_t mean_bytes, bytes, pointers;
	size_t count;
	uint8_t *memory;

	if (argc != 4) {
		fputs("usage: scan MIBS BLOCKS PERCENT\n", stderr);
		return 2;
	}
	count = strtoull(argv[2], NULL, 10);
	mean_bytes = count ? (strtoull(argv[1], NULL, 10) << 20) / count : 0;
	must(count > 0 && mean_bytes >= 32);
	memory = mmap(NULL, count * (2 * mean_bytes + 32), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	blocks = calloc(count, sizeof(*blocks));
	must(memory != MAP_FAILED && blocks);
	bytes = lay(blocks, count, memory, mean_bytes);
	pointers = fill(blocks, count, (unsigned)strtoul(argv[3], NULL, 10));
	globals = calloc(count / 16 + 1, sizeof(*globals));
	must(globals);
	for (size_t i = 0; i < count / 16 + 1; i++)
		globals[i] = blocks[next() % count].address;
	root.begin = (uint64_t)(uintptr_t)globals;
	root.end = (uint64_t)(uintptr_t)(globals + count / 16 + 1);
	const struct graph graph = {
		blocks, count, &root, 1, 1, TAPE_SCAN_HEURISTICS, 8, { own_read, NULL, NULL }
	};

	scan(&graph, bytes, pointers);
	free(globals);
	free(blocks);
	return 0;
}
