/* Field values of a stack, of its frames, or of the group of all its allocations. */
#include "select/field_values.h"

#include <assert.h>

#include "select/peaks.h"
#include "sums/suppress.h"

uint64_t stack_depth(const struct facts *facts, uint32_t stack)
{
	assert(facts->prepared & FACT_DEPTHS);
	return facts->depths[stack];
}

uint64_t stack_truncated(const struct facts *facts, uint32_t stack)
{
	const struct capture_stack *stacks = model_stacks(facts->model);

	while (stack >= CAPTURE_STACK_FIRST)
		stack = stacks[stack].parent;
	return stack == CAPTURE_STACK_TRUNCATED;
}

uint64_t stack_process(const struct facts *facts, uint32_t stack)
{
	return (uintptr_t)facts->members.items[members_of(&facts->members, stack)].name;
}

uint64_t stack_pid(const struct facts *facts, uint32_t stack)
{
	return facts->members.items[members_of(&facts->members, stack)].pid;
}

/* --- the frame that allocates; values of texts are names or pointers to the text ------------- */

const char *text_name(const struct facts *facts, uint64_t id)
{
	return names_get(facts->names, (uint32_t)id)->function;
}

const char *text_pointer(const struct facts *facts, uint64_t id)
{
	(void)facts;
	return (const char *)(uintptr_t)id;
}

static uint64_t pointer_or_none(const char *text)
{
	return text && *text ? (uintptr_t)text : FIELD_NONE;
}

static uint64_t site_name(const struct name_frame *site)
{
	return site ? site->name : FIELD_NONE;
}

static uint64_t site_source(const struct name_frame *site)
{
	return pointer_or_none(site ? site->file : NULL);
}

static uint64_t site_location(const struct facts *facts, const struct name_frame *site)
{
	return pointer_or_none(site ? frame_location(facts, site) : NULL);
}

static uint64_t site_module(const struct facts *facts, const struct name_frame *site)
{
	return pointer_or_none(site ? names_get(facts->names, site->name)->module : NULL);
}

uint64_t stack_site(const struct facts *facts, uint32_t stack)
{
	assert(facts->prepared & FACT_SITES);
	return site_name(facts->sites[stack]);
}

uint64_t stack_site_source(const struct facts *facts, uint32_t stack)
{
	assert(facts->prepared & FACT_SITES);
	return site_source(facts->sites[stack]);
}

uint64_t stack_site_location(const struct facts *facts, uint32_t stack)
{
	assert(facts->prepared & FACT_SITES);
	return site_location(facts, facts->sites[stack]);
}

uint64_t stack_site_module(const struct facts *facts, uint32_t stack)
{
	assert(facts->prepared & FACT_SITES);
	return site_module(facts, facts->sites[stack]);
}

uint64_t stack_exact_site(const struct facts *facts, uint32_t stack)
{
	assert(facts->prepared & FACT_EXACT_SITES);
	return site_name(facts->exact_sites[stack]);
}

uint64_t stack_exact_site_source(const struct facts *facts, uint32_t stack)
{
	assert(facts->prepared & FACT_EXACT_SITES);
	return site_source(facts->exact_sites[stack]);
}

uint64_t stack_exact_site_location(const struct facts *facts, uint32_t stack)
{
	assert(facts->prepared & FACT_EXACT_SITES);
	return site_location(facts, facts->exact_sites[stack]);
}

uint64_t stack_exact_site_module(const struct facts *facts, uint32_t stack)
{
	assert(facts->prepared & FACT_EXACT_SITES);
	return site_module(facts, facts->exact_sites[stack]);
}

/* --- every frame --------------------------------------------------------------------------- */

const char *frame_function(const struct facts *facts, const struct name_frame *frame)
{
	return names_get(facts->names, frame->name)->function;
}

const char *frame_source(const struct facts *facts, const struct name_frame *frame)
{
	(void)facts;
	return frame->file;
}

/* Also NULL if out of memory, which is treated as not known. */
const char *frame_location(const struct facts *facts, const struct name_frame *frame)
{
	if (!frame->file || !frame->line)
		return NULL;
	return arena_printf(facts->arena, "%s:%u", frame->file, frame->line);
}

const char *frame_module(const struct facts *facts, const struct name_frame *frame)
{
	return names_get(facts->names, frame->name)->module;
}

const char *module_other(const struct facts *facts, const char *text)
{
	return model_linked(facts->model, text);
}

/* --- the group ----------------------------------------------------------------------------- */

static const struct model_stack_sums *sums_of(const struct facts *facts, uint32_t stack)
{
	return model_stack_sums(facts->model, stack);
}

static struct model_sum leaked_of(const struct facts *facts, uint32_t stack)
{
	return suppressed_has(facts->suppressed, stack) ? (struct model_sum) { 0 }
							: sums_of(facts, stack)->leaked;
}

uint64_t group_allocations(const struct facts *facts, uint32_t stack)
{
	return sums_of(facts, stack)->allocated.count;
}

uint64_t group_bytes(const struct facts *facts, uint32_t stack)
{
	return sums_of(facts, stack)->allocated.bytes;
}

uint64_t group_leaked(const struct facts *facts, uint32_t stack)
{
	return leaked_of(facts, stack).count;
}

uint64_t group_leaked_bytes(const struct facts *facts, uint32_t stack)
{
	return leaked_of(facts, stack).bytes;
}

uint64_t group_temporary(const struct facts *facts, uint32_t stack)
{
	return sums_of(facts, stack)->temporary.count;
}

uint64_t group_peak_bytes(const struct facts *facts, uint32_t stack)
{
	return sums_of(facts, stack)->peak.bytes;
}

uint64_t whole_group_leaked(const struct facts *facts, uint32_t stack)
{
	const struct model_stack_sums *sums = sums_of(facts, stack);

	return leaked_of(facts, stack).count == sums->allocated.count && sums->allocated.count > 0;
}

uint64_t group_first_time(const struct facts *facts, uint32_t stack)
{
	assert(facts->prepared & FACT_GROUPS);
	return facts->groups[stack].first_ns;
}

uint64_t group_last_time(const struct facts *facts, uint32_t stack)
{
	assert(facts->prepared & FACT_GROUPS);
	return facts->groups[stack].last_ns;
}

uint64_t group_interval(const struct facts *facts, uint32_t stack)
{
	assert(facts->prepared & FACT_GROUPS);
	return facts->groups[stack].last_ns - facts->groups[stack].first_ns;
}

uint64_t group_usage_max(const struct facts *facts, uint32_t stack)
{
	assert(facts->prepared & FACT_PEAKS);
	return facts->peaks[stack].bytes;
}

uint64_t group_usage_max_time(const struct facts *facts, uint32_t stack)
{
	assert(facts->prepared & FACT_PEAKS);
	return facts->peaks[stack].ns;
}
