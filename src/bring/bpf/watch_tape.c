#include <math.h>
#include <unistd.h>

#include "arch/native.h"
#include "bpf/watch_parts.h"
#include "convert/compose.h"

enum { SAMPLED_MAX = 1 << 20 }; /* blocks that are written for those of a sample */

struct writing {
	const struct watch *watch;
	const struct watch_process *process; /* NULL: nothing is known of it but its blocks */
	pid_t pid;
	const struct watch_block *blocks; /* of the process */
	size_t block_count;
	struct composer *composer;
	struct map stacks;     /* the kernel's key -> the composer's number | fn << 32 */
	uint64_t next_address; /* of blocks that stand for others */
};

static void writing_deinit(struct writing *writing)
{
	map_deinit(&writing->stacks);
	composer_destroy(writing->composer);
}
CLEAN_DEFINE_DEINIT(writing_deinit, struct writing);

/* --- stacks ---------------------------------------------------------------------------------- */

static const struct watch_module *module_around(const struct writing *writing, uint64_t pc)
{
	return writing->process ? watch_module_find(&writing->process->modules, pc) : NULL;
}

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
static bool is_new(const struct writing *writing, uint64_t frame, uint32_t *fn_ret)
{
	const uint64_t pc = (frame & ~PROBES_EXACT) - !(frame & PROBES_EXACT);
	const struct watch_module *module = module_around(writing, pc);
	const struct watch_news *news =
		module ? &writing->watch->objects.items[module->object].news : NULL;

	for (size_t i = 0; news && i < news->count; i++)
		if (pc - module->bias >= news->items[i].begin &&
		    pc - module->bias < news->items[i].end) {
			*fn_ret = news->items[i].fn;
			return true;
		}
	return false;
}

/* A block that operator new has got from malloc is operator new's, as for the recorder. */
static uint64_t compose_stack(struct writing *writing, const struct watch_stack *stack)
{
	const uint64_t *frames = writing->watch->frames.items + stack->first;
	struct composer *composer = writing->composer;
	uint32_t number = stack->end == PROBES_WHOLE ? COMPOSE_ROOT : COMPOSE_TRUNCATED;
	uint32_t fn = TAPE_FN_COUNT, first = 0;

	while (first + 1 < stack->depth && is_new(writing, frames[first], &fn))
		first++;
	for (uint32_t i = stack->depth; i-- > first;) {
		const uint64_t pc = frames[i] & ~PROBES_EXACT;
		const bool exact = frames[i] & PROBES_EXACT;
		const struct watch_module *module = module_around(writing, pc - !exact);
		const struct compose_frame frame = {
			.module = module ? module_number(writing, module) : COMPOSE_NO_MODULE,
			.pc = pc,
			.exact = exact,
		};

		number = composer_stack(composer, number, composer_frame(composer, &frame));
	}
	return number | (uint64_t)fn << 32;
}

/* Of a block: the composer's stack and, if it is not TAPE_FN_COUNT, the function, << 32. */
static uint64_t stack_of(struct writing *writing, uint64_t key)
{
	const uint64_t *index = map_find(&writing->watch->stack_of, key);
	bool is_fresh;
	uint64_t *place = map_put(&writing->stacks, key, &is_fresh);

	if (!place || !index)
		return COMPOSE_NO_STACK | (uint64_t)TAPE_FN_COUNT << 32;
	if (is_fresh)
		*place = compose_stack(writing, &writing->watch->stacks.items[*index]);
	return *place;
}

/* --- blocks ---------------------------------------------------------------------------------- */

static void write_block(struct writing *writing, const struct watch_block *block)
{
	const uint64_t stack = stack_of(writing, block->stack);
	const uint32_t fn = (uint32_t)(stack >> 32);
	const uint64_t begin_ns = writing->watch->begin_ns;

	composer_time(writing->composer, block->ns - u64_min(begin_ns, block->ns));
	composer_thread(writing->composer, block->tid, NULL);
	composer_allocated(writing->composer,
			   &(struct compose_block) {
				   .fn = (enum tape_fn)(fn < TAPE_FN_COUNT ? fn : block->fn),
				   .address = block->address,
				   .size = block->size,
				   .usable = block->size,
				   .stack = (uint32_t)stack,
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
static void write_sampled(struct writing *writing, const struct watch_block *found,
			  double per_block, double *rest)
{
	const double wanted = weight_of(writing, found->size) / per_block + *rest;
	const uint64_t count = (uint64_t)wanted;
	struct watch_block block = *found;

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

	for (size_t i = 0; i < writing->block_count; i++)
		sum += weight_of(writing, writing->blocks[i].size);
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
	for (size_t i = 0; i < writing->block_count; i++)
		write_sampled(writing, &writing->blocks[i], per_block, &rest);
}

static void write_all(struct writing *writing)
{
	for (size_t i = 0; i < writing->block_count; i++)
		write_block(writing, &writing->blocks[i]);
}

/* What was freed is known by stack only. */
static void write_totals(struct writing *writing)
{
	const struct watch_stacks *stacks = &writing->watch->stacks;

	for (size_t i = 0; i < stacks->count; i++) {
		const struct watch_stack *stack = &stacks->items[i];
		const struct compose_sum sum = { .allocated_count = stack->freed_count,
						 .allocated_bytes = stack->freed_bytes };

		if (stack->pid == (uint32_t)writing->pid && stack->freed_count > 0)
			composer_sum(writing->composer, (uint32_t)stack_of(writing, stack->key),
				     &sum);
	}
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
	note(composer, counts[PROBES_FREED],
	     writing->watch->settings.has_totals ? "of them were freed again"
						 : "of them were freed again, and are left out");
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
	for (size_t i = 0; writing->process && i < writing->process->modules.count; i++) {
		const struct watch_module *module = &writing->process->modules.items[i];

		if (writing->watch->objects.items[module->object].has_own_new)
			composer_note(
				composer,
				"%s has an operator new of its own: what that does not take from "
				"malloc is not seen",
				module->path);
	}
	if (writing->watch->is_full)
		composer_note(composer, "there was no room for the unwind tables of all libraries");
}

static void write_process(const struct writing *writing)
{
	const char *exe = writing->process && writing->process->exe ? writing->process->exe : "";

	composer_process(writing->composer,
			 &(struct compose_process) {
				 .exe = exe,
				 .cwd = "",
				 .argv = &exe,
				 .argc = 1,
				 .pid = (uint32_t)writing->pid,
				 .page_bytes = (uint32_t)sysconf(_SC_PAGESIZE),
				 .elf_machine = ARCH_ELF_MACHINE,
				 .start_realtime_ns = writing->watch->begin_realtime_ns,
			 });
}

static struct err *compose(struct writing *writing)
{
	const struct watch *watch = writing->watch;
	CLEAN(str_deinit) struct str subject = { 0 };

	str_printf(&subject, "process %d", (int)writing->pid);
	if (subject.failed)
		return err_nomem();
	composer_source(writing->composer, TAPE_IMPORT_PROBES, str_text(&subject));
	composer_missing(writing->composer,
			 TAPE_MISSING_FREE_STACKS | TAPE_MISSING_USABLE |
				 (watch->settings.has_totals ? 0 : TAPE_MISSING_FREED));
	composer_allow_empty(writing->composer);
	write_process(writing);
	if (watch->settings.has_totals)
		write_totals(writing);
	if (watch->settings.sample_bytes)
		write_sample(writing);
	else
		write_all(writing);
	composer_time(writing->composer, watch->taken_ns - watch->begin_ns);
	write_notes(writing);
	composer_end(writing->composer, TAPE_END_RUNNING, 0);
	return NULL;
}

/* The blocks of the process among all, which are sorted. */
static void find_blocks(struct writing *writing)
{
	const struct watch_blocks *blocks = &writing->watch->blocks;
	size_t first = 0;

	while (first < blocks->count && blocks->items[first].pid != (uint32_t)writing->pid)
		first++;
	writing->blocks = blocks->items + first;
	while (first + writing->block_count < blocks->count &&
	       writing->blocks[writing->block_count].pid == (uint32_t)writing->pid)
		writing->block_count++;
}

struct err *watch_write(struct watch *watch, pid_t pid, const char *path, bool overwrite)
{
	CLEAN(writing_deinit)
	struct writing writing = { .watch = watch,
				   .process = watch_process_find(watch, pid),
				   .pid = pid };
	struct compose_result result;
	struct err *err = composer_create(path, overwrite, &writing.composer);

	if (err)
		return err;
	find_blocks(&writing);
	err = compose(&writing);
	return err ? err : composer_finish(writing.composer, &result);
}
