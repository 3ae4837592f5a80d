#include "scan/landing.h"

#include <assert.h>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "scan/memory.h"

enum { PAGE = 4096, ALIGNMENT = 16 };

static size_t landing_bytes(void)
{
	return arch_landing_places.words + sizeof(struct arch_landing_words);
}

/* --- where ------------------------------------------------------------------------------------- */

/* Where the code that the file's headers tell of ends in this mapping. 0: it is not known. */
static uint64_t code_end(const uint8_t page[PAGE], uint64_t begin, const struct maps_entry *entry)
{
	Elf64_Ehdr header;
	uint64_t bias = 0, end = 0;
	bool has_first = false;

	memcpy(&header, page, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phoff > PAGE ||
	    header.e_phnum > (PAGE - header.e_phoff) / sizeof(Elf64_Phdr))
		return 0;
	for (size_t i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr segment;
		uint64_t from, to;

		memcpy(&segment, page + header.e_phoff + i * sizeof(segment), sizeof(segment));
		if (segment.p_type != PT_LOAD)
			continue;
		if (!has_first)
			bias = begin - (segment.p_vaddr & -(uint64_t)PAGE);
		has_first = true;
		from = bias + segment.p_vaddr;
		to = from + segment.p_memsz;
		if (from < entry->end && to > entry->begin)
			end = u64_max(end, to);
	}
	return end;
}

/* The first mapping of the same file, close enough to be of the same loading. */
static const struct maps_entry *first_of(const struct maps *maps, const struct maps_entry *entry)
{
	const struct maps_entry *first = entry;

	for (const struct maps_entry *at = entry; at > maps->entries.items; at--) {
		if (at[-1].inode == entry->inode &&
		    strcmp(maps_name(maps, &at[-1]), maps_name(maps, entry)) == 0)
			first = &at[-1];
		else if (at[-1].is_file)
			break;
	}
	return first;
}

static bool is_anyone_in(const struct stop *stop, uint64_t begin, uint64_t end)
{
	for (size_t i = 0; i < stop->threads.count; i++) {
		const struct stop_thread *thread = &stop->threads.items[i];
		const uint64_t pc = thread->registers[ARCH_REGSET_PC];

		if (thread->is_stopped && pc >= begin && pc <= end)
			return true;
	}
	return false;
}

/* Room at the end of a mapping. 0: there is none. */
static uint64_t room_in(const struct stop *stop, const struct memory *memory,
			const struct maps *maps, const struct maps_entry *entry)
{
	const struct maps_entry *first;
	uint8_t page[PAGE];
	uint64_t end, at;

	if (!entry->is_executable || !entry->is_file || entry->is_shared || entry->is_writable)
		return 0;
	first = first_of(maps, entry);
	if (!memory_read(memory, first->begin, page, sizeof(page)))
		return 0;
	end = code_end(page, first->begin, entry);
	at = align_up(end, ALIGNMENT);
	if (end <= entry->begin || at > entry->end || entry->end - at < landing_bytes())
		return 0;
	return is_anyone_in(stop, at, at + landing_bytes()) ? 0 : at;
}

/* --- what -------------------------------------------------------------------------------------- */

/* Also where the process itself may not write. */
static bool write_code(pid_t tid, uint64_t at, const void *bytes, size_t count)
{
	char path[64];
	const int fd = open(str_format(path, sizeof(path), "/proc/%d/mem", (int)tid),
			    O_WRONLY | O_CLOEXEC);
	const ssize_t written = fd < 0 ? -1 : pwrite(fd, bytes, count, (off_t)at);

	if (fd >= 0)
		close(fd);
	return written == (ssize_t)count;
}

struct err *landing_place(struct landing *landing, const struct stop *stop, pid_t tid,
			  const struct maps *maps)
{
	const struct memory memory = memory_of_process(tid);
	const size_t bytes = landing_bytes(), code_bytes = arch_landing_places.words;

	assert(bytes <= sizeof(landing->before));
	landing->tid = tid;
	for (size_t i = 0; i < maps->entries.count; i++) {
		landing->at = room_in(stop, &memory, maps, &maps->entries.items[i]);
		if (!landing->at || !memory_read(&memory, landing->at, landing->before, bytes))
			continue;
		landing->was_there = memcmp(landing->before, arch_landing, code_bytes) == 0;
		if (landing->was_there || write_code(tid, landing->at, arch_landing, code_bytes))
			return NULL;
	}
	return err_new(ERR_STATE,
		       "process %d has no room for a way back, behind the code of an object, or it "
		       "may not be written (a kernel with proc_mem.force_override=never)",
		       (int)stop->pid);
}

bool landing_set(const struct landing *landing, const struct arch_landing_words *words)
{
	return write_code(landing->tid, landing->at + arch_landing_places.words, words,
			  sizeof(*words));
}

void landing_remove(const struct landing *landing)
{
	if (!landing->was_there)
		write_code(landing->tid, landing->at, landing->before, landing_bytes());
}
