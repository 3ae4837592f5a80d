/*
 * elf_kind: whether a program runs at the addresses of its file. Internal to convert.
 */
#ifndef MEMTAPE_CONVERT_ELF_KIND_H
#define MEMTAPE_CONVERT_ELF_KIND_H

enum elf_kind {
	ELF_KIND_UNKNOWN, /* the file is missing or not ELF */
	ELF_KIND_FIXED,	  /* ET_EXEC: mapped at its link address */
	ELF_KIND_MOVED	  /* ET_DYN: libraries, and most programs */
};

/* Reads the file if it is a regular one. */
enum elf_kind elf_kind_of(const char *path);

#endif
