/*
 * mapped: blocks that are held by memory which the program mapped itself, by other blocks, and by
 * what the allocator keeps for itself.
 *
 *	Run: private_mapping: reachable 401 in 1
 *	Run: shared_mapping: reachable 402 in 1
 *	Run: private_file: reachable 403 in 1
 *	Run: shared_file: reachable 404 in 1
 *	Run: memory_file: reachable 405 in 1
 *	Run: zero_device: reachable 406 in 1
 *	Run: end_of_mapping: reachable 407 in 1
 *	Run: read_only: definite 408 in 1
 *	Run: no_access: definite 409 in 1
 *	Run: unmapped: definite 410 in 1
 *	Run: discarded: definite 411 in 1
 *	Run: moved: reachable 412 in 1
 *	Run: behind_a_guard: reachable 413 in 1
 *	Run: looks_like_an_arena: reachable 414 in 1
 *	Run: beside_large_block: definite 500000 in 1, reachable 415 in 1
 *	Run: program_break: reachable 416 in 1
 *	Run: stale_holder: definite 417 in 1
 *	Run: stale_large_holder: definite 418 in 1
 *	Run: used_again: definite 419 in 1, reachable 96 in 1
 *	Run: zeroed_array: reachable 4280 in 11
 *	Run: zeroed_array_lost: definite 80 in 1, indirect 4210 in 10
 *	Run: grown: reachable 300422 in 2
 *	Run: grown_lost: definite 300000 in 1, indirect 423 in 1
 *	Run: grown_in_place: reachable 424 in 1
 *	Run: shrunk: definite 425 in 1, reachable 64 in 1
 *	Run: grown_step_by_step: reachable 8000 in 1
 *	Run: old_place_of_grown: definite 300000 in 1
 *	Run: aligned: reachable 1364 in 3
 *	Run: aligned_lost: definite 1366 in 3
 *	Run: aligned_middle: possible 1368 in 3
 *	Run: aligned_holds: definite 4096 in 1, indirect 429 in 1
 *	Run: large: reachable 1048576 in 1
 *	Run: large_lost: definite 1048576 in 1, indirect 430 in 1
 *	Run: large_middle: possible 1048576 in 1
 *	Run: large_last_word: definite 1048576 in 1, indirect 431 in 1
 *	Run: large_stale: definite 432 in 1
 *	Run: before_freed: definite 1032 in 1, reachable 2456 in 1
 *	Run: before_top: definite 56 in 1
 *	Run: freed_list: definite 4340 in 10
 *	Run: environment: reachable 435 in 1
 *	Run: buffer_of_a_stream: reachable 4096 in 1
 *	Run: search_tree: reachable 548 in 4
 */
#include <fcntl.h>
#include <malloc.h>
#include <search.h>
#include <sys/mman.h>
#include <unistd.h>

#include "leak.h"

enum { MAPPED = 65536, ARENA = 64 << 20 };

static void *volatile held[16];
static volatile uintptr_t number;

FRAME static char *map(int flags, int fd)
{
	void *made = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, flags, fd, 0);

	NEED(made != MAP_FAILED);
	return made;
}

FRAME static char *map_own(void)
{
	return map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

FRAME static int file(void)
{
	char path[] = "/tmp/leak-XXXXXX";
	const int fd = mkstemp(path);

	NEED(fd >= 0);
	NEED(unlink(path) == 0);
	NEED(ftruncate(fd, MAPPED) == 0);
	return fd;
}

static void private_mapping(void)
{
	put(map_own(), block(401));
}

static void shared_mapping(void)
{
	put(map(MAP_SHARED | MAP_ANONYMOUS, -1) + 800, block(402));
}

static void private_file(void)
{
	put(map(MAP_PRIVATE, file()), block(403));
}

static void shared_file(void)
{
	put(map(MAP_SHARED, file()), block(404));
}

static void memory_file(void)
{
	const int fd = memfd_create("leak", 0);

	NEED(fd >= 0);
	NEED(ftruncate(fd, MAPPED) == 0);
	put(map(MAP_SHARED, fd), block(405));
}

static void zero_device(void)
{
	const int fd = open("/dev/zero", O_RDWR);

	NEED(fd >= 0);
	put(map(MAP_PRIVATE, fd), block(406));
}

static void end_of_mapping(void)
{
	put(map_own() + MAPPED - sizeof(void *), block(407));
}

static void read_only(void)
{
	char *made = map_own();

	put(made, block(408));
	NEED(mprotect(made, MAPPED, PROT_READ) == 0);
}

static void no_access(void)
{
	char *made = map_own();

	put(made, block(409));
	NEED(mprotect(made, MAPPED, PROT_NONE) == 0);
}

static void unmapped(void)
{
	char *made = map_own();

	put(made, block(410));
	NEED(munmap(made, MAPPED) == 0);
}

static void discarded(void)
{
	char *made = map_own();

	put(made, block(411));
	NEED(madvise(made, MAPPED, MADV_DONTNEED) == 0);
}

static void moved(void)
{
	char *made = map_own();

	put(made, block(412));
	made = mremap(made, MAPPED, (size_t)MAPPED * 16, MREMAP_MAYMOVE);
	NEED(made != MAP_FAILED);
}

/* A coroutine's stack looks like this, and the stacks that libc keeps. */
static void behind_a_guard(void)
{
	char *made = map_own();

	NEED(mprotect(made, 4096, PROT_NONE) == 0);
	put(made + 8192, block(413));
}

/* It begins as a heap of glibc's malloc does: at a multiple of 64 MiB, with an address and sizes. */
static void looks_like_an_arena(void)
{
	char *made = mmap(NULL, (size_t)ARENA * 2, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t *words;

	NEED(made != MAP_FAILED);
	words = (uint64_t *)(((uintptr_t)made + ARENA - 1) & ~(uintptr_t)(ARENA - 1));
	NEED(mprotect(words, MAPPED, PROT_READ | PROT_WRITE) == 0);
	words[0] = (uint64_t)(words + 4);
	words[2] = words[3] = MAPPED;
	put(words + 100, block(414));
}

/* The kernel makes one mapping of both. */
static void beside_large_block(void)
{
	char *made;

	block(500000);
	made = map_own();
	put(made + 24, block(415));
}

static void program_break(void)
{
	char *made = sbrk(8192);

	NEED(made != (char *)-1);
	made = (char *)(((uintptr_t)made + 15) & ~(uintptr_t)15);
	put(made + 64, block(416));
}

/* --- blocks that hold blocks ----------------------------------------------------------------- */

/* The pointer is still there, but the block is not. */
static void stale_holder(void)
{
	char *holder = block(200);

	held[0] = holder;
	put(holder + 96, block(417));
	free(holder);
}

static void stale_large_holder(void)
{
	char *holder = block(5000);
	void *lost = block(418);

	held[0] = holder;
	put(holder + 2504, lost);
	free(holder);
}

/* The next block in the same place is cleared. */
static void used_again(void)
{
	char *holder = block(96);

	put(holder + 40, block(419));
	free(holder);
	held[0] = block(96);
}

FRAME static void **array_of_ten(size_t bytes)
{
	void **array = need_block(calloc(10, sizeof(void *)));

	for (int i = 0; i < 10; i++)
		array[i] = block(bytes);
	return keep(array);
}

static void zeroed_array(void)
{
	held[0] = array_of_ten(420);
}

static void zeroed_array_lost(void)
{
	array_of_ten(421);
}

FRAME static void *grow(void *ptr, size_t bytes)
{
	return need_block(realloc(ptr, bytes));
}

static void grown(void)
{
	void *first = node(64, block(422), NULL);

	held[0] = grow(first, 300000);
	memset((char *)held[0] + 64, 0, 300000 - 64);
}

static void grown_lost(void)
{
	void *first = node(64, block(423), NULL);

	memset((char *)grow(first, 300000) + 64, 0, 300000 - 64);
}

static void grown_in_place(void)
{
	held[0] = grow(block(400), 424);
}

/* What was cut off does not hold. */
static void shrunk(void)
{
	char *made = block(80);

	put(made + 72, block(425));
	held[0] = grow(made, 64);
}

static void grown_step_by_step(void)
{
	for (size_t bytes = 8; bytes <= 8000; bytes += 8)
		held[0] = grow((void *)held[0], bytes);
}

static void old_place_of_grown(void)
{
	held[0] = block(64);
	number = ~(uintptr_t)grow((void *)held[0], 300000);
	memset((void *)~number, 0, 300000);
}

FRAME static void aligned_blocks(size_t bytes, ptrdiff_t offset)
{
	void *made;

	held[0] = within(memset(need_block(memalign(64, bytes)), 0, bytes), offset);
	held[1] = within(memset(need_block(aligned_alloc(256, 512)), 0, 512), offset);
	NEED(!posix_memalign(&made, 4096, bytes));
	held[2] = within(memset(made, 0, bytes), offset);
}

static void aligned(void)
{
	aligned_blocks(426, 0);
}

static void aligned_lost(void)
{
	aligned_blocks(427, 0);
	memset((void *)held, 0, sizeof(held));
}

static void aligned_middle(void)
{
	aligned_blocks(428, 427);
}

static void aligned_holds(void)
{
	char *made = need_block(memalign(4096, 4096));

	memset(made, 0, 4096);
	put(made + 4088, block(429));
}

/* --- blocks with a mapping of their own ------------------------------------------------------ */

static void large(void)
{
	held[0] = block(1 << 20);
}

static void large_lost(void)
{
	node(1 << 20, block(430), NULL);
}

static void large_middle(void)
{
	held[0] = within(block(1 << 20), 1 << 19);
}

static void large_last_word(void)
{
	put(within(block(1 << 20), (1 << 20) - 8), block(431));
}

static void large_stale(void)
{
	char *made = block(1 << 20);

	put(made + 5000, block(432));
	held[0] = made;
	free(made);
}

/* --- what an allocator keeps ----------------------------------------------------------------- */

/* glibc's list of free chunks has the address 16 bytes before the freed block. */
static void before_freed(void)
{
	void *lost = block(1032);
	void *freed = block(2000);

	held[0] = block(2456);
	free(freed);
	number = ~(uintptr_t)lost;
}

/* And the address where its free memory begins. */
static void before_top(void)
{
	block(56);
}

/* Free chunks of one size are a list; blocks that were held by one are not. */
static void freed_list(void)
{
	char *holders[10];

	for (int i = 0; i < 10; i++) {
		holders[i] = block(160);
		put(holders[i] + 80, block(434));
	}
	for (int i = 0; i < 10; i++)
		free(holders[i]);
	memset(holders, 0, sizeof(holders));
	keep(holders);
}

/* --- what libc holds for the program --------------------------------------------------------- */

static void environment(void)
{
	char *text = block(435);

	memset(text, 'x', 434);
	memcpy(text, "LEAK_VARIABLE=", 14);
	put(environ, text);
}

static void buffer_of_a_stream(void)
{
	NEED(setvbuf(stdin, block(4096), _IOFBF, 4096) == 0);
}

static int compare(const void *left, const void *right)
{
	return strcmp(left, right);
}

static void search_tree(void)
{
	static void *root;
	char *one = block(200), *two = block(300);

	one[0] = 'a';
	two[0] = 'b';
	NEED(tsearch(one, &root, compare));
	NEED(tsearch(two, &root, compare));
	keep(&root);
}

static const struct leak_case cases[] = {
	CASE(private_mapping),
	CASE(shared_mapping),
	CASE(private_file),
	CASE(shared_file),
	CASE(memory_file),
	CASE(zero_device),
	CASE(end_of_mapping),
	CASE(read_only),
	CASE(no_access),
	CASE(unmapped),
	CASE(discarded),
	CASE(moved),
	CASE(behind_a_guard),
	CASE(looks_like_an_arena),
	CASE(beside_large_block),
	CASE(program_break),
	CASE(stale_holder),
	CASE(stale_large_holder),
	CASE(used_again),
	CASE(zeroed_array),
	CASE(zeroed_array_lost),
	CASE(grown),
	CASE(grown_lost),
	CASE(grown_in_place),
	CASE(shrunk),
	CASE(grown_step_by_step),
	CASE(old_place_of_grown),
	CASE(aligned),
	CASE(aligned_lost),
	CASE(aligned_middle),
	CASE(aligned_holds),
	CASE(large),
	CASE(large_lost),
	CASE(large_middle),
	CASE(large_last_word),
	CASE(large_stale),
	CASE(before_freed),
	CASE(before_top),
	CASE(freed_list),
	CASE(environment),
	CASE(buffer_of_a_stream),
	CASE(search_tree),
};

LEAK_MAIN(cases)
