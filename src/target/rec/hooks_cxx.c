/*
 * hooks_cxx: the wrappers of C++'s operators, recorded as what the caller wrote: so that a block
 * from new[] passed to free() can be detected. Their inner calls are not counted again.
 */
#include "rec/hook.h"

#include "core/poison.h"

/* For malloc_plain(), in a lane that it can hand back. */
static REC_COLD void new_announce(struct rec_tls *tls, const struct rec_lane *lane, unsigned fn,
				  size_t size)
{
	if (lane != tls->own)
		return;
	tls->new_size = size;
	tls->new_fn = fn;
}

/* False: it was handed back. */
static REC_COLD bool new_has_ended(struct rec_tls *tls, const struct rec_lane *lane)
{
	const bool has_ended = lane != tls->own || tls->new_fn != 0;

	tls->new_fn = 0;
	return has_ended;
}

/*
 * operator new. The real one mostly calls malloc, which comes back to our hook and passes through;
 * the event is this operator's. When the real one throws, our frame is skipped: either the malloc
 * inside has failed before and handed the thread back (malloc_plain), or lane.c finds out.
 */
#define HOOK_BODY_NEW(FN, CALL)                                                                    \
	struct rec_tls *tls = &rec_tls;                                                            \
	struct rec_lane *lane = tls->lane;                                                         \
	uint64_t usable;                                                                           \
	uint32_t phase;                                                                            \
	void *ptr;                                                                                 \
                                                                                                   \
	if (unlikely(!lane)) {                                                                     \
		lane = rec_lane_enter(tls, &caller, &phase);                                       \
		if (!lane)                                                                         \
			return CALL;                                                               \
		new_announce(tls, lane, FN, size);                                                 \
		ptr = CALL;                                                                        \
		if (unlikely(!new_has_ended(tls, lane)))                                           \
			return ptr; /* a new_handler, as below */                                  \
		rec_hook_zero(ptr, 0);                                                             \
		rec_hook_event_slow(tls, lane, FN, ptr, size, &caller);                            \
		rec_lane_leave(tls, lane, phase);                                                  \
		return ptr;                                                                        \
	}                                                                                          \
	tls->new_fn = FN;                                                                          \
	tls->new_size = size;                                                                      \
	tls->caller.bp = caller.bp;                                                                \
	hook_begin(tls, &caller, REC_PHASE_REAL);                                                  \
	ptr = CALL;                                                                                \
	rec_barrier();                                                                             \
	tls->new_fn = 0;                                                                           \
	if (unlikely(tls->lane))                                                                   \
		return ptr; /* a new_handler ran in between: already recorded */                   \
	usable = rec_event_usable(ptr, size);                                                      \
	hook_phase(tls, REC_PHASE_RECORD);                                                         \
	rec_event_alloc(lane, FN, ptr, size, usable, &caller);                                     \
	hook_end(tls);                                                                             \
	return ptr

/*
 * The real operator. This may be the first hook called; and it is looked up again if there was no
 * C++ library yet at start.
 */
#define HOOK_CXX(symbol)                                                                           \
	(likely(rec_real.symbol)                                                                   \
		 ? rec_real.symbol                                                                 \
		 : (__typeof__(rec_real.symbol))operator_find(#symbol, (void **)&rec_real.symbol,  \
							      __builtin_return_address(0)))

static REC_COLD void *operator_find(const char *symbol, void **real, const void *caller)
{
	rec_start();
	if (!*real && rec_real.malloc)
		*real = rec_real_find_late(symbol, caller);
	return *real;
}

/* No C++ library anywhere, but its operator is called: do what it would, short of throwing. */
static REC_COLD void *new_fallback(unsigned fn, size_t size, size_t align)
{
	const bool is_aligned = fn != TAPE_FN_NEW && fn != TAPE_FN_NEW_ARRAY &&
				fn != TAPE_FN_NEW_NOTHROW && fn != TAPE_FN_NEW_ARRAY_NOTHROW;

	if (!rec_real.malloc)
		return rec_pool_alloc(size, is_aligned ? align : 16);
	return is_aligned && rec_real.memalign ? rec_real.memalign(align, size)
					       : rec_real.malloc(size);
}

#define HOOK_NEW(symbol, FN)                                                                       \
	REC_EXPORT void *symbol(size_t size)                                                       \
	{                                                                                          \
		struct rec_frame caller = REC_CALLER();                                            \
		void *(*call)(size_t) = HOOK_CXX(symbol);                                          \
		HOOK_BODY_NEW(FN, call ? call(size) : new_fallback(FN, size, 0));                  \
	}

#define HOOK_NEW_TAG(symbol, FN)                                                                   \
	REC_EXPORT void *symbol(size_t size, const void *tag)                                      \
	{                                                                                          \
		struct rec_frame caller = REC_CALLER();                                            \
		void *(*call)(size_t, const void *) = HOOK_CXX(symbol);                            \
		HOOK_BODY_NEW(FN, call ? call(size, tag) : new_fallback(FN, size, (size_t)tag));   \
	}

#define HOOK_NEW_ALIGNED_TAG(symbol, FN)                                                           \
	REC_EXPORT void *symbol(size_t size, size_t align, const void *tag)                        \
	{                                                                                          \
		struct rec_frame caller = REC_CALLER();                                            \
		void *(*call)(size_t, size_t, const void *) = HOOK_CXX(symbol);                    \
		HOOK_BODY_NEW(FN, call ? call(size, align, tag) : new_fallback(FN, size, align));  \
	}

#define HOOK_DELETE(symbol, FN)                                                                    \
	REC_EXPORT void symbol(void *ptr)                                                          \
	{                                                                                          \
		struct rec_frame caller = REC_CALLER();                                            \
		void (*call)(void *) = HOOK_CXX(symbol);                                           \
		HOOK_BODY_FREE(FN, ptr, delete_call(call, ptr), delete_call(call, ptr));           \
	}

#define HOOK_DELETE_2(symbol, FN)                                                                  \
	REC_EXPORT void symbol(void *ptr, size_t a)                                                \
	{                                                                                          \
		struct rec_frame caller = REC_CALLER();                                            \
		void (*call)(void *, size_t) = HOOK_CXX(symbol);                                   \
		HOOK_BODY_FREE(FN, ptr, call ? call(ptr, a) : rec_hook_free_plain(ptr),            \
			       call ? call(ptr, a) : rec_hook_free_plain(ptr));                    \
	}

#define HOOK_DELETE_3(symbol, FN)                                                                  \
	REC_EXPORT void symbol(void *ptr, size_t a, size_t b)                                      \
	{                                                                                          \
		struct rec_frame caller = REC_CALLER();                                            \
		void (*call)(void *, size_t, size_t) = HOOK_CXX(symbol);                           \
		HOOK_BODY_FREE(FN, ptr, call ? call(ptr, a, b) : rec_hook_free_plain(ptr),         \
			       call ? call(ptr, a, b) : rec_hook_free_plain(ptr));                 \
	}

static inline void delete_call(void (*call)(void *), void *ptr)
{
	if (likely(call))
		call(ptr);
	else
		rec_hook_free_plain(ptr);
}

#include "rec/hooks.def"
