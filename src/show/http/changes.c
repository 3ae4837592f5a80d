#include "http/changes.h"

#include <assert.h>
#include <time.h>

#include "answer/speak.h"
#include "base/monotonic.h"
#include "base/str.h"
#include "core/hash.h"
#include "http/api_tapes.h"
#include "http/server.h"

enum { LOOK_MS = 100, ID_BYTES = 17 };

struct changes {
	struct stream stream; /* first */
	struct server *server;
	const bool *cancel;
	char id[ID_BYTES];  /* the client's last event; "": none */
	struct str pending; /* to be sent, starting at `sent` */
	size_t sent;
	uint64_t due_ns;   /* when to check for changes next */
	uint64_t spoke_ns; /* when something was last sent */
};

static bool is_cancelled(const struct changes *changes)
{
	return changes->cancel && __atomic_load_n(changes->cancel, __ATOMIC_RELAXED);
}

/* One object on one line. */
static struct err *info_write(struct server *server, FILE *out)
{
	const struct emit_settings settings = { .format = EMIT_JSON, .compact = true };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct speaker speaker = { .emit = emit };
	struct api_info info = { 0 };
	struct err *err = emit ? api_info_find(server, &arena, &info) : err_nomem();

	if (!err)
		err = speak_object(&speaker, &api_shape_info, &info);
	api_info_end(&info);
	return err ? err : emit_finish(emit);
}

static struct err *describe(struct server *server, char **text_ret)
{
	CLEAN(free) char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct err *err = out ? info_write(server, out) : err_nomem();

	if (out && fclose(out) != 0 && !err)
		err = err_nomem();
	if (err)
		return err;
	text[strcspn(text, "\n")] = '\0';
	*text_ret = steal(text);
	return NULL;
}

/* Queues what the client does not have yet; nothing if it is up to date. */
static void look(struct changes *changes)
{
	CLEAN(free) char *text = NULL;
	char id[ID_BYTES];
	struct err *err = describe(changes->server, &text);

	if (err) { /* out of memory: try again later */
		err_destroy(err);
		return;
	}
	str_format(id, sizeof(id), "%016llx",
		   (unsigned long long)hash_bytes(text, strlen(text), 0));
	if (strcmp(id, changes->id) == 0)
		return;
	str_printf(&changes->pending, "id: %s\ndata: %s\n\n", id, text);
	memcpy(changes->id, id, sizeof(id));
}

/* False: the stream ends. */
static bool wait_for_some(struct changes *changes)
{
	while (changes->pending.len == 0) {
		const uint64_t now = monotonic_ns();

		if (is_cancelled(changes) || changes->pending.failed)
			return false;
		if (now >= changes->due_ns) {
			changes->due_ns = now + CHANGES_PERIOD_MS * UINT64_C(1000000);
			look(changes);
		}
		if (changes->pending.len == 0 &&
		    now - changes->spoke_ns >= CHANGES_QUIET_MS * UINT64_C(1000000))
			str_add(&changes->pending, ":\n\n");
		if (changes->pending.len == 0)
			nanosleep(&(struct timespec) { .tv_nsec = LOOK_MS * 1000000L }, NULL);
	}
	return !changes->pending.failed;
}

static size_t changes_read(struct stream *stream, char *buf, size_t max)
{
	struct changes *changes = (struct changes *)stream;
	size_t bytes;

	if (!wait_for_some(changes))
		return 0;
	bytes = u64_min(max, changes->pending.len - changes->sent);
	memcpy(buf, changes->pending.ptr + changes->sent, bytes);
	changes->sent += bytes;
	changes->spoke_ns = monotonic_ns();
	if (changes->sent == changes->pending.len) {
		str_clear(&changes->pending);
		changes->sent = 0;
	}
	return bytes;
}

static void changes_destroy(struct stream *stream)
{
	struct changes *changes = (struct changes *)stream;

	__atomic_sub_fetch(&changes->server->stream_count, 1, __ATOMIC_RELAXED);
	str_deinit(&changes->pending);
	free(changes);
}

struct err *changes_create(struct server *server, const bool *cancel, const char *last_id,
			   struct stream **stream_ret)
{
	struct changes *changes;

	assert(server->tapes);
	if (__atomic_add_fetch(&server->stream_count, 1, __ATOMIC_RELAXED) > CHANGES_STREAMS_MAX) {
		__atomic_sub_fetch(&server->stream_count, 1, __ATOMIC_RELAXED);
		return err_new(ERR_STATE, "already %d event streams", CHANGES_STREAMS_MAX);
	}
	changes = calloc(1, sizeof(*changes));
	if (!changes) {
		__atomic_sub_fetch(&server->stream_count, 1, __ATOMIC_RELAXED);
		return err_nomem();
	}
	changes->stream = (struct stream) { changes_read, changes_destroy };
	changes->server = server;
	changes->cancel = cancel;
	changes->spoke_ns = monotonic_ns();
	if (last_id && strlen(last_id) == ID_BYTES - 1)
		memcpy(changes->id, last_id, ID_BYTES);
	str_printf(&changes->pending, "retry: %d\n\n", 2 * CHANGES_PERIOD_MS);
	*stream_ret = &changes->stream;
	return NULL;
}
