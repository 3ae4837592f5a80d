/*
 * hooks: the wrappers of C's allocation functions, one macro for each shape in hooks.def.
 */
#include "rec/hook.h"
#include "rec/other.h"

#include <errno.h>

#include "core/poison.h"

REC_COLD void rec_hook_zero(void *ptr, size_t from)
{
	const size_t usable = ptr && rec_real.usable_size ? rec_real.usable_size(ptr) : 0;

	if (rec.options.zero && usable > from)
		memset((uint8_t *)ptr + from, 0, usable - from);
}

/* In the slow face the event is written in the phase chosen by enter, not in REAL. */
REC_COLD void rec_hook_event_slow(struct rec_tls *tls, struct rec_lane *lane, unsigned fn,
				  const void *ptr, size_t size, const struct rec_frame *caller)
{
	const uint64_t latency = tape_fn_sizeless(fn) ? 0 : rec_latency_end(lane);
	const uint64_t usable = tape_fn_sizeless(fn) ? 0 : rec_event_usable(ptr, size);

	CHECK(fn < TAPE_FN_COUNT);
	hook_phase(tls, lane == tls->nested ? REC_PHASE_NESTED : REC_PHASE_RECORD);
	if (!tape_fn_sizeless(fn)) {
		if (rec_event_alloc(lane, fn, ptr, size, usable, caller))
			rec_latency_note(lane, latency);
		return;
	}
	if (rec_event_free(lane, fn, ptr, caller) && ptr)
		rec_latency_begin(lane, true);
}

REC_COLD void rec_hook_free_null(struct rec_tls *tls, unsigned fn, const struct rec_frame *caller)
{
	struct rec_lane *lane = tls->lane;
	uint32_t phase;

	CHECK(tape_fn_sizeless(fn));
	if (lane) {
		hook_begin(tls, caller, REC_PHASE_RECORD);
		rec_event_free(lane, fn, NULL, caller);
		hook_end(tls);
		return;
	}
	lane = rec_lane_enter(tls, caller, &phase);
	if (!lane)
		return;
	rec_hook_event_slow(tls, lane, fn, NULL, 0, caller);
	rec_lane_leave(tls, lane, phase);
}

/*
 * The allocation inside an operator new failed: it is recorded as that operator's, and the thread
 * gets its lane back: what follows (a new_handler, an exception) leaves our frame for good.
 */
static REC_COLD void new_fail(struct rec_tls *tls)
{
	if (!tls->new_fn || tls->phase != REC_PHASE_REAL || !tls->own)
		return;
	hook_phase(tls, REC_PHASE_RECORD);
	rec_event_alloc(tls->own, tls->new_fn, NULL, tls->new_size, tls->new_size, &tls->caller);
	tls->new_fn = 0;
	rec_lane_leave(tls, tls->own, REC_PHASE_IDLE);
}

/* malloc without recording: inside the allocator, during our own start, or when recording is off.
 */
static __attribute__((noinline)) void *malloc_plain(struct rec_tls *tls, size_t size)
{
	void *ptr;

	if (unlikely(!rec_real.malloc))
		return rec_pool_alloc(size, 16);
	ptr = rec_real.malloc(size);
	if (unlikely(!ptr))
		new_fail(tls);
	return ptr;
}

static REC_COLD void *calloc_plain(size_t count, size_t each)
{
	size_t bytes;

	if (likely(rec_real.calloc))
		return rec_real.calloc(count, each);
	return size_mul_overflows(count, each, &bytes) ? NULL : rec_pool_alloc(bytes, 16);
}

static REC_COLD void *aligned_plain(void *(*real)(size_t, size_t), size_t align, size_t size)
{
	void *ptr;

	if (!real)
		return rec_pool_alloc(size, align);
	ptr = real(align, size);
	if (!ptr)
		new_fail(&rec_tls);
	return ptr;
}

REC_COLD void rec_hook_free_plain(void *ptr)
{
	if (rec_real.free)
		rec_real.free(ptr);
}

/* Saturated product, for a calloc request that overflows. */
static inline size_t request_product(size_t count, size_t each)
{
	size_t bytes;

	return unlikely(size_mul_overflows(count, each, &bytes)) ? SIZE_MAX : bytes;
}

/*
 * malloc and free decide at once whether to jump to where calls are only counted (calls.c), so that
 * neither path pays for the other's registers. Without optimization there is no jump: there the
 * recording code must be in the hook itself, whose caller is looked for.
 */
#ifdef __OPTIMIZE__
#define HOOK_FACE static __attribute__((noinline))
#else
#define HOOK_FACE static inline __attribute__((always_inline))
#endif

#define HOOK_ALLOC(symbol, FN)                                                                     \
	HOOK_FACE void *record_##symbol(size_t size)                                               \
	{                                                                                          \
		struct rec_frame caller = REC_CALLER();                                            \
                                                                                                   \
		HOOK_BODY_ALLOC(FN, size, hook_call_##symbol(size),                                \
				hook_plain_##symbol(tls, size));                                   \
	}                                                                                          \
	REC_EXPORT void *symbol(size_t size)                                                       \
	{                                                                                          \
		struct rec_lane *lane = FN == TAPE_FN_MALLOC ? rec_calls_lane() : NULL;            \
                                                                                                   \
		if (lane)                                                                          \
			return rec_calls_malloc(size, lane);                                       \
		return record_##symbol(size);                                                      \
	}

static inline void *hook_call_malloc(size_t size)
{
	return rec_real.malloc(size);
}
static inline void *hook_plain_malloc(struct rec_tls *tls, size_t size)
{
	return malloc_plain(tls, size);
}
/* Of the kernel; before that is known the largest that there is. */
static inline size_t page_bytes(void)
{
	return rec.page_bytes ? (size_t)rec.page_bytes : 64 << 10;
}
static inline void *hook_call_valloc(size_t size)
{
	return rec_real.valloc ? rec_real.valloc(size) : rec_real.memalign(page_bytes(), size);
}
static inline void *hook_plain_valloc(struct rec_tls *tls, size_t size)
{
	(void)tls;
	return rec_real.valloc ? rec_real.valloc(size)
			       : aligned_plain(rec_real.memalign, page_bytes(), size);
}
static inline void *hook_call_pvalloc(size_t size)
{
	return rec_real.pvalloc
		       ? rec_real.pvalloc(size)
		       : rec_real.memalign(page_bytes(), (size_t)align_up(size, page_bytes()));
}
static inline void *hook_plain_pvalloc(struct rec_tls *tls, size_t size)
{
	(void)tls;
	return rec_real.pvalloc ? rec_real.pvalloc(size)
				: aligned_plain(rec_real.memalign, page_bytes(),
						(size_t)align_up(size, page_bytes()));
}

#define HOOK_CALLOC(symbol, FN)                                                                    \
	REC_EXPORT void *symbol(size_t count, size_t each)                                         \
	{                                                                                          \
		struct rec_frame caller = REC_CALLER();                                            \
                                                                                                   \
		HOOK_BODY_ALLOC(FN, request_product(count, each), rec_real.symbol(count, each),    \
				calloc_plain(count, each));                                        \
	}

#define HOOK_ALIGNED(symbol, FN)                                                                   \
	REC_EXPORT void *symbol(size_t align, size_t size)                                         \
	{                                                                                          \
		struct rec_frame caller = REC_CALLER();                                            \
                                                                                                   \
		HOOK_BODY_ALLOC(FN, size, rec_real.symbol(align, size),                            \
				aligned_plain(rec_real.symbol, align, size));                      \
	}

static inline void *posix_call(void **ptr_ret, size_t align, size_t size, int *error_ret)
{
	*error_ret = rec_real.posix_memalign(ptr_ret, align, size);
	return *error_ret ? NULL : *ptr_ret;
}

static REC_COLD void *posix_plain(void **ptr_ret, size_t align, size_t size, int *error_ret)
{
	if (rec_real.posix_memalign)
		return posix_call(ptr_ret, align, size, error_ret);
	*ptr_ret = rec_pool_alloc(size, align);
	*error_ret = *ptr_ret ? 0 : ENOMEM;
	return *ptr_ret;
}

static inline __attribute__((always_inline)) void *posix_hook(void **ptr_ret, size_t align,
							      size_t size, unsigned fn,
							      int *error_ret,
							      struct rec_frame caller)
{
	HOOK_BODY_ALLOC(fn, size, posix_call(ptr_ret, align, size, error_ret),
			posix_plain(ptr_ret, align, size, error_ret));
}

#define HOOK_POSIX(symbol, FN)                                                                     \
	REC_EXPORT int symbol(void **ptr_ret, size_t align, size_t size)                           \
	{                                                                                          \
		int error = 0;                                                                     \
                                                                                                   \
		posix_hook(ptr_ret, align, size, FN, &error, REC_CALLER());                        \
		return error;                                                                      \
	}

/* A realloc that failed: the old block stays. */
static REC_COLD bool rec_event_kept(struct rec_lane *lane, unsigned fn, const void *ptr,
				    size_t size, const struct rec_frame *caller)
{
	return rec_event_write(lane, fn, (uintptr_t)ptr, size, size, rec.options.stacks, caller);
}

/* How a realloc of a live block is recorded: numbers of its four records. */
struct realloc_fns {
	unsigned alloc, out, in, fail;
};

static const struct realloc_fns REALLOC_FNS = { TAPE_FN_REALLOC, TAPE_FN_REALLOC_OUT,
						TAPE_FN_REALLOC_IN, TAPE_FN_REALLOC_FAIL };
static const struct realloc_fns REALLOCARRAY_FNS = { TAPE_FN_REALLOCARRAY, TAPE_FN_REALLOCARRAY_OUT,
						     TAPE_FN_REALLOCARRAY_IN,
						     TAPE_FN_REALLOCARRAY_FAIL };

static inline void *realloc_call(void *old, size_t count, size_t each, unsigned alloc_fn)
{
	size_t bytes;

	if (alloc_fn == TAPE_FN_REALLOC)
		return rec_real.realloc(old, count);
	if (likely(rec_real.reallocarray))
		return rec_real.reallocarray(old, count, each);
	if (!size_mul_overflows(count, each, &bytes))
		return rec_real.realloc(old, bytes);
	errno = ENOMEM;
	return NULL;
}

/* The fate of the old block: replaced by a new one, freed (by size 0, in glibc), or kept. */
static inline bool realloc_done(struct rec_lane *lane, const struct realloc_fns *fns, void *old,
				void *ptr, size_t size, uint64_t usable, int error,
				const struct rec_frame *caller)
{
	if (likely(ptr))
		return rec_event_alloc(lane, fns->in, ptr, size, usable, caller);
	if (size == 0 && error == 0)
		return rec_event_free(lane, TAPE_FN_REALLOC_FREE, old, caller);
	return rec_event_kept(lane, fns->fail, old, size, caller);
}

/*
 * realloc(p, 0) returns NULL both when it freed p and when it failed: only errno tells them apart;
 * it is the caller's and is restored.
 */
static inline void *realloc_tell(void *old, size_t count, size_t each, unsigned alloc_fn,
				 int *error_ret)
{
	const int saved = errno;
	void *ptr;

	errno = 0;
	ptr = realloc_call(old, count, each, alloc_fn);
	*error_ret = errno;
	if (errno == 0)
		errno = saved;
	return ptr;
}

static REC_COLD void *realloc_slow(void *old, size_t count, size_t each, size_t size,
				   const struct realloc_fns *fns, const struct rec_frame *caller)
{
	struct rec_tls *tls = &rec_tls;
	uint32_t phase;
	struct rec_lane *lane;
	uint64_t latency, usable, old_usable = 0;
	bool is_written;
	int error = 0;
	void *ptr;

	if (unlikely(rec_pool_owns(old))) {
		ptr = malloc_plain(tls, size);
		if (ptr)
			memcpy(ptr, old, (size_t)u64_min(size, rec_pool_usable(old)));
		return ptr;
	}
	lane = rec_lane_enter(tls, caller, &phase);
	if (!lane) {
		if (unlikely(!rec_real.realloc))
			return old ? NULL : rec_pool_alloc(size, 16);
		return realloc_call(old, count, each, fns->alloc);
	}
	if (old)
		rec_hook_event_slow(tls, lane, fns->out, old, 0, caller);
	hook_phase(tls, REC_PHASE_REAL);
	if (old && rec.options.zero)
		old_usable = rec_event_usable(old, 0);
	rec_latency_begin(lane, false);
	ptr = realloc_tell(old, count, each, fns->alloc, &error);
	latency = rec_latency_end(lane);
	usable = rec_event_usable(ptr, size);
	rec_hook_zero(ptr, (size_t)old_usable);
	hook_phase(tls, lane == tls->nested ? REC_PHASE_NESTED : REC_PHASE_RECORD);
	is_written = old ? realloc_done(lane, fns, old, ptr, size, usable, error, caller)
			 : rec_event_alloc(lane, fns->alloc, ptr, size, usable, caller);
	if (is_written)
		rec_latency_note(lane, latency);
	rec_lane_leave(tls, lane, phase);
	return ptr;
}

static inline __attribute__((always_inline)) void *realloc_hook(void *old, size_t count,
								size_t each,
								const struct realloc_fns *fns,
								struct rec_frame caller)
{
	struct rec_tls *tls = &rec_tls;
	struct rec_lane *lane = tls->lane;
	size_t size = request_product(count, each);
	uint64_t usable;
	int error = 0;
	void *ptr;

	if (unlikely(!lane || rec_pool_owns(old)))
		return realloc_slow(old, count, each, size, fns, &caller);
	hook_begin(tls, &caller, REC_PHASE_RECORD);
	if (old)
		rec_event_free(lane, fns->out, old, &caller);
	hook_phase(tls, REC_PHASE_REAL);
	ptr = likely(size) ? realloc_call(old, count, each, fns->alloc)
			   : realloc_tell(old, count, each, fns->alloc, &error);
	usable = rec_event_usable(ptr, size);
	hook_phase(tls, REC_PHASE_RECORD);
	if (old)
		realloc_done(lane, fns, old, ptr, size, usable, error, &caller);
	else
		rec_event_alloc(lane, fns->alloc, ptr, size, usable, &caller);
	hook_end(tls);
	return ptr;
}

REC_EXPORT void *realloc(void *old, size_t size)
{
	return realloc_hook(old, size, 1, &REALLOC_FNS, REC_CALLER());
}

REC_EXPORT void *reallocarray(void *old, size_t count, size_t each)
{
	return realloc_hook(old, count, each, &REALLOCARRAY_FNS, REC_CALLER());
}

#define HOOK_FREE(symbol, FN)                                                                      \
	HOOK_FACE void record_##symbol(void *ptr)                                                  \
	{                                                                                          \
		struct rec_frame caller = REC_CALLER();                                            \
                                                                                                   \
		HOOK_BODY_FREE(FN, ptr, rec_real.free(ptr), rec_hook_free_plain(ptr));             \
	}                                                                                          \
	REC_EXPORT void symbol(void *ptr)                                                          \
	{                                                                                          \
		struct rec_lane *lane = FN == TAPE_FN_FREE ? rec_calls_lane() : NULL;              \
                                                                                                   \
		if (lane && ptr && !rec_pool_owns(ptr))                                            \
			rec_calls_free_block(ptr, lane);                                           \
		else                                                                               \
			record_##symbol(ptr);                                                      \
	}

static inline void free_sized_call(void *ptr, size_t size)
{
	if (rec_real.free_sized)
		rec_real.free_sized(ptr, size);
	else
		rec_hook_free_plain(ptr);
}

static inline void free_aligned_call(void *ptr, size_t align, size_t size)
{
	if (rec_real.free_aligned_sized)
		rec_real.free_aligned_sized(ptr, align, size);
	else
		rec_hook_free_plain(ptr);
}

#define HOOK_FREE_SIZED(symbol, FN)                                                                \
	REC_EXPORT void symbol(void *ptr, size_t size)                                             \
	{                                                                                          \
		struct rec_frame caller = REC_CALLER();                                            \
                                                                                                   \
		HOOK_BODY_FREE(FN, ptr, free_sized_call(ptr, size), free_sized_call(ptr, size));   \
	}

#define HOOK_FREE_ALIGNED(symbol, FN)                                                              \
	REC_EXPORT void symbol(void *ptr, size_t align, size_t size)                               \
	{                                                                                          \
		struct rec_frame caller = REC_CALLER();                                            \
                                                                                                   \
		HOOK_BODY_FREE(FN, ptr, free_aligned_call(ptr, align, size),                       \
			       free_aligned_call(ptr, align, size));                               \
	}

/* realloc and reallocarray are written out above. */
#include "rec/hooks.def"

REC_EXPORT size_t malloc_usable_size(void *ptr)
{
	size_t (*real)(void *) = REAL(malloc_usable_size);

	if (unlikely(rec_pool_owns(ptr)))
		return rec_pool_usable(ptr);
	return likely(real) ? real(ptr) : 0;
}
