#include "http/assets.h"

#include <assert.h>
#include <strings.h>

#include "base/str.h"
#include "http/route.h"

static const char html_type[] = "text/html; charset=utf-8";

bool assets_have_app(void)
{
	return asset_table[0].path != NULL;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

/* "gzip", "gzip;q=0.5", but not "gzip;q=0" nor "gzip;q=0.000". */
static bool coding_is_gzip(const char *text, size_t len)
{
	const char *quality = memchr(text, ';', len);
	size_t name_len = quality ? (size_t)(quality - text) : len;

	while (name_len > 0 && is_space(text[name_len - 1]))
		name_len--;
	if (name_len != 4 || strncasecmp(text, "gzip", 4) != 0)
		return false;
	if (!quality)
		return true;
	for (const char *at = quality; at < text + len; at++) {
		if (*at >= '1' && *at <= '9')
			return true;
	}
	return false;
}

bool assets_takes_gzip(const char *accept_encoding)
{
	for (const char *at = accept_encoding; at && *at;) {
		size_t len;

		while (is_space(*at) || *at == ',')
			at++;
		len = strcspn(at, ",");
		if (coding_is_gzip(at, len))
			return true;
		at += len;
	}
	return false;
}

static const struct asset *asset_find(const char *path, size_t len)
{
	for (const struct asset *at = asset_table; at->path; at++) {
		if (strlen(at->path) == len && memcmp(at->path, path, len) == 0)
			return at;
	}
	return NULL;
}

/* Matches "a", W/"b", or * in a list. */
static bool has_etag(const char *list, const char *etag)
{
	return list && (strcmp(list, "*") == 0 || strstr(list, etag));
}

static void asset_answer(const struct asset *asset, const struct request *request,
			 struct answer *answer)
{
	answer->type = asset->type;
	answer->etag = asset->etag;
	answer->cache_control =
		asset->is_hashed ? "public, max-age=31536000, immutable" : "no-cache";
	if (has_etag(request->if_none_match.text, asset->etag)) {
		answer->status = 304;
		answer->bytes = "";
		return;
	}
	answer->status = 200;
	answer->is_gzip = asset->packed_bytes && assets_takes_gzip(request->accept_encoding.text);
	answer->bytes = asset_bytes + (answer->is_gzip ? asset->packed_begin : asset->begin);
	answer->size = answer->is_gzip ? asset->packed_bytes : asset->bytes;
}

static void list_routes(struct str *out)
{
	for (const struct route *const *at = route_table; *at; at++) {
		str_printf(out, "<tr><td>%s <td><code>",
			   (*at)->flags & ROUTE_POST ? "POST" : "GET");
		str_add_xml(out, (*at)->path);
		str_add(out, "</code><td>");
		str_add_xml(out, route_summary(*at));
		str_add_char(out, '\n');
	}
}

/* The page `/` without the app: no styles or scripts, which the content policy would block. */
static bool plain_page(struct answer *answer)
{
	CLEAN(str_deinit) struct str page = { 0 };

	str_add(&page,
		"<!doctype html>\n<html lang=en><meta charset=utf-8><title>memtape</title>\n"
		"<h1>memtape</h1>\n<p>This memtape was built without its web app "
		"(<code>-Dwebui=disabled</code>). What can be asked of it, with the token that "
		"<code>memtape serve</code> printed:\n<table>\n");
	list_routes(&page);
	str_add(&page, "</table>\n");
	if (page.failed)
		return false;
	answer->status = 200;
	answer->type = html_type;
	answer->cache_control = "no-cache";
	answer->blob = blob_create(page.ptr, page.len);
	page = (struct str) { 0 }; /* owned by the blob now */
	return answer->blob != NULL;
}

bool assets_answer(const struct request *request, struct answer *answer)
{
	const size_t len = strcspn(request->target, "?");
	const struct asset *asset = asset_find(request->target, len);

	assert(request->target && request->target[0] == '/');
	if (asset) {
		asset_answer(asset, request, answer);
		return true;
	}
	return len == 1 && !assets_have_app() && plain_page(answer);
}
