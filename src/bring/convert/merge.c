#include "convert/merge.h"

#include <fcntl.h>
#include <unistd.h>

#include "capture/capture.h"
#include "convert/merge_parts.h"
#include "core/hash.h"

enum {
	TEXT_BYTES_MAX = 6144,
	NAME_BYTES_MAX = 255,
};

/* Identifies what a merged tape was made of. */
static void session_hash(const struct session *session, uint8_t uuid[TAPE_UUID_BYTES])
{
	uint64_t halves[2] = { TAPE_SESSION_VERSION + session->manifest.ends.count,
			       session->count + session->manifest.usages.count };

	for (size_t i = 0; i < session->count; i++) {
		const struct session_member *member = &session->members[i];

		halves[0] = hash_bytes(member->header.uuid, TAPE_UUID_BYTES, halves[0]);
		halves[1] = hash_bytes(&member->bytes, sizeof(member->bytes), halves[1]);
		halves[1] = hash_bytes(member->file, strlen(member->file), halves[1]);
	}
	memcpy(uuid, halves, sizeof(halves));
}

bool merge_is_current(const struct session *session, const char *path)
{
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t uuid[TAPE_UUID_BYTES];
	struct tape_header header;

	session_hash(session, uuid);
	return fd >= 0 && pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
	       memcmp(header.magic, TAPE_MAGIC, sizeof(header.magic)) == 0 &&
	       memcmp(header.uuid, uuid, sizeof(uuid)) == 0;
}

/* What a record has behind its fixed part. */
static const char *tail_of(struct merge *merge, const struct tape_extended_record *record,
			   size_t bytes)
{
	const char *tail = (const char *)record->payload + bytes;

	if (record->payload_bytes <= bytes)
		return "";
	return arena_text(&merge->arena, tail, strnlen(tail, record->payload_bytes - bytes));
}

static void take_thread(struct merge *merge, const struct capture_event *event,
			const struct tape_extended_record *record)
{
	struct merge_stream *stream = &merge->streams.items[event->stream];
	struct tape_thread thread;
	const char *name;

	if (record->payload_bytes < sizeof(thread))
		return;
	memcpy(&thread, record->payload, sizeof(thread));
	if (record->type == TAPE_EXT_THREAD_NAME && thread.tid == 0)
		return; /* of another thread, which its handle names */
	name = tail_of(merge, record, sizeof(thread));
	if (!name) {
		compose_fail(merge->composer, err_nomem());
		return;
	}
	if (record->type == TAPE_EXT_THREAD)
		stream->tid = thread.tid;
	if (*name)
		stream->name = name;
	if (stream->strand)
		merge_thread_write(merge, stream);
}

/* --- records and events ----------------------------------------------------------------------- */

static void take_mark(struct merge *merge, const struct capture_event *event,
		      const struct tape_extended_record *record)
{
	const struct tape_mark mark = { .node = TAPE_NODE_NONE };
	const char *text = tail_of(merge, record, sizeof(mark));

	if (record->payload_bytes < sizeof(mark) || !text)
		return;
	compose_record(merge->composer, merge_strand(merge, event->stream), merge->composer->now,
		       &(struct compose_record) { .type = TAPE_EXT_MARK,
						  .payload = &mark,
						  .bytes = sizeof(mark),
						  .tail = text,
						  .tail_bytes = strnlen(text, 1024) });
}

static void take_extended(struct merge *merge, const struct capture_event *event, uint64_t ns)
{
	const struct tape_extended_record record = capture_event_extended(event);
	struct tape_fork fork;

	switch (record.type) {
	case TAPE_EXT_THREAD:
	case TAPE_EXT_THREAD_NAME:
		composer_time(merge->composer, ns);
		take_thread(merge, event, &record);
		break;
	case TAPE_EXT_MARK:
		composer_time(merge->composer, ns);
		take_mark(merge, event, &record);
		break;
	case TAPE_EXT_FORK:
		if (record.payload_bytes < sizeof(fork))
			break;
		memcpy(&fork, record.payload, sizeof(fork));
		if (!merge_live_fork(merge, fork.pid, ns))
			compose_fail(merge->composer, err_nomem());
		break;
	case TAPE_EXT_SYSTEM:
	case TAPE_EXT_CGROUP: /* of the first process */
		if (!merge_keep(merge, ns, record.type, record.payload, record.payload_bytes))
			compose_fail(merge->composer, err_nomem());
		break;
	default: /* of one process: its own tape has it */
		break;
	}
}

static uint64_t address_of(const struct merge *merge, uint64_t address)
{
	const uint64_t mask = (UINT64_C(1) << TAPE_MEMBER_ADDRESS_BITS) - 1;

	return address == 0 ? 0
			    : (address & mask) | (uint64_t)merge->index << TAPE_MEMBER_ADDRESS_BITS;
}

static struct err *take_event(struct merge *merge, const struct capture_event *event, uint64_t ns)
{
	const bool has_stack = event->stack != CAPTURE_STACK_NONE;
	uint32_t stack = COMPOSE_NO_STACK;

	if (has_stack || !tape_fn_sizeless(event->fn)) {
		stack = merge_stack(merge, event->stack);
		if (stack == UINT32_MAX)
			return err_nomem();
	}
	if (!merge_live_event(merge, event, ns))
		return err_nomem();
	compose_event(merge->composer, merge_strand(merge, event->stream),
		      &(struct compose_event) { .fn = (enum tape_fn)event->fn,
						.address = address_of(merge, event->address),
						.size = event->size,
						.usable = event->usable,
						.stack = stack });
	return NULL;
}

static struct err *take_events(void *context, const struct capture_event *events, size_t count)
{
	struct merge *merge = context;
	const uint64_t begin_ns = merge_now(merge)->begin_ns;

	for (size_t i = 0; i < count && !composer_failed(merge->composer); i++) {
		/* what is written at the end may have any time */
		const uint64_t ns = u64_min(begin_ns + model_ns(merge->model, events[i].ticks),
					    merge_now(merge)->end_ns);
		struct err *err = NULL;

		if (events[i].fn == TAPE_FN_LATENCY)
			continue;
		if (events[i].fn == TAPE_FN_EXTENDED) {
			take_extended(merge, &events[i], ns);
			continue;
		}
		composer_time(merge->composer, ns);
		err = take_event(merge, &events[i], ns);
		if (err)
			return err;
	}
	return NULL;
}

/* --- a member --------------------------------------------------------------------------------- */

static const char *behind_slash(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Texts may have anything in them. */
static void line_add(struct str *lines, const char *text)
{
	for (; *text && lines->len < TEXT_BYTES_MAX; text++) {
		if (*text == '\n' || *text == '\\')
			str_add_char(lines, '\\');
		str_add_char(lines, *text == '\n' ? 'n' : *text);
	}
	str_add_char(lines, '\n');
}

/* The words of its command line as far as there is room. */
static bool member_words(struct merge *merge, struct merge_member *member)
{
	const struct model_process *process = model_process(merge->model);
	const char *name = behind_slash(process->argc > 0 ? process->argv[0] : process->exe);
	CLEAN(str_deinit) struct str words = { 0 };

	line_add(&words, merge->session->members[merge->index].file);
	line_add(&words, name);
	for (uint32_t i = 0; i < process->argc && words.len < TEXT_BYTES_MAX; i++)
		line_add(&words, process->argv[i]);
	member->name = arena_text(&merge->arena, name, strnlen(name, NAME_BYTES_MAX));
	member->text =
		arena_text(&merge->arena, str_text(&words), u64_min(words.len, TEXT_BYTES_MAX));
	return member->name && member->text && !words.failed;
}

/* The kernel knows it better than the process did, unless that went on with another program. */
static void end_take(const struct merge *merge, struct merge_member *member)
{
	const struct manifest_end *end = merge->session->members[merge->index].end;

	if (!end || member->end_kind == TAPE_END_EXEC)
		return;
	if (member->end_kind != TAPE_END_EXIT && end->monotonic_ns > merge->begin_ns)
		member->end_ns = u64_max(member->end_ns, end->monotonic_ns - merge->begin_ns);
	member->end_kind = end->is_signal ? TAPE_END_SIGNAL : TAPE_END_EXIT;
	member->end_status = end->number;
}

static void member_sums(struct merge *merge, struct merge_member *member)
{
	const struct model_totals *totals = model_totals(merge->model);
	const struct model_quality *quality = model_quality(merge->model);
	const struct model_process *process = model_process(merge->model);

	member->sums.allocated_count = totals->allocated.count;
	member->sums.allocated_bytes = totals->allocated.bytes;
	member->sums.peak_bytes = totals->peak.bytes;
	member->sums.leaked_count = totals->leaked.count;
	member->sums.leaked_bytes = totals->leaked.bytes;
	member->end_kind = process->end_kind;
	member->end_status = process->end_status;
	member->end_ns = member->begin_ns + process->duration_ns;
	end_take(merge, member);
	for (size_t i = 0; i < array_size(merge->lost); i++)
		merge->lost[i] += quality->lost[i];
	if (quality->damage_count > 0 || quality->missing_chunk_count > 0)
		composer_note(merge->composer, "%s is damaged: a part of it is missing here",
			      merge->session->members[merge->index].file);
}

void merge_block_gone(struct merge *merge, uint64_t address)
{
	if (merge->streams.count == 0)
		return;
	compose_event(merge->composer, merge_strand(merge, merge->streams.count - 1),
		      &(struct compose_event) { .fn = TAPE_FN_PROCESS_END,
						.address = address_of(merge, address),
						.stack = COMPOSE_NO_STACK });
}

/* Who packs a tape has seen that nobody writes to it; a raw one may be of a process that runs. */
static bool has_ended(const struct capture *capture)
{
	return capture_header(capture)->kind == TAPE_KIND_PACKED && capture_is_finished(capture);
}

static struct err *play(struct merge *merge, const struct capture *capture)
{
	const struct capture_player player = { .events = take_events, .context = merge };
	CLEAN(capture_stacks_deinit) struct capture_stacks stacks = { 0 };
	struct capture_played played;
	struct err *err = NULL;

	merge->stacks.count = merge->streams.count = 0;
	for (size_t i = 0; !err && i < model_stack_count(merge->model); i++)
		if (!vec_u32_push(&merge->stacks, UINT32_MAX))
			err = err_nomem();
	for (size_t i = 0; !err && i < capture_stream_count(capture); i++)
		if (!merge_streams_push(&merge->streams, (struct merge_stream) { .tid = 0 }))
			err = err_nomem();
	if (!err && (!capture_stacks_init(&stacks) || !merge_live_begin(merge)))
		err = err_nomem();
	merge->composer->now = 0;
	composer_time(merge->composer, merge_now(merge)->begin_ns);
	if (!err)
		err = capture_play(capture, &stacks, &player, &played);
	composer_time(merge->composer, merge_now(merge)->end_ns);
	merge_live_end(merge, !err && has_ended(capture));
	return err;
}

/* A tape that cannot be read does not keep the others from being shown. */
static struct err *member_read(struct merge *merge, const struct session_member *from)
{
	struct merge_member *member = merge_now(merge);
	CLEAN(capture_destroy) struct capture *capture = NULL;
	CLEAN(model_destroy) struct model *model = NULL;
	CLEAN(err_destroy) struct err *trouble = capture_open(from->path, &capture);

	member->begin_ns = member->end_ns = from->start_monotonic_ns - merge->begin_ns;
	if (!trouble)
		trouble = model_load_capture(capture, MODEL_SUMMARY, &model);
	if (trouble) {
		composer_note(merge->composer, "%s cannot be read: %s", from->file,
			      err_message(trouble));
		return NULL;
	}
	merge->model = model;
	member->is_read = true;
	if (!member_words(merge, member) ||
	    !merge_root_make(merge, member->name, from->pid, &member->root))
		return err_nomem();
	member_sums(merge, member);
	return play(merge, capture);
}

/* --- the whole -------------------------------------------------------------------------------- */

static void member_write(struct merge *merge, size_t index)
{
	const struct session_member *from = &merge->session->members[index];
	const struct merge_member *member = &merge->members[index];
	const struct tape_member record = {
		.number = (uint32_t)index,
		.parent =
			from->parent == SESSION_NOBODY ? TAPE_MEMBER_NOBODY : (int32_t)from->parent,
		.pid = from->pid,
		.parent_pid = from->parent_pid,
		.start = from->start,
		.end_kind = member->end_kind,
		.end_status = member->end_status,
		.begin_ns = member->begin_ns,
		.end_ns = member->end_ns,
	};
	struct strand *rest = compose_strand(merge->composer, COMPOSE_STREAM_REST);

	compose_record(merge->composer, rest, merge->end_ns,
		       &(struct compose_record) { .type = TAPE_EXT_MEMBER,
						  .payload = &record,
						  .bytes = sizeof(record),
						  .tail = member->text,
						  .tail_bytes = strlen(member->text),
						  .node_at = offsetof(struct tape_member, node),
						  .stack = member->root });
	compose_record(merge->composer, rest, merge->end_ns,
		       &(struct compose_record) { .type = TAPE_EXT_MEMBER_SUMS,
						  .payload = &member->sums,
						  .bytes = sizeof(member->sums) });
}

static void rest_write(struct merge *merge)
{
	struct composer *composer = merge->composer;
	struct tape_lost lost;
	struct strand *rest = compose_strand(composer, COMPOSE_STREAM_REST);

	composer->now = 0;
	composer_time(composer, merge->end_ns);
	if (!merge_kept_write(merge))
		compose_fail(composer, err_nomem());
	for (size_t i = 0; i < merge->session->count; i++)
		if (merge->members[i].is_read)
			member_write(merge, i);
	memcpy(lost.lost, merge->lost, sizeof(lost.lost));
	compose_record(composer, rest, composer->now,
		       &(struct compose_record) {
			       .type = TAPE_EXT_LOST, .payload = &lost, .bytes = sizeof(lost) });
}

/* The process as which all of them are shown: the first one. */
static void whole_begin(struct merge *merge)
{
	const struct session *session = merge->session;
	const struct session_member *first = &session->members[0];

	composer_process(merge->composer, &(struct compose_process) {
						  .exe = session->manifest.command_count
								 ? session->manifest.command[0]
								 : first->file,
						  .argv = session->manifest.command,
						  .argc = (uint32_t)session->manifest.command_count,
						  .pid = first->pid,
						  .parent_pid = first->parent_pid,
						  .elf_machine = first->header.elf_machine,
						  .start_realtime_ns = first->start_realtime_ns,
					  });
	merge->composer->missing &= ~(uint32_t)(TAPE_MISSING_THREADS | TAPE_MISSING_PROCESS);
	composer_source(merge->composer, TAPE_IMPORT_SESSION, session->path);
	composer_allow_empty(merge->composer);
	session_hash(session, merge->composer->header.uuid);
	if (session->missing_count > 0)
		composer_note(merge->composer,
			      "%zu tapes that the manifest names are not in the folder any more",
			      session->missing_count);
	if (!session->manifest.has_ended)
		composer_note(merge->composer, "the recording goes on, or memtape was killed: what "
					       "there was until now is here");
}

/* The last program of the first process has the end of the whole. */
static void whole_end(struct merge *merge)
{
	const uint32_t pid = merge->session->members[0].pid;
	const struct merge_member *last = &merge->members[0];

	for (size_t i = 1; i < merge->session->count; i++)
		if (merge->session->members[i].pid == pid &&
		    merge->session->members[i].start == TAPE_MEMBER_EXEC)
			last = &merge->members[i];
	composer_end(merge->composer, last->end_kind, last->end_status);
}

static struct err *members_begin(struct merge *merge)
{
	const struct session *session = merge->session;

	merge->members = arena_array(&merge->arena, session->count, sizeof(*merge->members));
	if (!merge->members)
		return err_nomem();
	merge->begin_ns = session->members[0].start_monotonic_ns;
	merge->processes_module = composer_module(
		merge->composer, &(struct compose_module) { .path = "[processes]" });
	for (size_t i = 0; i < session->count; i++) {
		const struct session_member *member = &session->members[i];
		const bool is_forked = member->start == TAPE_MEMBER_FORKED;

		merge->members[i].sums = (struct tape_member_sums) {
			.number = (uint32_t)i,
			.inherited_bytes = is_forked ? UINT64_MAX : 0,
		};
		if (is_forked && member->parent != SESSION_NOBODY)
			merge->members[member->parent].forks = true;
	}
	return NULL;
}

static struct err *merge_all(struct merge *merge, struct merged *merged)
{
	struct compose_result result;
	struct err *err = members_begin(merge);

	whole_begin(merge);
	for (size_t i = 0; !err && i < merge->session->count; i++) {
		merge->index = i;
		err = member_read(merge, &merge->session->members[i]);
		merged->unread_count += !merge->members[i].is_read;
		merge->end_ns = u64_max(merge->end_ns, merge->members[i].end_ns);
		merge->end_ns = u64_max(merge->end_ns, merge->composer->now);
	}
	if (err)
		return err;
	rest_write(merge);
	whole_end(merge);
	err = composer_finish(merge->composer, &result);
	if (!err) {
		merged->event_count = result.event_count;
		merged->bytes_out = result.bytes_out;
	}
	return err;
}

struct err *merge_session(const struct session *session, const char *path,
			  struct merged *merged_ret)
{
	CLEAN(composer_destroy) struct composer *composer = NULL;
	struct merge merge = { .session = session };
	struct merged merged = { 0 };
	struct err *err;

	assert(session->count > 0);
	if (session->count > TAPE_MEMBERS_MAX)
		return err_new(
			ERR_LIMIT,
			"%s has %zu tapes; at most %d can be shown as one: --process chooses",
			session->path, session->count, TAPE_MEMBERS_MAX);
	err = composer_create(path, true, &composer);
	if (err)
		return err;
	merge.composer = composer;
	err = merge_all(&merge, &merged);
	for (size_t i = 0; merge.members && i < session->count; i++)
		map_deinit(&merge.members[i].inherited);
	vec_u32_deinit(&merge.stacks);
	merge_streams_deinit(&merge.streams);
	merge_objects_deinit(&merge.objects);
	merge_kepts_deinit(&merge.kept);
	interner_deinit(&merge.object_keys);
	map_deinit(&merge.roots);
	map_deinit(&merge.live);
	arena_deinit(&merge.arena);
	if (!err)
		*merged_ret = merged;
	return err;
}
