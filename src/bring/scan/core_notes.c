#include <elf.h>
#include <sys/procfs.h>

#include "scan/core_parts.h"

#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE 0x202
#endif

static bool is_of(const struct core_note *note, const char *owner)
{
	return note->owner_bytes >= strlen(owner) && memcmp(note->owner, owner, strlen(owner)) == 0;
}

static void take_thread(struct core *core, struct core_content *content,
			const struct core_note *note)
{
	struct elf_prstatus status;
	struct stop_thread *thread;

	static_assert(sizeof(status.pr_reg) == ARCH_REGSET_WORDS * sizeof(uint64_t), "registers");
	if (note->count < sizeof(status))
		return;
	memcpy(&status, note->bytes, sizeof(status));
	thread = stop_threads_add(&core->stop.threads);
	if (!thread) {
		content->failed = true;
		return;
	}
	memset(thread, 0, sizeof(*thread));
	thread->tid = status.pr_pid;
	thread->is_stopped = true;
	memcpy(thread->registers, status.pr_reg, sizeof(thread->registers));
	if (core->stop.threads.count == 1)
		core->signal = status.pr_cursig;
	if (core->pid == 0)
		core->pid = status.pr_pid;
}

static void take_vectors(struct core *core, const struct core_note *note)
{
	struct stop_threads *threads = &core->stop.threads;
	struct stop_thread *thread;

	if (threads->count == 0)
		return;
	thread = &threads->items[threads->count - 1];
	thread->vector_bytes = u64_min(note->count, sizeof(thread->vectors));
	memcpy(thread->vectors, note->bytes, thread->vector_bytes);
}

static void take_process(struct core *core, const struct core_note *note)
{
	struct elf_prpsinfo info;

	if (note->count < sizeof(info))
		return;
	memcpy(&info, note->bytes, sizeof(info));
	if (info.pr_pid > 0)
		core->pid = info.pr_pid;
}

static void take_auxv(struct core *core, const struct core_note *note)
{
	for (size_t at = 0; at + sizeof(Elf64_auxv_t) <= note->count; at += sizeof(Elf64_auxv_t)) {
		Elf64_auxv_t entry;

		memcpy(&entry, note->bytes + at, sizeof(entry));
		if (entry.a_type == AT_PHDR)
			core->header_at = entry.a_un.a_val;
	}
}

/* Two words, then three for each mapping, then the names. */
static void take_files(struct core_content *content, const struct core_note *note)
{
	enum { HEAD_WORDS = 2, WORDS = 3, WORD_BYTES = sizeof(uint64_t) };
	const uint64_t room = note->count / WORD_BYTES;
	uint64_t count, page_bytes;
	size_t name_at;

	if (room < HEAD_WORDS)
		return;
	if (content->texts.len > INT32_MAX)
		return;
	count = u64_min(load_u64(note->bytes), (room - HEAD_WORDS) / WORDS);
	page_bytes = load_u64(note->bytes + WORD_BYTES);
	name_at = (HEAD_WORDS + count * WORDS) * WORD_BYTES;
	for (uint64_t i = 0; i < count && name_at < note->count; i++) {
		const uint8_t *words = note->bytes + (HEAD_WORDS + i * WORDS) * WORD_BYTES;
		const char *name = (const char *)note->bytes + name_at;
		const size_t length = strnlen(name, note->count - name_at);
		struct core_mapped mapped = {
			.begin = load_u64(words),
			.end = load_u64(words + WORD_BYTES),
			.name = (uint32_t)content->texts.len,
		};

		name_at += length + 1;
		if (mapped.begin >= mapped.end ||
		    __builtin_mul_overflow(load_u64(words + (size_t)2 * WORD_BYTES), page_bytes,
					   &mapped.file_offset) ||
		    mapped.file_offset > INT64_MAX - (mapped.end - mapped.begin))
			continue;
		str_add_bytes(&content->texts, name, length);
		str_add_char(&content->texts, '\0');
		content->failed |= !core_mappings_push(&content->mapped, mapped);
	}
}

void core_note_take(struct core *core, struct core_content *content, const struct core_note *note)
{
	if (note->type == NT_X86_XSTATE && is_of(note, "LINUX"))
		take_vectors(core, note);
	if (!is_of(note, "CORE"))
		return;
	if (note->type == NT_PRSTATUS)
		take_thread(core, content, note);
	else if (note->type == NT_PRFPREG)
		take_vectors(core, note);
	else if (note->type == NT_PRPSINFO)
		take_process(core, note);
	else if (note->type == NT_AUXV)
		take_auxv(core, note);
	else if (note->type == NT_FILE)
		take_files(content, note);
}
