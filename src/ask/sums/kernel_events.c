#include "sums/kernel_events.h"

#include <assert.h>

static const struct model_note *note_of(const struct model *model, size_t i,
					enum tape_extended type, enum tape_kernel_kind kind)
{
	const struct model_note *note = &model_notes(model)[i];
	const uint32_t own = type == TAPE_EXT_KERNEL ? note->kernel.kind : note->kernel_count.kind;

	return note->type == type && own == (uint32_t)kind ? note : NULL;
}

bool kernel_events_exist(const struct model *model, enum tape_kernel_kind kind)
{
	for (size_t i = model_note_count(model); i-- > 0;)
		if (note_of(model, i, TAPE_EXT_KERNEL_COUNT, kind) ||
		    note_of(model, i, TAPE_EXT_KERNEL, kind))
			return true;
	return false;
}

static bool is_within(const struct model_note *note, uint64_t from_ns, uint64_t until_ns)
{
	return note->ns >= from_ns && note->ns <= until_ns;
}

struct kernel_events kernel_events_total(const struct model *model, enum tape_kernel_kind kind,
					 uint64_t from_ns, uint64_t until_ns)
{
	struct kernel_events total = { .period = 1 };

	for (size_t i = 0; i < model_note_count(model); i++) {
		const struct model_note *event = note_of(model, i, TAPE_EXT_KERNEL, kind);
		const struct model_note *count = note_of(model, i, TAPE_EXT_KERNEL_COUNT, kind);

		if (event && is_within(event, from_ns, until_ns)) {
			total.recorded++;
			total.bytes += kernel_event_bytes(&event->kernel);
		}
		if (!count)
			continue;
		total.count = count->kernel_count.count;
		total.lost = count->kernel_count.lost;
		total.own = count->kernel_count.own;
		total.period = u64_max(count->kernel_count.period, 1);
		total.is_user_only = count->kernel_count.limits & TAPE_KERNEL_USER_ONLY;
	}
	/* A tape that was cut short lacks the kernel's count. */
	total.count = u64_max(total.count, total.recorded);
	return total;
}

void kernel_events_add(const struct model *model, enum tape_kernel_kind kind, uint64_t from_ns,
		       uint64_t until_ns, struct model_stack_sums *stacks)
{
	for (size_t i = 0; i < model_note_count(model); i++) {
		const struct model_note *event = note_of(model, i, TAPE_EXT_KERNEL, kind);

		if (!event || !is_within(event, from_ns, until_ns))
			continue;
		assert(event->stack < model_stack_count(model));
		stacks[event->stack].temporary.count++;
		stacks[event->stack].temporary.bytes += kernel_event_bytes(&event->kernel);
	}
}
