/*
 * image: an index file while it is written. It has no name until it is whole, so that whatever ends
 * the program leaves nothing behind. Internal to model.
 */
#ifndef MEMTAPE_MODEL_IMAGE_H
#define MEMTAPE_MODEL_IMAGE_H

#include <pthread.h>

#include "base/err.h"

enum { IMAGE_ALIGN = 64, IMAGE_HEADER_BYTES = 4096 };

enum image_place {
	IMAGE_BESIDE, /* in the folder of image_create's path */
	IMAGE_OTHER,  /* in that of other_path */
	IMAGE_TMPDIR,
	IMAGE_VAR_TMP,
	IMAGE_TMP,
	IMAGE_MEMORY
};

struct image {
	int fd;			/* the same from creation on, wherever the file moves */
	uint64_t end;		/* where the next part goes; atomic */
	bool is_whole;		/* all is in it */
	enum image_place place; /* under lock */
	const char *other_path; /* borrowed; where to go on when the place is full; may be NULL */
	pthread_rwlock_t lock;	/* shared to write, alone to move */
};

/*
 * A file without a name, in the folder of `path` if that can be (path NULL: in memory if small,
 * else wherever temporary files are); its header page is left free. Where a place turns out to be
 * full while the file is written, the file moves to the next one.
 */
struct err *image_create(struct image *image, const char *path, bool is_small);
void image_deinit(struct image *image); /* all zeros is not valid: fd -1 is */
CLEAN_DEFINE_DEINIT(image_deinit, struct image);

/* Whether that failed because a disk is full, or a file would be larger than it may be. */
bool image_lacks_room(const struct err *err);

/* Thread-safe. Appends at a multiple of IMAGE_ALIGN and says where. */
struct err *image_append(struct image *image, const void *data, size_t bytes, uint64_t *offset_ret);
struct err *image_write(struct image *image, const void *data, size_t bytes, uint64_t offset);
struct err *image_read(const struct image *image, void *data, size_t bytes, uint64_t offset);

/* What is in it so far, to read; NULL and errno: it cannot be. */
const uint8_t *image_map(const struct image *image);
void image_unmap(const uint8_t *file, uint64_t bytes);

/* Gives it its name and mode, in place of whatever has that name; all of it or nothing. */
struct err *image_commit(const struct image *image, const char *path, unsigned mode);

#endif
