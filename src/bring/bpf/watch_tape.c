#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "arch/native.h"
#include "base/file.h"
#include "base/monotonic.h"
#include "base/sort.h"
#include "bpf/watch_parts.h"
#include "convert/compose.h"

enum { SAMPLED_MAX = 1 << 20 }; /* blocks that are written for those of a sample */

/* A live block. */
struct found {
	uint64_t ns;
	uint64_t address;
	uint64_t size;
	uint64_t stack;
	uint32_t tid, fn;
};

VEC_DEFINE(found_blocks, struct found);

struct writing {
	const struct watch *watch;
	struct composer *composer;
	struct found_blocks blocks;
	struct map stacks;  /* the kernel's key -> the composer's number | fn << 32 */
	struct map modules; /* index -> the composer's number */
	uint64_t now_ns;
	uint64_t next_address; /* of blocks that stand for others */
};

static void writing_deinit(struct writing *writing)
{
	found_blocks_deinit(&writing->blocks);
	map_deinit(&writing->stacks);
	map_deinit(&writing->modules);
	composer_destroy(writing->composer);
}
CLEAN_DEFINE_DEINIT(writing_deinit, struct writing);

/* --- stacks ---------------------------------------------------------------------------------- */

static uint32_t module_number(struct writing *writing, const struct watch_module *module)
{
	const struct watch_object *object = &writing->watch->objects.items[module->object];

	return composer_module(writing->composer, &(struct compose_module) {
							  .path = module->path,
							  .build_id = object->build_id,
							  .build_id_bytes = object->build_id_bytes,
							  .begin = module->begin,
							  .end = module->end,
							  .bias = module->bias,
						  });
}

/* Whether the frame is in operator new or its kind. */
static bool is_new(const struct watch *watch, uint64_t frame, uint32_t *fn_ret)
{
	const uint64_t pc = (frame & ~PROBES_EXACT) - !(frame & PROBES_EXACT);
	const struct watch_module *module = watch_module_find(watch, pc);
	const struct watch_news *news = module ? &watch->objects.items[module->object].news : NULL;

	for (size_t i = 0; news && i < news->count; i++)
		if (pc - module->bias >= news->items[i].begin &&
		    pc - module->bias < news->items[i].end) {
			*fn_ret = news->items[i].fn;
			return true;
		}
	return false;
}

/* A block that operator new has got from malloc is operator new's, as for the recorder. */
static bool take_stack(void *context, uint64_t key, const struct probes_stack *stack)
{
	struct writing *writing = context;
	struct composer *composer = writing->composer;
	const size_t depth = stack->depth < PROBES_FRAMES_MAX ? stack->depth : PROBES_FRAMES_MAX;
	uint32_t number = stack->end == PROBES_WHOLE ? COMPOSE_ROOT : COMPOSE_TRUNCATED;
	uint32_t fn = TAPE_FN_COUNT;
	size_t first = 0;
	uint64_t *place = map_put(&writing->stacks, key, NULL);

	while (first + 1 < depth && is_new(writing->watch, stack->frames[first], &fn))
		first++;
	for (size_t i = depth; i-- > first;) {
		const uint64_t pc = stack->frames[i] & ~PROBES_EXACT;
		const bool exact = stack->frames[i] & PROBES_EXACT;
		const struct watch_module *module = watch_module_find(writing->watch, pc - !exact);
		const struct compose_frame frame = {
			.module = module ? module_number(writing, module) : COMPOSE_NO_MODULE,
			.pc = pc,
			.exact = exact,
		};

		number = composer_stack(composer, number, composer_frame(composer, &frame));
	}
	if (place)
		*place = number | (uint64_t)fn << 32;
	return place != NULL;
}

/* --- blocks ---------------------------------------------------------------------------------- */

static bool take_block(void *context, const struct probes_key *key,
		       const struct probes_block *block)
{
	struct writing *writing = context;

	return found_blocks_push(&writing->blocks,
				 (struct found) { block->ns, key->address, block->size,
						  block->stack, block->tid, block->fn });
}

static void write_block(struct writing *writing, const struct found *found)
{
	const uint64_t *stack = map_find(&writing->stacks, found->stack);
	const uint32_t fn = stack ? (uint32_t)(*stack >> 32) : TAPE_FN_COUNT;
	const uint64_t begin_ns = writing->watch->begin_ns;

	composer_time(writing->composer, found->ns - u64_min(begin_ns, found->ns));
	composer_thread(writing->composer, found->tid, NULL);
	composer_allocated(writing->composer,
			   &(struct compose_block) {
				   .fn = (enum tape_fn)(fn < TAPE_FN_COUNT ? fn : found->fn),
				   .address = found->address,
				   .size = found->size,
				   .usable = found->size,
				   .stack = stack ? (uint32_t)*stack : COMPOSE_NO_STACK,
			   });
}

/* How many blocks one stands for that was sampled: it was so with probability 1 - exp(-size / N). */
static double weight_of(const struct writing *writing, uint64_t size)
{
	const double sample_bytes = (double)writing->watch->settings.sample_bytes;

	return 1 / -expm1(-(double)u64_max(size, 1) / sample_bytes);
}

/*
 * As many blocks of its size as it stands for; what is left of one goes to the next sample, so that
 * the sum is right. If they were too many, there are fewer and larger ones.
 */
static void write_sampled(struct writing *writing, const struct found *found, double per_block,
			  double *rest)
{
	const double wanted = weight_of(writing, found->size) / per_block + *rest;
	const uint64_t count = (uint64_t)wanted;
	struct found block = *found;

	*rest = wanted - (double)count;
	block.size = (uint64_t)((double)found->size * per_block);
	for (uint64_t i = 0; i < count && !composer_failed(writing->composer); i++) {
		block.address = writing->next_address;
		writing->next_address += align_up(block.size + 1, 16);
		write_block(writing, &block);
	}
}

static double weights_of(const struct writing *writing)
{
	double sum = 0;

	for (size_t i = 0; i < writing->blocks.count; i++)
		sum += weight_of(writing, writing->blocks.items[i].size);
	return sum;
}

static void write_sample(struct writing *writing)
{
	const double weights = weights_of(writing);
	const double per_block = weights > SAMPLED_MAX ? weights / SAMPLED_MAX : 1;
	double rest = 0.5; /* rounds the total */

	composer_missing(writing->composer,
			 TAPE_MISSING_SAMPLED | TAPE_MISSING_ADDRESSES |
				 (per_block > 1 ? TAPE_MISSING_COUNTS | TAPE_MISSING_SIZES : 0));
	writing->next_address = 1 << 16;
	for (size_t i = 0; i < writing->blocks.count; i++)
		write_sampled(writing, &writing->blocks.items[i], per_block, &rest);
}

static void write_all(struct writing *writing)
{
	for (size_t i = 0; i < writing->blocks.count; i++)
		write_block(writing, &writing->blocks.items[i]);
}

/* In the order of time. An entry may have been read twice, or two blocks at one address. */
static bool write_blocks(struct writing *writing)
{
	struct found_blocks *blocks = &writing->blocks;
	CLEAN(map_deinit) struct map latest = { 0 };
	size_t kept = 0;

	if (!sort_by_u64(blocks->items, blocks->count, sizeof(*blocks->items),
			 offsetof(struct found, ns)))
		return false;
	for (size_t i = 0; i < blocks->count; i++) {
		uint64_t *place = map_put(&latest, blocks->items[i].address, NULL);

		if (!place)
			return false;
		*place = i;
	}
	for (size_t i = 0; i < blocks->count; i++)
		if (*map_find(&latest, blocks->items[i].address) == i)
			blocks->items[kept++] = blocks->items[i];
	blocks->count = kept;
	if (writing->watch->settings.sample_bytes)
		write_sample(writing);
	else
		write_all(writing);
	return true;
}

/* --- the rest -------------------------------------------------------------------------------- */

static void note(struct composer *composer, uint64_t count, const char *what)
{
	CLEAN(str_deinit) struct str text = { 0 };

	if (count == 0)
		return;
	str_add_grouped(&text, count);
	composer_note(composer, "%s %s", str_text(&text), what);
}

static void write_notes(const struct writing *writing)
{
	struct composer *composer = writing->composer;
	uint64_t counts[PROBES_COUNTS];

	kernel_counts(writing->watch->kernel, counts);
	note(composer, counts[PROBES_ALLOCATED],
	     writing->watch->settings.sample_bytes ? "allocations were in the sample"
						   : "allocations were seen");
	note(composer, counts[PROBES_FREED], "of them were freed again, and are left out");
	note(composer, counts[PROBES_BLOCKS_LOST],
	     "blocks were lost: there was no room for them in the kernel (--blocks)");
	note(composer, counts[PROBES_STACKS_LOST],
	     "allocations have no stack: there was no room for it in the kernel");
	note(composer, counts[PROBES_THREADS_LOST], "calls were not seen: no memory in the kernel");
	note(composer, counts[PROBES_TRUNCATED + PROBES_NO_OBJECT],
	     "stacks end at code of no known object");
	note(composer, counts[PROBES_TRUNCATED + PROBES_NO_RULE],
	     "stacks end where the unwind tables say too little");
	note(composer, counts[PROBES_TRUNCATED + PROBES_NO_MEMORY],
	     "stacks end where the stack could not be read");
	note(composer, counts[PROBES_TRUNCATED + PROBES_TOO_DEEP],
	     "stacks were too deep: their outer frames are left out");
	if (writing->watch->is_full)
		composer_note(composer, "there was no room for the unwind tables of all libraries");
}

static void write_process(const struct writing *writing)
{
	const pid_t pid = writing->watch->settings.pid;
	const char *exe = writing->watch->modules.items[0].path;

	composer_process(writing->composer,
			 &(struct compose_process) {
				 .exe = exe,
				 .cwd = "",
				 .argv = &exe,
				 .argc = 1,
				 .pid = (uint32_t)pid,
				 .page_bytes = (uint32_t)sysconf(_SC_PAGESIZE),
				 .elf_machine = ARCH_ELF_MACHINE,
				 .start_realtime_ns = writing->watch->begin_realtime_ns,
			 });
}

static struct err *compose(struct writing *writing)
{
	const struct watch *watch = writing->watch;
	CLEAN(str_deinit) struct str subject = { 0 };
	struct err *err;

	str_printf(&subject, "process %d", (int)watch->settings.pid);
	if (subject.failed)
		return err_nomem();
	composer_source(writing->composer, TAPE_IMPORT_PROBES, str_text(&subject));
	composer_missing(writing->composer,
			 TAPE_MISSING_FREED | TAPE_MISSING_FREE_STACKS | TAPE_MISSING_USABLE);
	composer_allow_empty(writing->composer);
	write_process(writing);
	/* First the blocks: the stack of each is there before it, and after it. */
	err = kernel_blocks_each(watch->kernel, take_block, writing);
	writing->now_ns = monotonic_ns();
	if (!err)
		err = kernel_stacks_each(watch->kernel, take_stack, writing);
	if (err)
		return err;
	if (!write_blocks(writing))
		return err_nomem();
	composer_time(writing->composer, writing->now_ns - watch->begin_ns);
	write_notes(writing);
	composer_end(writing->composer, TAPE_END_RUNNING, 0);
	return NULL;
}

struct err *watch_write(struct watch *watch, const char *path, bool overwrite)
{
	CLEAN(writing_deinit) struct writing writing = { .watch = watch };
	struct compose_result result;
	struct err *err = composer_create(path, overwrite, &writing.composer);

	if (!err)
		err = compose(&writing);
	return err ? err : composer_finish(writing.composer, &result);
}
