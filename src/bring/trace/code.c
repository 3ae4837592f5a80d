#include "trace/code.h"

#include <assert.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/map.h"
#include "base/str.h"
#include "scan/stack_frames.h"
#include "symbol/elf_file.h"
#include "unwind/rule.h"

/* A file whose code is mapped somewhere. */
struct code_file {
	const char *path;
	struct elf_file *elf; /* NULL: it cannot be read */
	bool has_tables;
	uint64_t tables_bias; /* where its unwind tables are here, less their address in the file */
	struct unwind_object tables;
};

VEC_DEFINE(code_files, struct code_file);
VEC_DEFINE(code_modules, struct code_module);

struct code_process {
	pid_t pid;
	struct code_modules modules; /* the last one that has an address counts */
	uint32_t thread_count;	     /* of one that began while we looked; 0: unknown */
};

VEC_DEFINE(code_processes, struct code_process);

struct code {
	struct interner keys; /* by file */
	struct code_files files;
	struct code_processes
		processes; /* those that ended are kept: their places are used again */
	struct map process_of;
	struct map rules; /* by file and address in it */
	uint64_t changes;
};

/* A stack that is being unwound. */
struct walk {
	struct unwind_memory stack;
	struct unwind_regs regs;
	struct code_trail *trail;
};

struct code *code_create(void)
{
	return calloc(1, sizeof(struct code));
}

void code_destroy(struct code *code)
{
	if (!code)
		return;
	for (size_t i = 0; i < code->files.count; i++)
		elf_file_close(code->files.items[i].elf);
	for (size_t i = 0; i < code->processes.count; i++)
		code_modules_deinit(&code->processes.items[i].modules);
	code_files_deinit(&code->files);
	code_processes_deinit(&code->processes);
	map_deinit(&code->process_of);
	map_deinit(&code->rules);
	interner_deinit(&code->keys);
	free(code);
}

/* --- files ----------------------------------------------------------------------------------- */

static struct elf_file *elf_open_at(const char *path, const struct code_mapping *mapping)
{
	CLEAN(elf_file_close) struct elf_file *elf = NULL;

	err_destroy(strcmp(path, "[vdso]") == 0 ? elf_file_open_vdso(&elf)
						: elf_file_open(path, &elf));
	if (!elf || !elf->is_64 || elf->machine != ARCH_ELF_MACHINE)
		return NULL;
	/* Another file may have its name: of another root, or a newer one. */
	if (mapping->build_id_bytes > 0 &&
	    !elf_file_has_build_id(elf, mapping->build_id, mapping->build_id_bytes))
		return NULL;
	return steal(elf);
}

/* As the process sees it, if it still lives: it may have another root. */
static struct elf_file *elf_open(pid_t pid, const struct code_mapping *mapping)
{
	CLEAN(str_deinit) struct str seen = { 0 };
	struct elf_file *elf = NULL;

	str_printf(&seen, "/proc/%d/root%s", (int)pid, mapping->path);
	if (mapping->path[0] == '/' && !seen.failed)
		elf = elf_open_at(str_text(&seen), mapping);
	return elf ? elf : elf_open_at(mapping->path, mapping);
}

/* Files of one name are told apart by what is known of them. */
static uint32_t key_of(struct code *code, const struct code_mapping *mapping)
{
	CLEAN(str_deinit) struct str key = { 0 };

	str_printf(&key, "%llu ", (unsigned long long)mapping->inode);
	for (size_t i = 0; i < mapping->build_id_bytes; i++)
		str_printf(&key, "%02x", mapping->build_id[i]);
	str_printf(&key, " %s", mapping->path);
	return key.failed ? UINT32_MAX : interner_put(&code->keys, key.ptr, key.len);
}

/* UINT32_MAX: out of memory. */
static uint32_t file_find(struct code *code, pid_t pid, const struct code_mapping *mapping)
{
	const uint32_t id = key_of(code, mapping);
	struct code_file *file;

	if (id == UINT32_MAX || id < code->files.count)
		return id;
	file = code_files_add(&code->files);
	if (!file)
		return UINT32_MAX;
	/* The path is the end of its key. */
	*file = (struct code_file) { .path = code->keys.texts[id] + strlen(code->keys.texts[id]) -
					     strlen(mapping->path) };
	if (mapping->path[0] == '/' || strcmp(mapping->path, "[vdso]") == 0)
		file->elf = elf_open(pid, mapping);
	file->has_tables =
		file->elf && (stack_frames_tables(file->elf, &file->tables, &file->tables_bias) ||
			      stack_frames_section(file->elf, &file->tables, &file->tables_bias));
	return id;
}

/* Address in the process less address in the file, of code mapped from this offset. */
static bool bias_find(const struct elf_file *elf, uint64_t begin, uint64_t file_offset,
		      uint64_t *bias_ret)
{
	Elf64_Ehdr header;

	if (elf->size < sizeof(header))
		return false;
	memcpy(&header, elf->bytes, sizeof(header));
	for (size_t i = 0; i < header.e_phnum; i++) {
		const uint64_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
		Elf64_Phdr segment;

		if (at > elf->size || elf->size - at < sizeof(segment) ||
		    header.e_phentsize != sizeof(segment))
			return false;
		memcpy(&segment, elf->bytes + at, sizeof(segment));
		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) ||
		    file_offset + 4096 <= segment.p_offset ||
		    file_offset >= segment.p_offset + segment.p_filesz)
			continue;
		*bias_ret = begin - file_offset - (segment.p_vaddr - segment.p_offset);
		return true;
	}
	return false;
}

/* --- processes ------------------------------------------------------------------------------- */

static struct code_process *process_find(const struct code *code, pid_t pid)
{
	const uint64_t *index = map_find(&code->process_of, (uint64_t)pid);

	return index ? &code->processes.items[*index] : NULL;
}

static struct code_process *process_put(struct code *code, pid_t pid)
{
	bool is_new;
	uint64_t *index = map_put(&code->process_of, (uint64_t)pid, &is_new);
	struct code_process *process;

	if (!index)
		return NULL;
	if (!is_new)
		return &code->processes.items[*index];
	*index = code->processes.count;
	process = code_processes_add(&code->processes);
	if (process)
		*process = (struct code_process) { .pid = pid };
	else
		map_remove(&code->process_of, (uint64_t)pid, NULL);
	return process;
}

bool code_mapped(struct code *code, pid_t pid, const struct code_mapping *mapping)
{
	struct code_process *process = process_put(code, pid);
	struct code_module module = { .begin = mapping->begin, .end = mapping->end };
	const struct elf_file *elf;

	code->changes++;
	if (!process)
		return false;
	module.file = file_find(code, pid, mapping);
	if (module.file == UINT32_MAX)
		return false;
	module.path = code->files.items[module.file].path;
	elf = code->files.items[module.file].elf;
	if (elf && strcmp(mapping->path, "[vdso]") == 0)
		module.bias = mapping->begin;
	else if (elf && !bias_find(elf, mapping->begin, mapping->file_offset, &module.bias))
		return true; /* no code of it */
	if (elf && elf->build_id_bytes <= sizeof(module.build_id)) {
		memcpy(module.build_id, elf->build_id, elf->build_id_bytes);
		module.build_id_bytes = elf->build_id_bytes;
	}
	return code_modules_push(&process->modules, module);
}

/* "begin-end r-xp offset dev inode path" */
static bool read_line(struct code *code, pid_t pid, char *line)
{
	unsigned long long begin, end, offset, inode;
	char access_of[5];
	int at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %*s %llu %n", &begin, &end, access_of, &offset, &inode,
		   &at) < 5 ||
	    at == 0 || access_of[2] != 'x')
		return true;
	line[strcspn(line, "\n")] = '\0';
	return line[at] == '\0' || code_mapped(code, pid,
					       &(struct code_mapping) { .begin = begin,
									.end = end,
									.file_offset = offset,
									.path = line + at,
									.inode = inode });
}

bool code_read(struct code *code, pid_t pid)
{
	char path[STR_SHORT_BYTES], line[4352];
	FILE *file = fopen(str_format(path, sizeof(path), "/proc/%d/maps", (int)pid), "re");
	bool ok = process_put(code, pid) != NULL;

	while (ok && file && fgets(line, sizeof(line), file))
		ok = read_line(code, pid, line);
	if (file)
		fclose(file);
	return ok;
}

bool code_forked(struct code *code, pid_t parent, pid_t pid)
{
	struct code_process *child;

	if (parent == pid) { /* a thread */
		child = process_find(code, pid);
		if (child && child->thread_count > 0)
			child->thread_count++;
		return true;
	}
	code_executed(code, pid);
	child = process_put(code, pid);
	if (!child)
		return false;
	child->thread_count = 1;
	for (size_t i = 0;; i++) {
		const struct code_process *from = process_find(code, parent);

		if (!from || i >= from->modules.count)
			return true;
		if (!code_modules_push(&child->modules, from->modules.items[i]))
			return false;
	}
}

void code_executed(struct code *code, pid_t pid)
{
	struct code_process *process = process_find(code, pid);

	code->changes++;
	if (process)
		process->modules.count = 0;
}

void code_ended(struct code *code, pid_t pid)
{
	struct code_process *process = process_find(code, pid);

	if (!process || process->thread_count == 0 || --process->thread_count > 0)
		return;
	code->changes++;
	code_modules_deinit(&process->modules);
}

bool code_knows(const struct code *code, pid_t pid)
{
	return process_find(code, pid) != NULL;
}

static const struct code_module *module_find(const struct code_process *process, uint64_t pc)
{
	for (size_t i = process->modules.count; i-- > 0;)
		if (pc >= process->modules.items[i].begin && pc < process->modules.items[i].end)
			return &process->modules.items[i];
	return NULL;
}

/* --- stacks ---------------------------------------------------------------------------------- */

/* How to get from this code to its caller, which is looked for once. */
static uint32_t rule_at(struct code *code, uint32_t file, uint64_t pc)
{
	const struct code_file *of = &code->files.items[file];
	bool is_new;
	uint64_t *place = map_put(&code->rules, (uint64_t)file << 48 ^ pc, &is_new);

	if (place && !is_new)
		return (uint32_t)*place;
	if (place)
		*place = unwind_rule_compile(&of->tables, pc + of->tables_bias);
	return place ? (uint32_t)*place : UNWIND_SLOW;
}

static bool load(struct walk *walk, uint64_t address, uint64_t *value_ret)
{
	const struct unwind_memory *stack = &walk->stack;
	struct code_trail *trail = walk->trail;

	if (address < stack->begin || address >= stack->end ||
	    stack->end - address < sizeof(*value_ret))
		return false;
	memcpy(value_ret, stack->copy + (address - stack->begin), sizeof(*value_ret));
	if (trail->count < array_size(trail->words))
		trail->words[trail->count++] = (struct code_word) { address, *value_ret };
	else
		trail->is_known = false;
	return true;
}

/* A step by a rule of a word, which knows of no other registers. False: it cannot do it. */
static bool step_simply(struct walk *walk, uint32_t rule)
{
	struct unwind_regs *regs = &walk->regs;
	const uint64_t frame = regs->value[ARCH_REG_FP], saved = unwind_rule_saved(rule);
	uint64_t cfa, pc, caller_frame = frame;

	if (unwind_rule_kind(rule) == UNWIND_SP)
		cfa = regs->value[ARCH_REG_SP] + unwind_rule_offset(rule);
	else if (unwind_rule_kind(rule) == UNWIND_BP && (regs->known >> ARCH_REG_FP & 1))
		cfa = frame + (uint64_t)unwind_rule_signed_offset(rule);
	else
		return false;
	if (cfa <= regs->value[ARCH_REG_SP] || !load(walk, cfa - ARCH_RA_BELOW_CFA, &pc) ||
	    pc == 0 || (saved && !load(walk, cfa - saved, &caller_frame)))
		return false;
	*regs = (struct unwind_regs) {
		.known = 1U << ARCH_REG_PC | 1U << ARCH_REG_SP |
			 (saved ? 1U << ARCH_REG_FP : regs->known & 1U << ARCH_REG_FP),
	};
	regs->value[ARCH_REG_PC] = pc;
	regs->value[ARCH_REG_SP] = cfa;
	regs->value[ARCH_REG_FP] = caller_frame;
	return true;
}

/* To the caller's registers. False: they are not known, or, *is_end_ret, it has none. */
static bool step(struct code *code, const struct code_module *module, struct walk *walk,
		 bool *is_end_ret)
{
	const struct code_file *file = &code->files.items[module->file];
	const struct unwind_regs *regs = &walk->regs;
	struct unwind_regs there = *regs;
	uint32_t rule;

	if (!file->has_tables)
		return false;
	rule = rule_at(code, module->file, regs->value[ARCH_REG_PC] - !regs->exact - module->bias);
	*is_end_ret = unwind_rule_kind(rule) == UNWIND_END;
	if (*is_end_ret)
		return false;
	if (step_simply(walk, rule))
		return true;
	walk->trail->is_known = false;
	there.value[ARCH_REG_PC] += file->tables_bias - module->bias;
	if (!unwind_full_step(&file->tables, &there, &walk->stack, is_end_ret) ||
	    there.value[ARCH_REG_SP] <= regs->value[ARCH_REG_SP])
		return false;
	walk->regs = there;
	return true;
}

/* The program's first instructions, or the loader's, have no tables, and nothing called them. */
static bool is_entry(const struct code *code, const struct code_module *module, uint64_t pc)
{
	enum { ENTRY_BYTES = 64 };
	const struct elf_file *elf = code->files.items[module->file].elf;
	Elf64_Ehdr header;

	if (!elf || elf->size < sizeof(header))
		return false;
	memcpy(&header, elf->bytes, sizeof(header));
	return header.e_entry && pc - module->bias - header.e_entry < ENTRY_BYTES;
}

uint64_t code_changes(const struct code *code)
{
	return code->changes;
}

size_t code_unwind(struct code *code, pid_t pid, const struct code_stack *stack,
		   struct code_frame frames[CODE_DEPTH_MAX], bool *is_whole_ret,
		   struct code_trail *trail)
{
	const uint64_t sp = stack->registers[ARCH_REG_SP];
	const struct code_process *process = process_find(code, pid);
	struct walk walk = {
		.stack = { sp, sp + stack->byte_count, stack->bytes },
		.regs = { .known = (1U << ARCH_REGS) - 1, .exact = stack->is_exact },
		.trail = trail,
	};
	size_t count = 0;

	*is_whole_ret = false;
	trail->is_known = true;
	trail->count = 0;
	for (size_t i = 0; i < ARCH_REGS; i++)
		walk.regs.value[i] = stack->registers[i];
	while (count < CODE_DEPTH_MAX) {
		struct code_frame *frame = &frames[count++];

		*frame =
			(struct code_frame) { walk.regs.value[ARCH_REG_PC], walk.regs.exact, NULL };
		if (process)
			frame->module = module_find(process, frame->pc - !frame->is_exact);
		if (!frame->module)
			break;
		if (!step(code, frame->module, &walk, is_whole_ret)) {
			*is_whole_ret |= is_entry(code, frame->module, frame->pc);
			break;
		}
	}
	trail->is_known &= *is_whole_ret;
	return count;
}
