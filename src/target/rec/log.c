#include "rec/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

#include "core/synonyms.h"
#include "rec/file.h"
#include "rec/path.h"
#include "rec/rec.h"
#include "rec/text.h"

#include "core/poison.h"

enum { STDERR = 2, LINE_BYTES = 560, DEFAULT_BYTES = 16 << 20, MODE = 0600, NS_PER_MS = 1000000 };

enum rec_log_level rec_log_level;

/* Written at the start, on one thread. */
static struct {
	char pattern[REC_PATH_BYTES];
	char directory[REC_PATH_BYTES]; /* that it is relative to; the program may go to another */
	char path[REC_PATH_BYTES];	/* ""; standard error */
	char old_path[REC_PATH_BYTES];	/* "": it may grow */
	uint64_t bytes_max;
	uint64_t id[2]; /* of standard error at the start */
	bool has_id;
} out;

static _Atomic uint32_t left_out;

/* --- what is asked for ---------------------------------------------------------------------- */

static const char *const names[] = { "off", "error", "warning", "info", "debug" };

/* "trace" and "warn" are bytehound's. */
static enum rec_log_level level_find(const char *text, size_t len)
{
	for (size_t i = 0; i < array_size(names); i++)
		if (strlen(names[i]) == len && memcmp(names[i], text, len) == 0)
			return (enum rec_log_level)i;
	if (len == 4 && memcmp(text, "warn", len) == 0)
		return REC_LOG_WARNING;
	return len == 5 && memcmp(text, "trace", len) == 0 ? REC_LOG_DEBUG : REC_LOG_OFF;
}

static void complain(const char *asked)
{
	char line[LINE_BYTES];
	struct rec_text text = { .ptr = line, .room = sizeof(line) - 1 };

	rec_text_add(&text, "memtape: log level ");
	rec_text_add(&text, asked);
	rec_text_add(&text, ": expected error, warning, info or debug, and perhaps :FILE behind "
			    "it; there is no log");
	line[text.len++] = '\n';
	rec_fd_write(STDERR, line, text.len);
}

static uint64_t bytes_find(const char *text)
{
	uint64_t bytes = 0;

	if (!text || !*text)
		return DEFAULT_BYTES;
	for (; *text >= '0' && *text <= '9'; text++)
		bytes = bytes * 10 + (uint64_t)(*text - '0');
	return bytes;
}

/* False: the name does not fit. */
static bool file_choose(void)
{
	char *const relative = out.old_path; /* for now */
	struct rec_text path = { .ptr = out.path, .room = sizeof(out.path) };
	struct rec_text old = { .ptr = out.old_path, .room = sizeof(out.old_path) };

	if (!rec_path_expand(out.pattern, 0, relative, sizeof(out.old_path)))
		return false;
	if (relative[0] != '/') {
		rec_text_add(&path, out.directory);
		rec_text_add(&path, "/");
	}
	rec_text_add(&path, relative);
	rec_text_add(&old, out.path);
	rec_text_add(&old, ".old");
	if (old.full || out.bytes_max == 0)
		out.old_path[0] = '\0';
	return !path.full;
}

/* A variable that is set and not empty, and its file; bytehound has two for what is one here. */
static const char *asked_get(const char **file_ret, const char **bytes_ret)
{
	const char *asked = rec_env_get("MEMTAPE_LOG");
	const char *colon = asked ? strchr(asked, ':') : NULL;

	*file_ret = colon ? colon + 1 : NULL;
	*bytes_ret = rec_env_get("MEMTAPE_LOG_BYTES");
	if (asked && *asked)
		return asked;
	*file_ret = rec_env_get(SYNONYM_LOG_FILE);
	*bytes_ret = rec_env_get(SYNONYM_LOG_BYTES);
	if (!*bytes_ret)
		*bytes_ret = "0";
	asked = rec_env_get(SYNONYM_LOG);
	return asked && *asked ? asked : NULL;
}

/* The environment is read once: it may be gone later. */
static enum rec_log_level settings_read(void)
{
	struct rec_text pattern = { .ptr = out.pattern, .room = sizeof(out.pattern) };
	const char *file, *bytes;
	const char *asked = asked_get(&file, &bytes);
	const char *colon = asked ? strchr(asked, ':') : NULL;
	enum rec_log_level level;

	if (!asked)
		return REC_LOG_OFF;
	level = level_find(asked, colon ? (size_t)(colon - asked) : strlen(asked));
	if (file)
		rec_text_add(&pattern, file);
	if (SYS_CALL2(SYS_getcwd, out.directory, sizeof(out.directory)) <= 0)
		out.directory[0] = '\0';
	out.bytes_max = bytes_find(bytes);
	out.has_id = rec_fd_id(STDERR, out.id);
	if (level == REC_LOG_OFF && strcmp(asked, "off") != 0)
		complain(asked);
	return pattern.full ? REC_LOG_OFF : level;
}

void rec_log_init(void)
{
	static bool is_known;
	static enum rec_log_level level;

	if (!is_known)
		level = settings_read();
	is_known = true;
	rec_log_level = !out.pattern[0] || file_choose() ? level : REC_LOG_OFF;
}

/* --- a line --------------------------------------------------------------------------------- */

/* Once the conversion's first sign was passed; returns what follows it. */
static const char *add_argument(struct rec_text *text, const char *format, va_list *arguments)
{
	const bool is_long = *format == 'l';
	long number;

	format += is_long;
	switch (*format) {
	case 's':
		rec_text_add(text, va_arg(*arguments, const char *));
		break;
	case 'u':
		rec_text_add_number(text,
				    is_long ? va_arg(*arguments, unsigned long)
					    : va_arg(*arguments, unsigned),
				    0);
		break;
	case 'd':
		number = is_long ? va_arg(*arguments, long) : va_arg(*arguments, int);
		if (number < 0)
			rec_text_add(text, "-");
		rec_text_add_number(
			text, number < 0 ? (uint64_t) - (uint64_t)number : (uint64_t)number, 0);
		break;
	case 'x':
		rec_text_add_hex(text, is_long ? va_arg(*arguments, unsigned long)
					       : va_arg(*arguments, unsigned));
		break;
	default:
		rec_text_add_bytes(text, format, 1);
		break;
	}
	return format + 1;
}

static void add_formatted(struct rec_text *text, const char *format, va_list *arguments)
{
	while (*format) {
		const char *end = strchr(format, '%');

		if (!end || !end[1]) {
			rec_text_add(text, format);
			return;
		}
		rec_text_add_bytes(text, format, (size_t)(end - format));
		format = add_argument(text, end + 1, arguments);
	}
}

/* Seconds since 1970, with three decimals. */
static void add_time(struct rec_text *text)
{
	struct sys_time now = { 0 };

	sys_clock(CLOCK_REALTIME, &now);
	rec_text_add_number(text, (uint64_t)now.seconds, 0);
	rec_text_add(text, ".");
	for (long unit = 100 * NS_PER_MS; unit >= NS_PER_MS; unit /= 10)
		rec_text_add_number(text, (uint64_t)(now.nanoseconds / unit % 10), 0);
}

static void add_head(struct rec_text *text, enum rec_log_level level)
{
	add_time(text);
	rec_text_add(text, " memtape ");
	rec_text_add_number(text, (uint64_t)sys_getpid(), 0);
	rec_text_add(text, "/");
	rec_text_add_number(text, (uint64_t)sys_gettid(), 0);
	rec_text_add(text, " ");
	rec_text_add(text, names[level]);
	rec_text_add(text, ": ");
}

/* --- where it goes -------------------------------------------------------------------------- */

/* Before Linux 3.15 there is the older call only, which the newest processors never had. */
static void file_rename(const char *from, const char *to)
{
	const long rc = SYS_CALL5(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);

#ifdef SYS_renameat
	if (rc == -ENOSYS)
		SYS_CALL4(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
#else
	(void)rc;
#endif
}

/* The file is full: the next line begins another. Who renames it twice loses a part of the old. */
static int file_next(int fd)
{
	sys_close(fd);
	file_rename(out.path, out.old_path);
	return sys_open(out.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
			MODE);
}

/* Opened for each line: the program may close or reuse descriptors as it likes. */
static int file_open(void)
{
	const int fd = sys_open(
		out.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, MODE);
	ARCH_STAT st;

	if (fd < 0 || !out.old_path[0] || sys_fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size < out.bytes_max)
		return fd;
	return file_next(fd);
}

static bool stderr_is_same(void)
{
	return out.has_id && rec_fd_is(STDERR, out.id);
}

void rec_log_write(enum rec_log_level level, const char *format, ...)
{
	const uint32_t missing = atomic_exchange(&left_out, 0);
	char line[LINE_BYTES];
	struct rec_text text = { .ptr = line, .room = sizeof(line) - 1 };
	va_list arguments;
	bool is_written = false;

	CHECK(level > REC_LOG_OFF && (size_t)level < array_size(names));
	if (rec_may_call()) {
		const int fd = out.path[0] ? file_open() : stderr_is_same() ? STDERR : -1;

		add_head(&text, level);
		if (missing) {
			rec_text_add(&text, "(lines left out before this one: ");
			rec_text_add_number(&text, missing, 0);
			rec_text_add(&text, ") ");
		}
		va_start(arguments, format);
		add_formatted(&text, format, &arguments);
		va_end(arguments);
		line[text.len++] = '\n';
		is_written = fd >= 0 && rec_fd_has_room(fd) && rec_fd_write(fd, text.ptr, text.len);
		if (fd >= 0 && fd != STDERR)
			sys_close(fd);
	}
	if (!is_written)
		atomic_fetch_add(&left_out, missing + 1);
}
