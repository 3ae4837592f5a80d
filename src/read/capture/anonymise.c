#include "capture/anonymise_parts.h"

#include <assert.h>

#include "core/random.h"
#include "tape/edit.h"

static struct err *write_extended(void *context, size_t stream, struct rewrite_record *record,
				  bool *keeps_ret)
{
	struct anonymise *anonymise = context;
	struct err *err;

	(void)stream;
	anonymise->out.count = 0;
	err = anonymise_payload(anonymise, record->type, record->ticks, record->payload.items,
				record->payload.count);
	*keeps_ret = anonymise->out.count > 0 || record->type == TAPE_EXT_STRIPPED;
	record->payload.count = 0;
	if (err || anonymise->out.count == 0)
		return err;
	if (!vec_u8_reserve(&record->payload, anonymise->out.count))
		return err_nomem();
	memcpy(record->payload.items, anonymise->out.items, anonymise->out.count);
	record->payload.count = anonymise->out.count;
	return NULL;
}

static bool write_event(void *context, size_t stream, uint64_t ordinal, struct tape_event *event)
{
	const struct anonymise *anonymise = context;

	(void)stream;
	(void)ordinal;
	event->address = anonymise_address(anonymise, event->address);
	return true;
}

static uint64_t write_pc(void *context, uint64_t pc)
{
	const struct anonymise *anonymise = context;

	pc = anonymise_address(anonymise, pc);
	return pc;
}

static struct err *write_edit(void *context, struct packed_stream *collector)
{
	const struct tape_edit edit = { .what = TAPE_EDIT_ANONYMISED };
	struct err *err = anonymise_scans_write(context, collector);

	if (err)
		return err;
	return packed_stream_extended(collector, TAPE_EXT_EDIT, collector->last_ticks, &edit,
				      sizeof(edit), NULL, 0);
}

/* --- addresses ------------------------------------------------------------------------------- */

static void note_extended(struct shift *shift, const struct capture_event *event)
{
	const struct tape_extended_record record = capture_event_extended(event);
	struct tape_module module;
	struct tape_map map;

	if (record.type == TAPE_EXT_MODULE && record.payload_bytes >= sizeof(module)) {
		memcpy(&module, record.payload, sizeof(module));
		shift_note(shift, module.begin, module.end - module.begin);
	} else if (record.type >= TAPE_EXT_MMAP && record.type <= TAPE_EXT_BRK &&
		   record.payload_bytes >= sizeof(map)) {
		memcpy(&map, record.payload, sizeof(map));
		shift_note(shift, map.address, map.bytes);
		shift_note(shift, map.old_address, map.old_bytes);
	}
}

static struct err *note_events(void *context, const struct capture_event *events, size_t count)
{
	struct shift *shift = context;

	for (size_t i = 0; i < count; i++) {
		if (events[i].fn == TAPE_FN_EXTENDED)
			note_extended(shift, &events[i]);
		else
			shift_note(shift, events[i].address, events[i].size);
	}
	return NULL;
}

static struct err *shift_find(struct anonymise *anonymise)
{
	CLEAN(capture_stacks_deinit) struct capture_stacks stacks = { 0 };
	const struct capture_player player = { .events = note_events, .context = anonymise->shift };
	struct capture_played played;
	struct err *err;

	if (!capture_stacks_init(&stacks))
		return err_nomem();
	err = capture_play(anonymise->capture, &stacks, &player, &played);
	for (size_t i = CAPTURE_STACK_FIRST; i < stacks.nodes.count && !err; i++)
		shift_note(anonymise->shift, stacks.nodes.items[i].pc, 0);
	return err ? err : shift_make(anonymise->shift);
}

/* --- the whole ------------------------------------------------------------------------------- */

static struct err *uuid_make(uint8_t uuid[TAPE_UUID_BYTES])
{
	const int rc = random_fill(uuid, TAPE_UUID_BYTES);

	return rc < 0 ? err_errno_new(-rc, "random bytes") : NULL;
}

static struct err *header_write(struct anonymise *anonymise, struct tape_header *header)
{
	static const uint8_t none[TAPE_UUID_BYTES];
	struct err *err = NULL;

	header->pid = anonymise_pid(anonymise, header->pid, &err);
	header->parent_pid = anonymise_pid(anonymise, header->parent_pid, &err);
	if (!err)
		err = uuid_make(header->uuid);
	if (!err && memcmp(header->parent_uuid, none, sizeof(none)) != 0)
		err = uuid_make(header->parent_uuid);
	anonymise->realtime_ns = header->start_realtime_ns;
	header->start_realtime_ns = anonymise_realtime(anonymise, header->start_realtime_ns);
	header->session = 0;
	header->flags &= ~(uint32_t)TAPE_FLAG_SYMBOLS;
	memset(header->reserved, 0, sizeof(header->reserved));
	return err;
}

struct err *anonymise_tape(const struct capture *capture, int fd,
			   const struct anonymise_settings *settings,
			   struct rewritten *rewritten_ret)
{
	struct anonymise anonymise = { .capture = capture,
				       .settings = settings,
				       .shift = calloc(1, sizeof(struct shift)) };
	const struct rewriter rewriter = {
		.context = &anonymise,
		.event = write_event,
		.extended = write_extended,
		.pc = write_pc,
		.finish = write_edit,
		.keeps_stacks = true,
	};
	struct tape_header header = *capture_header(capture);
	struct err *err = anonymise.shift ? shift_find(&anonymise) : err_nomem();

	assert(fd >= 0);
	assert(settings->text && settings->build_id);
	if (!err)
		err = header_write(&anonymise, &header);
	if (!err)
		err = rewrite_tape(capture, fd, &header, settings->level, &rewriter, rewritten_ret);
	free(anonymise.shift);
	map_deinit(&anonymise.pids);
	anonymise_scans_free(&anonymise);
	str_deinit(&anonymise.text);
	vec_u8_deinit(&anonymise.out);
	return err;
}
