/*
 * The collector against a recorder that speaks the protocol and nothing else: this program runs
 * itself as the target.
 */
#include "../test.h"

#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "capture/capture.h"
#include "collect/collector.h"
#include "collect/spool.h"
#include "tape/codec.h"

enum { EVENTS_OPEN = 5, EXIT_FAKE = 7 };

/* ---- the target ---- */

struct fake {
	struct tape_header *header;
	struct tape_live *live;
	uint8_t *slots;
};

static void fake_open(struct fake *fake)
{
	int fd = open(getenv("MEMTAPE_SPOOL"), O_RDWR);
	struct stat st;
	void *map;

	if (fd < 0 || fstat(fd, &st) < 0)
		_exit(100);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		_exit(101);
	fake->header = map;
	fake->live = (struct tape_live *)fake->header->live;
	fake->slots = (uint8_t *)map + TAPE_HEADER_BYTES;
	fake->header->clock = TAPE_CLOCK_MONOTONIC;
	fake->header->elf_machine = 62;
	fake->header->pointer_bytes = 8;
	__atomic_store_n(&fake->live->recorder_state, TAPE_RECORDER_RUNNING, __ATOMIC_RELEASE);
	__atomic_store_n(&fake->header->pid, (uint32_t)getpid(), __ATOMIC_RELEASE);
	spool_poke(&fake->live->sealed_count);
}

/* NULL: the collector has gone. */
static struct tape_chunk *fake_take(const struct fake *fake)
{
	for (;;) {
		uint32_t freed = __atomic_load_n(&fake->live->freed_count, __ATOMIC_SEQ_CST);

		if (__atomic_load_n(&fake->live->collector_state, __ATOMIC_SEQ_CST) ==
		    TAPE_COLLECTOR_GONE)
			return NULL;
		for (uint32_t i = 0; i < fake->live->chunk_count; i++) {
			struct tape_chunk *chunk =
				(struct tape_chunk *)(fake->slots +
						      (size_t)i * fake->header->chunk_bytes);
			uint32_t idle = TAPE_CHUNK_FREE;

			if (__atomic_compare_exchange_n(&chunk->state, &idle, TAPE_CHUNK_OPEN,
							false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
				return chunk;
		}
		__atomic_fetch_add(&fake->live->recorder_waits, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &fake->live->freed_count, FUTEX_WAIT, freed, NULL, NULL, 0);
		__atomic_fetch_sub(&fake->live->recorder_waits, 1, __ATOMIC_SEQ_CST);
	}
}

/* Fills a chunk of one stream with count pairs of events; false: no chunk could be had. */
static bool fake_fill(const struct fake *fake, uint32_t stream, uint32_t seq, uint32_t count,
		      bool seal)
{
	struct tape_chunk *chunk = fake_take(fake);
	struct tape_codec_state codec;
	uint8_t *at = (uint8_t *)(chunk + 1);

	if (!chunk)
		return false;
	*chunk = (struct tape_chunk) {
		.magic = TAPE_CHUNK_MAGIC,
		.header_bytes = sizeof(*chunk),
		.state = TAPE_CHUNK_OPEN,
		.stream = stream,
		.seq = seq,
		.first_node = TAPE_NODE_FIRST,
		.begin_ticks = 1000,
	};
	tape_codec_reset(&codec, chunk->begin_ticks);
	for (uint32_t i = 0; i < count; i++) {
		at = tape_event_encode(&codec, at, TAPE_FN_MALLOC, 1000 + i, 0x10000 + 32 * i, 24,
				       24, TAPE_NODE_NONE);
		__atomic_store_n(&chunk->used, (uint32_t)(at - (uint8_t *)(chunk + 1)),
				 __ATOMIC_RELEASE);
	}
	if (!seal)
		return true;
	__atomic_store_n(&chunk->state, TAPE_CHUNK_SEALED, __ATOMIC_RELEASE);
	spool_poke(&fake->live->sealed_count);
	return true;
}

/* What a target does; argv[2] names it. */
static int fake_main(const char *deed, unsigned count)
{
	struct fake fake;

	if (strcmp(deed, "absent") == 0)
		return EXIT_FAKE;
	fake_open(&fake);
	for (unsigned i = 0; i < count; i++)
		if (!fake_fill(&fake, 1 + i % 3, i / 3, 1000, true))
			break;
	if (strcmp(deed, "overwrite") == 0) {
		struct tape_chunk *chunk = fake_take(&fake);

		memset(chunk, 0xee, sizeof(*chunk));
		chunk->state = TAPE_CHUNK_SEALED;
	}
	if (strcmp(deed, "open") == 0 || strcmp(deed, "kill") == 0)
		fake_fill(&fake, 9, 0, EVENTS_OPEN, false);
	if (strcmp(deed, "kill") == 0)
		raise(SIGKILL);
	if (strcmp(deed, "full") == 0)
		fake.live->lost[TAPE_LOST_STOPPED] = 3;
	return EXIT_FAKE;
}

/* ---- the tests ---- */

struct run {
	char directory[32];
	char path[64];
	struct arena arena;
	struct collector_result result;
	struct err *err;
};

static void run_begin(struct run *run)
{
	*run = (struct run) { .directory = "/tmp/memtape-test-XXXXXX" };
	assert_non_null(mkdtemp(run->directory));
	str_format(run->path, sizeof(run->path), "%s/tape", run->directory);
}

static void run_fake(struct run *run, const char *deed, const char *count, int level)
{
	char *argv[] = { (char *)"/proc/self/exe", (char *)"fake", (char *)deed, (char *)count,
			 NULL };
	const struct collector_settings settings = {
		.output = run->path,
		.stacks = true,
		.free_stacks = true,
		.level = level,
		.chunk_bytes = 64 << 10,
		.chunk_count = 4,
	};
	/* Not looked for: one that is built with a sanitizer, as this may be, would be refused. */
	const struct program program = {
		.path = argv[0], .name = "exe", .argv = argv, .subject = argv[0]
	};
	int exec_errno;

	run->err = collector_run(&settings, &program, &run->arena, &run->result, &exec_errno);
}

static void run_end(struct run *run)
{
	err_destroy(run->err);
	arena_deinit(&run->arena);
	unlink(run->path);
	assert_int_equal(rmdir(run->directory), 0); /* nothing else was left behind */
}

struct found {
	uint64_t event_count;
	uint64_t bad_count;
	uint32_t last_seq[16];
	bool in_order;
	uint32_t streams;
};

static void found_chunk(void *context, const struct capture_chunk *chunk, uint64_t event_count,
			const char *error)
{
	struct found *found = context;

	found->event_count += event_count;
	found->bad_count += error != NULL;
	assert_true(chunk->stream < 16);
	if (found->streams >> chunk->stream & 1)
		found->in_order &= chunk->seq == found->last_seq[chunk->stream] + 1;
	found->streams |= 1u << chunk->stream;
	found->last_seq[chunk->stream] = chunk->seq;
}

static struct found look(const struct run *run)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct found found = { .in_order = true };

	assert_null(capture_open(run->path, &capture));
	assert_int_equal(capture_damage_count(capture), 0);
	assert_int_equal(capture_header(capture)->kind, TAPE_KIND_PACKED);
	assert_null(capture_verify(capture, found_chunk, &found));
	assert_int_equal(found.bad_count, 0);
	return found;
}

static void every_sealed_chunk_reaches_the_tape_in_order(void **state)
{
	static const int levels[] = { 0, 1 };

	(void)state;
	for (size_t i = 0; i < array_size(levels); i++) {
		struct found found;
		struct run run;

		run_begin(&run);
		run_fake(&run, "exit", "300", levels[i]);
		assert_null(run.err);
		assert_int_equal(WEXITSTATUS(run.result.wait_status), EXIT_FAKE);
		found = look(&run);
		assert_int_equal(found.event_count, 300000);
		assert_int_equal(run.result.event_count, 300000);
		assert_true(found.in_order);
		assert_int_equal(found.streams, 0xf); /* 0 is the collector's own */
		run_end(&run);
	}
}

static void an_open_chunk_is_taken_after_sigkill(void **state)
{
	struct run run;

	(void)state;
	run_begin(&run);
	run_fake(&run, "kill", "2", 1);
	assert_null(run.err);
	assert_true(WIFSIGNALED(run.result.wait_status));
	assert_int_equal(WTERMSIG(run.result.wait_status), SIGKILL);
	assert_int_equal(look(&run).event_count, 2000 + EVENTS_OPEN);
	assert_int_equal(run.result.event_count, 2000 + EVENTS_OPEN);
	run_end(&run);
}

static void a_target_without_recorder_leaves_no_tape(void **state)
{
	struct run run;

	(void)state;
	run_begin(&run);
	run_fake(&run, "absent", "0", 1);
	assert_null(run.err);
	assert_null(run.result.path);
	assert_int_equal(WEXITSTATUS(run.result.wait_status), EXIT_FAKE);
	run_end(&run);
}

static void a_chunk_that_the_target_overwrote_is_counted_and_left_out(void **state)
{
	struct run run;

	(void)state;
	run_begin(&run);
	run_fake(&run, "overwrite", "2", 1);
	assert_null(run.err);
	assert_int_equal(look(&run).event_count, 2000);
	assert_non_null(run.result.fault);
	assert_non_null(strstr(run.result.fault, "overwrote: 1"));
	run_end(&run);
}

static void a_file_size_limit_ends_recording_and_not_the_target(void **state)
{
	const struct rlimit limit = { .rlim_cur = 400 << 10, .rlim_max = RLIM_INFINITY };
	struct rlimit before;
	struct run run;

	(void)state;
	run_begin(&run);
	getrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	run_fake(&run, "full", "3000", 0);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_null(run.err);
	assert_int_equal(WEXITSTATUS(run.result.wait_status), EXIT_FAKE);
	assert_non_null(run.result.fault);
	assert_true(run.result.missing_count >= 3 + 1000);
	assert_int_equal(look(&run).event_count, run.result.event_count);
	assert_true(run.result.event_count > 1000);
	run_end(&run);
}

static void an_existing_tape_is_not_touched(void **state)
{
	struct run run;
	int fd;

	(void)state;
	run_begin(&run);
	fd = open(run.path, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(write(fd, "precious", 8), 8);
	close(fd);
	run_fake(&run, "exit", "1", 1);
	assert_non_null(run.err);
	assert_int_equal(err_code_of(run.err), ERR_STATE);
	run_end(&run);
}

/* The library that comes first anyway is preloaded, to no effect: sanitizers insist on theirs. */
static int preload_first(struct dl_phdr_info *info, size_t bytes, void *context)
{
	(void)bytes;
	(void)context;
	return info->dlpi_name[0] == '/' && setenv("MEMTAPE_LIBRARY", info->dlpi_name, 1) == 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sealed_chunk_reaches_the_tape_in_order),
		cmocka_unit_test(an_open_chunk_is_taken_after_sigkill),
		cmocka_unit_test(a_target_without_recorder_leaves_no_tape),
		cmocka_unit_test(a_chunk_that_the_target_overwrote_is_counted_and_left_out),
		cmocka_unit_test(a_file_size_limit_ends_recording_and_not_the_target),
		cmocka_unit_test(an_existing_tape_is_not_touched),
	};

	if (argc == 4 && strcmp(argv[1], "fake") == 0)
		return fake_main(argv[2], (unsigned)strtoul(argv[3], NULL, 10));
	dl_iterate_phdr(preload_first, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
