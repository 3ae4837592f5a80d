/*
 * safe: whether a stopped thread can be made to load a library: it must hold none of the locks that
 * this takes, those of the loader, of the allocator and of libc's lists of threads. Its stack is
 * unwound: no function that takes one of them may be on it.
 */
#ifndef MEMTAPE_SCAN_SAFE_H
#define MEMTAPE_SCAN_SAFE_H

#include "base/err.h"
#include "scan/exports.h"
#include "scan/exports.h"
#include "scan/maps.h"
#include "scan/memory.h"
#include "scan/stop.h"

/* What is known of a process's objects. */
struct safe;

/*
 * memory and maps are borrowed. root: what comes before the objects' paths: "", or "/proc/PID/root".
 * ERR_UNSUPPORTED: the process has no C library that can load others,
 * or not one of glibc.
 */
struct err *safe_create(pid_t pid, const char *root, const struct maps *maps,
			const struct memory *memory, struct safe **safe_ret);
void safe_destroy(struct safe *safe); /* accepts NULL */
CLEAN_DEFINE(safe_destroy, struct safe *);

/* What a thread may hold. */
enum safe_lock {
	SAFE_LOADER = 1 << 0, /* of the list of objects, and others of libc's that loading takes */
	SAFE_ALLOCATOR = 1 << 1 /* or be in the middle of taking or giving back a block */
};

/* A set of these; maps are the process's now. What cannot be unwound may hold all of them. */
unsigned safe_locks(struct safe *safe, const struct maps *maps, const struct stop_thread *thread);

/* Whether a C library with these functions is one that can be made to load others, and is known. */
bool safe_has_dlopen(const struct exports *libc, bool is_musl);

/* The error of a process that has none. */
struct err *safe_no_libc(pid_t pid);

/* Where an exported function ends that begins there; 0: it is none. Its name, which safe has. */
uint64_t safe_function_end(const struct safe *safe, uint64_t begin, const char **name_ret);

/* Where dlopen is; 0: nobody has it. */
uint64_t safe_dlopen(const struct safe *safe);

#endif
