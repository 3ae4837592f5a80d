#include "capture/strip.h"

#include <assert.h>

#include "base/map.h"
#include "capture/strip_plan.h"
#include "tape/edit.h"

struct strip {
	const struct capture *capture;
	const struct strip_settings *settings;
	struct strip_plan plan;
	struct stripped *stripped;
	/* State while measuring */
	uint64_t *ordinals; /* by stream */
	uint64_t *outgoing; /* by stream: address of a realloc, 0: none */
	struct map sizes;   /* live blocks that are left out, by address */
	uint64_t hidden_bytes;
};

/* --- what is left out ------------------------------------------------------------------------ */

static void hide_end(struct strip *strip, uint64_t address)
{
	uint64_t size = 0;

	if (map_remove(&strip->sizes, address, &size))
		strip->hidden_bytes -= size;
}

static struct err *hide(struct strip *strip, const struct capture_event *event)
{
	uint64_t *size;

	if (event->address == 0)
		return NULL;
	hide_end(strip, event->address);
	size = map_put(&strip->sizes, event->address, NULL);
	if (!size)
		return err_nomem();
	*size = event->size;
	strip->hidden_bytes += event->size;
	strip->stripped->count++;
	strip->stripped->bytes += event->size;
	return NULL;
}

static struct err *measure_dropped(struct strip *strip, const struct capture_event *event)
{
	switch (tape_fn_class((enum tape_fn)event->fn)) {
	case TAPE_CLASS_REALLOC_IN:
		hide_end(strip, strip->outgoing[event->stream]);
		return hide(strip, event);
	case TAPE_CLASS_ALLOC:
		return hide(strip, event);
	case TAPE_CLASS_FREE:
		hide_end(strip, event->address);
		return NULL;
	case TAPE_CLASS_REALLOC_OUT:
		strip->outgoing[event->stream] = event->address;
		return NULL;
	case TAPE_CLASS_REALLOC_FAIL:
	case TAPE_CLASS_LATENCY:
	case TAPE_CLASS_EXTENDED:
	case TAPE_CLASS_INVALID:
		break;
	}
	return NULL;
}

static struct err *measure_events(void *context, const struct capture_event *events, size_t count)
{
	struct strip *strip = context;
	const struct strip_plan *plan = &strip->plan;
	struct err *err = NULL;

	for (size_t i = 0; i < count && !err; i++) {
		const struct capture_event *event = &events[i];

		if (event->fn >= TAPE_FN_COUNT)
			continue;
		if (strip_plan_drops(plan, event->stream, strip->ordinals[event->stream]++))
			err = measure_dropped(strip, event);
		if (event->ticks >= plan->from_ticks && event->ticks <= plan->until_ticks)
			strip->stripped->hidden_bytes =
				u64_max(strip->stripped->hidden_bytes, strip->hidden_bytes);
	}
	return err;
}

static struct err *measure(struct strip *strip)
{
	CLEAN(capture_stacks_deinit) struct capture_stacks stacks = { 0 };
	const size_t stream_count = capture_stream_count(strip->capture);
	const struct capture_player player = { .events = measure_events, .context = strip };
	struct capture_played played;
	struct err *err = NULL;

	strip->ordinals = calloc(stream_count + 1, sizeof(*strip->ordinals));
	strip->outgoing = calloc(stream_count + 1, sizeof(*strip->outgoing));
	if (!strip->ordinals || !strip->outgoing || !capture_stacks_init(&stacks))
		err = err_nomem();
	if (!err)
		err = capture_play(strip->capture, &stacks, &player, &played);
	free(strip->ordinals);
	free(strip->outgoing);
	map_deinit(&strip->sizes);
	return err;
}

/* --- what is written ------------------------------------------------------------------------- */

static bool write_event(void *context, size_t stream, uint64_t ordinal, struct tape_event *event)
{
	const struct strip *strip = context;

	if (strip->settings->drops_free_stacks && tape_fn_sizeless(event->fn))
		event->node = TAPE_NODE_NONE;
	return !strip_plan_drops(&strip->plan, stream, ordinal);
}

/* Rare records stay, whatever their time: moments and modules keep their meaning. */
static struct err *write_extended(void *context, size_t stream, struct rewrite_record *record,
				  bool *keeps_ret)
{
	const struct strip *strip = context;
	const struct strip_plan *plan = &strip->plan;
	const struct strip_settings *settings = strip->settings;

	(void)stream;
	/* Each builds on those before it, or says the same of the mappings. */
	if (record->type == TAPE_EXT_SPACE || record->type == TAPE_EXT_TOUCHED ||
	    record->type == TAPE_EXT_NODE_USE || record->type == TAPE_EXT_HUGE_LOST)
		*keeps_ret = !settings->drops_space && record->ticks <= plan->until_ticks;
	else if (record->type == TAPE_EXT_SYMBOLS)
		*keeps_ret = !settings->drops_names;
	return NULL;
}

static uint32_t edit_flags(const struct strip_settings *settings)
{
	const bool is_cut = settings->from_ns > 0 || settings->until_ns < UINT64_MAX;

	return (settings->min_lifetime_ns ? TAPE_EDIT_LIFETIME : 0) | (is_cut ? TAPE_EDIT_CUT : 0) |
	       (settings->selected ? TAPE_EDIT_FILTER : 0) |
	       (settings->drops_free_stacks ? TAPE_EDIT_FREE_STACKS : 0) |
	       (settings->drops_names ? TAPE_EDIT_NAMES : 0) |
	       (settings->drops_space ? TAPE_EDIT_SPACE : 0);
}

static struct err *write_edit(void *context, struct packed_stream *collector)
{
	enum { TEXT_MAX = 4096 };
	const struct strip *strip = context;
	const struct strip_settings *settings = strip->settings;
	const char *text = settings->filter ? settings->filter : "";
	const struct tape_edit edit = {
		.what = edit_flags(settings),
		.min_lifetime_ns = settings->min_lifetime_ns,
		.from_ns = settings->from_ns,
		.until_ns = settings->until_ns,
		.stripped_count = strip->stripped->count,
		.stripped_bytes = strip->stripped->bytes,
		.hidden_bytes = strip->stripped->hidden_bytes,
	};

	return packed_stream_extended(collector, TAPE_EXT_EDIT, collector->last_ticks, &edit,
				      sizeof(edit), text, strnlen(text, TEXT_MAX));
}

static struct err *write_tape(struct strip *strip, int fd)
{
	const struct strip_settings *settings = strip->settings;
	struct tape_header header = *capture_header(strip->capture);
	const struct rewriter rewriter = {
		.context = strip,
		.event = write_event,
		.extended = write_extended,
		.finish = write_edit,
	};

	if (settings->drops_free_stacks)
		header.flags &= ~(uint32_t)TAPE_FLAG_FREE_STACKS;
	if (settings->drops_names)
		header.flags &= ~(uint32_t)TAPE_FLAG_SYMBOLS;
	return rewrite_tape(strip->capture, fd, &header, settings->level, &rewriter,
			    &strip->stripped->rewritten);
}

struct err *strip_tape(const struct capture *capture, int fd, const struct strip_settings *settings,
		       struct stripped *stripped_ret)
{
	struct stripped stripped = { 0 };
	struct strip strip = { .capture = capture, .settings = settings, .stripped = &stripped };
	struct err *err = strip_plan_make(capture, settings, &strip.plan);

	assert(fd >= 0);
	assert(settings->ns);
	assert(!settings->filter || settings->selected);
	if (!err)
		err = measure(&strip);
	if (!err)
		err = write_tape(&strip, fd);
	strip_plan_deinit(&strip.plan);
	if (!err)
		*stripped_ret = stripped;
	return err;
}
