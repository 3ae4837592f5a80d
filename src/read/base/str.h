/*
 * str: text under construction. A str grows; running out of memory sets `failed`, which stays set
 * and turns later calls into no-ops, so callers check once, at the end. Numbers are formatted here
 * and so look the same in every locale. All zeros is an empty str. Not thread-safe.
 */
#ifndef MEMTAPE_BASE_STR_H
#define MEMTAPE_BASE_STR_H

#include "base/clean.h"

struct str {
	char *ptr; /* NUL-terminated; NULL until something is added */
	size_t len;
	size_t capacity;
	bool failed;
};

/* "" where ptr is NULL; valid until the next change. */
const char *str_text(const struct str *str);
void str_clear(struct str *str); /* empty again, memory kept, failure cleared */
void str_deinit(struct str *str);
CLEAN_DEFINE_DEINIT(str_deinit, struct str);

void str_add(struct str *str, const char *text);
void str_add_bytes(struct str *str, const char *text, size_t len);
void str_add_char(struct str *str, char c);
void str_add_repeated(struct str *str, char c, size_t count);
void str_printf(struct str *str, const char *fmt, ...) PRINTF_LIKE(2, 3); /* no %f, %g, %e */

void str_add_u64(struct str *str, uint64_t value);
void str_add_i64(struct str *str, int64_t value);
void str_add_hex(struct str *str, uint64_t value); /* 0x7f00 */

/* value / divisor with this many decimals (0-9), rounded half up; divisor 0 prints "0". */
void str_add_ratio(struct str *str, uint64_t value, uint64_t divisor, unsigned decimals);

/* A double with this many decimals (0-9), never an exponent; NaN and infinities print "0". */
void str_add_double(struct str *str, double value, unsigned decimals);
/* The same for people: from 1,000 on without decimals, its thousands grouped. */
void str_add_short_double(struct str *str, double value, unsigned decimals);

/* IEC units: "0 B", "999 B", "12.3 KiB", "4.0 GiB". */
void str_add_iec(struct str *str, uint64_t bytes);
void str_add_iec_signed(struct str *str, int64_t bytes); /* "-12.3 KiB" */

/* With thousands separators: "1,234,567". */
void str_add_grouped(struct str *str, uint64_t value);
void str_add_counted(struct str *str, uint64_t count,
		     const char *thing); /* "1 block", "2 blocks" */

/* "850 ns", "1.50 us", "12.3 ms", "4.21 s", "3m 20s", "2h 05m". */
void str_add_duration(struct str *str, uint64_t ns);

/* part of whole as "12.3 %"; 0 of 0 is "0.0 %". */
void str_add_percent(struct str *str, uint64_t part, uint64_t whole);

/*
 * Sanitises hostile text. Terminal: control bytes and bad UTF-8 become '?'. JSON: quoted and
 * escaped, bad UTF-8 becomes U+FFFD. CSV: quoted when it needs to be (RFC 4180), bad UTF-8 becomes
 * U+FFFD. XML: & < > " ' escaped, for element text and attribute values; control bytes and bad
 * UTF-8 become U+FFFD.
 */
void str_add_terminal(struct str *str, const char *text);
void str_add_json(struct str *str, const char *text);
void str_add_csv(struct str *str, const char *text);
void str_add_xml(struct str *str, const char *text);

/* Columns a terminal needs for it: code points, not bytes. */
size_t str_width(const char *text);

/* Bounded: always NUL-terminated, truncated if it does not fit. Returns buf. bytes is not 0. */
char *str_format(char *buf, size_t bytes, const char *fmt, ...) PRINTF_LIKE(3, 4);

/*
 * Appends text with each line of it folded at blanks to at most `width` columns; what follows is
 * indented to the last column of text that begins in the left half. A number stays with its unit, a
 * word wider than a line is split, and a line that is a command to copy ("memtape ...") stays
 * whole. Sequences that set colours take no room. width 0: as it is.
 */
void str_add_wrapped(struct str *out, const char *text, size_t width);

/* Short texts in a caller's buffer of STR_SHORT_BYTES; they return buf. */
enum { STR_SHORT_BYTES = 40 };
char *str_iec(char *buf, uint64_t bytes);
char *str_grouped(char *buf, uint64_t value);
char *str_duration(char *buf, uint64_t ns);
char *str_percent(char *buf, uint64_t part, uint64_t whole);

/*
 * Parsing numbers; the whole text must be a number. Bytes: "4096", "64k", "1.5MiB", "2G" (units of
 * 1024). Durations: "5s", "1.5ms", "200us", "10" (seconds), "2m", "1h".
 */
bool str_parse_u64(const char *text, uint64_t *value_ret);
bool str_parse_bytes(const char *text, uint64_t *bytes_ret);
bool str_parse_duration(const char *text, uint64_t *ns_ret);

/* How old something is, with its unit: "90min", "12h", "30d", "2w", "45s". A bare m is none. */
bool str_parse_age(const char *text, uint64_t *ns_ret);

/*
 * Bytes of the UTF-8 sequence at text (1-4), 0 if it is not one. text is NUL-terminated.
 */
size_t str_utf8_bytes(const char *text);

/* With U+FFFD for each invalid byte; the second returns text itself if all are valid, else
 * room's. */
void str_add_utf8(struct str *str, const char *text);
const char *str_utf8(const char *text, struct str *room);

/* A path quoted as one shell word. */
void str_add_shell(struct str *str, const char *word);

#endif
