/*
 * memtape: what a program can say to the recorder while it is recorded.
 *
 *	#include <memtape/memtape.h>
 *	memtape_mark("index loaded");
 *
 * Nothing has to be linked: the functions are weak, and do nothing in a program that is not being
 * recorded. Define MEMTAPE_STRONG before including to link against libmemtape.so instead.
 * Thread-safe, and may be called from signal handlers. C and C++.
 */
#ifndef MEMTAPE_MEMTAPE_H
#define MEMTAPE_MEMTAPE_H

#ifdef __cplusplus
extern "C" {
#endif

#ifdef MEMTAPE_STRONG
#define MEMTAPE_API
#else
#define MEMTAPE_API __attribute__((weak))
#endif

/*
 * Puts a mark with this text on the tape: now. Reports list marks, filters and `at`, `between` know
 * them as mark(TEXT). The text is cut after 255 bytes; NULL is "".
 */
MEMTAPE_API void memtape_client_mark(const char *text);

/* 1: events are being recorded; 0: they are not (any more). */
MEMTAPE_API int memtape_client_is_recording(void);

/*
 * No allocation is recorded from now on, in no thread; or again. Frees are recorded in a pause, too,
 * so that blocks from before it are known to be freed. Pauses do not nest.
 */
MEMTAPE_API void memtape_client_pause(void);
MEMTAPE_API void memtape_client_resume(void);

/*
 * The calling thread's tag from now on, NULL: none; returns the one before. Allocations have their
 * thread's tag: reports filter and group by it. The text must stay as it is until another one is set;
 * 255 bytes of it count.
 */
MEMTAPE_API const char *memtape_client_tag(const char *text);

static inline const char *memtape_tag(const char *text)
{
#ifndef MEMTAPE_STRONG
	if (!memtape_client_tag)
		return (const char *)0;
#endif
	return memtape_client_tag(text);
}

static inline void memtape_tag_end(const char **before)
{
	memtape_tag(*before);
}

/* A tag to the end of the block in which this stands, as a declaration; then the one before again. */
#define MEMTAPE_TAG_JOIN(a, b)	 a##b
#define MEMTAPE_TAG_NAME(number) MEMTAPE_TAG_JOIN(memtape_tag_before_, number)
#define MEMTAPE_TAG(text)                                                                          \
	const char *MEMTAPE_TAG_NAME(__COUNTER__)                                                  \
		__attribute__((cleanup(memtape_tag_end), unused)) = memtape_tag(text)

static inline void memtape_pause(void)
{
#ifndef MEMTAPE_STRONG
	if (!memtape_client_pause)
		return;
#endif
	memtape_client_pause();
}

static inline void memtape_resume(void)
{
#ifndef MEMTAPE_STRONG
	if (!memtape_client_resume)
		return;
#endif
	memtape_client_resume();
}

static inline void memtape_mark(const char *text)
{
#ifndef MEMTAPE_STRONG
	if (!memtape_client_mark)
		return;
#endif
	memtape_client_mark(text);
}

static inline int memtape_is_recording(void)
{
#ifndef MEMTAPE_STRONG
	if (!memtape_client_is_recording)
		return 0;
#endif
	return memtape_client_is_recording();
}

#ifdef __cplusplus
}
#endif

#endif
