/*
 * image: an index file being written. It has no name until it is complete, so that nothing is left
 * behind however the program ends. Internal to model.
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
	bool is_whole;		/* complete */
	enum image_place place; /* under lock */
	const char *other_path; /* borrowed; where to go on when the place is full; may be NULL */
	pthread_rwlock_t lock;	/* shared for writing, exclusive for moving */
};

/*
 * An unnamed file, in the folder of `path` if possible (path NULL: in memory if small, else
 * wherever temporary files are); its header page is left free. If the disk becomes full while the
 * file is written, the file moves to the next place.
 */
struct err *image_create(struct image *image, const char *path, bool is_small);
void image_deinit(struct image *image); /* all zeros is not valid: fd -1 is */
CLEAN_DEFINE_DEINIT(image_deinit, struct image);

/* Whether the failure was a full disk or a file size limit. */
bool image_lacks_room(const struct err *err);

/* Thread-safe. Appends at a multiple of IMAGE_ALIGN and returns the offset. */
struct err *image_append(struct image *image, const void *data, size_t bytes, uint64_t *offset_ret);
struct err *image_write(struct image *image, const void *data, size_t bytes, uint64_t offset);
struct err *image_read(const struct image *image, void *data, size_t bytes, uint64_t offset);

/* Its contents so far, for reading; NULL and errno: failed. */
const uint8_t *image_map(const struct image *image);
void image_unmap(const uint8_t *file, uint64_t bytes);

/* Gives it its name and mode, replacing any file of that name; all or nothing. */
struct err *image_commit(const struct image *image, const char *path, unsigned mode);

#endif
