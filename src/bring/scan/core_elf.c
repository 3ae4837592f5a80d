#include <gelf.h>

#include "scan/core_parts.h"

CLEAN_DEFINE(elf_end, Elf *);

static struct err *check_kind(Elf *elf, GElf_Ehdr *header)
{
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, header))
		return err_new(ERR_FORMAT, "not a core dump");
	if (header->e_type != ET_CORE)
		return err_new(ERR_FORMAT, "not a core dump but a program or library");
	if (gelf_getclass(elf) != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != ARCH_ELF_MACHINE)
		return err_new(ERR_UNSUPPORTED, "the core dump is of another processor");
	return NULL;
}

static struct err *read_notes(Elf *elf, const GElf_Phdr *segment, struct core *core,
			      struct core_content *content)
{
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)segment->p_offset, segment->p_filesz,
					      segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	GElf_Nhdr header;
	size_t at = 0, next, owner, bytes;

	if (!data)
		return err_new(ERR_FORMAT, "its notes cannot be read");
	while (at < data->d_size && (next = gelf_getnote(data, at, &header, &owner, &bytes)) > 0) {
		const struct core_note note = {
			.type = header.n_type,
			.owner = (const char *)data->d_buf + owner,
			.owner_bytes = header.n_namesz,
			.bytes = (const uint8_t *)data->d_buf + bytes,
			.count = header.n_descsz,
		};

		core_note_take(core, content, &note);
		at = next;
	}
	return content->failed ? err_nomem() : NULL;
}

static struct err *read_segment(Elf *elf, const GElf_Phdr *segment, uint64_t file_bytes,
				struct core *core, struct core_content *content)
{
	const struct core_load load = {
		.begin = segment->p_vaddr,
		.bytes = segment->p_memsz,
		.offset = segment->p_offset,
		.file_bytes = u64_min(segment->p_filesz, segment->p_memsz),
		.flags = segment->p_flags,
	};

	if (segment->p_type != PT_LOAD && segment->p_type != PT_NOTE)
		return NULL;
	if (segment->p_filesz > 0 &&
	    (segment->p_offset > file_bytes || segment->p_filesz > file_bytes - segment->p_offset))
		return err_new(ERR_STATE,
			       "the core dump is truncated: it has %llu bytes and should have at "
			       "least %llu; was there a limit (ulimit -c), or is the disk full?",
			       (unsigned long long)file_bytes,
			       (unsigned long long)(segment->p_offset + segment->p_filesz));
	if (segment->p_type == PT_NOTE)
		return read_notes(elf, segment, core, content);
	if (load.bytes == 0 || load.bytes > UINT64_MAX - load.begin)
		return NULL;
	return core_loads_push(&content->loads, load) ? NULL : err_nomem();
}

struct err *core_elf_read(int fd, uint64_t file_bytes, struct core *core,
			  struct core_content *content)
{
	GElf_Ehdr header;
	struct err *err;
	size_t count;

	elf_version(EV_CURRENT);
	CLEAN(elf_end) Elf *elf = elf_begin(fd, ELF_C_READ, NULL);

	err = check_kind(elf, &header);
	if (!err && elf_getphdrnum(elf, &count) < 0)
		err = err_new(ERR_FORMAT, "its program headers cannot be read");
	for (size_t i = 0; !err && i < count; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(elf, (int)i, &segment))
			err = err_new(ERR_STATE, "the core dump is truncated in its headers");
		else
			err = read_segment(elf, &segment, file_bytes, core, content);
	}
	return err;
}

uint32_t core_elf_flags(int fd, uint64_t offset)
{
	size_t count = 0;

	elf_version(EV_CURRENT);
	CLEAN(elf_end) Elf *elf = elf_begin(fd, ELF_C_READ, NULL);

	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &count) < 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;

		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
		    (segment.p_offset & -UINT64_C(4096)) <= offset &&
		    offset < segment.p_offset + segment.p_filesz)
			return segment.p_flags;
	}
	return 0;
}
