/*
 * rules: unwind rules that threads share, so that each is compiled only once. A table of single
 * words that are read and replaced without a lock; a lane looks up each code address here once
 * (tables.h keeps the result).
 */
#include "rec/rec.h"

#include <stdatomic.h>

#include "core/poison.h"

/*
 * An entry: the part of the pc that its index does not determine, whether it was displaced, then
 * the rule's 31 bits; 0: empty. The index is chosen by the scrambled pc, and as scrambling is a
 * bijection, index and tag identify the pc exactly.
 */
enum { PC_BITS = 47, INDEX_BITS = 16, TAG_BITS = PC_BITS - INDEX_BITS, RULE_BITS = 31 };

static const uint64_t RULE_MASK = (UINT64_C(1) << RULE_BITS) - 1;

/* Set once at start. */
static _Atomic uint64_t *rule_table;

bool rec_rules_init(void)
{
	const size_t bytes = sizeof(*rule_table) << INDEX_BITS;

	if (rule_table)
		return true;
	rule_table = sys_map_private(bytes);
	atomic_fetch_add(&rec.private_bytes, bytes);
	return rule_table != NULL;
}

/* After an object was unmapped. Racing insertions of other threads are of live pcs. */
void rec_rules_forget(void)
{
	CHECK(rule_table);
	for (size_t i = 0; i < (size_t)1 << INDEX_BITS; i++)
		if (atomic_load_explicit(&rule_table[i], memory_order_relaxed))
			atomic_store_explicit(&rule_table[i], 0, memory_order_relaxed);
}

static uint32_t rule_compile(struct rec_lane *lane, uint64_t lookup_pc)
{
	const uint64_t began = rec_ticks();
	uint32_t rule = rec_module_rule(lane, lookup_pc);

	if (unwind_rule_kind(rule) == UNWIND_SP && unwind_rule_offset(rule) == 0 &&
	    unwind_rule_ra(rule))
		rule = UNWIND_NONE; /* would not move */
	if (rule == UNWIND_NONE)
		rule = REC_RULE_NONE;
	rec_usage_note(lane);
	rec_slow_ticks(began);
	return rule;
}

uint32_t rec_rule_get(struct rec_lane *lane, uint64_t lookup_pc)
{
	const uint64_t key = lookup_pc >> ARCH_CODE_SHIFT;
	const uint64_t scrambled = key * REC_SCRAMBLE & ((UINT64_C(1) << PC_BITS) - 1);
	const uint64_t tag = (scrambled & ((UINT64_C(1) << TAG_BITS) - 1)) << 1;
	_Atomic uint64_t *home = &rule_table[scrambled >> TAG_BITS & ~UINT64_C(1)];
	const uint64_t side = scrambled >> TAG_BITS & 1;
	uint64_t aside, word = 0;
	uint32_t rule;

	CHECK(rule_table);
	if (key >> PC_BITS)
		return rule_compile(lane, lookup_pc);
	for (aside = 0; aside < 2; aside++) {
		word = atomic_load_explicit(&home[side ^ aside], memory_order_relaxed);
		if (word == 0)
			break;
		if (word >> RULE_BITS == (tag | aside))
			return (uint32_t)(word & RULE_MASK);
	}
	rule = rule_compile(lane, lookup_pc);
	aside &= 1;
	atomic_store_explicit(&home[side ^ aside], (tag | aside) << RULE_BITS | rule,
			      memory_order_relaxed);
	return rule;
}
