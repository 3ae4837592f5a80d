#include "answer/about.h"

static const struct member before_members[] = {
	MEMBER(struct attached_before, count, COUNT, "blocks, of which stacks are not known"),
	MEMBER(struct attached_before, bytes, BYTES, "usable"),
	MEMBER(struct attached_before, is_complete, FLAG, "these are all that there were"),
	MEMBER(struct attached_before, trouble, TEXT, "why they are not", .nullable = true),
};
static const struct shape shape_before =
	SHAPE("RecordingBefore", struct attached_before, before_members);

static const struct member attached_members[] = {
	MEMBER(struct attached, at_ns, NS, "when", .title = "At"),
	MEMBER(struct attached, pause_ns, NS, "how long the process stood still"),
	MEMBER(struct attached, places, COUNT, "through which the allocator is called, recorded"),
	MEMBER(struct attached, other_places, COUNT,
	       "that lead to another allocator, not recorded"),
	MEMBER(struct attached, functions, COUNT,
	       "of the allocator that lead to the recorder themselves (--hook=inline)"),
	MEMBER(struct attached, before, OBJECT, "what was live then", .shape = &shape_before),
};
const struct shape shape_attached = SHAPE("RecordingAttached", struct attached, attached_members);

struct err *attached_find(const struct model *model, struct arena *arena,
			  const struct attached **attached_ret)
{
	for (size_t i = 0; i < model_note_count(model); i++) {
		const struct model_note *note = &model_notes(model)[i];
		struct attached *facts;

		if (note->type != TAPE_EXT_ATTACHED)
			continue;
		facts = arena_new(arena, struct attached);
		if (!facts)
			return err_nomem();
		*facts = (struct attached) {
			.at_ns = model_ns(model, note->attached.ticks),
			.pause_ns = note->attached.pause_ns,
			.places = note->attached.places,
			.other_places = note->attached.other_places,
			.functions = note->attached.functions,
			.before = { .count = note->attached.before_count,
				    .bytes = note->attached.before_bytes,
				    .is_complete = note->attached.flags & TAPE_ATTACHED_COMPLETE,
				    .trouble = note->text[0] ? note->text : NULL },
		};
		*attached_ret = facts;
	}
	return NULL;
}
