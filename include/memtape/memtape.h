/*
 * memtape: what a program can say to the recorder while it is recorded.
 *
 *	#include <memtape/memtape.h>
 *	memtape_mark("index loaded");
 *
 * Nothing has to be linked: the functions are weak, and do nothing in a program that is not being
 * recorded. Define MEMTAPE_STRONG before including to link against libmemtape.so instead.
 * Thread-safe; may be called from signal handlers where nothing else is said. C (also C89) and C++.
 */
#ifndef MEMTAPE_MEMTAPE_H
#define MEMTAPE_MEMTAPE_H

#include <stddef.h>

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

/*
 * Sets a mark of this text (NULL: "snapshot") and waits until another process has looked at which
 * memory is resident, mapping by mapping: some milliseconds, at most five seconds; what `memtape ctl PID
 * snapshot` does. Where nobody records who could look, there is only the mark. Not from signal handlers.
 */
MEMTAPE_API void memtape_client_snapshot(const char *text);

/*
 * A leak scan of the program as it is now: what `memtape ctl PID leak-scan` does. Returns when it has
 * begun; the search goes on in another process. 1: it has; 0: it cannot be made, nobody records, or
 * it did not begin in five seconds. Not from signal handlers.
 */
MEMTAPE_API int memtape_client_leak_scan(void);

/* The calling thread's name in reports from now on, whatever it is named otherwise; 255 bytes. */
MEMTAPE_API void memtape_client_thread_name(const char *name);

/* Memory that is handed out is not initialized yet: only its address is looked at. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define MEMTAPE_UNREAD(number) __attribute__((access(none, number)))
#else
#define MEMTAPE_UNREAD(number)
#endif

/* clang-format off */
/*
 * What the functions of pools below say. what: 0 a pool is created, 1 destroyed, 2 emptied, 3 it has
 * handed out an object, 4 it takes one back, 5 it has moved or resized one.
 */
MEMTAPE_UNREAD(2) MEMTAPE_UNREAD(3) MEMTAPE_UNREAD(4)
MEMTAPE_API void memtape_client_pool(int what, const void *pool, const void *object,
				     const void *old, size_t size, const char *name);

/* The innermost frame of a stack is the function that calls this, and not this. */
MEMTAPE_UNREAD(2) MEMTAPE_UNREAD(3) MEMTAPE_UNREAD(4)
static __inline__ __attribute__((always_inline)) void
memtape_pool_say(int what, const void *pool, const void *object, const void *old, size_t size,
		 const char *name)
{
#ifndef MEMTAPE_STRONG
	if (!memtape_client_pool)
		return;
#endif
	memtape_client_pool(what, pool, object, old, size, name);
}
/* clang-format on */

static __inline__ const char *memtape_tag(const char *text)
{
#ifndef MEMTAPE_STRONG
	if (!memtape_client_tag)
		return (const char *)0;
#endif
	return memtape_client_tag(text);
}

static __inline__ void memtape_tag_end(const char **before)
{
	memtape_tag(*before);
}

/* A tag to the end of the block in which this stands, as a declaration; then the one before again. */
#define MEMTAPE_TAG_JOIN(a, b)	 a##b
#define MEMTAPE_TAG_NAME(number) MEMTAPE_TAG_JOIN(memtape_tag_before_, number)
#define MEMTAPE_TAG(text)                                                                          \
	const char *MEMTAPE_TAG_NAME(__COUNTER__)                                                  \
		__attribute__((cleanup(memtape_tag_end), unused)) = memtape_tag(text)

static __inline__ void memtape_pause(void)
{
#ifndef MEMTAPE_STRONG
	if (!memtape_client_pause)
		return;
#endif
	memtape_client_pause();
}

static __inline__ void memtape_resume(void)
{
#ifndef MEMTAPE_STRONG
	if (!memtape_client_resume)
		return;
#endif
	memtape_client_resume();
}

static __inline__ void memtape_mark(const char *text)
{
#ifndef MEMTAPE_STRONG
	if (!memtape_client_mark)
		return;
#endif
	memtape_client_mark(text);
}

static __inline__ void memtape_snapshot(const char *text)
{
#ifndef MEMTAPE_STRONG
	if (!memtape_client_snapshot)
		return;
#endif
	memtape_client_snapshot(text);
}

static __inline__ int memtape_leak_scan(void)
{
#ifndef MEMTAPE_STRONG
	if (!memtape_client_leak_scan)
		return 0;
#endif
	return memtape_client_leak_scan();
}

static __inline__ void memtape_thread_name(const char *name)
{
#ifndef MEMTAPE_STRONG
	if (!memtape_client_thread_name)
		return;
#endif
	memtape_client_thread_name(name);
}

static __inline__ int memtape_is_recording(void)
{
#ifndef MEMTAPE_STRONG
	if (!memtape_client_is_recording)
		return 0;
#endif
	return memtape_client_is_recording();
}

/*
 * Pools: an allocator of the program's own - an arena, a pool of objects, a slab - says what it hands
 * out, so that its objects are seen, each with the stack of the call. `pool` is any address that
 * belongs to the pool as long as it lives, such as that of its struct. Objects are not counted as
 * allocations of the heap: the blocks in which they lie are those. An object's address may equal its
 * block's, another pool's, or that of an object of another pool.
 *
 * Call what takes memory back before others can get that memory, and what hands it out afterwards.
 * The calls are those of the allocator, within its lock if it has one.
 */

/* clang-format off */
/* name: what reports call it; pools of the same name are shown as one. 255 bytes of it count. */
MEMTAPE_UNREAD(1)
static __inline__ __attribute__((always_inline)) void
memtape_pool_create(const void *pool, const char *name)
{
	memtape_pool_say(0, pool, NULL, NULL, 0, name);
}

/* Frees all objects in it. */
MEMTAPE_UNREAD(1)
static __inline__ __attribute__((always_inline)) void
memtape_pool_destroy(const void *pool)
{
	memtape_pool_say(1, pool, NULL, NULL, 0, NULL);
}

/* The same, and the pool lives on: an arena that is reset. */
MEMTAPE_UNREAD(1)
static __inline__ __attribute__((always_inline)) void
memtape_pool_clear(const void *pool)
{
	memtape_pool_say(2, pool, NULL, NULL, 0, NULL);
}

/* object NULL: there was no memory, and nothing is said. */
MEMTAPE_UNREAD(1) MEMTAPE_UNREAD(2)
static __inline__ __attribute__((always_inline)) void
memtape_pool_alloc(const void *pool, const void *object, size_t size)
{
	if (object)
		memtape_pool_say(3, pool, object, NULL, size, NULL);
}

MEMTAPE_UNREAD(1) MEMTAPE_UNREAD(2)
static __inline__ __attribute__((always_inline)) void
memtape_pool_free(const void *pool, const void *object)
{
	if (object)
		memtape_pool_say(4, pool, object, NULL, 0, NULL);
}

/*
 * After it: object is the new address, which may be the old one; NULL: it has failed, and the old
 * object stays. old NULL: as memtape_pool_alloc.
 */
MEMTAPE_UNREAD(1) MEMTAPE_UNREAD(2) MEMTAPE_UNREAD(3)
static __inline__ __attribute__((always_inline)) void
memtape_pool_realloc(const void *pool, const void *old, const void *object, size_t size)
{
	if (object && old)
		memtape_pool_say(5, pool, object, old, size, NULL);
	else if (object)
		memtape_pool_say(3, pool, object, NULL, size, NULL);
}

/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
