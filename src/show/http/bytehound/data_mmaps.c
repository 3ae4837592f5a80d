/*
 * /data/<id>/mmaps: calls of mmap and munmap in chronological order.
 */
#include "http/bytehound/data.h"

#include <sys/mman.h>

static void protection_emit(struct data *data, int32_t prot)
{
	static const struct {
		const char *key;
		int32_t bit;
	} bits[] = {
		{ "is_readable", PROT_READ },	{ "is_writable", PROT_WRITE },
		{ "is_executable", PROT_EXEC }, { "grows_down", PROT_GROWSDOWN },
		{ "grows_up", PROT_GROWSUP },
	};

	emit_object(data->emit, "mmap_protection");
	for (size_t i = 0; i < array_size(bits); i++)
		emit_bool(data->emit, bits[i].key, prot & bits[i].bit);
	emit_bool(data->emit, "is_semaphore", false);
	emit_end(data->emit);
}

static void flags_emit(struct data *data, int32_t flags)
{
	emit_object(data->emit, "mmap_flags");
	emit_bool(data->emit, "is_shared", flags & MAP_SHARED);
	emit_bool(data->emit, "is_private", flags & MAP_PRIVATE);
	emit_bool(data->emit, "is_fixed", flags & MAP_FIXED);
	emit_bool(data->emit, "is_anonymous", flags & MAP_ANONYMOUS);
	emit_bool(data->emit, "is_uninitialized", false);
	emit_end(data->emit);
}

static void call_emit(struct data *data, const struct model_note *note)
{
	const struct tape_map *map = &note->map;
	const uint64_t start_ns = model_process(data->call->model)->start_realtime_ns;

	emit_object(data->emit, NULL);
	emit_text(data->emit, "kind", note->type == TAPE_EXT_MMAP ? "Mmap" : "Munmap");
	data_timeval(data, "timestamp", start_ns + note->ns);
	data_timeval(data, "timestamp_relative", note->ns);
	data_address(data, "pointer", map->address);
	emit_u64(data->emit, "length", map->bytes, EMIT_PLAIN);
	data_thread(data, "thread", note->thread);
	if (note->type == TAPE_EXT_MMAP) {
		emit_null(data->emit, "requested_address"); /* not on a tape */
		protection_emit(data, map->prot);
		flags_emit(data, map->flags);
		emit_i64(data->emit, "file_descriptor", map->fd);
		emit_u64(data->emit, "offset", map->offset, EMIT_PLAIN);
	}
	data_backtrace(data, note->stack);
	emit_end(data->emit);
}

static struct err *run(struct call *call)
{
	struct data data;
	struct err *err = data_begin(call, &data);

	if (err)
		return err;
	emit_list(data.emit, NULL);
	for (size_t i = 0; i < model_note_count(call->model); i++) {
		const struct model_note *note = &model_notes(call->model)[i];
		const bool is_call = note->type == TAPE_EXT_MMAP || note->type == TAPE_EXT_MUNMAP;

		if (is_call && note->map.address != UINT64_MAX)
			call_emit(&data, note);
	}
	emit_end(data.emit);
	return data_end(&data, NULL);
}

const struct route route_data_mmaps = {
	.path = "/data/{c}/mmaps",
	.summary = "calls of mmap and munmap, as memory-profiler has them",
	.type = "application/json; charset=utf-8",
	.flags = ROUTE_TAPE | ROUTE_RAW | ROUTE_FILE | ROUTE_LENIENT,
	.run = run,
};
