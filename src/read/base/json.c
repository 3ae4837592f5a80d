#include "base/json.h"

#include <assert.h>

#include "base/str.h"

/* A list as one value: the text is built here, and emit adds the key and copies it. */
#define LIST(out, count, add)                                                                      \
	do {                                                                                       \
		str_add_char(out, '[');                                                            \
		for (size_t i = 0; i < (count); i++) {                                             \
			if (i > 0)                                                                 \
				str_add_char(out, ',');                                            \
			add;                                                                       \
		}                                                                                  \
		str_add_char(out, ']');                                                            \
	} while (0)

static void list_emit(struct emit *emit, const char *key, const struct str *list)
{
	if (list->failed)
		emit_fail(emit);
	else
		emit_number(emit, key, str_text(list));
}

void json_u64s(struct emit *emit, const char *key, const uint64_t *values, size_t count)
{
	CLEAN(str_deinit) struct str list = { 0 };

	assert(values || count == 0);
	LIST(&list, count, str_add_u64(&list, values[i]));
	list_emit(emit, key, &list);
}

void json_u32s(struct emit *emit, const char *key, const uint32_t *values, size_t count)
{
	CLEAN(str_deinit) struct str list = { 0 };

	assert(values || count == 0);
	LIST(&list, count, str_add_u64(&list, values[i]));
	list_emit(emit, key, &list);
}

void json_u8s(struct emit *emit, const char *key, const uint8_t *values, size_t count)
{
	CLEAN(str_deinit) struct str list = { 0 };

	assert(values || count == 0);
	LIST(&list, count, str_add_u64(&list, values[i]));
	list_emit(emit, key, &list);
}

void json_i64s(struct emit *emit, const char *key, const int64_t *values, size_t count)
{
	CLEAN(str_deinit) struct str list = { 0 };

	assert(values || count == 0);
	LIST(&list, count, str_add_i64(&list, values[i]));
	list_emit(emit, key, &list);
}

void json_i32s(struct emit *emit, const char *key, const int32_t *values, size_t count)
{
	CLEAN(str_deinit) struct str list = { 0 };

	assert(values || count == 0);
	LIST(&list, count, str_add_i64(&list, values[i]));
	list_emit(emit, key, &list);
}

void json_doubles(struct emit *emit, const char *key, const double *values, size_t count,
		  unsigned decimals)
{
	CLEAN(str_deinit) struct str list = { 0 };

	assert(values || count == 0);
	assert(decimals <= 9);
	LIST(&list, count, str_add_double(&list, values[i], decimals));
	list_emit(emit, key, &list);
}

void json_texts(struct emit *emit, const char *key, const char *const *texts, size_t count)
{
	assert(texts || count == 0);
	emit_list(emit, key);
	for (size_t i = 0; i < count; i++)
		emit_text(emit, NULL, texts[i]);
	emit_end(emit);
}

static void hash_add(struct str *out, uint64_t hash)
{
	str_printf(out, "\"%016llx\"", (unsigned long long)hash);
}

void json_hash(struct emit *emit, const char *key, uint64_t hash)
{
	CLEAN(str_deinit) struct str text = { 0 };

	hash_add(&text, hash);
	list_emit(emit, key, &text);
}

void json_hashes(struct emit *emit, const char *key, const uint64_t *hashes, size_t count)
{
	CLEAN(str_deinit) struct str list = { 0 };

	assert(hashes || count == 0);
	LIST(&list, count, hash_add(&list, hashes[i]));
	list_emit(emit, key, &list);
}

void json_u64_or_null(struct emit *emit, const char *key, uint64_t value, uint64_t none)
{
	if (value == none)
		emit_null(emit, key);
	else
		emit_u64(emit, key, value, EMIT_PLAIN);
}
