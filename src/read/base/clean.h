/*
 * clean: cleanup by scope. `CLEAN(fn) type name = ...;` calls fn on the variable when it leaves its
 * scope; steal() moves a pointer out so that nothing is left to clean.
 *
 * Each such fn is declared once, beside its prototype, with CLEAN_DEFINE(fn, type); fn accepts the
 * empty value (NULL, or a negative descriptor) and does nothing then.
 */
#ifndef MEMTAPE_BASE_CLEAN_H
#define MEMTAPE_BASE_CLEAN_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/core.h"

#define CLEAN(fn) __attribute__((cleanup(clean_##fn)))

#define CLEAN_DEFINE(fn, type)                                                                     \
	static inline void clean_##fn(type *clean_ptr)                                             \
	{                                                                                          \
		fn(*clean_ptr);                                                                    \
	}                                                                                          \
	struct clean_semicolon

/* For objects whose storage is the caller's: fn takes a pointer to the variable. */
#define CLEAN_DEFINE_DEINIT(fn, type)                                                              \
	static inline void clean_##fn(type *clean_ptr)                                             \
	{                                                                                          \
		fn(clean_ptr);                                                                     \
	}                                                                                          \
	struct clean_semicolon

#define steal(ptr)                                                                                 \
	({                                                                                         \
		__typeof__(ptr) stolen_ = (ptr);                                                   \
		(ptr) = NULL;                                                                      \
		stolen_;                                                                           \
	})

static inline int steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

static inline void clean_free(void *clean_ptr)
{
	void *ptr;

	memcpy(&ptr, clean_ptr, sizeof(ptr));
	free(ptr);
}

static inline void clean_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void clean_closedir(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

static inline void clean_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

#endif
