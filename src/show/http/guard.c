#include "http/guard.h"

#include <assert.h>
#include <strings.h>

#include "base/str.h"

struct err *guard_allow(struct guard *guard, const char *host, unsigned port)
{
	const bool is_bare_v6 = host[0] != '[' && strchr(host, ':') != strrchr(host, ':');
	const char *bracket = strchr(host, ']');
	const bool has_port = !is_bare_v6 && strchr(bracket ? bracket : host, ':');
	CLEAN(str_deinit) struct str text = { 0 };

	assert(guard->host_count <= GUARD_HOSTS_MAX);
	str_printf(&text, is_bare_v6 ? "[%s]" : "%s", host);
	if (!has_port && port)
		str_printf(&text, ":%u", port);
	if (text.failed)
		return err_nomem();
	if (guard->host_count == GUARD_HOSTS_MAX || text.len >= sizeof(guard->hosts[0]))
		return err_new(ERR_USAGE, "too many or too long host names");
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] <= ' ' || text.ptr[i] == '/' || text.ptr[i] == '@' ||
		    text.ptr[i] == 0x7f)
			return err_new(ERR_USAGE, "'%s' is not a host name", host);
	}
	str_format(guard->hosts[guard->host_count++], sizeof(guard->hosts[0]), "%s", text.ptr);
	return NULL;
}

static bool host_fits(const struct guard *guard, const char *host)
{
	for (size_t i = 0; i < guard->host_count; i++) {
		if (strcasecmp(guard->hosts[i], host) == 0)
			return true;
	}
	return false;
}

/* "http://" and exactly the requested host. */
static bool origin_fits(const char *origin, const char *host)
{
	static const char scheme[] = "http://";
	const size_t len = strlen(scheme);

	return strncmp(origin, scheme, len) == 0 && strcasecmp(origin + len, host) == 0;
}

static struct refusal check_host(const struct guard *guard, const struct request *request)
{
	if (request->host.count != 1 || !request->host.text)
		return (struct refusal) { 400, "expected exactly one Host header", NULL };
	if (!host_fits(guard, request->host.text))
		return (struct refusal) { 403, "this server does not answer under that name",
					  "open the URL that `memtape serve` printed, or start it "
					  "with --allow-host" };
	return (struct refusal) { 0 };
}

/* Browsers send where a request comes from; other clients send nothing. */
static struct refusal check_site(const struct request *request, bool is_api)
{
	static const struct refusal foreign = { 403, "cross-site requests are refused", NULL };
	const char *site = request->fetch_site.text;

	if (request->origin.count > 1 || request->fetch_site.count > 1)
		return (struct refusal) { 400, "a header is given twice", NULL };
	if (request->origin.text && !origin_fits(request->origin.text, request->host.text))
		return foreign;
	if (!site || strcmp(site, "same-origin") == 0)
		return (struct refusal) { 0 };
	/* Typed, or opened from a bookmark: no other page can have caused it. */
	if (strcmp(site, "none") == 0 && !is_api)
		return (struct refusal) { 0 };
	return foreign;
}

const char *guard_query_token(const char *target, size_t *len_ret)
{
	const char *at = strchr(target, '?');

	while (at) {
		at++;
		if (strncmp(at, "token=", 6) == 0) {
			*len_ret = strcspn(at + 6, "&#");
			return at + 6;
		}
		at = strchr(at, '&');
	}
	return NULL;
}

static bool has_token(const struct guard *guard, const struct request *request)
{
	static const char scheme[] = "Bearer ";
	const char *text = request->authorization.text;
	size_t len = strlen(scheme);

	if (request->authorization.count > 1)
		return false;
	if (text)
		return strncasecmp(text, scheme, len) == 0 &&
		       token_equals(&guard->token, text + len, strlen(text + len));
	if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0)
		return false;
	text = guard_query_token(request->target, &len);
	return text && token_equals(&guard->token, text, len);
}

struct refusal guard_check(const struct guard *guard, const struct request *request, bool is_api)
{
	struct refusal refusal = check_host(guard, request);

	assert(guard->host_count <= GUARD_HOSTS_MAX);
	if (!refusal.status)
		refusal = check_site(request, is_api);
	if (!refusal.status && is_api && guard->token.text[0] && !has_token(guard, request))
		return (struct refusal) { 401, "the token is missing or wrong",
					  "`memtape serve` printed it: send `Authorization: Bearer "
					  "TOKEN`, or ?token=TOKEN with a GET" };
	return refusal;
}
