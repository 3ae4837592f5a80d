/* other: shared by the hooks that are not of allocation functions. */
#ifndef MEMTAPE_REC_OTHER_H
#define MEMTAPE_REC_OTHER_H

#include "rec/rec.h"

/* Such a hook while it records; lane NULL: it does not. */
struct other {
	struct rec_tls *tls;
	struct rec_lane *lane;
	uint32_t phase;
};

static inline struct other other_begin(const struct rec_frame *caller)
{
	struct other other = { .tls = &rec_tls };

	other.lane = rec_other_enter(other.tls, caller, &other.phase);
	if (other.lane && !rec_lane_sync(other.lane)) {
		struct rec_lane *renewed = rec_lane_renew(other.lane, caller);

		if (!renewed && other.tls->own)
			rec_lane_leave(other.tls, other.lane, other.phase);
		other.lane = renewed;
	}
	return other;
}

static inline void other_end(struct other *other)
{
	if (other->lane)
		rec_lane_leave(other->tls, other->lane, other->phase);
}

static inline uint32_t other_stack(const struct other *other, const struct rec_frame *caller)
{
	return rec.options.stacks || rec.options.calls_stacks ? rec_stack_take(other->lane, caller)
							      : TAPE_NODE_NONE;
}

/* FORK, EXEC and DLOPEN; path may be NULL. */
void rec_note_path(enum tape_extended type, uint32_t pid, const char *path,
		   const struct rec_frame *caller);

/*
 * Such a hook never starts the recording: an allocator may call it with its lock held, and the
 * start calls the loader. NULL: the function is not defined.
 */
#define REAL(name)                                                                                 \
	(likely(rec_real.name)                                                                     \
		 ? rec_real.name                                                                   \
		 : (__typeof__(rec_real.name))rec_real_early(offsetof(struct rec_real, name)))

#endif
