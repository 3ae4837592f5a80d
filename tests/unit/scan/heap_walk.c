#include "../test.h"

#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap_image.h"
#include "scan/objects.h"

static struct heap *walk(struct heap_image *image)
{
	heap_deinit(&image->heap);
	image->heap = (struct heap) { 0 };
	assert_null(heap_walk(&image->request, &image->heap));
	return &image->heap;
}

static void assert_blocks(const struct heap *heap, size_t count, const uint64_t (*blocks)[2])
{
	assert_int_equal(heap->blocks.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(heap->blocks.items[i].address, blocks[i][0]);
		assert_int_equal(heap->blocks.items[i].usable_bytes, blocks[i][1]);
	}
}

static void a_heap_without_chunks_has_no_blocks(void **state)
{
	const struct heap *heap = walk(*state);

	assert_int_equal(heap->blocks.count, 0);
	assert_int_equal(heap->arena_count, 1);
	assert_int_equal(heap->broken_lists, 0);
	assert_int_equal(heap->undecoded_count, 0);
}

static void a_chunk_is_in_use_if_the_next_one_says_so(void **state)
{
	struct heap_image *image = *state;
	uint64_t at = put_chunk(image, MAIN, 0x20, 1);

	at = put_chunk(image, at, 0x450, 1); /* free: the next one says so, and its bin has it */
	put(image, BINS, MAIN + 0x20);
	put(image, BINS + 8, MAIN + 0x20);
	put(image, MAIN + 0x30, BINS - 16);
	put(image, MAIN + 0x38, BINS - 16);
	at = put_chunk(image, at, 0x90, 0);
	put_top(image, at);
	assert_blocks(walk(image), 2,
		      (const uint64_t[][2]) { { MAIN + 0x10, 0x18 }, { MAIN + 0x480, 0x88 } });
	assert_int_equal(image->heap.free_count, 1);
	assert_int_equal(image->heap.free_bytes, 0x448);
	assert_int_equal(image->heap.broken_lists, 0);
}

/* Four chunks of 32 bytes, of which the second leads to the fourth. */
static void put_list(struct heap_image *image, uint64_t first, uint64_t second)
{
	uint64_t at = MAIN;

	for (size_t i = 0; i < 4; i++)
		at = put_chunk(image, at, 0x20, 1);
	put_top(image, at);
	put(image, MAIN + 0x30, first);
	put(image, MAIN + 0x70, second);
}

static uint64_t mixed(uint64_t place, uint64_t link)
{
	return place >> 12 ^ link;
}

static const uint64_t first_and_third[][2] = { { MAIN + 0x10, 0x18 }, { MAIN + 0x50, 0x18 } };

static void what_is_in_fastbins_is_not_in_use(void **state)
{
	struct heap_image *image = *state;

	put(image, BINS - 96, MAIN + 0x20);
	put_list(image, MAIN + 0x60, 0); /* plain links */
	assert_blocks(walk(image), 2, first_and_third);
	put_list(image, mixed(MAIN + 0x30, MAIN + 0x60), mixed(MAIN + 0x70, 0));
	assert_blocks(walk(image), 2, first_and_third);
	assert_int_equal(image->heap.cached_count, 2);
	assert_int_equal(image->heap.cached_bytes, 0x30);
}

static void a_list_that_leads_nowhere_is_counted(void **state)
{
	struct heap_image *image = *state;

	put(image, BINS - 96, MAIN + 0x20);
	put_list(image, mixed(MAIN + 0x30, MAIN + 0x65), 0);
	assert_int_equal(walk(image)->cached_count, 1);
	assert_int_equal(image->heap.broken_lists, 1);
	put_list(image, mixed(MAIN + 0x30, MAIN + 0x20), 0); /* a circle */
	assert_true(walk(image)->cached_count <= 2);
}

/* A thread's cache behind the four chunks, with two of them. */
static void put_cache(struct heap_image *image, bool is_old)
{
	const uint64_t cache = MAIN + 0x80, lists = cache + 0x10 + (is_old ? 64 : 128);

	put_list(image, mixed(MAIN + 0x30, MAIN + 0x70), mixed(MAIN + 0x70, 0));
	put_top(image, put_chunk(image, cache, is_old ? 0x250 : 0x290, 1));
	put(image, cache + 0x10, 2); /* of the smallest */
	put(image, lists, MAIN + 0x30);
	put(image, TLS_CACHE, cache + 0x10);
}

static void what_is_in_a_threads_cache_is_not_in_use(void **state)
{
	struct heap_image *image = *state;

	for (int is_old = 0; is_old < 2; is_old++) {
		memset(image->places[1].content, 0, MAIN_BYTES);
		put_cache(image, is_old);
		assert_blocks(walk(image), 2, first_and_third);
		assert_int_equal(image->heap.cache_count, 1);
		assert_int_equal(image->heap.cached_count, 2);
	}
}

static void a_block_like_a_cache_that_is_none_stays(void **state)
{
	struct heap_image *image = *state;

	put_cache(image, false);
	put(image, TLS_CACHE, 0);
	assert_int_equal(walk(image)->blocks.count, 5);
	put(image, TLS_CACHE, MAIN + 0x90);
	put(image, MAIN + 0x90 + 128 + 8, 77); /* a list without a count */
	assert_int_equal(walk(image)->blocks.count, 5);
}

static void memory_that_a_program_took_itself_is_skipped(void **state)
{
	struct heap_image *image = *state;
	uint64_t at = put_chunk(image, MAIN, 0x40, 1);

	at = put_chunk(image, at, 0x10, 1); /* two fenceposts */
	at = put_chunk(image, at, 0x10, 1);
	at = put_chunk(image, at + 0x1230, 0x50, 1);
	put_top(image, at);
	assert_blocks(walk(image), 2,
		      (const uint64_t[][2]) { { MAIN + 0x10, 0x38 }, { MAIN + 0x12a0, 0x48 } });
	assert_int_equal(image->heap.undecoded_count, 0);
}

static void what_is_no_chunk_is_counted(void **state)
{
	struct heap_image *image = *state;
	uint64_t at = put_chunk(image, MAIN, 0x40, 1);

	put_chunk(image, at, 0x1238, 1);
	put_top(image, MAIN + 0x2000);
	assert_int_equal(walk(image)->blocks.count, 1);
	assert_int_equal(image->heap.undecoded_count, 1);
	assert_int_equal(image->heap.undecoded_bytes, 0x2000 - 0x40);
}

static void put_other_arena(struct heap_image *image)
{
	put_arena(image, ARENA_BINS, WINDOW + 0x2000, WINDOW_BYTES);
	put(image, WINDOW, ARENA); /* heap_info */
	put(image, WINDOW + 16, WINDOW_BYTES);
	put(image, WINDOW + 24, WINDOW_BYTES);
	put(image, BINS + 254 * 8 + 16, ARENA);
	put(image, ARENA_BINS + 254 * 8 + 16, BINS - 96 - STATE_HEAD);
}

static void other_arenas_are_walked(void **state)
{
	struct heap_image *image = *state;
	uint64_t at = WINDOW + ARENA_FIRST;

	put_other_arena(image);
	at = put_chunk(image, at, 0x30, 1 | 4);
	at = put_chunk(image, at, 0x100, 1); /* free */
	at = put_chunk(image, at, 0x60, 4);
	put(image, ARENA_BINS - 16, at);
	put_chunk(image, at, WINDOW + WINDOW_BYTES - at, 1);
	assert_blocks(walk(image), 2,
		      (const uint64_t[][2]) { { WINDOW + ARENA_FIRST + 0x10, 0x28 },
					      { WINDOW + ARENA_FIRST + 0x140, 0x58 } });
	assert_int_equal(image->heap.arena_count, 2);
	assert_int_equal(image->heap.broken_lists, 0);
}

static void a_ring_of_arenas_that_is_broken_is_counted(void **state)
{
	struct heap_image *image = *state;

	put_other_arena(image);
	put(image, WINDOW, 0);
	assert_int_equal(walk(image)->arena_count, 1);
	assert_int_equal(image->heap.broken_lists, 1);
}

static void put_count(struct heap_image *image, uint32_t count, uint64_t bytes)
{
	put(image, PARAMETERS - 24, (uint64_t)count << 32);
	put(image, PARAMETERS - 16, (uint64_t)count << 32 | 65536);
	put(image, PARAMETERS, bytes);
	put(image, PARAMETERS + 8, bytes);
	put(image, PARAMETERS + 16, MAIN);
}

static void chunks_with_mappings_of_their_own_are_found(void **state)
{
	struct heap_image *image = *state;

	put_count(image, 2, 0x5000);
	put(image, MAPPED + 0x1008, 0x2002); /* behind a page of the program's */
	put(image, MAPPED + 0x3008, 0x3002);
	put(image, MAPPED + 0x3000 + 0xff0, 0xff0); /* aligned to 4096 */
	put(image, MAPPED + 0x3000 + 0xff8, (0x3000 - 0xff0) | 2);
	assert_blocks(
		walk(image), 2,
		(const uint64_t[][2]) { { MAPPED + 0x1010, 0x1ff0 }, { MAPPED + 0x4000, 0x2000 } });
	assert_true(image->heap.is_expected);
	assert_int_equal(image->heap.mapped_count, image->heap.expected_count);
	assert_int_equal(image->heap.mapped_bytes, image->heap.expected_bytes);
}

static void mapped_chunks_that_are_not_found_are_missed(void **state)
{
	struct heap_image *image = *state;

	put_count(image, 3, 0x9000);
	put(image, MAPPED + 8, 0x2002);
	assert_int_equal(walk(image)->mapped_count, 1);
	assert_int_equal(image->heap.expected_count, 3);
}

static void without_an_arena_there_is_no_heap(void **state)
{
	struct heap_image *image = *state;
	struct err *err;

	memset(image->places[0].content, 0, DATA_BYTES);
	err = heap_walk(&image->request, &image->heap);
	assert_int_equal(err_code_of(err), ERR_NOT_FOUND);
	assert_int_equal(image->heap.blocks.count, 0);
	err_destroy(err);
}

static void a_few_broken_bins_do_not_hide_an_arena(void **state)
{
	struct heap_image *image = *state;

	put(image, BINS + 40 * 16, 0x1230);
	put(image, BINS + 90 * 16, 0);
	assert_int_equal(walk(image)->broken_lists, 2);
}

/* --- a real one ------------------------------------------------------------------------------ */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* these have another malloc */

enum { BLOCKS = 4000 };

struct shared {
	void *blocks[BLOCKS];
	size_t usable[BLOCKS];
};

static void child_main(struct shared *shared)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test fail */
	raise(SIGSTOP);
	for (size_t i = 0; i < BLOCKS; i++)
		shared->blocks[i] = i % 1000 == 7
					    ? memalign(4096, 300000)
					    : malloc(i % 500 == 3 ? 200000 + i : 1 + i * 7 % 900);
	for (size_t i = 0; i < BLOCKS; i++) {
		if (i % 3 == 1) {
			free(shared->blocks[i]);
			shared->blocks[i] = NULL;
		} else {
			shared->usable[i] = malloc_usable_size(shared->blocks[i]);
		}
	}
	raise(SIGSTOP);
	_exit(0);
}

static void walk_process(pid_t pid, struct heap *heap)
{
	const struct stop_kept nobody = { .tid = 0 };
	const struct memory memory = memory_of_process(pid);
	struct maps maps = { 0 };
	struct capture_stacks stacks;
	struct heap_ranges data = { 0 };
	struct stop stop;

	assert_null(stop_begin(&stop, pid, &nobody));
	assert_null(maps_read(pid, &maps));
	assert_true(capture_stacks_init(&stacks));
	assert_null(objects_find("", &maps, &memory, &stacks));
	assert_true(stacks.modules.count >= 3);
	assert_null(objects_allocators(&stacks, "").instead);
	assert_null(objects_data(&maps, &stacks, &data));
	assert_null(heap_walk(&(struct heap_request) { memory, &maps, &stop, &data }, heap));
	stop_end(&stop);
	stop_deinit(&stop);
	heap_ranges_deinit(&data);
	capture_stacks_deinit(&stacks);
	maps_deinit(&maps);
}

static const struct heap_block *block_at(const struct heap *heap, const void *address)
{
	for (size_t i = 0; i < heap->blocks.count; i++)
		if (heap->blocks.items[i].address == (uint64_t)address)
			return &heap->blocks.items[i];
	return NULL;
}

static void the_blocks_of_a_process_are_those_that_it_holds(void **state)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct heap before = { 0 }, after = { 0 };
	size_t held = 0;
	const pid_t pid = fork();

	(void)state;
	if (pid == 0)
		child_main(shared);
	waitpid(pid, NULL, WUNTRACED);
	walk_process(pid, &before);
	kill(pid, SIGCONT);
	waitpid(pid, NULL, WUNTRACED);
	walk_process(pid, &after);
	for (size_t i = 0; i < BLOCKS; i++) {
		const struct heap_block *block = block_at(&after, shared->blocks[i]);

		held += shared->blocks[i] != NULL;
		assert_true(!shared->blocks[i] || block);
		assert_true(!block || block->usable_bytes == shared->usable[i]);
	}
	assert_int_equal(after.blocks.count, before.blocks.count + held);
	assert_int_equal(after.mapped_count, after.expected_count);
	assert_int_equal(after.mapped_bytes, after.expected_bytes);
	assert_int_equal(after.broken_lists + after.undecoded_count, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	heap_deinit(&before);
	heap_deinit(&after);
	munmap(shared, sizeof(*shared));
}
#endif

#define ON_IMAGE(test) cmocka_unit_test_setup_teardown(test, image_setup, image_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_IMAGE(a_heap_without_chunks_has_no_blocks),
		ON_IMAGE(a_chunk_is_in_use_if_the_next_one_says_so),
		ON_IMAGE(what_is_in_fastbins_is_not_in_use),
		ON_IMAGE(a_list_that_leads_nowhere_is_counted),
		ON_IMAGE(what_is_in_a_threads_cache_is_not_in_use),
		ON_IMAGE(a_block_like_a_cache_that_is_none_stays),
		ON_IMAGE(memory_that_a_program_took_itself_is_skipped),
		ON_IMAGE(what_is_no_chunk_is_counted),
		ON_IMAGE(other_arenas_are_walked),
		ON_IMAGE(a_ring_of_arenas_that_is_broken_is_counted),
		ON_IMAGE(chunks_with_mappings_of_their_own_are_found),
		ON_IMAGE(mapped_chunks_that_are_not_found_are_missed),
		ON_IMAGE(without_an_arena_there_is_no_heap),
		ON_IMAGE(a_few_broken_bins_do_not_hide_an_arena),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		cmocka_unit_test(the_blocks_of_a_process_are_those_that_it_holds),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
