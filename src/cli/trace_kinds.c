#include "cli/trace_kinds.h"

#include <stdio.h>

#include "base/str.h"
#include "trace/tracing.h"

static struct err *kinds_error(const char *word, size_t len)
{
	return err_new(
		ERR_USAGE,
		"%.*s: expected brk, mmap, munmap, faults, major-faults, thp-splits, oom or all; "
		"several with commas between them",
		(int)len, word);
}

struct err *trace_kinds_parse(const char *text, struct trace_kinds *kinds_ret)
{
	struct trace_kinds kinds = { 0 };

	while (*text) {
		const size_t len = strcspn(text, ",");
		const bool is_all = len == 3 && memcmp(text, "all", 3) == 0;
		uint32_t found = is_all ? (1U << TAPE_KERNEL_KINDS) - 1 : 0;

		for (uint32_t kind = 0; kind < TAPE_KERNEL_KINDS; kind++) {
			const char *name = tracing_kind_name(kind);

			if (strlen(name) == len && memcmp(name, text, len) == 0)
				found = 1U << kind;
		}
		if (!found)
			return kinds_error(text, len);
		kinds.set |= found;
		kinds.is_all |= is_all;
		text += len;
		text += *text == ',';
	}
	if (kinds.set == 0)
		return kinds_error("", 0);
	*kinds_ret = kinds;
	return NULL;
}

struct err *trace_kinds_allowed(uint32_t kinds, bool is_quiet, uint32_t *kinds_ret)
{
	CLEAN(err_destroy) struct err *why = NULL;
	uint32_t missing = 0;

	for (uint32_t kind = 0; kind < TAPE_KERNEL_KINDS; kind++) {
		struct err *err = kinds >> kind & 1 ? tracing_kind_check(kind) : NULL;

		if (!err)
			continue;
		missing |= 1U << kind;
		err_destroy(why);
		why = err;
	}
	if (missing == kinds)
		return steal(why);
	if (why && !is_quiet)
		trace_kinds_print_missing(missing, err_message(why));
	*kinds_ret = kinds & ~missing;
	return NULL;
}

void trace_kinds_print_missing(uint32_t kinds, const char *why)
{
	CLEAN(str_deinit) struct str names = { 0 };

	for (uint32_t kind = 0; kind < TAPE_KERNEL_KINDS; kind++)
		if (kinds >> kind & 1)
			str_printf(&names, "%s%s", names.len > 0 ? ", " : "",
				   tracing_kind_name(kind));
	fprintf(stderr, "memtape: not traced: %s: %s\n", str_text(&names), why);
}

void trace_kinds_print_user_only(void)
{
	fprintf(stderr, "memtape: page faults within system calls are not seen: that takes root, "
			"or kernel.perf_event_paranoid of 1 or less\n");
}
