/*
 * scan_image: the result of a leak scan as bytes: what the collector puts into SCAN records and a
 * reader takes from them (docs/tape-format.md). A scan is a graph. Its *nodes* are the blocks, by
 * address, and after them the holders: node block_count + i is holder i.
 */
#ifndef MEMTAPE_CAPTURE_SCAN_IMAGE_H
#define MEMTAPE_CAPTURE_SCAN_IMAGE_H

#include "base/err.h"
#include "base/vec.h"
#include "tape/tape_scan.h"

enum { SCAN_IMAGE_BYTES_MAX = 1 << 30 };

#define SCAN_NODE_NONE UINT32_MAX

struct scan_image_block {
	uint64_t address;
	uint64_t size_bytes; /* requested */
	uint64_t
		retained_bytes; /* of it and of what would be unreachable without it; see dominator */
	uint64_t offset; /* in the parent, of the pointer; of a register: 8 times its number */
	uint32_t parent; /* node before it on a shortest chain from a holder, or in lost memory from
			       the block that was lost first; NONE: it is such a block */
	uint32_t dominator; /* the nearest node on all chains; NONE: several holders have it */
	uint8_t class;	    /* enum tape_scan_class, never UNKNOWN */
	uint8_t heuristic;  /* of the pointer in the parent: enum tape_scan_heuristic; 0: none */
	bool is_interior;   /* the pointer in the parent is to the middle of this block */
};

struct scan_image_holder {
	uint32_t kind; /* enum tape_scan_holder */
	uint32_t tid;  /* 0: not a thread's */
	uint64_t begin, end;
	uint64_t retained_bytes; /* sum over what it alone holds */
	uint32_t name; /* of the variable or mapping: offset in texts, NUL-terminated; 0: "" */
};

/* Of a holder's stack the words that belong to a call of a function. */
struct scan_image_frame {
	uint32_t holder; /* TAPE_SCAN_STACK */
	uint64_t begin, end;
	uint64_t pc;	/* address of the code: in the function, not after it */
	uint32_t depth; /* calls further in; SCAN_DEPTH_UNKNOWN: of an older tape */
};

#define SCAN_DEPTH_UNKNOWN UINT32_MAX

/* Of a call in which a chain begins so many further out are kept. */
enum { SCAN_CALLERS_KEPT = 8 };

struct scan_image_facts {
	uint64_t pause_ns; /* how long the program stood still */
	uint64_t scan_ns;  /* CPU time of the scan */
	uint64_t root_bytes;
	uint64_t block_bytes;	 /* read */
	uint64_t unread_bytes;	 /* could not be read: what they point to may look lost */
	uint32_t thread_count;	 /* stopped and examined */
	uint32_t missed_threads; /* could not be stopped */
	uint32_t heuristics;	 /* in use */
	uint32_t
		trouble; /* offset in texts: why there is no result (block_count is 0); 0: there is */
};

/* Owns its arrays. An all-zero image is valid and empty. */
struct scan_image {
	struct scan_image_facts facts;
	struct scan_image_block *blocks; /* by address, not overlapping */
	size_t block_count;
	struct scan_image_holder *holders;
	size_t holder_count;
	struct scan_image_frame *frames; /* by holder and address, not overlapping */
	size_t frame_count;
	char *texts; /* begins with a NUL; of texts_bytes, the last of which is a NUL */
	size_t texts_bytes;
};

void scan_image_deinit(struct scan_image *image);
CLEAN_DEFINE_DEINIT(scan_image_deinit, struct scan_image);

/*
 * Appends the bytes of an image that only says why there is no result to out, and how long the
 * program stood still. False: out of memory.
 */
bool scan_image_write_trouble(const char *why, uint64_t pause_ns, struct vec_u8 *out);

/* Appends its bytes to out. False: out of memory. */
bool scan_image_write(const struct scan_image *image, struct vec_u8 *out);

/*
 * The image of untrusted bytes: every node, text and class is checked, blocks ascend and parents
 * and dominators lead to an end. *image_ret is set on success only; the caller deinits it.
 */
struct err *scan_image_read(const uint8_t *bytes, size_t size, struct scan_image *image_ret);

#endif
