/*
 * image: an index file while it is written. It has no name until it is whole, so that whatever ends
 * the program leaves nothing behind. Internal to model.
 */
#ifndef MEMTAPE_MODEL_IMAGE_H
#define MEMTAPE_MODEL_IMAGE_H

#include "base/err.h"

enum { IMAGE_ALIGN = 64, IMAGE_HEADER_BYTES = 4096 };

struct image {
	int fd;
	uint64_t end;  /* where the next part goes; atomic */
	bool is_whole; /* all is in it */
};

/*
 * A file without a name, in the folder of `path` if that can be (path NULL: in memory if small,
 * else wherever temporary files are); its header page is left free.
 */
struct err *image_create(struct image *image, const char *path, bool is_small);
void image_deinit(struct image *image); /* all zeros is not valid: fd -1 is */
CLEAN_DEFINE_DEINIT(image_deinit, struct image);

/* Thread-safe. Appends at a multiple of IMAGE_ALIGN and says where. */
struct err *image_append(struct image *image, const void *data, size_t bytes, uint64_t *offset_ret);
struct err *image_write(const struct image *image, const void *data, size_t bytes, uint64_t offset);
struct err *image_read(const struct image *image, void *data, size_t bytes, uint64_t offset);

/* What is in it so far, to read; NULL and errno: it cannot be. */
const uint8_t *image_map(const struct image *image);
void image_unmap(const uint8_t *file, uint64_t bytes);

/* Gives it its name and mode, in place of whatever has that name; all of it or nothing. */
struct err *image_commit(const struct image *image, const char *path, unsigned mode);

#endif
