#include "scan/stack_frames.h"

#include <assert.h>
#include <elf.h>

#include "base/sort.h"

enum {
	STACK_BYTES_MAX = 8 << 20, /* of which there is a copy */
	FRAMES_MAX = 1 << 14,
	SEGMENTS_MAX = 64
};

/* What a module's file says. */
struct table {
	struct elf_file *file; /* NULL: not read yet, or has_failed */
	bool has_failed;
	uint64_t bias; /* where its unwind tables are here, less their address in the file */
	struct unwind_object object;
};

struct frame_tables {
	const struct living *living;
	struct table *items; /* by module */
};

struct frame_tables *frame_tables_create(const struct living *living)
{
	CLEAN(free) struct frame_tables *tables = calloc(1, sizeof(*tables));

	if (!tables)
		return NULL;
	tables->living = living;
	tables->items = calloc(living->stacks.modules.count + 1, sizeof(*tables->items));
	return tables->items ? steal(tables) : NULL;
}

void frame_tables_destroy(struct frame_tables *tables)
{
	if (!tables)
		return;
	for (size_t i = 0; i < tables->living->stacks.modules.count; i++)
		elf_file_close(tables->items[i].file);
	free(tables->items);
	free(tables);
}

/* --- a file's unwind tables -------------------------------------------------------------------- */

static struct elf_file *file_open(const struct capture_module *module)
{
	CLEAN(elf_file_close) struct elf_file *file = NULL;
	struct err *err = strcmp(module->path, "[vdso]") == 0 ? elf_file_open_vdso(&file)
							      : elf_file_open(module->path, &file);

	if (err) {
		err_destroy(err);
		return NULL;
	}
	/* Another file may have its name by now. */
	if (module->build_id_bytes > 0 &&
	    !elf_file_has_build_id(file, module->build_id, module->build_id_bytes))
		return NULL;
	return file->is_64 && file->machine == ARCH_ELF_MACHINE ? steal(file) : NULL;
}

/* The program headers, as far as their bytes are in the file. Returns how many. */
static size_t segments_read(const struct elf_file *file, Elf64_Phdr segments[SEGMENTS_MAX])
{
	Elf64_Ehdr header;
	size_t count;

	if (file->size < sizeof(header))
		return 0;
	memcpy(&header, file->bytes, sizeof(header));
	count = u64_min(header.e_phnum, SEGMENTS_MAX);
	if (header.e_phentsize != sizeof(*segments) || header.e_phoff > file->size ||
	    count > (file->size - header.e_phoff) / sizeof(*segments))
		return 0;
	memcpy(segments, file->bytes + header.e_phoff, count * sizeof(*segments));
	for (size_t i = 0; i < count; i++)
		if (segments[i].p_offset > file->size ||
		    segments[i].p_filesz > file->size - segments[i].p_offset)
			segments[i].p_type = PT_NULL;
	return count;
}

static const Elf64_Phdr *segment_find(const Elf64_Phdr *segments, size_t count, uint32_t type)
{
	for (size_t i = 0; i < count; i++)
		if (segments[i].p_type == type)
			return &segments[i];
	return NULL;
}

/*
 * As if the file itself were loaded: the segment with the tables lies where it is in our mapping of
 * the file, and others count only if their bytes have the same distance from their addresses.
 */
bool stack_frames_tables(const struct elf_file *file, struct unwind_object *object,
			 uint64_t *bias_ret)
{
	Elf64_Phdr segments[SEGMENTS_MAX];
	const size_t count = segments_read(file, segments);
	const Elf64_Phdr *frames = segment_find(segments, count, PT_GNU_EH_FRAME);
	uint64_t distance;

	if (!frames)
		return false;
	distance = frames->p_offset - frames->p_vaddr;
	for (size_t i = 0; i < count; i++) {
		segments[i].p_memsz = segments[i].p_filesz;
		if (segments[i].p_offset - segments[i].p_vaddr != distance)
			segments[i].p_type = PT_NULL;
	}
	*bias_ret = (uintptr_t)file->bytes + distance;
	return unwind_object_init(object, *bias_ret, segments, count) && object->eh_frame_hdr;
}

bool stack_frames_section(const struct elf_file *file, struct unwind_object *object,
			  uint64_t *bias_ret)
{
	const struct elf_section *section = elf_file_section(file, ".eh_frame");

	if (!section || section->bytes == 0)
		return false;
	*object = (struct unwind_object) {
		.end = UINT64_MAX,
		.frames_begin = file->bytes + section->offset,
		.frames_end = file->bytes + section->offset + section->bytes,
		.eh_frame = file->bytes + section->offset,
	};
	*bias_ret = (uintptr_t)object->eh_frame - section->address;
	return true;
}

static void table_read(struct table *table, const struct capture_module *module)
{
	table->file = file_open(module);
	table->has_failed =
		!table->file || !stack_frames_tables(table->file, &table->object, &table->bias);
}

/* --- frames ------------------------------------------------------------------------------------ */

/* The caller's registers. False: they are not known, or there is none. */
static bool step(struct frame_tables *tables, const struct unwind_memory *stack,
		 struct unwind_regs *regs)
{
	const struct living *living = tables->living;
	const uint64_t pc = regs->value[ARCH_REG_PC] - !regs->exact;
	const struct capture_module *module = living_module(living, pc);
	struct unwind_regs there = *regs;
	struct table *table;
	bool is_end;

	if (!module)
		return false;
	table = &tables->items[module - living->stacks.modules.items];
	if (!table->file && !table->has_failed)
		table_read(table, module);
	if (table->has_failed)
		return false;
	there.value[ARCH_REG_PC] += table->bias - module->bias;
	if (!unwind_full_step(&table->object, &there, stack, &is_end) ||
	    there.value[ARCH_REG_SP] <= regs->value[ARCH_REG_SP])
		return false;
	*regs = there;
	return true;
}

static struct unwind_regs registers_of(const struct stop_thread *thread)
{
	struct unwind_regs regs = { .known = (1U << ARCH_REGS) - 1, .exact = true };

	for (size_t i = 0; i < ARCH_REGS; i++)
		regs.value[i] = thread->registers[arch_regset_place[i]];
	return regs;
}

/*
 * Registers that functions have saved for their callers. What is in them is the nearest caller's
 * that has saved the same register, since it uses it. Those that the kernel saved for a signal
 * handler are the interrupted function's if no such caller is known.
 */
struct saves {
	struct scan_image_frames slots; /* a word each; pc 0: nobody's so far */
	struct vec_u32 open[ARCH_REGS]; /* of these */
};

static void saves_deinit(struct saves *saves)
{
	scan_image_frames_deinit(&saves->slots);
	for (size_t i = 0; i < ARCH_REGS; i++)
		vec_u32_deinit(&saves->open[i]);
}
CLEAN_DEFINE_DEINIT(saves_deinit, struct saves);

/* After the step out of this frame. */
static bool saves_take(struct saves *saves, const struct scan_image_frame *frame,
		       const struct unwind_regs *caller)
{
	for (uint32_t reg = 0; reg < ARCH_REGS; reg++) {
		const uint64_t slot = caller->slot[reg];
		const struct scan_image_frame save = {
			.begin = slot,
			.end = slot + 8,
			.pc = caller->exact ? caller->value[ARCH_REG_PC] : 0,
			.depth = frame->depth + 1,
		};

		if (reg == ARCH_REG_PC || reg == ARCH_REG_SP || slot < frame->begin ||
		    slot % 8 != 0 || slot >= frame->end)
			continue;
		for (size_t i = 0; i < saves->open[reg].count; i++) {
			struct scan_image_frame *owned =
				&saves->slots.items[saves->open[reg].items[i]];

			owned->pc = frame->pc;
			owned->depth = frame->depth;
		}
		saves->open[reg].count = 0;
		if (!scan_image_frames_push(&saves->slots, save) ||
		    !vec_u32_push(&saves->open[reg], (uint32_t)saves->slots.count - 1))
			return false;
	}
	return true;
}

static int compare_begins(const void *context, const void *a, const void *b)
{
	const struct scan_image_frame *left = a, *right = b;

	(void)context;
	return sort_compare_u64(left->begin, right->begin);
}

static bool add_frame(struct scan_image_frames *frames, struct scan_image_frame frame, uint64_t end)
{
	frame.end = end;
	return frame.begin >= end || scan_image_frames_push(frames, frame);
}

/* Adds a frame without the words that are others'. *next: the first save that may be in it. */
static bool add_parts(struct scan_image_frames *frames, const struct saves *saves, size_t *next,
		      struct scan_image_frame frame)
{
	const uint64_t end = frame.end;

	for (; *next < saves->slots.count && saves->slots.items[*next].begin < end; ++*next) {
		struct scan_image_frame save = saves->slots.items[*next];

		if (save.pc == 0 || save.begin < frame.begin)
			continue;
		save.holder = frame.holder;
		if (!add_frame(frames, frame, save.begin) || !scan_image_frames_push(frames, save))
			return false;
		frame.begin = save.end;
	}
	return add_frame(frames, frame, end);
}

/* All frames from the thread's registers outwards that are in the copy, and what they saved. */
static bool unwind(struct frame_tables *tables, const struct unwind_memory *stack,
		   const struct stop_thread *thread, struct scan_image_frame frame,
		   struct scan_image_frames *calls, struct saves *saves)
{
	struct unwind_regs regs = registers_of(thread);

	for (size_t i = 0; i < FRAMES_MAX; i++) {
		frame.pc = regs.value[ARCH_REG_PC] - !regs.exact;
		frame.depth = (uint32_t)i;
		if (!step(tables, stack, &regs) || regs.value[ARCH_REG_SP] > stack->end)
			break;
		frame.end = regs.value[ARCH_REG_SP];
		if (frame.begin >= frame.end)
			continue; /* further in than what is looked at */
		if (!scan_image_frames_push(calls, frame) || !saves_take(saves, &frame, &regs))
			return false;
		frame.begin = frame.end;
	}
	return true;
}

static bool unwind_and_add(struct frame_tables *tables, const struct unwind_memory *stack,
			   const struct stop_thread *thread, uint64_t begin, uint32_t holder,
			   struct scan_image_frames *frames)
{
	const struct scan_image_frame first = { .holder = holder, .begin = begin };
	CLEAN(scan_image_frames_deinit) struct scan_image_frames calls = { 0 };
	CLEAN(saves_deinit) struct saves saves = { 0 };
	size_t next = 0;

	if (!unwind(tables, stack, thread, first, &calls, &saves) ||
	    !sort_stable(saves.slots.items, saves.slots.count, sizeof(*saves.slots.items),
			 compare_begins, NULL))
		return false;
	for (size_t i = 0; i < calls.count; i++)
		if (!add_parts(frames, &saves, &next, calls.items[i]))
			return false;
	return true;
}

bool stack_frames_walk(struct frame_tables *tables, const struct memory *memory,
		       const struct stop_thread *thread, uint64_t end,
		       bool (*visit)(void *context, uint64_t pc), void *context)
{
	struct unwind_regs regs = registers_of(thread);
	const uint64_t low = regs.value[ARCH_REG_SP] & ~UINT64_C(7);
	const size_t bytes = end > low ? u64_min(end - low, STACK_BYTES_MAX) : 0;
	CLEAN(free) uint8_t *copy = malloc(bytes + 1);
	struct unwind_memory stack = { .begin = low, .copy = copy };

	if (!copy || bytes == 0)
		return false;
	stack.end = low + memory->read(memory->context, low, copy, bytes);
	for (size_t i = 0; i < FRAMES_MAX; i++) {
		if (!visit(context, regs.value[ARCH_REG_PC] - !regs.exact))
			return false;
		if (!step(tables, &stack, &regs))
			break;
	}
	return true;
}

bool stack_frames_find(struct frame_tables *tables, const struct memory *memory,
		       const struct stop_thread *thread, uint64_t begin, uint64_t end,
		       uint32_t holder, struct scan_image_frames *frames)
{
	const uint64_t sp = thread->registers[ARCH_REGSET_SP];
	const uint64_t low = sp & ~UINT64_C(7);
	CLEAN(free) uint8_t *copy = NULL;
	struct unwind_memory stack;
	size_t bytes;

	assert(begin <= end);
	if (sp >= end)
		return true;
	bytes = u64_min(end - low, STACK_BYTES_MAX);
	copy = malloc(bytes);
	if (!copy)
		return false;
	bytes = memory->read(memory->context, low, copy, bytes);
	stack = (struct unwind_memory) { .begin = low, .end = low + bytes, .copy = copy };
	return bytes == 0 || unwind_and_add(tables, &stack, thread, begin, holder, frames);
}
