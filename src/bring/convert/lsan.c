/*
 * The text of LeakSanitizer, alone or of AddressSanitizer: leaks by call stack.
 *
 *	==11==ERROR: LeakSanitizer: detected memory leaks
 *	Direct leak of 20000 byte(s) in 40 object(s) allocated from:
 *	    #0 0x7ffff7813545 in malloc (/lib/liblsan.so.0+0x13545)
 *	    #1 0x555555555159 in lose /src/leaks.c:29:9
 *
 * Other lines, of the program itself or of other findings, may stand before, between and behind.
 */
#include <inttypes.h>

#include "base/str.h"
#include "base/vec.h"
#include "convert/importer.h"
#include "convert/scan.h"

static const char BEGIN[] = "ERROR: LeakSanitizer: detected memory leaks";

enum { FRAMES_MAX = 1024 };

/* One stack of the file; reused. */
struct lsan {
	struct composer *composer;
	struct str function, file;
	struct vec_u32 frames; /* innermost first */
	uint64_t bytes, count;
	bool is_open; /* a leak's stack is being read */
	uint64_t leaks;
};

static enum importer_match lsan_probe(const char *bytes, size_t count)
{
	(void)count;
	return strstr(bytes, BEGIN) ? IMPORTER_YES : IMPORTER_NO;
}

/* "Direct leak of 7 byte(s) in 1 object(s) allocated from:" */
static bool leak_scan(const char *at, uint64_t *bytes_ret, uint64_t *count_ret)
{
	return (scan_text(&at, "Direct leak of ") || scan_text(&at, "Indirect leak of ")) &&
	       scan_number(&at, bytes_ret) && scan_text(&at, " byte(s) in ") &&
	       scan_number(&at, count_ret) && scan_text(&at, " object(s) allocated from:");
}

static void leak_end(struct lsan *lsan)
{
	const struct compose_sum sum = { .allocated_bytes = lsan->bytes,
					 .allocated_count = lsan->count,
					 .live_bytes = lsan->bytes,
					 .live_count = lsan->count };
	uint32_t stack = COMPOSE_ROOT;

	if (!lsan->is_open)
		return;
	lsan->is_open = false;
	for (size_t i = lsan->frames.count; i-- > 0;)
		stack = composer_stack(lsan->composer, stack, lsan->frames.items[i]);
	composer_sum(lsan->composer, lsan->frames.count ? stack : COMPOSE_NO_STACK, &sum);
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Takes ":42" or ":42:7" from the end of a path. */
static size_t line_scan(const char *path, size_t len, uint32_t *line_ret)
{
	for (unsigned part = 0; part < 2; part++) {
		size_t begin = len;
		const char *at;
		uint64_t number;

		while (begin > 0 && path[begin - 1] >= '0' && path[begin - 1] <= '9')
			begin--;
		at = path + begin;
		if (begin == len || begin < 2 || path[begin - 1] != ':' ||
		    !scan_number(&at, &number))
			break;
		*line_ret = number <= UINT32_MAX ? (uint32_t)number : 0;
		len = begin - 1;
	}
	return len;
}

/* "(/lib/libc.so.6+0x1234)", perhaps with " (BuildId: ...)" behind it. NULL: it is no such place. */
static const char *module_find(const char *text, const char **plus_ret)
{
	*plus_ret = strstr(text, "+0x");
	return *plus_ret ? memrchr(text, '(', (size_t)(*plus_ret - text)) : NULL;
}

static uint32_t module_take(struct lsan *lsan, const char *begin, const char *plus)
{
	str_clear(&lsan->file);
	str_add_bytes(&lsan->file, begin + 1, (size_t)(plus - begin - 1));
	return composer_module(lsan->composer,
			       &(struct compose_module) { .path = str_text(&lsan->file) });
}

/* The function ends where the place begins: at the last blank before a path, or at a bracket. */
static const char *place_find(const char *text)
{
	const char *plus, *module = module_find(text, &plus);
	const char *slash = strstr(text, " /");
	const char *dots = strstr(text, " ../");
	const char *blank = strrchr(text, ' ');

	if (module && module > text && module[-1] == ' ')
		return module - 1;
	if (dots && (!slash || dots < slash))
		slash = dots;
	return slash ? slash : blank;
}

/* "#1 0x4da26a in main /src/list.c:4:7" */
static void frame_take(struct lsan *lsan, const char *at)
{
	struct compose_name name = { 0 };
	struct compose_frame frame = { .names = &name, .name_count = 1 };
	const char *place, *module, *plus;
	uint64_t address = 0;

	if (lsan->frames.count >= FRAMES_MAX || !scan_text(&at, "0x") || !scan_hex(&at, &address))
		return;
	scan_blanks(&at);
	str_clear(&lsan->function);
	place = at;
	if (scan_text(&at, "in ")) {
		place = place_find(at);
		str_add_bytes(&lsan->function, at, place ? (size_t)(place - at) : strlen(at));
		place = place ? place + 1 : "";
	}
	if (lsan->frames.count == 0 &&
	    strncmp(str_text(&lsan->function), "__interceptor_", strlen("__interceptor_")) == 0)
		return; /* its own malloc */
	if (lsan->function.len == 0)
		str_printf(&lsan->function, "0x%" PRIx64, address);
	module = module_find(place, &plus);
	if (module) {
		frame.module = module_take(lsan, module, plus);
	} else if (*place) {
		str_clear(&lsan->file);
		str_add_bytes(&lsan->file, place, line_scan(place, strlen(place), &name.line));
		name.file = str_text(&lsan->file);
	}
	name.function = str_text(&lsan->function);
	if (!vec_u32_push(&lsan->frames, composer_frame(lsan->composer, &frame)))
		lsan->function.failed = true;
}

static void line_take(struct lsan *lsan, const char *line)
{
	uint64_t bytes, count, number;

	if (leak_scan(line, &bytes, &count)) {
		leak_end(lsan);
		lsan->bytes = bytes;
		lsan->count = count;
		lsan->is_open = count > 0;
		lsan->leaks++;
		lsan->frames.count = 0;
		return;
	}
	scan_blanks(&line);
	if (lsan->is_open && scan_text(&line, "#") && scan_number(&line, &number)) {
		scan_blanks(&line);
		frame_take(lsan, line);
	} else {
		leak_end(lsan);
	}
}

static struct err *lsan_read(struct source *source, struct composer *composer)
{
	struct lsan lsan = { .composer = composer };
	struct err *err = NULL;
	char *line;
	size_t len;

	composer_missing(composer, TAPE_MISSING_TIMES | TAPE_MISSING_THREADS |
					   TAPE_MISSING_ADDRESSES | TAPE_MISSING_FREES |
					   TAPE_MISSING_USABLE | TAPE_MISSING_FREE_STACKS |
					   TAPE_MISSING_FUNCTIONS | TAPE_MISSING_PROCESS);
	composer_tool(composer, "LeakSanitizer");
	while (!composer_failed(composer) && !lsan.function.failed && !lsan.file.failed &&
	       source_line(source, &line, &len))
		line_take(&lsan, line);
	leak_end(&lsan);
	if (lsan.function.failed || lsan.file.failed)
		err = err_nomem();
	else if (lsan.leaks == 0)
		err = source_error(source, "no line says \"Direct leak of N byte(s) in M "
					   "object(s) allocated from:\"");
	composer_note(composer, "the file has only what was lost: all else was reachable or freed");
	str_deinit(&lsan.function);
	str_deinit(&lsan.file);
	vec_u32_deinit(&lsan.frames);
	return err;
}

const struct importer importer_lsan = {
	.name = "lsan",
	.title = "the text of LeakSanitizer, also of AddressSanitizer",
	.recipe = "gcc -fsanitize=leak; LSAN_OPTIONS=log_path=x.log PROGRAM",
	.probe = lsan_probe,
	.read = lsan_read,
};
