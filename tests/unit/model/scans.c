#include "../test.h"

#include "../scan_writer.h"
#include "capture/anonymise.h"
#include "capture/strip.h"
#include "model/scans.h"
#include "written_tape.h"

/*
 * On the tape: blocks at 0x1000 .. 0x6000 in steps of 0x1000, of 16, 32 ... bytes, by two stacks and
 * threads in turn. 0x6000 is freed before the scan, 0x5000 after it, and 0x7000 comes after it. The
 * scan knows a block at 0x2800 that is not on the tape and does not know the one at 0x4000.
 */
enum { T = 2000, TEXT_VARIABLE = 1, TEXT_TROUBLE = 11 };

static char texts[] = "\0g_session\0no memory";

static struct scan_image_block image_blocks[] = {
	{ .address = 0x1000,
	  .size_bytes = 16,
	  .retained_bytes = 107,
	  .offset = 8,
	  .parent = 4,
	  .dominator = 4,
	  .class = TAPE_SCAN_REACHABLE },
	{ .address = 0x2000,
	  .size_bytes = 32,
	  .retained_bytes = 39,
	  .offset = 0,
	  .parent = 0,
	  .dominator = 0,
	  .class = TAPE_SCAN_POSSIBLE,
	  .heuristic = TAPE_SCAN_NEWARRAY,
	  .is_interior = true },
	{ .address = 0x2800,
	  .size_bytes = 7,
	  .retained_bytes = 7,
	  .offset = 24,
	  .parent = 1,
	  .dominator = 1,
	  .class = TAPE_SCAN_REACHABLE },
	{ .address = 0x5000,
	  .size_bytes = 80,
	  .retained_bytes = 80,
	  .parent = SCAN_NODE_NONE,
	  .dominator = SCAN_NODE_NONE,
	  .class = TAPE_SCAN_DEFINITE },
};

static struct scan_image_holder image_holders[] = {
	{ .kind = TAPE_SCAN_GLOBAL,
	  .begin = 0x400000,
	  .end = 0x400010,
	  .retained_bytes = 107,
	  .name = TEXT_VARIABLE },
	{ .kind = TAPE_SCAN_STACK, .tid = 43, .begin = 0x7000, .end = 0x8000 },
};

/* Of the second holder; the module of the second one was unloaded before the scan. */
static struct scan_image_frame image_frames[] = {
	{ .holder = 1, .begin = 0x7000, .end = 0x7040, .pc = 0x30, .depth = 4 },
	{ .holder = 1, .begin = 0x7040, .end = 0x7050, .pc = 0x110030, .depth = 7 },
	{ .holder = 1, .begin = 0x7080, .end = 0x8000, .pc = 0x210030, .depth = 5 },
};

static struct scan_image image_of_all(void)
{
	return (struct scan_image) {
		.facts = { .pause_ns = 5,
			   .scan_ns = 6,
			   .root_bytes = 7,
			   .block_bytes = 8,
			   .unread_bytes = 9,
			   .thread_count = 2,
			   .missed_threads = 1,
			   .heuristics = TAPE_SCAN_HEURISTICS },
		.blocks = image_blocks,
		.block_count = array_size(image_blocks),
		.holders = image_holders,
		.holder_count = array_size(image_holders),
		.frames = image_frames,
		.frame_count = array_size(image_frames),
		.texts = texts,
		.texts_bytes = sizeof(texts),
	};
}

static void load_module(struct writer *writer, uint64_t ticks, uint32_t id, uint64_t begin)
{
	const struct tape_module module = {
		.id = id, .bias = begin, .begin = begin, .end = begin + 0x100
	};

	writer_extended(writer, 1, TAPE_EXT_MODULE, ticks, &module, sizeof(module), "/bin/prog");
}

/* One module that stays, one that is unloaded, one that comes to its place after the scan. */
static void begin_tape(struct writer *writer)
{
	const struct tape_module_end end = { .id = 1 };
	uint32_t nodes[3];

	writer_init(writer, TAPE_CHUNK_BYTES_MIN);
	load_module(writer, 900, 0, 0x210000);
	load_module(writer, 900, 1, 0x110000);
	writer_extended(writer, 1, TAPE_EXT_MODULE_END, 950, &end, sizeof(end), "");
	for (unsigned stream = 1; stream <= 2; stream++)
		nodes[stream] = writer_node(writer, stream, TAPE_NODE_ROOT, 0x100 * stream, 1000);
	for (unsigned i = 1; i <= 6; i++)
		writer_event(writer, 1 + i % 2, TAPE_FN_MALLOC, 1000 + i, 0x1000 * i, 16 * i,
			     nodes[1 + i % 2]);
	writer_event(writer, 1, TAPE_FN_FREE, 1900, 0x6000, 0, TAPE_NODE_NONE);
}

static void end_tape(struct writer *writer)
{
	load_module(writer, 2050, 2, 0x110000);
	writer_event(writer, 1, TAPE_FN_FREE, 2100, 0x5000, 0, TAPE_NODE_NONE);
	writer_event(writer, 1, TAPE_FN_MALLOC, 2200, 0x7000, 1000, TAPE_NODE_ROOT);
}

static void write_tape(struct writer *writer)
{
	const struct scan_image image = image_of_all();

	begin_tape(writer);
	scan_writer_begin(writer, 1, TAPE_SCAN_EXIT, T);
	end_tape(writer);
	scan_writer_result(writer, 1, 2300, &image);
}

static struct model *load_scan(enum model_depth depth)
{
	struct writer writer;
	struct model *model;

	write_tape(&writer);
	model = load(&writer, depth);
	writer_deinit(&writer);
	return model;
}

static void assert_sum(struct model_sum sum, uint64_t count, uint64_t bytes)
{
	assert_int_equal(sum.count, count);
	assert_int_equal(sum.bytes, bytes);
}

static void blocks_live_at_the_scan_are_joined_with_its_result(void **state)
{
	static const uint64_t addresses[] = { 0x1000, 0x2000, 0x2800, 0x3000, 0x4000, 0x5000 };
	struct model *model = load_scan(MODEL_SUMMARY);
	const struct model_scan *scan;

	(void)state;
	assert_int_equal(model_scan_count(model), 1);
	scan = model_scan_get(model, 0);
	assert_int_equal(scan->ns, T - WRITER_START_TICKS);
	assert_int_equal(scan->reason, TAPE_SCAN_EXIT);
	assert_string_equal(scan->trouble, "");
	assert_int_equal(scan->block_count, array_size(addresses));
	for (size_t i = 0; i < array_size(addresses); i++)
		assert_int_equal(scan->blocks[i].address, addresses[i]);
	assert_sum(scan->classes[TAPE_SCAN_REACHABLE], 1, 16);
	assert_sum(scan->classes[TAPE_SCAN_POSSIBLE], 1, 32);
	assert_sum(scan->classes[TAPE_SCAN_DEFINITE], 1, 80);
	assert_sum(scan->classes[TAPE_SCAN_INDIRECT], 0, 0);
	assert_sum(scan->classes[TAPE_SCAN_UNKNOWN], 2, 48 + 64);
	assert_sum(scan->off_tape, 1, 7);
	model_destroy(model);
}

static void nodes_keep_their_meaning_where_lists_merge(void **state)
{
	struct model *model = load_scan(MODEL_SUMMARY);
	const struct model_scan *scan = model_scan_get(model, 0);
	const struct model_scan_block *blocks = scan->blocks;

	(void)state;
	assert_true(model_scan_node_is_holder(scan, blocks[0].parent));
	assert_int_equal(blocks[0].parent - scan->block_count, 0);
	assert_int_equal(blocks[1].parent, 0);
	assert_int_equal(blocks[2].dominator, 1);
	assert_int_equal(blocks[5].parent, MODEL_NODE_NONE);
	assert_int_equal(blocks[3].parent, MODEL_NODE_NONE);
	assert_false(model_scan_node_is_holder(scan, blocks[3].parent));
	assert_int_equal(blocks[1].flags, MODEL_SCAN_INTERIOR);
	assert_int_equal(blocks[1].heuristic, TAPE_SCAN_NEWARRAY);
	assert_int_equal(blocks[2].flags, MODEL_SCAN_OFF_TAPE);
	assert_int_equal(blocks[2].stack, CAPTURE_STACK_NONE);
	assert_int_equal(blocks[0].retained_bytes, 107);
	assert_int_equal(blocks[0].offset, 8);
	assert_int_equal(blocks[4].row, 3);
	assert_int_equal(model_stacks(model)[blocks[0].stack].pc, 0x200);
	assert_int_equal(model_stacks(model)[blocks[1].stack].pc, 0x100);
	assert_string_equal(scan->holders[0].name, "g_session");
	assert_string_equal(scan->holders[1].name, "");
	assert_int_equal(scan->holders[1].tid, 43);
	model_destroy(model);
}

static void assert_same_scan(const struct model_scan *a, const struct model_scan *b)
{
	struct model_scan left = *a, right = *b;

	assert_string_equal(a->trouble, b->trouble);
	left.trouble = right.trouble = NULL;
	left.blocks = right.blocks = NULL;
	left.holders = right.holders = NULL;
	left.frames = right.frames = NULL;
	assert_memory_equal(&left, &right, sizeof(left));
	for (size_t i = 0; i < a->block_count; i++)
		assert_memory_equal(&a->blocks[i], &b->blocks[i], sizeof(*a->blocks));
	for (size_t i = 0; i < a->holder_count; i++) {
		assert_string_equal(a->holders[i].name, b->holders[i].name);
		assert_int_equal(a->holders[i].begin, b->holders[i].begin);
		assert_int_equal(a->holders[i].retained_bytes, b->holders[i].retained_bytes);
	}
	for (size_t i = 0; i < a->frame_count; i++)
		assert_memory_equal(&a->frames[i], &b->frames[i], sizeof(*a->frames));
}

static void both_depths_have_the_same_scans(void **state)
{
	struct model *summary = load_scan(MODEL_SUMMARY), *full = load_scan(MODEL_FULL);
	const struct model_scan *scan = model_scan_get(full, 0);

	(void)state;
	assert_int_equal(model_scan_count(full), 1);
	assert_same_scan(model_scan_get(summary, 0), scan);
	for (size_t i = 0; i < scan->block_count; i++)
		if (scan->blocks[i].row != UINT32_MAX)
			assert_int_equal(get(full, MODEL_ADDRESS, scan->blocks[i].row),
					 scan->blocks[i].address);
	model_destroy(summary);
	model_destroy(full);
}

static void a_scan_without_result_has_its_reason(void **state)
{
	const struct scan_image in_trouble = { .facts = { .pause_ns = 3, .trouble = TEXT_TROUBLE },
					       .texts = texts,
					       .texts_bytes = sizeof(texts) };
	const struct scan_image image = image_of_all();
	CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };
	struct writer writer;

	(void)state;
	assert_true(scan_image_write(&image, &bytes));
	begin_tape(&writer);
	for (uint32_t id = 1; id <= 5; id++)
		scan_writer_begin(&writer, id, TAPE_SCAN_REQUEST, T + id);
	scan_writer_result(&writer, 1, 2300, &in_trouble);
	scan_writer_parts(&writer, 2, 2300, &bytes, 0, bytes.count - SCAN_WRITER_PART);
	scan_writer_parts(&writer, 3, 2300, &bytes, SCAN_WRITER_PART, bytes.count);
	bytes.items[0] ^= 0x40;
	scan_writer_parts(&writer, 4, 2300, &bytes, 0, bytes.count);
	scan_writer_result(&writer, 5, 2400, &image);
	scan_writer_result(&writer, 6, 2400, &image); /* never begun */
	for (int depth = MODEL_SUMMARY; depth <= MODEL_FULL; depth++) {
		struct model *model = load(&writer, (enum model_depth)depth);

		assert_int_equal(model_scan_count(model), 5);
		for (size_t i = 0; i < 4; i++) {
			assert_int_equal(model_scan_get(model, i)->block_count, 0);
			assert_string_not_equal(model_scan_get(model, i)->trouble, "");
		}
		assert_string_equal(model_scan_get(model, 0)->trouble, "no memory");
		assert_int_equal(model_scan_get(model, 0)->pause_ns, 3);
		assert_int_equal(model_scan_get(model, 4)->block_count, 6);
		assert_string_equal(model_scan_get(model, 4)->trouble, "");
		model_destroy(model);
	}
	writer_deinit(&writer);
}

static const char *other_text(void *context, enum anonymise_kind kind, const char *text)
{
	(void)context;
	(void)text;
	return kind == ANONYMISE_VARIABLE ? "variable-1" : "other";
}

static const uint8_t *same_id(void *context, const char *path, const uint8_t *build_id,
			      size_t count)
{
	(void)context;
	(void)path;
	(void)count;
	return build_id;
}

static uint64_t ticks_as_ns(const void *context, uint64_t ticks)
{
	(void)context;
	return ticks;
}

/* The model of what becomes of the tape. */
static struct model *load_rewritten(bool strips)
{
	const struct strip_settings strip = { .level = 1,
					      .ns = ticks_as_ns,
					      .min_lifetime_ns =
						      1100, /* of what is freed, none stays */
					      .until_ns = UINT64_MAX };
	const struct anonymise_settings anonymise = { .level = 1,
						      .text = other_text,
						      .build_id = same_id };
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct rewritten rewritten;
	struct stripped stripped = { 0 };
	struct model *model = NULL;
	struct writer writer;
	char from[64], to[64];
	int fd;

	write_tape(&writer);
	writer_path(from);
	writer_path(to);
	writer_save(&writer, from);
	writer_deinit(&writer);
	assert_null(capture_open(from, &capture));
	fd = open(to, O_RDWR | O_TRUNC | O_CLOEXEC);
	assert_true(fd >= 0);
	if (strips)
		assert_null(strip_tape(capture, fd, &strip, &stripped));
	else
		assert_null(anonymise_tape(capture, fd, &anonymise, &rewritten));
	close(fd);
	assert_null(model_load(to, MODEL_SUMMARY, &model));
	unlink(from);
	unlink(to);
	return model;
}

static void an_anonymised_scan_is_the_same_elsewhere(void **state)
{
	struct model *before = load_scan(MODEL_SUMMARY), *after = load_rewritten(false);
	const struct model_scan *a = model_scan_get(before, 0), *b = model_scan_get(after, 0);

	(void)state;
	assert_int_equal(model_scan_count(after), 1);
	assert_string_equal(b->trouble, "");
	assert_string_equal(b->holders[0].name, "variable-1");
	assert_string_equal(b->holders[1].name, "");
	assert_int_not_equal(b->holders[1].tid, 43);
	assert_int_equal(b->block_count, a->block_count);
	assert_memory_equal(a->classes, b->classes, sizeof(a->classes));
	for (size_t i = 0; i < a->block_count; i++) {
		struct model_scan_block left = a->blocks[i], right = b->blocks[i];

		left.address = right.address = 0;
		assert_memory_equal(&left, &right, sizeof(left));
	}
	model_destroy(before);
	model_destroy(after);
}

static void a_block_that_was_stripped_is_not_on_the_tape(void **state)
{
	struct model *model = load_rewritten(true);
	const struct model_scan *scan = model_scan_get(model, 0);

	(void)state;
	assert_sum(scan->classes[TAPE_SCAN_DEFINITE], 0, 0);
	assert_sum(scan->classes[TAPE_SCAN_REACHABLE], 1, 16);
	assert_sum(scan->off_tape, 2, 7 + 80);
	model_destroy(model);
}

static void a_stack_has_frames(void **state)
{
	struct model *model = load_scan(MODEL_SUMMARY);
	const struct model_scan *scan = model_scan_get(model, 0);

	(void)state;
	assert_int_equal(scan->frame_count, 3);
	assert_int_equal(scan->frames[0].module, CAPTURE_MODULE_NONE);
	assert_int_equal(scan->frames[1].module, CAPTURE_MODULE_NONE);
	assert_int_equal(scan->frames[2].module, 0);
	assert_null(model_scan_frame(scan, 0, 0x7000)); /* of another holder */
	assert_null(model_scan_frame(scan, 1, 0x6fff));
	assert_ptr_equal(model_scan_frame(scan, 1, 0x7000), &scan->frames[0]);
	assert_ptr_equal(model_scan_frame(scan, 1, 0x703f), &scan->frames[0]);
	assert_ptr_equal(model_scan_frame(scan, 1, 0x7040), &scan->frames[1]);
	assert_null(model_scan_frame(scan, 1, 0x7050)); /* between frames */
	assert_null(model_scan_frame(scan, 1, 0x707f));
	assert_ptr_equal(model_scan_frame(scan, 1, 0x7fff), &scan->frames[2]);
	assert_null(model_scan_frame(scan, 1, 0x8000));
	/* The word of a call further out that the first one has saved is not its caller. */
	assert_ptr_equal(model_scan_caller(scan, &scan->frames[0]), &scan->frames[2]);
	assert_null(model_scan_caller(scan, &scan->frames[1]));
	assert_null(model_scan_caller(scan, &scan->frames[2]));
	model_destroy(model);
}

static void a_tape_without_scans_has_none(void **state)
{
	struct writer writer;
	struct model *model;

	(void)state;
	begin_tape(&writer);
	model = load(&writer, MODEL_FULL);
	assert_int_equal(model_scan_count(model), 0);
	model_destroy(model);
	writer_deinit(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_live_at_the_scan_are_joined_with_its_result),
		cmocka_unit_test(nodes_keep_their_meaning_where_lists_merge),
		cmocka_unit_test(both_depths_have_the_same_scans),
		cmocka_unit_test(a_scan_without_result_has_its_reason),
		cmocka_unit_test(an_anonymised_scan_is_the_same_elsewhere),
		cmocka_unit_test(a_block_that_was_stripped_is_not_on_the_tape),
		cmocka_unit_test(a_stack_has_frames),
		cmocka_unit_test(a_tape_without_scans_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
