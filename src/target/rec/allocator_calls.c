/*
 * allocator_calls: the functions that calls of allocators with their own names are redirected to.
 *
 * All of these functions share the processor's calling convention: six arguments in registers, used
 * or not, and a result in another. So one function serves all, and a row of allocators.def says
 * what an argument means. It works like hooks.c, in the slow face only: calls made by the real
 * function itself - malloc, or one of its own kind - are not counted.
 */
#include "rec/allocators.h"
#include "rec/hook.h"

#include <errno.h>

#include "core/poison.h"

struct allocator_binding rec_allocator_bindings[ALLOCATOR_BINDINGS_MAX];

/* A call being recorded. */
struct call {
	const struct allocator_binding *binding;
	const arch_word *arguments;
	const struct rec_frame *caller;
	struct rec_tls *tls;
	struct rec_lane *lane;
	uint32_t phase;
};

static arch_word real_call(const struct call *call)
{
	const arch_word *a = call->arguments;

	return call->binding->real(a[0], a[1], a[2], a[3], a[4], a[5]);
}

static arch_word argument(const struct call *call, uint8_t place)
{
	return place == ALLOCATOR_NO ? 0 : call->arguments[place];
}

/* Saturated, for a request that overflows. */
static size_t request(const struct call *call)
{
	const struct allocator_call *row = call->binding->call;
	const size_t size = argument(call, row->size_place);
	size_t bytes;

	if (row->count_place == ALLOCATOR_NO)
		return size;
	return size_mul_overflows(size, argument(call, row->count_place), &bytes) ? SIZE_MAX
										  : bytes;
}

static bool call_begin(struct call *call)
{
	struct rec_tls *tls = call->tls = &rec_tls;

	call->lane = tls->lane;
	call->phase = REC_PHASE_IDLE;
	if (likely(call->lane))
		hook_begin(tls, call->caller, REC_PHASE_REAL);
	else
		call->lane = rec_lane_enter(tls, call->caller, &call->phase);
	return call->lane != NULL;
}

static void call_end(struct call *call)
{
	rec_lane_leave(call->tls, call->lane, call->phase);
}

static void record_phase(const struct call *call)
{
	hook_phase(call->tls,
		   call->lane == call->tls->nested ? REC_PHASE_NESTED : REC_PHASE_RECORD);
}

/* Calls the allocator itself, in phase REAL. */
static uint64_t usable_of(const struct call *call, arch_word ptr, uint64_t size)
{
	const struct allocator *allocator = call->binding->allocator;
	size_t (*usable_size)(const void *) = allocator ? allocator->usable_size : NULL;

	return ptr && usable_size ? u64_max(usable_size((const void *)(uintptr_t)ptr), size) : size;
}

static bool write_alloc(const struct call *call, unsigned fn, arch_word ptr, size_t size,
			uint64_t usable)
{
	return rec_event_alloc(call->lane, fn, (const void *)(uintptr_t)ptr, size, usable,
			       call->caller);
}

/* The block that a call returned; 0: none. */
static arch_word block_of(const struct call *call, arch_word result)
{
	if (call->binding->call->kind != ALLOCATOR_POSIX)
		return result;
	return (int)result == 0 ? *(const arch_word *)(uintptr_t)call->arguments[0] : 0;
}

static arch_word call_alloc(struct call *call)
{
	const struct allocator_call *row = call->binding->call;
	const arch_word result = real_call(call);
	const uint64_t latency = rec_latency_end(call->lane);
	const arch_word ptr = block_of(call, result);
	const bool is_text = row->kind == ALLOCATOR_TEXT && ptr;
	const size_t size = is_text ? strlen((const char *)(uintptr_t)ptr) + 1 : request(call);
	const uint64_t usable = usable_of(call, ptr, size);

	record_phase(call);
	if (write_alloc(call, row->fn, ptr, size, usable))
		rec_latency_note(call->lane, latency);
	return result;
}

/* The fate of the old block, as in hooks.c. */
static bool write_realloc(const struct call *call, arch_word old, arch_word ptr, size_t size,
			  uint64_t usable, int error)
{
	const uint8_t kind = call->binding->call->kind;

	if (ptr)
		return write_alloc(call, TAPE_FN_REALLOC_IN, ptr, size, usable);
	if ((size == 0 && error == 0) || kind == ALLOCATOR_REALLOC_OR_FREE)
		return rec_event_free(call->lane, TAPE_FN_REALLOC_FREE,
				      (const void *)(uintptr_t)old, call->caller);
	return write_alloc(call, TAPE_FN_REALLOC_FAIL, old, size, size);
}

/* errno distinguishes a block freed by size 0 from a failed call: both return NULL. */
static arch_word real_realloc(const struct call *call, int *error_ret)
{
	const int saved = errno;
	arch_word result;

	errno = 0;
	result = real_call(call);
	*error_ret = errno;
	if (errno == 0)
		errno = saved;
	return result;
}

static arch_word call_realloc(struct call *call)
{
	const struct allocator_call *row = call->binding->call;
	const arch_word old = argument(call, row->ptr_place);
	const size_t size = request(call);
	arch_word result, ptr;
	uint64_t latency, usable;
	bool is_written;
	int error = 0;

	if (old) {
		record_phase(call);
		rec_event_free(call->lane, TAPE_FN_REALLOC_OUT, (const void *)(uintptr_t)old,
			       call->caller);
		hook_phase(call->tls, REC_PHASE_REAL);
		rec_latency_begin(call->lane, false);
	}
	result = ptr = real_realloc(call, &error);
	latency = rec_latency_end(call->lane);
	if (row->kind == ALLOCATOR_RESIZE) /* the result is not a pointer, but a size */
		ptr = result >= size ? old : 0;
	usable = usable_of(call, ptr, size);
	record_phase(call);
	is_written = old ? write_realloc(call, old, ptr, size, usable, error)
			 : write_alloc(call, TAPE_FN_REALLOC, ptr, size, usable);
	if (is_written)
		rec_latency_note(call->lane, latency);
	return result;
}

static arch_word call_free(struct call *call)
{
	const struct allocator_call *row = call->binding->call;
	arch_word result;

	rec_hook_event_slow(call->tls, call->lane, row->fn,
			    (const void *)(uintptr_t)argument(call, row->ptr_place), 0,
			    call->caller);
	hook_phase(call->tls, REC_PHASE_REAL);
	result = real_call(call);
	return result;
}

/* A block of our pool, or none: nothing that the allocator knows. */
static bool is_nothing(const struct call *call)
{
	const struct allocator_call *row = call->binding->call;

	return row->kind == ALLOCATOR_FREE &&
	       rec_pool_owns((const void *)(uintptr_t)argument(call, row->ptr_place));
}

static __attribute__((noinline)) arch_word call_any(const struct allocator_binding *binding,
						    const arch_word *arguments,
						    const struct rec_frame *caller)
{
	struct call call = { .binding = binding, .arguments = arguments, .caller = caller };
	arch_word result;

	if (is_nothing(&call))
		return 0;
	if (binding->call->kind == ALLOCATOR_FREE && !argument(&call, binding->call->ptr_place))
		return real_call(&call); /* free(NULL) */
	if (!call_begin(&call))
		return real_call(&call);
	switch ((enum allocator_kind)binding->call->kind) {
	case ALLOCATOR_REALLOC:
	case ALLOCATOR_REALLOC_OR_FREE:
	case ALLOCATOR_RESIZE:
		result = call_realloc(&call);
		break;
	case ALLOCATOR_FREE:
		result = call_free(&call);
		break;
	default:
		result = call_alloc(&call);
	}
	call_end(&call);
	return result;
}

/* Each stands for the binding of its number. */
#define STUB(n)                                                                                    \
	static arch_word stub_##n(arch_word a, arch_word b, arch_word c, arch_word d, arch_word e, \
				  arch_word f)                                                     \
	{                                                                                          \
		const arch_word arguments[ALLOCATOR_ARGUMENTS] = { a, b, c, d, e, f };             \
		const struct rec_frame caller = REC_CALLER();                                      \
                                                                                                   \
		return call_any(&rec_allocator_bindings[n], arguments, &caller);                   \
	}
#define STUBS(row)                                                                                 \
	STUB(row##0)                                                                               \
	STUB(row##1)                                                                               \
	STUB(row##2)                                                                               \
	STUB(row##3)                                                                               \
	STUB(row##4)                                                                               \
	STUB(row##5)                                                                               \
	STUB(row##6)                                                                               \
	STUB(row##7)                                                                               \
	STUB(row##8)                                                                               \
	STUB(row##9)                                                                               \
	STUB(row##a)                                                                               \
	STUB(row##b)                                                                               \
	STUB(row##c)                                                                               \
	STUB(row##d)                                                                               \
	STUB(row##e)                                                                               \
	STUB(row##f)

STUBS(0x0)
STUBS(0x1)
STUBS(0x2)
STUBS(0x3)
STUBS(0x4)
STUBS(0x5)
STUBS(0x6)
STUBS(0x7)

#define NAME(n) stub_##n
#define NAMES(row)                                                                                 \
	NAME(row##0), NAME(row##1), NAME(row##2), NAME(row##3), NAME(row##4), NAME(row##5),        \
		NAME(row##6), NAME(row##7), NAME(row##8), NAME(row##9), NAME(row##a),              \
		NAME(row##b), NAME(row##c), NAME(row##d), NAME(row##e), NAME(row##f)

allocator_function *rec_allocator_stub(size_t index)
{
	static allocator_function *const stubs[] = {
		NAMES(0x0), NAMES(0x1), NAMES(0x2), NAMES(0x3),
		NAMES(0x4), NAMES(0x5), NAMES(0x6), NAMES(0x7)
	};

	CHECK(index < ALLOCATOR_BINDINGS_MAX);
	static_assert(array_size(stubs) == ALLOCATOR_BINDINGS_MAX, "one for each");
	return stubs[index];
}
