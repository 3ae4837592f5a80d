/*
 * target: where a tape is to be sent, and with which token. Names are looked up in /etc/hosts alone: whatever
 * else knows names would need libc's heap, or other machines.
 */
#include "stream/stream.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "core/sys.h"

#include "core/poison.h"

enum { LINE_BYTES = 512, HOST_BYTES = 256 };

/* --- numbers ------------------------------------------------------------------------------- */

/* Digits of that base, at most `max`; returns their end, or NULL. */
static const char *number_parse(const char *text, unsigned base, uint32_t max, uint32_t *number_ret)
{
	uint32_t number = 0;
	const char *at = text;

	for (;; at++) {
		const char c = *at;
		unsigned digit = 16;

		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			digit = (unsigned)((c | 32) - 'a') + 10;
		if (digit >= base)
			break;
		number = number * base + digit;
		if (number > max)
			return NULL;
	}
	*number_ret = number;
	return at > text ? at : NULL;
}

static bool v4_parse(const char *text, uint8_t address[4])
{
	for (unsigned i = 0; i < 4; i++) {
		uint32_t number;

		if (i > 0 && *text++ != '.')
			return false;
		text = number_parse(text, 10, 255, &number);
		if (!text)
			return false;
		address[i] = (uint8_t)number;
	}
	return *text == '\0';
}

/* What follows "::" is moved to the end. */
static bool v6_finish(uint8_t address[16], unsigned count, unsigned gap)
{
	const unsigned moved = count - gap;

	if (gap > 8)
		return count == 8;
	if (count >= 8)
		return false;
	memmove(address + 16 - 2 * moved, address + 2 * gap, 2 * (size_t)moved);
	memset(address + 2 * gap, 0, 16 - 2 * (size_t)count);
	return true;
}

static bool v6_parse(const char *text, uint8_t address[16])
{
	unsigned count = 0, gap = 9;

	memset(address, 0, 16);
	if (text[0] == ':' && text[1] == ':') {
		gap = 0;
		text += 2;
	}
	while (*text && count < 8) {
		uint32_t number;
		const char *end = number_parse(text, 16, 0xffff, &number);

		if (count <= 6 && strchr(text, '.') && v4_parse(text, address + 2 * count))
			return v6_finish(address, count + 2, gap);
		if (!end)
			return false;
		address[2 * count] = (uint8_t)(number >> 8);
		address[2 * count + 1] = (uint8_t)number;
		count++;
		text = end;
		if (*text == '\0')
			break;
		if (*text++ != ':' || *text == '\0')
			return false;
		if (*text == ':') {
			if (gap < 9)
				return false;
			gap = count;
			text++;
		}
	}
	return *text == '\0' && v6_finish(address, count, gap);
}

static bool address_parse(const char *host, struct stream_target *target)
{
	if (v4_parse(host, target->address))
		return true;
	target->is_v6 = strchr(host, ':') && v6_parse(host, target->address);
	return target->is_v6;
}

/* --- /etc/hosts ---------------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The next word of a line, terminated; NULL: there is none. */
static char *word_next(char **at)
{
	char *begin = *at;
	char *end;

	while (is_blank(*begin))
		begin++;
	for (end = begin; *end && !is_blank(*end);)
		end++;
	if (end == begin || *begin == '#')
		return NULL;
	*at = *end ? end + 1 : end;
	*end = '\0';
	return begin;
}

static bool line_names(char *line, const char *host, struct stream_target *target)
{
	char *at = line;
	const char *address = word_next(&at);
	const char *name;

	while (address && (name = word_next(&at)))
		if (strcmp(name, host) == 0)
			return address_parse(address, target);
	return false;
}

static bool hosts_find(const char *host, struct stream_target *target)
{
	const int fd = sys_open("/etc/hosts", O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	char line[LINE_BYTES], part[LINE_BYTES];
	size_t len = 0;
	bool is_found = false;
	long got;

	while (fd >= 0 && !is_found && (got = sys_read(fd, part, sizeof(part))) > 0)
		for (long i = 0; !is_found && i < got; i++) {
			if (part[i] != '\n') {
				line[len] = part[i];
				len += len < sizeof(line) - 1;
				continue;
			}
			line[len] = '\0';
			len = 0;
			is_found = line_names(line, host, target);
		}
	line[len] = '\0';
	is_found = is_found || line_names(line, host, target);
	if (fd >= 0)
		sys_close(fd);
	return is_found ||
	       (strcmp(host, "localhost") == 0 && v4_parse("127.0.0.1", target->address));
}

/* --- all of it ----------------------------------------------------------------------------- */

static const char *host_take(const char *text, size_t len, struct stream_target *target)
{
	char host[HOST_BYTES];
	const bool is_bracketed = len > 2 && text[0] == '[' && text[len - 1] == ']';

	if (len == 0 || len >= sizeof(host))
		return "it is not tcp://HOST:PORT";
	memcpy(host, text + is_bracketed, len - 2 * is_bracketed);
	host[len - 2 * is_bracketed] = '\0';
	if (address_parse(host, target))
		return target->is_v6 == is_bracketed ? NULL
						     : "an address of IPv6 is written "
						       "tcp://[::1]:PORT, and only such a one";
	if (!is_bracketed && hosts_find(host, target))
		return NULL;
	return "its host is neither an address in numbers nor a name in /etc/hosts";
}

static bool is_word(const char *word, size_t len, const char *text)
{
	return strlen(text) == len && memcmp(word, text, len) == 0;
}

static const char *words_take(const char *text, struct stream_target *target)
{
	while (*text) {
		const char *comma = strchr(text, ',');
		const size_t len = comma ? (size_t)(comma - text) : strlen(text);

		if (is_word(text, len, "none"))
			target->has_file = false;
		else if (is_word(text, len, "drop"))
			target->drops = true;
		else if (is_word(text, len, "no-token"))
			target->no_token = true;
		else if (len >= sizeof(target->pattern) || len == 0 || target->pattern[0])
			return "what is behind its commas is none, drop, no-token or one file";
		else
			memcpy(target->pattern, text, len);
		text += len + (comma != NULL);
	}
	if (!target->has_file && target->pattern[0])
		return "none does not go with a file";
	return target->drops && target->has_file ? "drop goes with none" : NULL;
}

const char *stream_target_parse(const char *text, struct stream_target *target)
{
	static const char wrong[] = "it is not tcp://HOST:PORT";
	const char *host = text + sizeof(STREAM_PREFIX) - 1;
	const char *end = host, *colon = NULL, *why, *rest;
	uint32_t port;

	CHECK(strncmp(text, STREAM_PREFIX, sizeof(STREAM_PREFIX) - 1) == 0);
	*target = (struct stream_target) { .has_file = true };
	for (; *end && *end != ','; end++)
		if (*end == ':')
			colon = end;
	if (!colon)
		return wrong;
	rest = number_parse(colon + 1, 10, UINT16_MAX, &port);
	if (!rest || rest != end || port == 0)
		return wrong;
	target->port = (uint16_t)port;
	why = host_take(host, (size_t)(colon - host), target);
	return why ? why : words_take(*end ? end + 1 : end, target);
}

/* HOST or HOST:PORT, up to `end`. */
static const char *announced_place_take(const char *text, const char *end,
					struct stream_target *target)
{
	const char *colon = NULL, *rest;
	uint32_t port;

	for (const char *at = text; at < end; at++)
		if (*at == ':' || *at == ']')
			colon = *at == ':' ? at : NULL;
	if (colon) {
		rest = number_parse(colon + 1, 10, UINT16_MAX, &port);
		if (!rest || rest != end || port == 0)
			return "it is neither 1 nor HOST nor HOST:PORT";
		target->port = (uint16_t)port;
	}
	return host_take(text, (size_t)((colon ? colon : end) - text), target);
}

const char *stream_announced_parse(const char *text, const char *port, struct stream_target *target)
{
	const char *comma = strchr(text, ',');
	const char *end = comma ? comma : text + strlen(text);
	uint32_t number = 0;

	*target = (struct stream_target) { .has_file = true,
					   .is_announced = true,
					   .port = WIRE_ANNOUNCE_PORT };
	if (port && port[0]) {
		const char *rest = number_parse(port, 10, UINT16_MAX, &number);

		if (!rest || *rest)
			return "MEMTAPE_BROADCAST_PORT is no port";
		target->listen_port = (uint16_t)number;
	}
	target->no_token = comma != NULL;
	if (comma && strcmp(comma, ",no-token") != 0)
		return "what is behind its comma is no-token, or nothing";
	target->is_everywhere = is_word(text, (size_t)(end - text), "1");
	return target->is_everywhere ? NULL : announced_place_take(text, end, target);
}

bool stream_target_is_loopback(const struct stream_target *target)
{
	static const uint8_t v6[16] = { [15] = 1 };

	return target->is_v6 ? memcmp(target->address, v6, sizeof(v6)) == 0
			     : target->address[0] == 127;
}

const char *stream_token_load(const char *path, struct stream_token *token)
{
	uint8_t bytes[WIRE_TOKEN_BYTES_MAX + 1];
	ARCH_STAT status;
	const int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	long len = -1;

	if (fd < 0)
		return "it cannot be read";
	if (sys_fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		len = sys_read(fd, bytes, sizeof(bytes));
	sys_close(fd);
	if (len < 0)
		return "it is not a regular file";
	if (status.st_mode & S_IROTH)
		return "it can be read by everybody: chmod o-r it";
	while (len > 0 && (bytes[len - 1] == ' ' || (bytes[len - 1] >= 9 && bytes[len - 1] <= 13)))
		len--;
	if (len < WIRE_TOKEN_BYTES_MIN || len > WIRE_TOKEN_BYTES_MAX)
		return "a token has from 16 to 1024 bytes";
	memcpy(token->bytes, bytes, (size_t)len);
	token->len = (size_t)len;
	return NULL;
}
