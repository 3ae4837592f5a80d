#include "http/daemon.h"

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>

#include "base/str.h"
#include "http/connections.h"
#include "http/framing.h"

enum {
	POOL_BYTES = 40 << 10, /* of one connection: request header, parsed data, response header */
	TICK_MS = 50,	       /* between checks while there are connections */
	STREAM_BLOCK_BYTES = 8 << 10,
	STREAMS_END_MS = 1000, /* for streams to announce their end */
	ANSWERS_END_MS = 3000, /* for answers to notice that they are cancelled */
	MHD_CONNECTIONS = 4 * DAEMON_CONNECTIONS, /* never reached: see watcher_run */
	SEND_RATE = 64 << 10 /* minimum bytes per second that a client must accept */
};

struct daemon {
	struct server *server;
	const struct listener *listener;
	struct MHD_Daemon *mhd;
	struct connections connections;
	int stop_fd;
	pthread_t watcher;
	bool has_watcher;
};

/* A request being received. */
struct incoming {
	char *target;
	struct str body;
	bool has_begun;
};

/* --- connections --------------------------------------------------------------------------- */

static void on_connection(void *cls, struct MHD_Connection *mhd, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct connections *connections = &((struct daemon *)cls)->connections;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		*context = connections_begin(connections, info->connect_fd, DAEMON_REQUEST_S);
	else
		connections_end(connections, *context);
}

static struct connection *connection_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void accept_one(struct daemon *daemon, int listen_fd)
{
	struct sockaddr_storage address = { 0 };
	socklen_t len = sizeof(address);
	const int fd =
		accept4(listen_fd, (struct sockaddr *)&address, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	connections_expect(&daemon->connections);
	/* MHD closes it on failure. */
	MHD_add_connection(daemon->mhd, fd, (struct sockaddr *)&address, len);
}

/*
 * Connections are accepted here and not by MHD, to support several sockets and a limit: beyond it
 * they wait in the kernel's queue. (MHD 0.9.75 deadlocks at its own limit.)
 */
static void *watcher_run(void *context)
{
	struct daemon *daemon = context;
	struct pollfd fds[LISTEN_FDS_MAX + 1] = { { .fd = daemon->stop_fd, .events = POLLIN } };
	const size_t count = daemon->listener->count;

	for (size_t i = 0; i < count; i++)
		fds[i + 1] = (struct pollfd) { .fd = daemon->listener->fds[i], .events = POLLIN };
	for (;;) {
		bool are_any;
		unsigned room = connections_watch(&daemon->connections, &are_any);

		poll(fds, room ? count + 1 : 1, are_any ? TICK_MS : -1);
		if (fds[0].revents)
			return NULL;
		for (size_t i = 0; i < count && room > 0; i++) {
			if (fds[i + 1].revents) {
				accept_one(daemon, fds[i + 1].fd);
				room--;
			}
		}
	}
}

/* --- requests ------------------------------------------------------------------------------ */

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *key,
				 const char *value)
{
	struct header *header = request_header(cls, key);

	(void)kind;
	if (header) {
		header->text = value ? value : "";
		header->count++;
	}
	return MHD_YES;
}

/* A stream being sent to a client. */
struct sending {
	struct daemon *daemon;
	struct connection *connection;
	struct stream *stream;
};

/*
 * Called by MHD on the connection's own thread, so the stream may block in here. If MHD does not
 * call again, the client did not take the data.
 */
static ssize_t sending_read(void *context, uint64_t offset, char *buf, size_t max)
{
	struct sending *sending = context;
	size_t bytes;

	(void)offset;
	connections_enter(&sending->daemon->connections, sending->connection, CONNECTION_STREAMING,
			  0);
	bytes = sending->stream->read(sending->stream, buf, max);
	connections_enter(&sending->daemon->connections, sending->connection, CONNECTION_STREAMING,
			  DAEMON_STALL_S);
	return bytes ? (ssize_t)bytes : MHD_CONTENT_READER_END_OF_STREAM;
}

static void sending_destroy(void *context)
{
	struct sending *sending = context;

	sending->stream->destroy(sending->stream);
	free(sending);
}

static struct MHD_Response *response_stream(struct daemon *daemon, struct connection *connection,
					    struct answer *answer)
{
	struct sending *sending = calloc(1, sizeof(*sending));
	struct MHD_Response *response = NULL;

	if (sending)
		response =
			MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK_BYTES,
							  sending_read, sending, sending_destroy);
	if (!response) {
		free(sending);
		return NULL;
	}
	*sending = (struct sending) { daemon, connection, steal(answer->stream) };
	return response;
}

static struct MHD_Response *response_body(struct answer *answer)
{
	struct MHD_Response *response;
	int fd;

	if (answer->fd >= 0) {
		fd = steal_fd(&answer->fd);
		response = MHD_create_response_from_fd64(answer->size, fd);
		if (!response)
			close(fd);
		return response;
	}
	if (!answer->blob || answer->blob->size == 0)
		return MHD_create_response_from_buffer(
			answer->blob ? 0 : answer->size,
			answer->blob ? (void *)"" : (void *)answer->bytes, MHD_RESPMEM_PERSISTENT);
	response = MHD_create_response_from_buffer_with_free_callback_cls(
		answer->blob->size, answer->blob->bytes, (MHD_ContentReaderFreeCallback)blob_put,
		answer->blob);
	if (response)
		answer->blob = NULL; /* owned by the response now */
	return response;
}

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
	if (value)
		MHD_add_response_header(response, name, value);
}

/*
 * A picture contains its own script. It runs in an opaque origin: from there neither the app's
 * token nor any answer can be read.
 */
static const char *content_policy(const struct answer *answer)
{
	if (answer->type && strcmp(answer->type, "image/svg+xml") == 0)
		return "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
		       "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
		       "frame-ancestors 'none'";
	return "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; "
	       "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
	       "frame-ancestors 'none'; require-trusted-types-for 'script'";
}

static void add_usual_headers(struct MHD_Response *response, const struct answer *answer)
{
	static const char *const usual[][2] = {
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
		{ "Permissions-Policy",
		  "camera=(), geolocation=(), microphone=(), payment=(), usb=()" },
	};

	add_header(response, "Content-Security-Policy", content_policy(answer));
	for (size_t i = 0; i < array_size(usual); i++)
		add_header(response, usual[i][0], usual[i][1]);
}

static void add_own_headers(struct MHD_Response *response, const struct answer *answer)
{
	char text[32 + sizeof(answer->file_name)];

	add_header(response, "Content-Type", answer->type);
	add_header(response, "Cache-Control",
		   answer->cache_control ? answer->cache_control : "no-store");
	add_header(response, "ETag", answer->etag);
	add_header(response, "Allow", answer->allow);
	if (answer->etag)
		add_header(response, "Vary", "Accept-Encoding");
	if (answer->is_gzip)
		add_header(response, "Content-Encoding", "gzip");
	if (answer->status == 401)
		add_header(response, "WWW-Authenticate", "Bearer");
	if (answer->closes)
		add_header(response, "Connection", "close");
	if (answer->retry_after)
		add_header(response, "Retry-After",
			   str_format(text, sizeof(text), "%u", answer->retry_after));
	if (answer->file_name[0])
		add_header(response, "Content-Disposition",
			   str_format(text, sizeof(text), "attachment; filename=\"%s\"",
				      answer->file_name));
}

static enum MHD_Result send_answer(struct daemon *daemon, struct MHD_Connection *mhd,
				   struct answer *answer)
{
	const uint64_t bytes = answer->blob ? answer->blob->size : answer->size;
	const bool is_stream = answer->stream;
	struct MHD_Response *response =
		is_stream ? response_stream(daemon, connection_of(mhd), answer)
			  : response_body(answer);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	add_usual_headers(response, answer);
	add_own_headers(response, answer);
	connections_enter(&daemon->connections, connection_of(mhd),
			  is_stream ? CONNECTION_STREAMING : CONNECTION_SENDING,
			  DAEMON_STALL_S + bytes / SEND_RATE);
	result = MHD_queue_response(mhd, answer->status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result refuse(struct daemon *daemon, struct MHD_Connection *mhd, unsigned status,
			      const char *message)
{
	CLEAN(answer_deinit) struct answer answer;

	answer_init(&answer);
	server_refuse(&answer, &(struct refusal) { status, message, NULL });
	answer.closes = true;
	return send_answer(daemon, mhd, &answer);
}

static enum MHD_Result request_answer(struct daemon *daemon, struct MHD_Connection *mhd,
				      const char *method, const struct incoming *incoming)
{
	struct connection *connection = connection_of(mhd);
	struct request request = {
		.method = method,
		.target = incoming->target,
		.body = incoming->body.ptr,
		.body_len = incoming->body.len,
		.cancel = connection ? &connection->cancel : NULL,
	};
	CLEAN(answer_deinit) struct answer answer;

	answer_init(&answer);
	MHD_get_connection_values(mhd, MHD_HEADER_KIND, on_header, &request);
	connections_enter(&daemon->connections, connection, CONNECTION_RUNNING, 0);
	server_answer(daemon->server, &request, &answer);
	return send_answer(daemon, mhd, &answer);
}

static enum MHD_Result on_line(void *cls, enum MHD_ValueKind kind, const char *key,
			       const char *value)
{
	(void)kind;
	framing_add(cls, key, value ? value : "");
	return MHD_YES;
}

/* What is wrong with a request according to its header; NULL: nothing. */
static const char *header_problem(struct MHD_Connection *mhd, const char *method,
				  const char *target, const char *version, unsigned *status_ret)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	const size_t header_bytes = info ? info->header_size : 0;
	struct framing framing = { 0 };

	if (header_bytes > DAEMON_HEADER_BYTES) {
		*status_ret = 431;
		return "the header of a request has at most 16 KiB";
	}
	MHD_get_connection_values(mhd, MHD_HEADER_KIND, on_line, &framing);
	return framing_problem(&framing, version, strlen(method) + strlen(target) + strlen(version),
			       header_bytes, DAEMON_BODY_BYTES, status_ret);
}

static enum MHD_Result on_access(void *cls, struct MHD_Connection *mhd, const char *url,
				 const char *method, const char *version, const char *upload,
				 size_t *upload_len, void **req_cls)
{
	struct daemon *daemon = cls;
	struct incoming *incoming = *req_cls;
	const char *problem;
	unsigned status;

	(void)url;
	if (!incoming || !incoming->target)
		return MHD_NO;
	if (!incoming->has_begun) {
		incoming->has_begun = true;
		problem = header_problem(mhd, method, incoming->target, version, &status);
		return problem ? refuse(daemon, mhd, status, problem) : MHD_YES;
	}
	if (*upload_len > 0) {
		if (*upload_len > DAEMON_BODY_BYTES - incoming->body.len)
			return MHD_NO;
		str_add_bytes(&incoming->body, upload, *upload_len);
		*upload_len = 0;
		return incoming->body.failed ? MHD_NO : MHD_YES;
	}
	return request_answer(daemon, mhd, method, incoming);
}

/* The raw target, before anything is split or decoded. */
static void *on_target(void *cls, const char *uri, struct MHD_Connection *mhd)
{
	struct incoming *incoming = calloc(1, sizeof(*incoming));

	(void)cls;
	(void)mhd;
	if (incoming)
		incoming->target = strdup(uri);
	return incoming;
}

static void on_completed(void *cls, struct MHD_Connection *mhd, void **req_cls,
			 enum MHD_RequestTerminationCode code)
{
	struct incoming *incoming = *req_cls;

	(void)code;
	*req_cls = NULL;
	if (incoming) {
		str_deinit(&incoming->body);
		free(incoming->target);
		free(incoming);
	}
	connections_enter(&((struct daemon *)cls)->connections, connection_of(mhd),
			  CONNECTION_WAITING, DAEMON_REQUEST_S);
}

/* Requests are never logged. */
static void on_log(void *cls, const char *fmt, va_list args)
{
	(void)cls;
	(void)fmt;
	(void)args;
}

/* --- starting and stopping ----------------------------------------------------------------- */

static struct MHD_Daemon *mhd_start(struct daemon *daemon)
{
	const unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
			       MHD_USE_POLL | MHD_USE_ITC | MHD_USE_NO_LISTEN_SOCKET |
			       MHD_USE_ERROR_LOG;

	return MHD_start_daemon(flags, 0, NULL, NULL, on_access, daemon,  /* options follow */
				MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, /* first, to catch all */
				MHD_OPTION_CONNECTION_LIMIT, (unsigned)MHD_CONNECTIONS,
				MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES,
				MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)DAEMON_STALL_S,
				MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK,
				on_target, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, daemon,
				MHD_OPTION_NOTIFY_CONNECTION, on_connection, daemon,
				MHD_OPTION_END);
}

struct err *daemon_start(struct server *server, const struct listener *listener,
			 struct daemon **daemon_ret)
{
	CLEAN(daemon_stop) struct daemon *daemon = calloc(1, sizeof(*daemon));
	int rc;

	assert(listener->count > 0);
	assert(server->tapes);
	if (!daemon)
		return err_nomem();
	daemon->server = server;
	daemon->listener = listener;
	connections_init(&daemon->connections, DAEMON_CONNECTIONS);
	daemon->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (daemon->stop_fd < 0)
		return err_errno("eventfd");
	daemon->mhd = mhd_start(daemon);
	if (!daemon->mhd)
		return err_errno("start the HTTP server");
	rc = pthread_create(&daemon->watcher, NULL, watcher_run, daemon);
	if (rc)
		return err_errno_new(rc, "start a thread");
	daemon->has_watcher = true;
	*daemon_ret = steal(daemon);
	return NULL;
}

/* Streams check for cancellation, as answers do; MHD would cut streams off and wait for answers. */
bool daemon_end(struct daemon *daemon)
{
	const struct timespec tick = { .tv_nsec = 10 * 1000000 };
	bool is_streaming = true, is_running = true;

	if (!daemon)
		return true;
	if (daemon->has_watcher) {
		eventfd_write(daemon->stop_fd, 1);
		pthread_join(daemon->watcher, NULL);
		daemon->has_watcher = false;
	}
	connections_cancel(&daemon->connections);
	for (unsigned ms = 0; ms < ANSWERS_END_MS && (is_streaming || is_running); ms += 10) {
		is_streaming = ms < STREAMS_END_MS &&
			       __atomic_load_n(&daemon->server->stream_count, __ATOMIC_RELAXED) > 0;
		is_running = connections_are_running(&daemon->connections);
		if (is_streaming || is_running)
			nanosleep(&tick, NULL);
	}
	return !is_running;
}

void daemon_stop(struct daemon *daemon)
{
	if (!daemon)
		return;
	daemon_end(daemon);
	if (daemon->mhd)
		MHD_stop_daemon(daemon->mhd);
	if (daemon->stop_fd >= 0)
		close(daemon->stop_fd);
	connections_deinit(&daemon->connections);
	free(daemon);
}
