#include "collect/allocators.h"

#include <string.h>

/* Limits of the recorder (rec/allocators.h): length of a name or prefix, names with prefixes. */
enum { NAME_LEN_MAX = 31, PREFIXES_MAX = 8 };

#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

static const char *const known[] = { "jemalloc",    "mimalloc", "tcmalloc", "tbbmalloc",
				     "mozjemalloc", "rust",	"none" };

static bool is_known(const char *word, size_t len)
{
	for (size_t i = 0; i < array_size(known); i++)
		if (strlen(known[i]) == len && memcmp(known[i], word, len) == 0)
			return true;
	return false;
}

static bool is_name(const char *text, size_t len)
{
	return len > 0 && len <= NAME_LEN_MAX && strspn(text, NAME_BYTES) >= len;
}

static struct err *check_word(const char *word, size_t len, size_t *prefix_count)
{
	const char *equals = memchr(word, '=', len);
	const size_t name_len = equals ? (size_t)(equals - word) : len;

	if (!equals && is_known(word, len))
		return NULL;
	if (!equals)
		return err_new(ERR_USAGE,
			       "--allocator %.*s: expected jemalloc, mimalloc, tcmalloc, "
			       "tbbmalloc, mozjemalloc, rust or none; for others give the prefix "
			       "of their functions: %.*s=PREFIX",
			       (int)len, word, (int)len, word);
	if (!is_name(word, name_len) || !is_name(equals + 1, len - name_len - 1))
		return err_new(ERR_USAGE,
			       "--allocator %.*s: a name or prefix has letters, digits and "
			       "underscores, at most %d",
			       (int)len, word, NAME_LEN_MAX);
	if (++*prefix_count > PREFIXES_MAX)
		return err_new(ERR_USAGE, "--allocator: more than %d prefixes", PREFIXES_MAX);
	return NULL;
}

struct err *allocators_check(const struct option_list *list)
{
	size_t prefix_count = 0;

	for (size_t i = 0; i < list->count; i++) {
		const char *word = list->items[i];

		for (;;) {
			const size_t len = strcspn(word, ",");
			struct err *err = check_word(word, len, &prefix_count);

			if (err)
				return err;
			if (!word[len])
				break;
			word += len + 1;
		}
	}
	return NULL;
}

void allocators_add_options(const struct option_list *list, struct str *out)
{
	for (size_t i = 0; i < list->count; i++) {
		for (const char *word = list->items[i]; *word;) {
			const size_t len = strcspn(word, ",");

			str_printf(out, ",allocator=%.*s", (int)len, word);
			word += len + (word[len] != '\0');
		}
	}
}
