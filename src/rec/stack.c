/*
 * stack: from a hook's caller to a node id. Rules come from one table that all threads share:
 * direct-mapped, one 64-bit word an entry, so that it is read and replaced without a lock.
 */
#include "rec/rec.h"

#include <errno.h>
#include <stdatomic.h>

#include "core/hash.h"

static inline uint32_t walk_rule(void *context, uint64_t lookup_pc);
static void walk_map_ahead(struct rec_lane *lane, uint64_t sp);

static bool walk_slow(void *context, struct memo_state *state, bool *end_ret);
static bool walk_known(void *context, uint64_t lookup_pc);
static bool walk_mapped(void *context, uint64_t begin, uint64_t end);

#include "unwind/memo_walk.h"

#include "core/poison.h"

/*
 * An entry: the pc's 32 bits that its place does not tell, then the rule's 31; 0: empty. The place
 * is a cache line chosen by the scrambled pc / 128 (scrambling is a bijection, so that line and tag
 * say exactly which pc it is), and in it one of eight words by the rest: the return addresses in
 * one function are few and near, and so are their rules.
 */
enum { LINE_BITS = 15, SLOT_BITS = 3, BLOCK_BITS = 7, PC_BITS = 47, RULE_WORD_BITS = 31 };
enum { HIGH_BITS = PC_BITS - BLOCK_BITS, TAG_HIGH_BITS = HIGH_BITS - LINE_BITS };
enum { RULE_NO_INFORMATION = 15 }; /* UNWIND_NONE, but not an empty entry */

static const uint64_t SCRAMBLE = UINT64_C(0x9e3779b97f4a7c15);

/* Set once at start. */
static _Atomic uint64_t *rule_table;

bool rec_stack_init(void)
{
	const size_t bytes = sizeof(*rule_table) << (LINE_BITS + SLOT_BITS);

	if (rule_table)
		return true;
	rule_table = sys_map_private(bytes);
	atomic_fetch_add(&rec.private_bytes, bytes);
	return rule_table != NULL;
}

/* After an object was unmapped. Racing insertions of other threads are of live pcs. */
void rec_stack_forget_rules(void)
{
	for (size_t i = 0; i < (size_t)1 << (LINE_BITS + SLOT_BITS); i++)
		if (atomic_load_explicit(&rule_table[i], memory_order_relaxed))
			atomic_store_explicit(&rule_table[i], 0, memory_order_relaxed);
}

static REC_COLD uint32_t rule_miss(struct rec_lane *lane, uint64_t lookup_pc,
				   _Atomic uint64_t *line, uint64_t slot, uint64_t tag)
{
	const uint64_t began = rec_ticks();
	uint32_t rule = rec_module_rule(lane, lookup_pc);

	if (unwind_rule_kind(rule) == UNWIND_SP && unwind_rule_offset(rule) == 0)
		rule = UNWIND_NONE; /* would not move */
	if (rule == UNWIND_NONE)
		rule = RULE_NO_INFORMATION;
	if (atomic_load_explicit(&line[slot], memory_order_relaxed) != 0)
		slot ^= 1;
	if (lookup_pc >> PC_BITS == 0)
		atomic_store_explicit(&line[slot], tag << RULE_WORD_BITS | rule,
				      memory_order_relaxed);
	rec_usage_note(lane);
	rec_slow_ticks(began);
	return rule;
}

static inline bool rule_is(uint64_t word, uint64_t tag)
{
	return word >> RULE_WORD_BITS == tag && word != 0;
}

static inline uint32_t walk_rule(void *context, uint64_t lookup_pc)
{
	const uint64_t scrambled =
		(lookup_pc >> BLOCK_BITS) * SCRAMBLE & ((UINT64_C(1) << HIGH_BITS) - 1);
	const uint64_t low = lookup_pc & ((1 << BLOCK_BITS) - 1);
	const uint64_t tag = (scrambled & ((1 << TAG_HIGH_BITS) - 1)) << BLOCK_BITS | low;
	const uint64_t slot = low * 37 >> 5 & ((1 << SLOT_BITS) - 1);
	_Atomic uint64_t *line = &rule_table[scrambled >> TAG_HIGH_BITS << SLOT_BITS];
	uint64_t word = atomic_load_explicit(&line[slot], memory_order_relaxed);

	if (unlikely(!rule_is(word, tag))) {
		word = atomic_load_explicit(&line[slot ^ 1], memory_order_relaxed);
		if (!rule_is(word, tag))
			return rule_miss(context, lookup_pc, line, slot, tag);
	}
	return (uint32_t)word & ((UINT32_C(1) << RULE_WORD_BITS) - 1);
}

static bool walk_known(void *context, uint64_t lookup_pc)
{
	return walk_rule(context, lookup_pc) != RULE_NO_INFORMATION;
}

static bool walk_slow(void *context, struct memo_state *state, bool *end_ret)
{
	const struct rec_lane *lane = context;
	struct unwind_regs regs = {
		.known = 1u << UNWIND_REG_BP | 1u << UNWIND_REG_SP | 1u << UNWIND_REG_PC,
		.exact = state->exact,
	};

	if (!walk_mapped(context, state->sp, state->sp + 8))
		return false;
	walk_map_ahead(context, state->sp);
	regs.value[UNWIND_REG_BP] = state->bp;
	regs.value[UNWIND_REG_SP] = state->sp;
	regs.value[UNWIND_REG_PC] = state->pc;
	if (!rec_module_full_step(&regs, state->sp - 128, lane->mapped_end, end_ret))
		return false;
	if (regs.value[UNWIND_REG_SP] <= state->sp)
		return false;
	*state = (struct memo_state) {
		.pc = regs.value[UNWIND_REG_PC],
		.sp = regs.value[UNWIND_REG_SP],
		.bp = regs.known >> UNWIND_REG_BP & 1 ? regs.value[UNWIND_REG_BP] : 0,
		.exact = regs.exact,
	};
	return true;
}

/*
 * Whether every page can be read: the kernel reads eight bytes of each for a system call that then
 * refuses its other argument and changes nothing. (mincore() would accept a guard page.)
 */
static REC_COLD bool probe_mapped(uint64_t begin, uint64_t end)
{
	enum { PAGE = 4096, NO_SUCH_HOW = -1 };

	for (begin &= ~UINT64_C(7); begin < end; begin = (begin & -(uint64_t)PAGE) + PAGE)
		if (SYS_CALL4(SYS_rt_sigprocmask, NO_SUCH_HOW, begin, NULL, 8) == -EFAULT)
			return false;
	return true;
}

/* What was found mapped is remembered as one range: the part of the stack that is in use. */
static bool walk_mapped(void *context, uint64_t begin, uint64_t end)
{
	struct rec_lane *lane = context;

	if (likely(begin >= lane->mapped_begin && end <= lane->mapped_end))
		return true;
	if (end < begin || end - begin > WALK_FRAME_BYTES_MAX || !probe_mapped(begin, end))
		return false;
	if (begin > lane->mapped_end || end < lane->mapped_begin || lane->mapped_end == 0) {
		lane->mapped_begin = begin;
		lane->mapped_end = end;
	}
	lane->mapped_begin = u64_min(lane->mapped_begin, begin) & -UINT64_C(4096);
	lane->mapped_end = align_up(u64_max(lane->mapped_end, end), 4096);
	return true;
}

/*
 * All of the stack there is, which a full step may want to read: by ever larger steps beyond what
 * is known, then by ever smaller ones. Known pages are not probed again.
 */
static REC_COLD void walk_map_ahead(struct rec_lane *lane, uint64_t sp)
{
	enum { STEP_MIN = 4096 };
	uint64_t step = STEP_MIN;

	while (lane->mapped_end - sp < WALK_FRAME_BYTES_MAX / 2 &&
	       walk_mapped(lane, lane->mapped_end, lane->mapped_end + step))
		step *= 2;
	for (; step >= STEP_MIN; step /= 2)
		walk_mapped(lane, lane->mapped_end, lane->mapped_end + step);
}

/*
 * A lane's nodes by (parent, pc): a hash table with linear probing that grows to REC_EDGE_BITS_MAX
 * and is then emptied and filled anew. It forgets all or nothing on purpose: if single nodes were
 * evicted, each that is defined again would have a new id, and all below it would miss as well.
 */
static inline size_t edge_index(const struct rec_lane *lane, uint32_t parent, uint64_t pc)
{
	uint64_t hash = (pc ^ (uint64_t)parent << 32) * SCRAMBLE;

	hash = (hash ^ hash >> 32) * UINT64_C(0xc2b2ae3d27d4eb4f);
	return hash >> (64 - lane->edge_bits);
}

/*
 * Where a node's children are looked for first: one cache line for two parents whose ids follow
 * each other, because the nodes of a new path are defined one after the other and used together.
 */
enum { NEAR_SLOTS = 4 };

static inline size_t edge_near(const struct rec_lane *lane, uint32_t parent)
{
	return (size_t)(parent >> 1) * NEAR_SLOTS & (((size_t)1 << lane->edge_bits) - 1);
}

static inline size_t edge_slot(uint64_t pc)
{
	return pc * 37 >> 5 & (NEAR_SLOTS - 1);
}

/* The edge, or the empty entry where it would be. */
static struct rec_edge *edge_find(struct rec_lane *lane, uint32_t parent, uint64_t pc)
{
	struct rec_edge *line = lane->edges + edge_near(lane, parent);
	const size_t slot = edge_slot(pc);
	size_t index;

	for (size_t i = 0; i < NEAR_SLOTS; i++) {
		struct rec_edge *edge = &line[slot ^ i];

		if ((edge->pc == pc && edge->parent == parent) || !edge->node)
			return edge;
	}
	index = edge_index(lane, parent, pc);
	for (;;) {
		struct rec_edge *edge = &lane->edges[index];

		if ((edge->pc == pc && edge->parent == parent) || !edge->node)
			return edge;
		index = (index + 1) & (((size_t)1 << lane->edge_bits) - 1);
	}
}

static REC_COLD void edges_rehash(struct rec_lane *lane, const struct rec_edge *old, size_t count)
{
	for (const struct rec_edge *edge = old; edge < old + count; edge++)
		if (edge->node)
			*edge_find(lane, edge->parent, edge->pc) = *edge;
}

/* Makes room: a table four times as large, or an empty one. */
static REC_COLD void edges_make_room(struct rec_lane *lane)
{
	const size_t count = (size_t)1 << lane->edge_bits;
	const size_t bytes = count * sizeof(struct rec_edge);
	struct rec_edge *old = lane->edges;
	struct rec_edge *edges = NULL;

	if (lane->edge_bits < REC_EDGE_BITS_MAX)
		edges = sys_map_private(bytes * 4);
	if (!edges) {
		memset(old, 0, bytes);
		lane->edge_count = 0;
		return;
	}
	lane->edges = edges;
	lane->edge_bits += 2;
	edges_rehash(lane, old, count);
	sys_munmap(old, bytes);
	atomic_fetch_add(&rec.private_bytes, bytes * 3);
}

static REC_COLD uint32_t node_define(struct rec_lane *lane, struct rec_edge *edge, uint32_t parent,
				     uint64_t pc)
{
	struct tape_node *node;

	if (unlikely(!lane->chunk ||
		     lane->nodes - sizeof(*node) < lane->cursor + TAPE_EVENT_ROOM) &&
	    !rec_chunk_next(lane))
		return TAPE_NODE_NONE;
	lane->nodes -= sizeof(*node);
	lane->limit = lane->nodes - TAPE_EVENT_ROOM;
	node = (struct tape_node *)lane->nodes;
	node->parent = parent;
	node->pc_low = (uint32_t)pc;
	node->pc_high = (uint32_t)(pc >> 32 & 0xffff) | (uint32_t)(pc >> 63) << 31;
	atomic_store_explicit((_Atomic uint32_t *)&lane->chunk->node_count,
			      lane->chunk->node_count + 1, memory_order_release);
	*edge = (struct rec_edge) { .pc = pc, .parent = parent, .node = lane->next_node };
	if (++lane->edge_count > (size_t)5 << lane->edge_bits >> 3)
		edges_make_room(lane);
	return lane->next_node++;
}

static __attribute__((noinline)) uint32_t node_get_far(struct rec_lane *lane, uint32_t parent,
						       uint64_t pc)
{
	struct rec_edge *edge = edge_find(lane, parent, pc);

	return likely(edge->node) ? edge->node : node_define(lane, edge, parent, pc);
}

/* pc with bit 63: interrupted there. */
static inline uint32_t node_get(struct rec_lane *lane, uint32_t parent, uint64_t pc)
{
	const struct rec_edge *edge = lane->edges + edge_near(lane, parent) + edge_slot(pc);

	if (likely(edge->pc == pc && edge->parent == parent))
		return edge->node;
	return node_get_far(lane, parent, pc);
}

/*
 * Gives the fresh frames their nodes and makes them part of the kept stack, from the outermost
 * inwards in one pass.
 */
static inline uint32_t stack_keep(struct rec_lane *lane, uint32_t met, uint32_t node)
{
	struct unwind_memo *memo = &lane->memo;
	const uint32_t cut = memo->cut;
	uint32_t to = met;

	if (unlikely(memo->fresh - cut > met)) { /* no room: the kept stack is forgotten */
		unwind_memo_clear(memo);
		to = memo->capacity;
	} else {
		memo->top = met - (memo->fresh - cut);
	}
	for (uint32_t i = memo->fresh; i-- > 0;) {
		const struct memo_pair pair = memo->fresh_pair[i];
		const struct memo_meta *meta = &memo->fresh_meta[i];
		const uint32_t flags = meta->flags;

		if (likely(flags & MEMO_FRAME))
			node = node_get(lane, node,
					pair.value | (uint64_t)(flags & MEMO_EXACT ? 1 : 0) << 63);
		if (unlikely(i < cut))
			continue;
		to--;
		memo->pair[to] = pair;
		memo->meta[to].sp = meta->sp;
		memo->meta[to].bp = meta->bp;
		memo->meta[to].bp_slot = meta->bp_slot;
		memo->meta[to].node = node;
		memo->meta[to].flags = flags;
	}
	return node;
}

static REC_COLD void selfcheck(struct rec_lane *lane, const struct rec_frame *frame);

static inline struct memo_state stack_state(const struct rec_frame *frame)
{
	return (struct memo_state) {
		.pc = frame->pc, .sp = frame->sp, .bp = frame->bp, .slot = frame->sp - 8
	};
}

uint32_t rec_stack_take(struct rec_lane *lane, const struct rec_frame *frame)
{
	struct memo_state state = stack_state(frame);
	uint32_t met;
	uint32_t node = TAPE_NODE_ROOT;

	switch (unwind_memo_walk(&lane->memo, lane, &state, &met)) {
	case MEMO_MET:
		node = lane->memo.meta[met].node;
		if (likely(lane->memo.fresh == 0)) {
			lane->memo.top = met;
			break;
		}
		node = stack_keep(lane, met, node);
		break;
	case MEMO_COMPLETE:
		node = stack_keep(lane, met, TAPE_NODE_ROOT);
		break;
	case MEMO_TRUNCATED:
		rec_lost(TAPE_LOST_TRUNCATED);
		node = stack_keep(lane, met, TAPE_NODE_TRUNCATED);
		break;
	case MEMO_FULL:
		if (rec_lane_grow_memo(lane))
			return rec_stack_take(lane, frame);
		rec_lost(TAPE_LOST_TRUNCATED);
		unwind_memo_clear(&lane->memo);
		return TAPE_NODE_NONE;
	}
	if (unlikely(rec.options.selfcheck))
		selfcheck(lane, frame);
	return node;
}

/*
 * MEMTAPE_SELFCHECK=1: walks again by rules alone, keeping nothing, and compares with the kept
 * stack; says in the tape's counters how often that was done and how often they differed.
 */
static REC_COLD void selfcheck(struct rec_lane *lane, const struct rec_frame *frame)
{
	struct unwind_memo *memo = &lane->memo;
	struct memo_state state = stack_state(frame);
	uint32_t kept = memo->top;
	bool same = true;

	if (memo->cut || memo->top == memo->capacity)
		return; /* not kept: nothing to compare */
	for (;;) {
		while (kept < memo->capacity && !(memo->meta[kept].flags & MEMO_FRAME))
			kept++;
		same = same && kept < memo->capacity && memo->pair[kept].value == state.pc &&
		       memo->meta[kept].sp == state.sp;
		memo->fresh = memo->cut = 0;
		if (!same || walk_over(memo, lane, &state,
				       walk_rule(lane, state.pc - !state.exact)) != WALK_ON)
			break;
		kept++;
	}
	while (same && ++kept < memo->capacity)
		same = !(memo->meta[kept].flags & MEMO_FRAME);
	__atomic_fetch_add(&rec.live->lost[TAPE_SELFCHECKS], 1, __ATOMIC_RELAXED);
	if (!same)
		__atomic_fetch_add(&rec.live->lost[TAPE_SELFCHECK_DIFFERENCES], 1,
				   __ATOMIC_RELAXED);
}
