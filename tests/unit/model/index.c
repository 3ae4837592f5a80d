#include "../test.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "../scan_writer.h"
#include "model/index.h"
#include "model/scans.h"
#include "row_value.h"

enum {
	CHUNK_BYTES = 1 << 18,
	BLOCKS = 200000, /* alive at once at most: more than small memory keeps in sight */
	STEPS = 900000,
	SMALL_MEMORY = 1
};

/* --- tapes ---------------------------------------------------------------------------------- */

struct tape {
	char path[64];
	struct writer writer;
	uint64_t *lives; /* size by place; 0: nothing there */
	uint64_t random;
	uint64_t ticks;
};

static void clock_reading(struct tape *tape)
{
	const struct tape_clock_pair pair = { .raw_ticks = tape->ticks,
					      .monotonic_ns = tape->ticks };

	writer_extended(&tape->writer, 1, TAPE_EXT_CLOCK, tape->ticks, &pair, sizeof(pair), NULL);
}

/* An allocation, a free or a realloc; half of all are of the same thousand blocks. */
static void step(struct tape *tape, uint32_t nodes[4][8])
{
	const uint64_t r = random_next(&tape->random);
	const unsigned stream = 1 + (unsigned)(r % 3);
	const size_t at = r >> 8 & 1 ? (r >> 16) % 1000 : (r >> 16) % BLOCKS;
	const uint64_t address = 0x100000 + at * 0x1000, size = 1 + (r >> 40) % 3000;
	const uint32_t node = nodes[stream][r >> 60 & 7];

	const uint64_t latency = r >> (r & 64 ? 52 : 24); /* short, or as long as an hour */

	tape->ticks += r >> 5 & 3; /* now and then several at one tick */
	if (!tape->lives[at]) {
		writer_event(&tape->writer, stream, TAPE_FN_MALLOC, tape->ticks, address, size,
			     node);
		tape->lives[at] = size;
	} else if (r % 7 == 0) {
		writer_event(&tape->writer, stream, TAPE_FN_REALLOC_OUT, tape->ticks, address, 0,
			     node);
		writer_event(&tape->writer, stream, TAPE_FN_REALLOC_IN, ++tape->ticks, address,
			     size, node);
	} else {
		writer_event(&tape->writer, stream, TAPE_FN_FREE, tape->ticks, address, 0, node);
		tape->lives[at] = 0;
	}
	if (r >> 7 & 7) /* not of all */
		writer_latency(&tape->writer, stream, latency);
}

/* A list of all blocks, the last of which nothing holds. */
static void scan(struct tape *tape)
{
	static char texts[] = "\0g_list";
	struct scan_image_holder holder = {
		.kind = TAPE_SCAN_GLOBAL, .begin = 8, .end = 16, .name = 1
	};
	struct scan_image image = {
		.holders = &holder, .holder_count = 1, .texts = texts, .texts_bytes = sizeof(texts)
	};

	image.blocks = calloc(BLOCKS, sizeof(*image.blocks));
	assert_non_null(image.blocks);
	for (size_t at = 0; at < BLOCKS && image.block_count < 100; at++)
		if (tape->lives[at]) {
			const uint32_t before = (uint32_t)image.block_count - 1;

			image.blocks[image.block_count++] = (struct scan_image_block) {
				.address = 0x100000 + at * 0x1000,
				.size_bytes = tape->lives[at],
				.parent = before,
				.dominator = before,
				.class = TAPE_SCAN_REACHABLE,
			};
		}
	if (image.block_count > 1) {
		struct scan_image_block *last = &image.blocks[image.block_count - 1];

		image.blocks[0].parent = image.blocks[0].dominator = (uint32_t)image.block_count;
		last->parent = last->dominator = SCAN_NODE_NONE;
		last->class = TAPE_SCAN_DEFINITE;
	} else {
		image.block_count = 0;
	}
	scan_writer_begin(&tape->writer, 1, TAPE_SCAN_EXIT, tape->ticks);
	scan_writer_result(&tape->writer, 1, tape->ticks, &image);
	free(image.blocks);
}

enum readings { EXACT, READINGS, NO_READINGS }; /* what is known of the clock, and when */

static void tape_write(struct tape *tape, size_t step_count, enum readings readings, uint64_t seed)
{
	uint32_t nodes[4][8];

	*tape = (struct tape) { .random = seed, .ticks = WRITER_START_TICKS };
	tape->lives = calloc(BLOCKS, sizeof(*tape->lives));
	assert_non_null(tape->lives);
	writer_init(&tape->writer, CHUNK_BYTES);
	writer_header(&tape->writer)->flags |= TAPE_FLAG_LATENCY;
	if (readings != EXACT)
		writer_header(&tape->writer)->clock = TAPE_CLOCK_TSC;
	for (unsigned stream = 1; stream <= 3; stream++)
		for (uint32_t i = 0; i < 8; i++)
			nodes[stream][i] = writer_node(&tape->writer, stream,
						       i ? nodes[stream][i / 2] : TAPE_NODE_ROOT,
						       0x400000 + i * 16, tape->ticks);
	for (size_t i = 0; i < step_count; i++) {
		step(tape, nodes);
		if (readings == READINGS && i % 5000 == 0)
			clock_reading(tape);
	}
	scan(tape);
	writer_path(tape->path);
	writer_save(&tape->writer, tape->path);
	writer_deinit(&tape->writer);
	free(tape->lives);
}

static void tape_remove(struct tape *tape)
{
	char index[80];

	unlink(tape->path);
	snprintf(index, sizeof(index), "%s.index", tape->path);
	unlink(index);
}

static struct model *load(const struct tape *tape, enum model_index index, uint64_t memory)
{
	const struct model_settings settings = { .index = index, .memory_bytes = memory };
	struct model *model = NULL;
	struct err *err = model_load_with(tape->path, MODEL_FULL, &settings, &model);

	if (err)
		fprintf(stderr, "# %s\n", err_message(err));
	assert_null(err);
	return model;
}

/* --- comparisons ------------------------------------------------------------------------------ */

static void assert_same_column(const struct model *a, const struct model *b,
			       enum model_column column)
{
	uint64_t left[3000], right[3000]; /* not a power of two: parts of segments */

	for (uint64_t first = 0; first < model_row_count(a); first += array_size(left)) {
		size_t count = u64_min(model_row_count(a) - first, array_size(left));

		model_rows_read(a, column, first, count, left);
		model_rows_read(b, column, first, count, right);
		assert_memory_equal(left, right, count * sizeof(*left));
	}
}

static void assert_same(const struct model *a, const struct model *b)
{
	assert_int_equal(model_row_count(a), model_row_count(b));
	assert_int_equal(model_free_count(a), model_free_count(b));
	assert_int_equal(model_chain_count(a), model_chain_count(b));
	for (int column = 0; column < MODEL_COLUMNS; column++)
		assert_same_column(a, b, (enum model_column)column);
	for (uint64_t i = 0; i < model_free_count(a); i += 17) {
		uint64_t left, right;

		model_frees_read(a, i, 1, &left);
		model_frees_read(b, i, 1, &right);
		assert_int_equal(left, right);
	}
	for (uint64_t i = 0; i < model_chain_count(a); i++) {
		const struct model_chain left = model_chain_get(a, i);
		const struct model_chain right = model_chain_get(b, i);

		assert_memory_equal(&left, &right, sizeof(left));
	}
	assert_memory_equal(model_totals(a), model_totals(b), sizeof(*model_totals(a)));
	assert_int_equal(model_stack_count(a), model_stack_count(b));
	for (size_t i = 0; i < model_stack_count(a); i++)
		assert_memory_equal(model_stack_sums(a, i), model_stack_sums(b, i),
				    sizeof(struct model_stack_sums));
	assert_int_equal(model_timeline_count(a), model_timeline_count(b));
	assert_memory_equal(model_timeline(a), model_timeline(b),
			    model_timeline_count(a) * sizeof(struct model_timeline_span));
	assert_int_equal(model_scan_count(a), model_scan_count(b));
	for (size_t i = 0; i < model_scan_count(a); i++) {
		const struct model_scan *left = model_scan_get(a, i), *right = model_scan_get(b, i);

		assert_true(left->block_count > 100);
		assert_int_equal(left->block_count, right->block_count);
		assert_memory_equal(left->blocks, right->blocks,
				    left->block_count * sizeof(*left->blocks));
		assert_memory_equal(left->classes, right->classes, sizeof(left->classes));
		assert_string_equal(left->holders[0].name, right->holders[0].name);
	}
}

/* --- what is kept ----------------------------------------------------------------------------- */

static void little_memory_gives_the_same_rows(void **state)
{
	(void)state;
	for (int readings = EXACT; readings <= NO_READINGS; readings++) {
		struct tape tape;
		struct model *ample, *little;

		tape_write(&tape, STEPS, (enum readings)readings, 11);
		ample = load(&tape, MODEL_INDEX_NONE, 0);
		little = load(&tape, MODEL_INDEX_NONE, SMALL_MEMORY);
		assert_true(model_row_count(ample) > 6 * MODEL_SEGMENT);
		assert_true(model_totals(ample)->realloc_count > 1000);
		assert_same(ample, little);
		model_destroy(ample);
		model_destroy(little);
		tape_remove(&tape);
	}
}

static void any_order_gives_what_the_order_of_rows_gives(void **state)
{
	struct tape tape;
	struct model *model;
	uint64_t rows[1000], values[1000], random = 5;

	(void)state;
	tape_write(&tape, STEPS, READINGS, 12);
	model = load(&tape, MODEL_INDEX_NONE, SMALL_MEMORY);
	for (size_t i = 0; i < array_size(rows); i++)
		rows[i] = random_next(&random) % model_row_count(model);
	for (int column = 0; column < MODEL_COLUMNS; column++) {
		model_rows_gather(model, (enum model_column)column, rows, array_size(rows), values);
		for (size_t i = 0; i < array_size(rows); i++)
			assert_int_equal(values[i], get(model, (enum model_column)column, rows[i]));
	}
	model_destroy(model);
	tape_remove(&tape);
}

static void bounds_hold_for_every_row(void **state)
{
	struct tape tape;
	struct model *model;

	(void)state;
	tape_write(&tape, STEPS, READINGS, 13);
	model = load(&tape, MODEL_INDEX_NONE, SMALL_MEMORY);
	for (uint64_t row = 0; row < model_row_count(model); row += 7)
		for (int column = 0; column < MODEL_COLUMNS; column++) {
			uint64_t value = get(model, (enum model_column)column, row);
			struct model_bounds bounds;

			if (!model_segment_bounds(model, (enum model_column)column,
						  row / MODEL_SEGMENT, &bounds))
				continue;
			assert_in_range(value, bounds.min, bounds.max);
		}
	model_destroy(model);
	tape_remove(&tape);
}

/* Frees are in the order of time, of every row that has one, once. */
static void frees_are_in_order(void **state)
{
	struct tape tape;
	struct model *model;
	uint64_t before = 0, freed = 0;

	(void)state;
	tape_write(&tape, STEPS, READINGS, 14);
	model = load(&tape, MODEL_INDEX_NONE, SMALL_MEMORY);
	for (uint64_t i = 0; i < model_free_count(model); i++) {
		uint64_t row, ns;

		model_frees_read(model, i, 1, &row);
		ns = get(model, MODEL_FREE_NS, row);
		assert_true(ns >= before && ns != MODEL_NEVER);
		before = ns;
	}
	for (uint64_t row = 0; row < model_row_count(model); row++)
		freed += get(model, MODEL_FREE_NS, row) != MODEL_NEVER;
	assert_int_equal(freed, model_free_count(model));
	model_destroy(model);
	tape_remove(&tape);
}

/* --- moments and windows ---------------------------------------------------------------------- */

struct slow {
	struct model_stack_moment moments[64];
	uint64_t live_bytes, live_count;
};

static void slow_moment(const struct model *model, uint64_t ns, struct slow *slow)
{
	memset(slow, 0, sizeof(*slow));
	for (uint64_t row = 0; row < model_row_count(model); row++) {
		struct model_stack_moment *moment = &slow->moments[get(model, MODEL_STACK, row)];
		const uint64_t size = get(model, MODEL_SIZE, row);

		if (get(model, MODEL_ALLOC_NS, row) < ns) {
			moment->allocated.count++;
			moment->allocated.bytes += size;
			moment->allocated_usable += get(model, MODEL_USABLE, row);
			slow->live_count++;
			slow->live_bytes += size;
		}
		if (get(model, MODEL_FREE_NS, row) < ns) {
			bool is_temporary =
				get(model, MODEL_FLAGS, row) & MODEL_ALLOCATION_TEMPORARY;

			moment->freed.count++;
			moment->freed.bytes += size;
			moment->freed_usable += get(model, MODEL_USABLE, row);
			moment->temporary.count += is_temporary;
			moment->temporary.bytes += is_temporary ? size : 0;
			slow->live_count--;
			slow->live_bytes -= size;
		}
	}
}

static void moments_are_sums_of_rows(void **state)
{
	struct tape tape;
	struct model *model;

	(void)state;
	tape_write(&tape, STEPS, READINGS, 15);
	model = load(&tape, MODEL_INDEX_NONE, SMALL_MEMORY);
	assert_true(model_stack_count(model) <= 64);
	for (uint64_t part = 0; part <= 7; part++) {
		const uint64_t ns = model_process(model)->duration_ns * part / 7 + part % 2;
		struct model_stack_moment moments[64];
		struct slow slow;

		slow_moment(model, ns, &slow);
		model_stack_moments(model, ns, moments);
		assert_memory_equal(moments, slow.moments,
				    model_stack_count(model) * sizeof(*moments));
	}
	model_destroy(model);
	tape_remove(&tape);
}

/* What the index says of the tree of stacks, against a walk from each stack outwards. */
static void branches_are_sums_of_stacks(void **state)
{
	struct model_stack_sums expected[64] = { 0 }, used;
	const struct model_stack_sums *totals;
	const struct model_stack_link *links;
	const struct capture_stack *stacks;
	struct tape tape;
	struct model *model;
	size_t met = CAPTURE_STACK_FIRST, count;

	(void)state;
	tape_write(&tape, STEPS, READINGS, 16);
	model = load(&tape, MODEL_INDEX_NONE, SMALL_MEMORY);
	stacks = model_stacks(model);
	count = model_stack_count(model);
	links = model_stack_links(model);
	totals = model_stack_totals(model, &used);
	assert_true(count > 8 && count <= array_size(expected));
	for (uint32_t i = CAPTURE_STACK_FIRST; i < count; i++) {
		uint32_t at = i;

		for (;; at = stacks[at].parent) {
			expected[at].allocated.bytes += model_stack_sums(model, i)->allocated.bytes;
			expected[at].temporary.count += model_stack_sums(model, i)->temporary.count;
			if (at < CAPTURE_STACK_FIRST)
				break;
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		if (i >= CAPTURE_STACK_FIRST || i == CAPTURE_STACK_ROOT) {
			assert_int_equal(totals[i].allocated.bytes, expected[i].allocated.bytes);
			assert_int_equal(totals[i].temporary.count, expected[i].temporary.count);
		}
		for (uint32_t child = model_stack_child(stacks, count, links, i, 0); child;
		     child = model_stack_child(stacks, count, links, i, child)) {
			assert_int_equal(stacks[child].parent, i);
			met++;
		}
	}
	assert_int_equal(met, count);
	assert_true(used.allocated.count > 0 && used.allocated.count <= count);
	assert_true(used.allocated.count >= used.leaked.count);
	model_destroy(model);
	tape_remove(&tape);
}

static void windows_end_where_moments_are(void **state)
{
	static const size_t counts[] = { 1, 7, 40 };
	struct tape tape;
	struct model *model;
	struct model_timeline_span spans[2000];
	uint64_t duration, max = 0;

	(void)state;
	tape_write(&tape, STEPS, READINGS, 16);
	model = load(&tape, MODEL_INDEX_NONE, SMALL_MEMORY);
	duration = model_process(model)->duration_ns;
	for (size_t i = 0; i < array_size(counts); i++) {
		uint64_t from = i * duration / 5, until = duration - i * 1234;
		size_t at = counts[i] / 2;
		struct slow slow;

		model_timeline_window(model, from, until, counts[i], spans);
		slow_moment(model, at + 1 < counts[i] ? spans[at + 1].begin_ns : until, &slow);
		assert_int_equal(spans[at].live_bytes_end, slow.live_bytes);
		assert_int_equal(spans[at].live_count_end, slow.live_count);
		assert_true(spans[at].live_bytes_max >= spans[at].live_bytes_end);
	}
	model_timeline_window(model, 0, duration + 1, array_size(spans), spans);
	for (size_t i = 0; i < array_size(spans); i++)
		max = u64_max(max, spans[i].live_bytes_max);
	assert_int_equal(max, model_totals(model)->peak.bytes);
	assert_int_equal(spans[array_size(spans) - 1].live_bytes_end,
			 model_totals(model)->leaked.bytes);
	model_destroy(model);
	tape_remove(&tape);
}

/* --- the file --------------------------------------------------------------------------------- */

static void a_kept_index_is_used_until_the_tape_changes(void **state)
{
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct tape tape;
	struct model *first, *second;

	(void)state;
	tape_write(&tape, 20000, READINGS, 17);
	first = load(&tape, MODEL_INDEX_KEEP, 0);
	assert_true(model_index_is_new(first));
	second = load(&tape, MODEL_INDEX_AUTO, 0);
	assert_false(model_index_is_new(second));
	assert_string_equal(model_index_path(second), model_index_path(first));
	assert_same(first, second);
	model_destroy(second);
	assert_int_equal(utimensat(AT_FDCWD, tape.path, times, 0), 0);
	second = load(&tape, MODEL_INDEX_KEEP, 0);
	assert_true(model_index_is_new(second));
	assert_same(first, second);
	model_destroy(first);
	model_destroy(second);
	tape_remove(&tape);
}

static void a_small_tape_leaves_no_index_behind(void **state)
{
	struct tape tape;
	struct model *model;

	(void)state;
	tape_write(&tape, 5000, READINGS, 18);
	model = load(&tape, MODEL_INDEX_AUTO, 0);
	assert_null(model_index_path(model));
	assert_true(model_row_count(model) > 0);
	model_destroy(model);
	tape_remove(&tape);
}

static void where_it_cannot_be_beside_the_tape_it_is_in_the_cache(void **state)
{
	char cache[] = "/tmp/memtape-unit-cache-XXXXXX", taken[80], command[128];
	struct tape tape;
	struct model *model;

	(void)state;
	tape_write(&tape, 5000, READINGS, 19);
	assert_non_null(mkdtemp(cache));
	setenv("XDG_CACHE_HOME", cache, 1);
	snprintf(taken, sizeof(taken), "%s.index", tape.path);
	assert_int_equal(mkdir(taken, 0700), 0);
	model = load(&tape, MODEL_INDEX_KEEP, 0);
	assert_memory_equal(model_index_path(model), cache, strlen(cache));
	model_destroy(model);
	model = load(&tape, MODEL_INDEX_AUTO, 0);
	assert_false(model_index_is_new(model));
	assert_memory_equal(model_index_path(model), cache, strlen(cache));
	model_destroy(model);
	rmdir(taken);
	tape_remove(&tape);
	snprintf(command, sizeof(command), "rm -r %s", cache);
	assert_int_equal(system(command), 0);
}

static void walk_scans(const struct model *model)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < model_scan_count(model); i++) {
		const struct model_scan *scan = model_scan_get(model, i);

		sum += strlen(scan->trouble);
		for (size_t at = 0; at < scan->block_count; at++) {
			const struct model_scan_block *block = &scan->blocks[at];

			if (model_scan_node_is_holder(scan, block->parent))
				sum += strlen(
					scan->holders[block->parent - scan->block_count].name);
			else if (block->parent != MODEL_NODE_NONE)
				sum += scan->blocks[block->parent].address;
			sum += model_stacks(model)[block->stack].pc;
		}
	}
	assert_true(sum < UINT64_MAX);
}

/* All that can be asked, so that a sanitizer sees what it leads to. */
static void ask_everything(const struct model *model)
{
	static struct model_stack_moment moments[4096];
	struct model_timeline_span spans[50];
	uint64_t values[MODEL_BATCH], rows[MODEL_BATCH];

	for (int column = 0; column < MODEL_COLUMNS; column++)
		for (uint64_t at = 0; at < model_row_count(model); at += MODEL_BATCH)
			model_rows_read(model, (enum model_column)column, at,
					u64_min(MODEL_BATCH, model_row_count(model) - at), values);
	for (uint64_t at = 0; at < model_free_count(model); at += MODEL_BATCH) {
		size_t count = u64_min(MODEL_BATCH, model_free_count(model) - at);

		model_frees_read(model, at, count, rows);
		model_rows_gather(model, MODEL_FLAGS, rows, count, values);
	}
	for (uint64_t i = 0; i < model_chain_count(model); i++)
		assert_true(model_chain_get(model, i).last_row < model_row_count(model));
	if (model_stack_count(model) <= array_size(moments))
		model_stack_moments(model, model_process(model)->duration_ns / 2, moments);
	for (uint32_t i = 0; i < model_stack_count(model); i++) {
		const struct capture_stack *stacks = model_stacks(model);
		const struct model_stack_link *links = model_stack_links(model);
		const size_t count = model_stack_count(model);

		for (uint32_t child = model_stack_child(stacks, count, links, i, 0); child;
		     child = model_stack_child(stacks, count, links, i, child))
			assert_true(child < count);
	}
	model_timeline_window(model, 0, 1000000, array_size(spans), spans);
	walk_scans(model);
}

/* Puts the checksum right, or little of what is changed would ever be looked at. */
static void damage(uint8_t *bytes, size_t size, uint64_t *random, bool corrects)
{
	struct index_header header;

	for (int i = 0; i < 3; i++) {
		/* one in two in the tables, which are behind the rows, or in the header */
		const uint64_t r = random_next(random);
		size_t at = r & 1 ? (r >> 8) % size : (r >> 8) % sizeof(header);

		if (r & 2)
			at = size - 1 - at % u64_min(size, 60000);
		bytes[at] ^= (uint8_t)(1 << (r >> 4 & 7));
	}
	memcpy(&header, bytes, sizeof(header));
	for (int i = 0; i < INDEX_SECTIONS; i++)
		corrects &= header.parts[i].offset <= size &&
			    header.parts[i].bytes <= size - header.parts[i].offset;
	if (!corrects)
		return;
	header.checksum = index_checksum(&header, bytes);
	memcpy(bytes, &header, sizeof(header));
}

static void try_bytes(const uint8_t *bytes, size_t size)
{
	struct model *model = NULL;
	int fd = memfd_create("index", MFD_CLOEXEC);
	struct err *err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	err = index_read(fd, NULL, &model);
	if (!err)
		ask_everything(model);
	err_destroy(err);
	model_destroy(model);
	close(fd);
}

static void a_damaged_index_is_refused_or_survived(void **state)
{
	struct tape tape;
	struct model *model;
	uint8_t *bytes, *copy;
	uint64_t random = 77;
	size_t size;
	FILE *file;

	(void)state;
	tape_write(&tape, 3000, READINGS, 20);
	model = load(&tape, MODEL_INDEX_KEEP, 0);
	size = model_index_bytes(model);
	bytes = malloc(size);
	copy = malloc(size);
	file = fopen(model_index_path(model), "r");
	assert_non_null(file);
	assert_int_equal(fread(bytes, 1, size, file), size);
	fclose(file);
	try_bytes(bytes, size);
	for (size_t cut = 0; cut < size; cut += size / 97)
		try_bytes(bytes, cut);
	for (int i = 0; i < 1500; i++) {
		memcpy(copy, bytes, size);
		damage(copy, size, &random, i % 8 != 0);
		try_bytes(copy, size);
	}
	free(bytes);
	free(copy);
	model_destroy(model);
	tape_remove(&tape);
}

static void a_damaged_index_is_made_again(void **state)
{
	struct tape tape;
	struct model *first, *second;

	(void)state;
	tape_write(&tape, 3000, READINGS, 21);
	first = load(&tape, MODEL_INDEX_KEEP, 0);
	assert_int_equal(truncate(model_index_path(first), IMAGE_HEADER_BYTES), 0);
	second = load(&tape, MODEL_INDEX_KEEP, 0);
	assert_true(model_index_is_new(second));
	model_destroy(second);
	second = load(&tape, MODEL_INDEX_KEEP, 0);
	assert_false(model_index_is_new(second));
	model_destroy(first);
	model_destroy(second);
	tape_remove(&tape);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(little_memory_gives_the_same_rows),
		cmocka_unit_test(any_order_gives_what_the_order_of_rows_gives),
		cmocka_unit_test(bounds_hold_for_every_row),
		cmocka_unit_test(frees_are_in_order),
		cmocka_unit_test(moments_are_sums_of_rows),
		cmocka_unit_test(branches_are_sums_of_stacks),
		cmocka_unit_test(windows_end_where_moments_are),
		cmocka_unit_test(a_kept_index_is_used_until_the_tape_changes),
		cmocka_unit_test(a_small_tape_leaves_no_index_behind),
		cmocka_unit_test(where_it_cannot_be_beside_the_tape_it_is_in_the_cache),
		cmocka_unit_test(a_damaged_index_is_refused_or_survived),
		cmocka_unit_test(a_damaged_index_is_made_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
