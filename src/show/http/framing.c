#include "http/framing.h"

#include <assert.h>
#include <strings.h>

#include "base/str.h"

static bool is_name(const char *name)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	for (const char *c = name; *c; c++) {
		const char letter = (char)(*c | 0x20);

		if (!(letter >= 'a' && letter <= 'z') && !(*c >= '0' && *c <= '9') &&
		    !strchr(others, *c))
			return false;
	}
	return *name;
}

static bool has_controls(const char *value, bool may_have_spaces)
{
	for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
		if ((*c < ' ' && !(*c == '\t' && may_have_spaces)) || *c == 0x7f ||
		    (*c == ' ' && !may_have_spaces))
			return true;
	}
	return false;
}

void framing_add(struct framing *framing, const char *name, const char *value)
{
	const char **place = NULL;

	assert(name && value);
	framing->lines++;
	framing->bytes += strlen(name) + strlen(value);
	if (!is_name(name))
		framing->problem = "the name of a header has characters that it may not have";
	else if (has_controls(value, strcasecmp(name, "Host") != 0))
		framing->problem = "a header has characters that it may not have";
	if (strcasecmp(name, "Content-Length") == 0)
		place = &framing->length;
	else if (strcasecmp(name, "Transfer-Encoding") == 0)
		place = &framing->coding;
	if (place && *place)
		framing->problem = "Content-Length or Transfer-Encoding is given twice";
	if (place)
		*place = value;
}

/*
 * The library hides what follows a NUL in a line, and joins continued lines. A line has a colon, a
 * line end and, by convention, a space; any bytes beyond that were hidden.
 */
static bool has_hidden_bytes(const struct framing *framing, size_t start_bytes, size_t header_bytes)
{
	enum { START_REST = 4 /* two spaces, a line end */, LINE_REST = 4, LAST = 2 };
	const size_t most =
		start_bytes + START_REST + framing->bytes + framing->lines * LINE_REST + LAST;

	return header_bytes > most;
}

const char *framing_problem(const struct framing *framing, const char *version, size_t start_bytes,
			    size_t header_bytes, uint64_t body_bytes_max, unsigned *status_ret)
{
	uint64_t bytes;

	*status_ret = 400;
	if (framing->problem)
		return framing->problem;
	if (has_hidden_bytes(framing, start_bytes, header_bytes))
		return "the header has a NUL, a continued line or too much space in it";
	if (framing->length && framing->coding)
		return "Content-Length and Transfer-Encoding exclude each other";
	if (framing->coding &&
	    (strcasecmp(framing->coding, "chunked") != 0 || strcmp(version, "HTTP/1.1") != 0))
		return "of Transfer-Encoding only HTTP/1.1's chunked is known";
	if (framing->length &&
	    (!str_parse_u64(framing->length, &bytes) || bytes > body_bytes_max)) {
		*status_ret = 413;
		return "the body of a request has at most 64 KiB";
	}
	return NULL;
}
