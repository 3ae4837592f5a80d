/*
 * walked: a program that nobody recorded, for a leak scan: its loaded objects, and the blocks that
 * glibc's heap has (scan/heap_walk.h).
 */
#ifndef MEMTAPE_COLLECT_WALKED_H
#define MEMTAPE_COLLECT_WALKED_H

#include "capture/scan_image.h"
#include "model/living.h"
#include "scan/heap_walk.h"
#include "tape/tape_scan.h"

struct walked {
	struct living living;
	struct heap heap;
	const char *beside; /* the object that has another allocator, too; NULL: none */
};

/*
 * subject is for messages: "process 4711"; root: objects.h. ERR_UNSUPPORTED: its heap cannot be read, because it has
 * an allocator of its own or none of glibc. All arguments are borrowed during the call only.
 */
struct err *walked_read(const char *subject, const char *root, const struct maps *maps,
			const struct memory *memory, const struct stop *stop,
			struct walked *walked);
/* The same also of musl's heap (heap_musl_walk): not for a leak scan, which knows not its roots. */
struct err *walked_read_blocks(const char *subject, const char *root, const struct maps *maps,
			       const struct memory *memory, const struct stop *stop,
			       struct walked *walked);
void walked_deinit(struct walked *walked);
CLEAN_DEFINE_DEINIT(walked_deinit, struct walked);

struct walked_tape {
	const char *subject;
	const char *exe; /* "": unknown */
	pid_t pid;
	enum tape_scan_reason reason;
	struct tape_end end;
	const char *output_path; /* must not exist */
	int level;		 /* of compression */
};

/* A tape of the blocks, without times and stacks, and of the result of the scan. */
struct err *walked_write(const struct walked *walked, const struct scan_image *image,
			 const struct walked_tape *tape);

#endif
