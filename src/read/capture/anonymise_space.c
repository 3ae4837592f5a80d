/* How records about the address space are anonymised: addresses move, names are replaced. */
#include <assert.h>

#include "capture/anonymise_parts.h"
#include "tape/tape_kernel.h"

/* Parses the hex number at *at and advances past it. */
static uint64_t take_hex(const char **at, const char *end)
{
	uint64_t value = 0;

	for (; *at < end && ((**at >= '0' && **at <= '9') || (**at >= 'a' && **at <= 'f')); ++*at)
		value = value << 4 | (uint64_t)(**at <= '9' ? **at - '0' : **at - 'a' + 10);
	return value;
}

/* BEGIN END PERMS MARKS RSS ANON SWAP RUNS NAME, or BEGIN END - */
static struct err *put_space_line(struct anonymise *anonymise, const char *line, size_t len)
{
	enum { WORDS_BEFORE_NAME = 6 };
	const char *at = line, *end = line + len, *name;
	const uint64_t range_begin = take_hex(&at, end);
	uint64_t range_end;
	char text[2 * STR_SHORT_BYTES];
	struct err *err;

	at += at < end; /* the blank */
	range_end = take_hex(&at, end);
	/* the end of a range moves with its last byte */
	str_format(text, sizeof(text), "%llx %llx",
		   (unsigned long long)shift_address(anonymise->shift, range_begin),
		   (unsigned long long)shift_address(anonymise->shift, range_end - 1) + 1);
	err = anonymise_put(anonymise, text, strlen(text));
	name = at;
	for (unsigned i = 0; i < WORDS_BEFORE_NAME && name < end; i++) {
		const char *blank = memchr(name + 1, ' ', (size_t)(end - name - 1));

		name = blank ? blank : end;
	}
	name += name < end;
	if (!err)
		err = anonymise_put(anonymise, at, (size_t)(name - at));
	if (!err)
		err = anonymise_text(anonymise, ANONYMISE_PATH, name, (size_t)(end - name), false);
	return err;
}

struct err *anonymise_space_lines(struct anonymise *anonymise, struct payload rest)
{
	struct err *err = NULL;

	while (rest.count > 0 && !err) {
		const uint8_t *end = memchr(rest.bytes, '\n', rest.count);
		const size_t len = end ? (size_t)(end - rest.bytes) : rest.count;

		err = put_space_line(anonymise, (const char *)rest.bytes, len);
		if (!err && end)
			err = anonymise_put(anonymise, "\n", 1);
		rest.bytes += len + (end != NULL);
		rest.count -= len + (end != NULL);
	}
	return err;
}

static struct err *on_space(struct anonymise *anonymise, struct payload rest)
{
	struct tape_space space;
	struct err *err;

	if (!payload_take(&rest, &space, sizeof(space)))
		return NULL;
	err = anonymise_put(anonymise, &space, sizeof(space));
	return err ? err : anonymise_space_lines(anonymise, rest);
}

/* The line of sums has no addresses. */
static struct err *on_node_use(struct anonymise *anonymise, struct payload rest)
{
	static const char sums[] = "0 0 ";
	struct tape_node_use use;
	struct err *err;

	if (!payload_take(&rest, &use, sizeof(use)))
		return NULL;
	err = anonymise_put(anonymise, &use, sizeof(use));
	if (rest.count >= strlen(sums) && memcmp(rest.bytes, sums, strlen(sums)) == 0) {
		const uint8_t *end = memchr(rest.bytes, '\n', rest.count);
		const size_t len = end ? (size_t)(end - rest.bytes) + 1 : rest.count;

		if (!err)
			err = anonymise_put(anonymise, rest.bytes, len);
		rest.bytes += len;
		rest.count -= len;
	}
	return err ? err : anonymise_space_lines(anonymise, rest);
}

static struct err *on_huge_lost(struct anonymise *anonymise, struct payload rest)
{
	struct tape_huge_lost lost;

	if (!payload_take(&rest, &lost, sizeof(lost)))
		return NULL;
	lost.begin = anonymise_address(anonymise, lost.begin);
	lost.end = anonymise_address(anonymise, lost.end);
	return anonymise_put(anonymise, &lost, sizeof(lost));
}

struct err *anonymise_space(struct anonymise *anonymise, enum tape_extended type,
			    struct payload rest)
{
	if (type == TAPE_EXT_NODE_USE)
		return on_node_use(anonymise, rest);
	if (type == TAPE_EXT_HUGE_LOST)
		return on_huge_lost(anonymise, rest);
	assert(type == TAPE_EXT_SPACE);
	return on_space(anonymise, rest);
}
