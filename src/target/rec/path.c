#include "rec/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <time.h>

#include "core/synonyms.h"
#include "core/sys.h"
#include "rec/file.h"
#include "rec/text.h"

#include "core/poison.h"

/* An address in hexadecimal digits; *at_ret is behind them. */
static uint64_t hex_read(const char *at, const char **at_ret)
{
	uint64_t value = 0;

	for (;; at++) {
		const char digit = *at;

		if (digit >= '0' && digit <= '9')
			value = value << 4 | (uint64_t)(digit - '0');
		else if (digit >= 'a' && digit <= 'f')
			value = value << 4 | (uint64_t)(digit - 'a' + 10);
		else
			break;
	}
	*at_ret = at;
	return value;
}

/* The file of a line of /proc/self/maps, whose mapping has the address; NULL: it has not. */
static const char *line_file(const char *line, uint64_t address)
{
	const uint64_t begin = hex_read(line, &line);
	const uint64_t end = *line == '-' ? hex_read(line + 1, &line) : 0;

	return begin <= address && address < end ? strchr(line, '/') : NULL;
}

/* The file that is mapped at an address. 0: none, or its name has no room. */
static size_t file_at(uint64_t address, char *out, size_t room)
{
	const int fd = sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	size_t line = 0, found = 0;
	char part[512];
	long bytes;

	if (fd < 0)
		return 0;
	while (!found && (bytes = sys_read(fd, part, sizeof(part))) > 0) {
		for (long i = 0; !found && i < bytes; i++) {
			const char *file;

			if (part[i] != '\n') {
				out[line] = part[i];
				line += line + 1 < room;
				continue;
			}
			out[line] = '\0';
			file = line + 1 < room ? line_file(out, address) : NULL;
			if (file) {
				found = line - (size_t)(file - out);
				memmove(out, file, found);
			}
			line = 0;
		}
	}
	sys_close(fd);
	return found;
}

/*
 * The dynamic linker may have been started with the program as its argument: then the kernel has
 * loaded no other one, and AT_PHDR, which glibc's sets, is where the program is.
 */
static size_t program_of_linker(char *out, size_t room)
{
	return getauxval(AT_BASE) ? 0 : file_at(getauxval(AT_PHDR), out, room);
}

/* As the kernel was asked to run it, from the working directory of now; false: no room. */
static bool text_add_started(struct rec_text *text, const char *started)
{
	long len = started[0] == '/' ? 0 : SYS_CALL2(SYS_getcwd, text->ptr, text->room);

	if (len > 1 && text->ptr[0] == '/') {
		text->len = (size_t)len - 1;
		if (text->ptr[text->len - 1] != '/')
			rec_text_add(text, "/");
		while (started[0] == '.' && started[1] == '/')
			started += 2;
	}
	rec_text_add(text, started);
	return !text->full;
}

size_t rec_path_exe(char *out, size_t room)
{
	struct rec_text text = { .ptr = out, .room = room };
	const char *started;
	long len;

	CHECK(room > 0);
	len = (long)program_of_linker(out, room);
	if (len > 0)
		return (size_t)len;
	len = SYS_CALL4(SYS_readlinkat, -100 /* AT_FDCWD */, "/proc/self/exe", out, room);
	if (len > 0)
		return (size_t)len;
	started = (const char *)getauxval(AT_EXECFN);
	return started && text_add_started(&text, started) ? text.len : 0;
}

const char *rec_path_name(const char *path)
{
	const char *name = path;

	for (; *path; path++)
		if (*path == '/')
			name = path + 1;
	return name;
}

const char *rec_path_file(void)
{
	static char path[REC_PATH_BYTES];
	const size_t len = rec_path_exe(path, sizeof(path));

	path[len < sizeof(path) ? len : 0] = '\0';
	return path;
}

/* A descriptor's name, or the kernel's for what runs, is none that a person gave. */
static bool is_of_kernel(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/fd/", 8) == 0;
}

static bool is_same_file(const char *a, const char *b)
{
	ARCH_STAT one, other;

	return sys_stat(a, &one, 0) == 0 && sys_stat(b, &other, 0) == 0 &&
	       one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* Scripts are run by another file: their interpreter. */
static bool run_find(char *out, size_t room)
{
	struct rec_text text = { .ptr = out, .room = room };
	const char *started = (const char *)getauxval(AT_EXECFN);
	const char *exe = rec_path_file();

	return started && *exe && strcmp(rec_path_name(started), rec_path_name(exe)) != 0 &&
	       text_add_started(&text, started) && out[0] == '/' && !is_of_kernel(out) &&
	       is_same_file(out, exe);
}

const char *rec_path_run(void)
{
	static char path[REC_RUN_BYTES];
	static bool is_found;

	if (!is_found && !run_find(path, sizeof(path)))
		path[0] = '\0';
	is_found = true;
	return path;
}

static void text_add_exe(struct rec_text *text)
{
	const char *run = rec_path_run();
	const char *path = *run ? run : rec_path_file();

	rec_text_add(text, *path ? rec_path_name(path) : "unknown");
}

static void text_add_host(struct rec_text *text)
{
	struct utsname names;

	if (SYS_CALL1(SYS_uname, &names) == 0)
		rec_text_add_bytes(text, names.nodename,
				   strnlen(names.nodename, sizeof(names.nodename)));
}

static uint64_t seconds_now(void)
{
	struct sys_time now = { 0 };

	sys_clock(CLOCK_REALTIME, &now);
	return (uint64_t)now.seconds;
}

static void text_add_placeholder(struct rec_text *text, char what, unsigned attempt)
{
	switch (what) {
	case 'e':
		text_add_exe(text);
		break;
	case 'p':
		rec_text_add_number(text, (uint64_t)sys_getpid(), 0);
		break;
	case 't':
		rec_text_add_number(text, seconds_now(), 0);
		break;
	case 'h':
		text_add_host(text);
		break;
	case 'n':
		rec_text_add_number(text, attempt, 0);
		break;
	default:
		rec_text_add(text, "%");
		if (what != '%')
			rec_text_add_bytes(text, &what, 1);
		break;
	}
}

/* The name is in use and has no %n: "a.mtape" becomes "a.2.mtape". */
static void text_number_suffix(struct rec_text *text, unsigned number)
{
	char suffix[64];
	size_t dot = text->len;
	size_t suffix_len;

	while (dot > 0 && text->ptr[dot] != '.' && text->ptr[dot] != '/')
		dot--;
	if (text->ptr[dot] != '.' || text->len - dot >= sizeof(suffix))
		dot = text->len;
	suffix_len = text->len - dot;
	memcpy(suffix, text->ptr + dot, suffix_len);
	text->len = dot;
	rec_text_add(text, ".");
	rec_text_add_number(text, number, 0);
	rec_text_add_bytes(text, suffix, suffix_len);
}

bool rec_path_expand(const char *pattern, unsigned attempt, char *out, size_t out_bytes)
{
	struct rec_text text = { .ptr = out, .room = out_bytes };
	bool numbered = false;

	CHECK(out_bytes > 0);
	out[0] = '\0';
	for (const char *ptr = pattern; *ptr; ptr++) {
		if (*ptr != '%' || !ptr[1]) {
			rec_text_add_bytes(&text, ptr, 1);
			continue;
		}
		ptr++;
		numbered |= *ptr == 'n';
		text_add_placeholder(&text, *ptr, attempt);
	}
	if (attempt > 0 && !numbered)
		text_number_suffix(&text, attempt + 1);
	return !text.full && text.len > 0;
}

void rec_path_complain(const char *path, int error)
{
	static char line[4400]; /* once in a process */
	struct rec_text text = { .ptr = line, .room = sizeof(line) };

	rec_text_add(&text, "memtape: cannot create ");
	rec_text_add(&text, path);
	rec_text_add(&text, " (error ");
	rec_text_add_number(&text, (uint64_t)error, 0);
	rec_text_add(&text, "): this process is not recorded; set MEMTAPE_OUTPUT to a name in a "
			    "directory it may write\n");
	rec_fd_write(2, line, text.len);
}

void rec_synonyms_complain(char *const *entries)
{
	static const char head[] = "memtape: without effect here: ";
	static char line[2048]; /* once in a process; what does not fit is left out */
	struct rec_text text = { .ptr = line, .room = sizeof(line) - 1 };

	for (; entries && *entries; entries++) {
		const size_t len = synonym_unused(*entries);

		if (len == 0)
			continue;
		if (text.len == 0)
			rec_text_add_bytes(&text, head, sizeof(head) - 1);
		else
			rec_text_add(&text, ", ");
		rec_text_add_bytes(&text, *entries, len);
	}
	if (text.len == 0)
		return;
	line[text.len++] = '\n';
	rec_fd_write(2, line, text.len);
}
