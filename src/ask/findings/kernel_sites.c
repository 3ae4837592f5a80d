#include "findings/kernel_sites.h"

#include "base/number.h"
#include "sums/kernel_events.h"

/*
 * A stack is within an allocation if one that it goes on from has allocated: at that address the
 * allocator was called. Parents have lower numbers.
 */
struct err *kernel_sites_create(const struct finding_search *search, struct kernel_sites *sites)
{
	const size_t stack_count = model_stack_count(search->model);
	const struct capture_stack *stacks = model_stacks(search->model);

	sites->count = search->sites.count;
	sites->items = arena_array(search->arena, sites->count + 1, sizeof(*sites->items));
	sites->site_of = arena_array(search->arena, stack_count + 1, sizeof(*sites->site_of));
	if (!sites->items || !sites->site_of)
		return err_nomem();
	memset(sites->items, 0, (sites->count + 1) * sizeof(*sites->items));
	for (size_t i = 0; i < stack_count; i++) {
		const uint32_t own = search->sites.site_of[i], parent = stacks[i].parent;

		sites->site_of[i] = own != UINT32_MAX ? own
				    : parent < i      ? sites->site_of[parent]
						      : (uint32_t)sites->count;
	}
	return NULL;
}

/* The one that has allocated, of those that it goes on from; else itself. */
static uint32_t allocation_of(const struct finding_search *search, uint32_t stack)
{
	const struct capture_stack *stacks = model_stacks(search->model);

	for (uint32_t at = stack;; at = stacks[at].parent) {
		if (search->sites.site_of[at] != UINT32_MAX)
			return at;
		if (stacks[at].parent >= at)
			return stack;
	}
}

void kernel_sites_add(const struct finding_search *search, struct kernel_sites *sites,
		      uint32_t stack, uint64_t ns, uint64_t bytes)
{
	struct kernel_site *site = &sites->items[sites->site_of[stack]];
	const uint32_t allocation = allocation_of(search, stack);

	site->first_ns = site->count == 0 ? ns : site->first_ns;
	site->last_ns = ns;
	site->count++;
	site->bytes += bytes;
	/* Boyer and Moore's vote: what is left has most, if it has more than half. */
	if (site->stack_count == 0 || site->stack == allocation) {
		site->stack = allocation;
		site->stack_count++;
	} else {
		site->stack_count--;
	}
}

struct err *kernel_sites_find(const struct finding_search *search, enum tape_kernel_kind kind,
			      struct kernel_sites *sites)
{
	struct err *err = kernel_sites_create(search, sites);

	for (size_t i = 0; i < model_note_count(search->model) && !err; i++) {
		const struct model_note *note = &model_notes(search->model)[i];
		const uint64_t bytes =
			note->type == TAPE_EXT_KERNEL ? kernel_event_bytes(&note->kernel) : 0;

		if (note->type != TAPE_EXT_KERNEL || note->kernel.kind != kind || bytes == 0)
			continue;
		kernel_sites_add(search, sites, note->stack, note->ns, bytes);
	}
	return err;
}

uint64_t kernel_site_rate(const struct kernel_site *site)
{
	const double seconds = (double)(site->last_ns - site->first_ns) / 1e9;

	return seconds > 1e-9 ? u64_of_double((double)site->count / seconds) : site->count;
}

void kernel_site_add_rate(struct str *out, const struct kernel_site *site)
{
	str_add_grouped(out, kernel_site_rate(site));
	str_add(out, " a second");
}
