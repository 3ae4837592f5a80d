/*
 * elf_kind: whether a program's addresses are those of its file. Internal to convert.
 */
#ifndef MEMTAPE_CONVERT_ELF_KIND_H
#define MEMTAPE_CONVERT_ELF_KIND_H

enum elf_kind {
	ELF_KIND_UNKNOWN, /* the file is not there, or no ELF */
	ELF_KIND_FIXED,	  /* ET_EXEC: linked to where it is mapped */
	ELF_KIND_MOVED	  /* ET_DYN: libraries, and most programs */
};

/* Looks into the file, if it is a regular one. */
enum elf_kind elf_kind_of(const char *path);

#endif
