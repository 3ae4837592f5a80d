/*
 * Requests as they come from anywhere, to a server without tapes: whatever the target, the headers
 * and the body are, there is an answer, which is JSON or an asset, and nobody without the token and
 * the right host gets more than a refusal.
 *
 * An input is a method, a space and a target in the first line, headers in the lines that follow,
 * and after an empty line the body.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "http/server.h"

static const char token_text[] = "0123456789abcdef0123456789abcdef";

static void check(bool holds)
{
	if (!holds)
		abort();
}

static struct header *header_of(struct request *request, const char *line, size_t name_len)
{
	static const struct {
		const char *name;
		size_t offset;
	} known[] = {
		{ "host", offsetof(struct request, host) },
		{ "origin", offsetof(struct request, origin) },
		{ "sec-fetch-site", offsetof(struct request, fetch_site) },
		{ "authorization", offsetof(struct request, authorization) },
		{ "content-type", offsetof(struct request, content_type) },
		{ "if-none-match", offsetof(struct request, if_none_match) },
		{ "accept-encoding", offsetof(struct request, accept_encoding) },
	};

	for (size_t i = 0; i < array_size(known); i++) {
		if (strlen(known[i].name) == name_len &&
		    strncasecmp(known[i].name, line, name_len) == 0)
			return (struct header *)((char *)request + known[i].offset);
	}
	return NULL;
}

static void header_add(struct request *request, char *line)
{
	const size_t name_len = strcspn(line, ":");
	struct header *header = header_of(request, line, name_len);

	if (!line[name_len] || !header)
		return;
	header->text = line + name_len + 1 + strspn(line + name_len + 1, " ");
	header->count++;
}

/* The text is cut into its lines. */
static void request_read(char *text, size_t len, struct request *request)
{
	const char *end = text + len;
	char *line = text;

	*request = (struct request) { .method = "GET", .target = "/" };
	for (bool is_first = true; line < end; is_first = false) {
		const size_t line_len = strcspn(line, "\n");
		char *space = memchr(line, ' ', line_len);

		line[line_len] = '\0';
		if (is_first && space) {
			*space = '\0';
			request->method = line;
			request->target = space + 1;
		} else if (line_len == 0) {
			line++;
			break;
		} else if (!is_first) {
			header_add(request, line);
		}
		line += line_len + 1;
	}
	if (line < end) {
		request->body = line;
		request->body_len = (size_t)(end - line);
	}
}

static bool is_text(const struct answer *answer)
{
	const char *bytes = answer->blob ? answer->blob->bytes : answer->bytes;
	const size_t size = answer->blob ? answer->blob->size : answer->size;
	CLEAN(str_deinit) struct str text = { 0 };
	size_t len;

	str_add_bytes(&text, bytes, size);
	for (const char *at = str_text(&text); *at; at += len) {
		len = str_utf8_bytes(at);
		if (len == 0 || ((unsigned char)*at < ' ' && *at != '\n' && *at != '\t'))
			return false;
	}
	return strlen(str_text(&text)) == size;
}

static bool may_ask(const struct request *request)
{
	const char *given = request->authorization.text;
	const bool has_token = given ? strstr(given, token_text) != NULL
				     : strstr(request->target, token_text) != NULL;

	return has_token && request->host.count == 1 &&
	       (strcasecmp(request->host.text, "127.0.0.1:80") == 0 ||
		strcasecmp(request->host.text, "localhost:80") == 0);
}

static void answer_check(const struct request *request, const struct answer *answer)
{
	check(answer->status == 200 || answer->status == 304 || answer->status >= 400);
	check(answer->status < 500 || answer->status == 501 || answer->status == 503);
	check(answer->fd < 0);
	check((answer->status == 405) == (answer->allow != NULL));
	if (answer->status == 304)
		return;
	check(answer->type != NULL);
	if (answer->etag) { /* of the app, which is for everybody */
		check(answer->status == 200);
		return;
	}
	check(is_text(answer));
	if (answer->status == 200 && strncmp(answer->type, "text/html", 9) != 0)
		check(may_ask(request));
	if (strncmp(request->target, "/api/", 5) == 0 && !may_ask(request))
		check(answer->status == 400 || answer->status == 401 || answer->status == 403);
}

static struct server *server_get(void)
{
	static struct server server;

	if (server.tapes)
		return &server;
	server.settings = (struct server_settings) { .version = "0", .file_bytes_max = 1 << 20 };
	server_init(&server);
	memcpy(server.guard.token.text, token_text, sizeof(token_text));
	check(!guard_allow(&server.guard, "127.0.0.1", 80));
	check(!guard_allow(&server.guard, "localhost", 80));
	check(!tapes_create(NULL, 0, &server.tapes));
	return &server;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct request request;
	struct answer answer;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	request_read(text, size, &request);
	answer_init(&answer);
	server_answer(server_get(), &request, &answer);
	answer_check(&request, &answer);
	answer_deinit(&answer);
	free(text);
	return 0;
}
