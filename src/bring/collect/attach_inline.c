#include "collect/attach_inline.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "scan/inject.h"
#include "scan/memory.h"
#include "scan/prologue.h"

enum {
	PAGE = 4096,
	FUNCTIONS_MAX = 64,
	FUNCTION_BYTES_MAX = 64 << 10, /* of one of an allocator */
	STACK_BYTES_MAX = 8 << 20,
	ENTRY_BYTES = 16,	  /* a jump to anywhere, and its address */
	WAY_BYTES = 96,		  /* an entry and what is behind it */
	MINE_BYTES_MIN = 64 << 10 /* of addresses that the kernel gives to nobody */
};

/* A page of ours is within reach of an object, and of what that refers to. */
static const uint64_t NEAR_BYTES = UINT64_C(1) << 30;

static_assert(ENTRY_BYTES + PROLOGUE_CODE_BYTES <= WAY_BYTES, "both fit");

struct function {
	struct tape_attach_function row;
	struct prologue prologue; /* as if it stood where it is: which instructions these are */
	uint8_t *bytes;
	size_t byte_count;
	bool is_led;   /* already: of a forked child */
	bool is_again; /* an earlier way is used again */
	uint64_t at;   /* its way, and what is before that */
};

struct attach_inline {
	pid_t pid;
	uint64_t table; /* the recorder's */
	size_t table_count;
	struct function functions[FUNCTIONS_MAX];
};

void attach_inline_destroy(struct attach_inline *plan)
{
	for (size_t i = 0; plan && i < plan->table_count; i++)
		free(plan->functions[i].bytes);
	free(plan);
}

/* Also what is not writable: the caller traces the process. */
static bool write_code(pid_t pid, uint64_t address, const void *bytes, size_t count)
{
	char path[64];
	CLEAN(close)
	int fd = open(str_format(path, sizeof(path), "/proc/%d/mem", (int)pid), O_RDWR | O_CLOEXEC);

	return fd >= 0 && pwrite(fd, bytes, count, (off_t)address) == (ssize_t)count;
}

static struct err *unwritable(pid_t pid)
{
	return err_new(ERR_STATE, "--hook=inline: code of process %d cannot be changed: %s",
		       (int)pid, strerror(errno));
}

static struct err *table_read(pid_t pid, const struct tape_attach *told,
			      struct tape_attach_function rows[FUNCTIONS_MAX])
{
	const struct memory memory = memory_of_process(pid);

	if (told->function_count <= FUNCTIONS_MAX &&
	    memory_read(&memory, told->functions, rows, told->function_count * sizeof(*rows)))
		return NULL;
	return err_new(ERR_STATE,
		       "the recorder in process %d cannot be asked which functions it has",
		       (int)pid);
}

/* --- what there is ----------------------------------------------------------------------------- */

static struct err *refuse(pid_t pid, const char *name, struct err *why)
{
	struct err *err =
		err_new(ERR_UNSUPPORTED,
			"--hook=inline: %s of process %d %s; without it the process can be "
			"attached to",
			name, (int)pid, err_message(why));

	err_destroy(why);
	return err;
}

static bool has_bytes(const struct memory *memory, uint64_t address, const uint8_t *bytes)
{
	uint8_t now[TAPE_ATTACH_JUMP_BYTES];

	return memory_read(memory, address, now, sizeof(now)) &&
	       memcmp(now, bytes, sizeof(now)) == 0;
}

/* An earlier way does what a new one would. */
static bool is_usable(const struct attach_inline *plan, const struct function *function)
{
	const struct memory memory = memory_of_process(plan->pid);
	const uint64_t way = function->row.way;
	uint8_t now[PROLOGUE_CODE_BYTES];
	struct prologue moved;
	struct err *err;

	if (!way || !memory_read(&memory, way, now, sizeof(now)))
		return false;
	err = prologue_move(function->bytes, function->byte_count, function->row.real, way, &moved);
	err_destroy(err);
	return !err && moved.place == function->row.place &&
	       memcmp(moved.code, now, moved.code_bytes) == 0;
}

/* *name_ret is safe's. */
static struct err *function_look(const struct attach_inline *plan, const struct safe *safe,
				 struct function *function, const char **name_ret)
{
	const struct memory memory = memory_of_process(plan->pid);
	const uint64_t begin = function->row.real;
	const uint64_t end = safe_function_end(safe, begin, name_ret);
	struct prologue *prologue = &function->prologue;
	struct err *err;

	if (!end || end - begin > FUNCTION_BYTES_MAX)
		return err_new(ERR_UNSUPPORTED, "is of unknown or unusual size");
	function->byte_count = end - begin;
	function->bytes = malloc(function->byte_count);
	if (!function->bytes)
		return err_nomem();
	if (!memory_read(&memory, begin, function->bytes, function->byte_count))
		return err_new(ERR_UNSUPPORTED, "cannot be read");
	err = prologue_move(function->bytes, function->byte_count, begin, begin, prologue);
	if (!err)
		err = prologue_check(function->bytes, function->byte_count, begin, prologue);
	if (err)
		return err;
	if (prologue->place / PAGE != (prologue->place + PROLOGUE_JUMP_BYTES - 1) / PAGE)
		return err_new(ERR_UNSUPPORTED, "begins at the end of a page");
	function->is_again = is_usable(plan, function);
	return NULL;
}

/*
 * An operator of C++ that cannot be changed stays as it is: it calls another one, or malloc, and is
 * recorded as that where nothing else leads to the recorder.
 */
static struct err *function_plan(const struct attach_inline *plan, const struct safe *safe,
				 struct function *function)
{
	const struct memory memory = memory_of_process(plan->pid);
	const char *name = NULL;
	struct err *err;

	function->is_led =
		function->row.way && has_bytes(&memory, function->row.place, function->row.after);
	if (!function->row.real || function->is_led)
		return NULL;
	err = function_look(plan, safe, function, &name);
	if (!err || err_code_of(err) != ERR_UNSUPPORTED)
		return err;
	if (!name || strncmp(name, "_Z", 2) != 0)
		return refuse(plan->pid, name ? name : "a function", err);
	err_destroy(err);
	function->row.real = 0;
	function->prologue = (struct prologue) { 0 };
	return NULL;
}

struct err *attach_inline_plan(pid_t pid, const struct safe *safe, const struct tape_attach *told,
			       struct attach_inline **plan_ret)
{
	CLEAN(attach_inline_destroy) struct attach_inline *plan = calloc(1, sizeof(*plan));
	struct tape_attach_function rows[FUNCTIONS_MAX];
	struct err *err;

	if (!plan)
		return err_nomem();
	plan->pid = pid;
	err = table_read(pid, told, rows);
	if (err)
		return err;
	plan->table = told->functions;
	plan->table_count = told->function_count;
	for (size_t i = 0; i < plan->table_count && !err; i++) {
		plan->functions[i].row = rows[i];
		err = function_plan(plan, safe, &plan->functions[i]);
	}
	if (!err)
		*plan_ret = steal(plan);
	return err;
}

uint32_t attach_inline_count(const struct attach_inline *plan)
{
	uint32_t count = 0;

	for (size_t i = 0; i < plan->table_count; i++)
		count += plan->functions[i].row.real != 0;
	return count;
}

/* --- when it can be changed -------------------------------------------------------------------- */

/* The first of these instructions may come next: then the jump does. */
static bool is_inside(const struct attach_inline *plan, uint64_t address)
{
	for (size_t i = 0; i < plan->table_count; i++) {
		const struct prologue *prologue = &plan->functions[i].prologue;

		if (address > prologue->place && address < prologue->behind)
			return true;
	}
	return false;
}

/* Where a signal handler returns to is on the stack, too. */
static bool is_on_stack(const struct attach_inline *plan, const struct stop_thread *thread,
			const struct maps *maps)
{
	const struct memory memory = memory_of_process(plan->pid);
	const uint64_t sp = thread->registers[ARCH_REGSET_SP] & ~UINT64_C(7);
	const struct maps_entry *stack = maps_find(maps, sp);
	const size_t bytes = stack ? stack->end - sp : SIZE_MAX;
	CLEAN(free) uint64_t *words = bytes < STACK_BYTES_MAX ? malloc(bytes + 1) : NULL;

	if (!words || !memory_read(&memory, sp, words, bytes))
		return true;
	for (size_t i = 0; i < bytes / sizeof(*words); i++)
		if (is_inside(plan, words[i]))
			return true;
	return false;
}

bool attach_inline_is_moment(const struct attach_inline *plan, const struct stop *stop,
			     const struct maps *maps)
{
	if (stop->missed_count > 0)
		return false;
	for (size_t i = 0; i < stop->threads.count; i++) {
		const struct stop_thread *thread = &stop->threads.items[i];

		if (!thread->is_stopped || is_inside(plan, thread->registers[ARCH_REGSET_PC]) ||
		    is_on_stack(plan, thread, maps))
			return false;
	}
	return true;
}

/* --- ways -------------------------------------------------------------------------------------- */

static uint64_t distance_of(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/*
 * The highest free page below, with free ones around it, so that nothing grows into it or is held up
 * by it: the heap, above it, is far away. 0: there is none near.
 */
static uint64_t find_page(const struct maps *maps, uint64_t address)
{
	for (size_t i = maps->entries.count; i-- > 0;) {
		const struct maps_entry *above = &maps->entries.items[i];
		const struct maps_entry *below = i > 0 ? above - 1 : NULL;
		const uint64_t begin = below ? below->end : MINE_BYTES_MIN;
		const bool is_heap = below && strcmp(maps_name(maps, below), "[heap]") == 0;

		if (above->begin > address || above->begin < begin ||
		    above->begin - begin < (is_heap ? 2 * NEAR_BYTES : 4 * PAGE))
			continue;
		return address - above->begin < NEAR_BYTES ? above->begin - 2 * PAGE : 0;
	}
	return 0;
}

static struct err *map_page(const struct attach_inline *plan, struct stop *stop,
			    struct stop_thread *thread, const struct maps *maps, uint64_t address,
			    uint64_t *page_ret)
{
	struct inject_call call = {
		.number = SYS_mmap,
		.arguments = { find_page(maps, address), PAGE, PROT_READ | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, UINT64_MAX, 0 },
	};
	struct err *err = call.arguments[0] ? inject_call_of(stop, thread, maps, &call) : NULL;

	if (err)
		return err;
	if (!call.arguments[0] || (uint64_t)call.result != call.arguments[0])
		return err_new(
			ERR_STATE,
			"--hook=inline: process %d has no room for code near its allocator: %s",
			(int)plan->pid,
			call.result < 0 ? strerror((int)-call.result) : "all addresses are taken");
	*page_ret = call.arguments[0];
	return NULL;
}

/* The jump to the recorder, and then what the function's first instructions do. */
static struct err *way_make(const struct attach_inline *plan, struct function *function)
{
	uint8_t bytes[WAY_BYTES] = { 0xff, 0x25 }; /* jmp to the address behind it */
	struct tape_attach_function *row = &function->row;
	struct prologue moved;
	struct err *err = prologue_move(function->bytes, function->byte_count, row->real,
					function->at + ENTRY_BYTES, &moved);

	if (err)
		return refuse(plan->pid, "a function", err);
	assert(moved.place == function->prologue.place);
	memcpy(bytes + 6, &row->hook, sizeof(row->hook));
	memcpy(bytes + ENTRY_BYTES, moved.code, moved.code_bytes);
	row->place = moved.place;
	row->way = function->at + ENTRY_BYTES;
	memcpy(row->before, function->bytes + (moved.place - row->real), sizeof(row->before));
	if (!prologue_jump(row->place, function->at, row->after) ||
	    !write_code(plan->pid, function->at, bytes, sizeof(bytes)))
		return err_new(ERR_STATE, "--hook=inline: code of process %d cannot be written",
			       (int)plan->pid);
	return NULL;
}

/* What was planned is as it was. */
static bool is_unchanged(const struct attach_inline *plan, const struct function *function)
{
	const struct memory memory = memory_of_process(plan->pid);
	CLEAN(free) uint8_t *now = malloc(function->byte_count);

	return now && memory_read(&memory, function->row.real, now, function->byte_count) &&
	       memcmp(now, function->bytes, function->byte_count) == 0;
}

/* A page within reach of the function, of which there is some left. */
struct island {
	uint64_t page;
	size_t rest;
};

static struct err *island_find(const struct attach_inline *plan, struct stop *stop,
			       struct stop_thread *thread, uint64_t address, struct island *island)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	struct err *err;

	if (island->rest >= WAY_BYTES && distance_of(island->page, address) < NEAR_BYTES)
		return NULL;
	err = maps_read_briefly(plan->pid, &maps);
	if (!err)
		err = map_page(plan, stop, thread, &maps, address, &island->page);
	island->rest = PAGE;
	return err;
}

struct err *attach_inline_prepare(struct attach_inline *plan, struct stop *stop,
				  struct stop_thread *thread)
{
	struct island island = { 0 };

	for (size_t i = 0; i < plan->table_count; i++) {
		struct function *function = &plan->functions[i];
		struct err *err;

		if (!function->row.real || function->is_led)
			continue;
		if (!is_unchanged(plan, function))
			return err_new(ERR_STATE, "--hook=inline: code of process %d changes",
				       (int)plan->pid);
		if (function->is_again)
			continue;
		err = island_find(plan, stop, thread, function->row.real, &island);
		if (err)
			return err;
		function->at = island.page + PAGE - island.rest;
		island.rest -= WAY_BYTES;
		err = way_make(plan, function);
		if (err)
			return err;
		if (!write_code(plan->pid, plan->table + i * sizeof(function->row), &function->row,
				sizeof(function->row)))
			return unwritable(plan->pid);
	}
	return NULL;
}

/* --- there and back ---------------------------------------------------------------------------- */

struct err *attach_inline_lead(const struct attach_inline *plan)
{
	for (size_t i = 0; i < plan->table_count; i++) {
		const struct function *function = &plan->functions[i];

		if (function->row.real && !function->is_led &&
		    !write_code(plan->pid, function->row.place, function->row.after,
				sizeof(function->row.after)))
			return unwritable(plan->pid);
	}
	return NULL;
}

/* An object that has been unloaded took its functions with it; another one may be there. */
struct err *attach_inline_restore(pid_t pid, const struct tape_attach *told)
{
	const struct memory memory = memory_of_process(pid);
	struct tape_attach_function rows[FUNCTIONS_MAX];
	struct err *err = table_read(pid, told, rows);

	for (size_t i = 0; i < told->function_count && !err; i++)
		if (rows[i].way && has_bytes(&memory, rows[i].place, rows[i].after) &&
		    !write_code(pid, rows[i].place, rows[i].before, sizeof(rows[i].before)))
			err = unwritable(pid);
	return err;
}
