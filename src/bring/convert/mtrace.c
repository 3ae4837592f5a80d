/*
 * Logs of glibc's mtrace(3): every allocation and free in order, with the immediate caller but no
 * further stack.
 *
 *	@ ./shop:(take+0x15)[0x11b1] + 0x55ef1dd784a0 0x64
 *
 * The number in brackets is relative to the object's load address (glibc before 2.26 wrote the
 * absolute address, whose object is unknown here).
 */
#include <inttypes.h>
#include <limits.h>

#include "base/map.h"
#include "convert/elf_kind.h"
#include "convert/importer.h"
#include "convert/scan.h"

static const uint64_t OFFSET_END = UINT64_C(1) << 30;	/* no object is this large */
static const uint64_t FIXED_BEGIN = UINT64_C(0x400000); /* usual link address of programs */

struct mtrace_module {
	uint32_t module;
	bool is_fixed;
	bool is_here;
};

VEC_DEFINE(mtrace_module_vec, struct mtrace_module);

struct mtrace {
	struct source *source;
	struct composer *composer;
	struct interner places; /* "./shop:(take+0x15)[0x11b1]" */
	struct vec_u32 stacks;	/* of each */
	struct interner paths;
	struct mtrace_module_vec modules; /* of each */
	uint64_t old_address;		  /* of a realloc whose second half is still to come */
	bool has_old;
	uint64_t failed_count;
	uint64_t bad_count;
	uint64_t bad_line;
	bool no_memory;
};

static void mtrace_deinit(struct mtrace *mtrace)
{
	interner_deinit(&mtrace->places);
	vec_u32_deinit(&mtrace->stacks);
	interner_deinit(&mtrace->paths);
	mtrace_module_vec_deinit(&mtrace->modules);
}

CLEAN_DEFINE_DEINIT(mtrace_deinit, struct mtrace);

static enum importer_match mtrace_probe(const char *bytes, size_t count)
{
	(void)count;
	return scan_text(&bytes, "= Start") && (*bytes == '\n' || *bytes == '\r') ? IMPORTER_YES
										  : IMPORTER_NO;
}

/* --- places ----------------------------------------------------------------------------------- */

static void program_tell(struct mtrace *mtrace, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!strstr(slash ? slash : path, ".so"))
		composer_process(mtrace->composer, &(struct compose_process) { .exe = path });
}

/* NULL: out of memory. */
static const struct mtrace_module *module_of(struct mtrace *mtrace, const char *path)
{
	const uint32_t id = interner_put(&mtrace->paths, path, strlen(path));
	struct mtrace_module module = { 0 };
	char real[PATH_MAX];
	enum elf_kind kind;

	if (id == UINT32_MAX)
		return NULL;
	if (id < mtrace->modules.count)
		return &mtrace->modules.items[id];
	if (realpath(path, real)) /* as it was invoked: "./shop" */
		path = real;
	kind = elf_kind_of(path);
	module.is_fixed = kind == ELF_KIND_FIXED;
	module.is_here = kind != ELF_KIND_UNKNOWN;
	module.module = composer_module(
		mtrace->composer,
		&(struct compose_module) { .path = path, .begin = 4096, .end = OFFSET_END });
	if (id == 0)
		program_tell(mtrace, path);
	return mtrace_module_vec_push(&mtrace->modules, module) ? &mtrace->modules.items[id] : NULL;
}

/* Splits a place in the buffer. False: malformed. */
static bool place_split(char *text, const char **path_ret, const char **symbol_ret,
			uint64_t *address_ret)
{
	char *bracket = strrchr(text, '['), *colon, *symbol, *plus;
	const char *at = bracket;

	if (!bracket || !scan_text(&at, "[0x") || !scan_hex(&at, address_ret) || *at != ']')
		return false;
	*bracket = '\0';
	*path_ret = *symbol_ret = NULL;
	colon = strrchr(text, ':');
	if (colon) {
		*colon = '\0';
		*path_ret = text;
	}
	symbol = colon ? colon + 1 : text;
	plus = strrchr(symbol, '+');
	if (*symbol == '(' && plus && plus > symbol + 1) {
		*plus = '\0';
		*symbol_ret = symbol + 1;
	}
	return true;
}

/* UINT32_MAX: malformed. */
static uint32_t stack_make(struct mtrace *mtrace, char *text)
{
	struct compose_name name = { 0 };
	struct compose_frame frame = { .names = &name };
	const struct mtrace_module *module = NULL;
	const char *path;

	if (!place_split(text, &path, &name.function, &frame.pc))
		return UINT32_MAX;
	if (path) {
		module = module_of(mtrace, path);
		if (!module) {
			mtrace->no_memory = true;
			return UINT32_MAX;
		}
	}
	if (module && frame.pc < OFFSET_END) {
		frame.module = module->module;
		if (module->is_fixed && frame.pc < FIXED_BEGIN)
			frame.pc += FIXED_BEGIN;
	}
	if (frame.pc <= 4096)
		frame.pc = 0;
	frame.name_count = name.function && (!module || !module->is_here);
	if (frame.pc == 0 && frame.name_count == 0) {
		name.function = "???";
		frame.name_count = 1;
	}
	return composer_stack(mtrace->composer, COMPOSE_TRUNCATED,
			      composer_frame(mtrace->composer, &frame));
}

/* COMPOSE_NO_STACK: the line has no place. */
static uint32_t stack_of(struct mtrace *mtrace, char *text)
{
	const uint32_t id = interner_put(&mtrace->places, text, strlen(text));

	if (id == UINT32_MAX) {
		mtrace->no_memory = true;
		return UINT32_MAX;
	}
	if (id == mtrace->stacks.count &&
	    !vec_u32_push(&mtrace->stacks, stack_make(mtrace, text))) {
		mtrace->no_memory = true;
		return UINT32_MAX;
	}
	return mtrace->stacks.items[id];
}

/* --- lines ------------------------------------------------------------------------------------ */

/* A realloc that freed its block and had no second half. */
static void old_end(struct mtrace *mtrace)
{
	if (mtrace->has_old)
		composer_freed(mtrace->composer, TAPE_FN_FREE, mtrace->old_address,
			       COMPOSE_NO_STACK);
	mtrace->has_old = false;
}

static bool pointer_scan(const char **at, uint64_t *value_ret)
{
	scan_blanks(at);
	return scan_text(at, "0x") && scan_hex(at, value_ret);
}

/* "+ 0x55ef1dd784a0 0x64", "- 0x55ef1dd784a0", "< ...", "> ... 0x32", "! ... 0x32" */
static bool call_take(struct mtrace *mtrace, const char *at, uint32_t stack)
{
	struct compose_block block = { .stack = stack };
	const char kind = *at++;

	if (*at != ' ' || !strchr("+-<>!", kind))
		return false;
	scan_blanks(&at);
	if (kind == '!' || (kind == '+' && scan_text(&at, "(nil)"))) {
		mtrace->failed_count++;
		return true;
	}
	if (!pointer_scan(&at, &block.address) || block.address >= UINT64_C(1) << 56)
		return false;
	if ((kind == '+' || kind == '>') &&
	    (!pointer_scan(&at, &block.size) || block.size >= SCAN_NUMBER_END))
		return false;
	scan_blanks(&at);
	if (*at)
		return false;
	block.usable = block.size;
	if (kind != '>')
		old_end(mtrace);
	if (kind == '+' || (kind == '>' && !mtrace->has_old))
		composer_allocated(mtrace->composer, &block);
	else if (kind == '-')
		composer_freed(mtrace->composer, TAPE_FN_FREE, block.address, stack);
	else if (kind == '>')
		composer_reallocated(mtrace->composer, mtrace->old_address, &block);
	mtrace->has_old = kind == '<';
	mtrace->old_address = block.address;
	return true;
}

static bool line_take(struct mtrace *mtrace, char *line)
{
	uint32_t stack = COMPOSE_NO_STACK;
	char *end = line;

	if (line[0] == '=' || line[0] == '\0')
		return true;
	if (line[0] != '@')
		return call_take(mtrace, line, stack);
	line += 1 + (line[1] == ' ');
	/* a path may contain blanks: the place ends with a bracket */
	do
		end = strchr(end + 1, ']');
	while (end && end[1] != ' ');
	if (!end)
		return false;
	end[1] = '\0';
	stack = stack_of(mtrace, line);
	return stack != UINT32_MAX && call_take(mtrace, end + 2, stack);
}

static void facts_write(const struct mtrace *mtrace)
{
	struct composer *composer = mtrace->composer;

	composer_missing(composer, TAPE_MISSING_TIMES | TAPE_MISSING_THREADS | TAPE_MISSING_USABLE |
					   TAPE_MISSING_FUNCTIONS);
	composer_note(composer,
		      "of every call only its place is known, not who called there; of the "
		      "functions that allocate realloc is known");
	if (mtrace->failed_count > 0)
		composer_note(composer, "calls that failed: %" PRIu64, mtrace->failed_count);
	if (mtrace->bad_count > 0)
		composer_note(
			composer,
			"%" PRIu64
			" lines could not be parsed and are skipped, the first is line %" PRIu64,
			mtrace->bad_count, mtrace->bad_line);
}

static struct err *mtrace_read(struct source *source, struct composer *composer)
{
	CLEAN(mtrace_deinit) struct mtrace mtrace = { .source = source, .composer = composer };
	char *line;
	size_t len;

	while (!mtrace.no_memory && !composer_failed(composer) &&
	       source_line(source, &line, &len)) {
		if (source_line_is_torn(source)) { /* a truncated number is a wrong one */
			source_torn(source, composer, "the file ends in the middle of this line");
			break;
		}
		if (!line_take(&mtrace, line) && mtrace.bad_count++ == 0)
			mtrace.bad_line = source_line_number(source);
	}
	if (mtrace.no_memory)
		return err_nomem();
	old_end(&mtrace);
	facts_write(&mtrace);
	return NULL;
}

const struct importer importer_mtrace = {
	.name = "mtrace",
	.title = "logs of glibc's mtrace(3)",
	.recipe = "MALLOC_TRACE=x.log LD_PRELOAD=libc_malloc_debug.so.0 PROGRAM",
	.probe = mtrace_probe,
	.read = mtrace_read,
};
