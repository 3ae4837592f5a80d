/*
 * objects: which files a program has loaded, of one that nobody recorded: those of which a mapping
 * begins with an ELF header, and another is code.
 */
#ifndef MEMTAPE_SCAN_OBJECTS_H
#define MEMTAPE_SCAN_OBJECTS_H

#include "capture/stacks.h"
#include "scan/heap_walk.h"

/* Loads them into stacks, which are initialised; root comes before their paths. */
struct err *objects_find(const char *root, const struct maps *maps, const struct memory *memory,
			 struct capture_stacks *stacks);

/* Objects with allocators of their own; NULL: none. The recorder passes on to libc's. */
struct objects_allocators {
	const struct capture_module *instead; /* its malloc is the program's, instead of libc's */
	const struct capture_module *beside;  /* under other names, such as je_malloc */
};

/* root: what comes before the objects' paths: "", or "/proc/PID/root" of another namespace. */
struct objects_allocators objects_allocators(const struct capture_stacks *stacks, const char *root);

/* Appends where libc's variables are, or of a static program all variables. */
struct err *objects_data(const struct maps *maps, const struct capture_stacks *stacks,
			 struct heap_ranges *data);

/* libc itself, of any name; the loader of musl is also its libc. */
bool objects_is_libc(const char *path);
bool objects_is_musl(const char *path);
bool objects_is_recorder(const char *path);

#endif
