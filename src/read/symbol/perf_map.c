#include "symbol/perf_map.h"

#include <assert.h>

#include "base/sort.h"
#include "base/vec.h"

enum { CODES_MAX = 2 << 20 }; /* of about 64 bytes each: the rest is not read */

struct jit_code {
	uint64_t begin;
	uint64_t bytes;
	const char *name;
};

VEC_DEFINE(jit_codes, struct jit_code);

struct perf_map {
	char *text;		/* lines became strings */
	struct jit_codes codes; /* sorted by begin, equal ones with the newest last */
};

static bool hex_read(char **cursor, uint64_t *value_ret)
{
	char *end;

	if (**cursor == '\0' || !strchr("0123456789abcdefABCDEF", **cursor))
		return false;
	*value_ret = strtoull(*cursor, &end, 16);
	if (end == *cursor || *end != ' ')
		return false;
	while (*end == ' ')
		end++;
	*cursor = end;
	return true;
}

static bool line_parse(char *line, struct jit_code *code)
{
	if (!hex_read(&line, &code->begin) || !hex_read(&line, &code->bytes) || *line == '\0')
		return false;
	code->name = line;
	return true;
}

static int code_compare(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct jit_code *)a)->begin,
				((const struct jit_code *)b)->begin);
}

static struct err *lines_parse(struct perf_map *map)
{
	char *line = map->text;

	while (*line && map->codes.count < CODES_MAX) {
		char *end = strchrnul(line, '\n');
		const bool is_last = *end == '\0';
		struct jit_code code;

		*end = '\0';
		if (line_parse(line, &code) && !jit_codes_push(&map->codes, code))
			return err_nomem();
		if (is_last)
			break;
		line = end + 1;
	}
	if (!sort_stable(map->codes.items, map->codes.count, sizeof(*map->codes.items),
			 code_compare, NULL))
		return err_nomem();
	return NULL;
}

struct err *perf_map_parse(const char *text, size_t len, struct perf_map **map_ret)
{
	CLEAN(perf_map_close) struct perf_map *map = calloc(1, sizeof(*map));
	struct err *err;

	assert(text || len == 0);
	if (!map)
		return err_nomem();
	map->text = malloc(len + 1);
	if (!map->text)
		return err_nomem();
	memcpy(map->text, text, len);
	map->text[len] = '\0';
	err = lines_parse(map);
	if (err)
		return err;
	*map_ret = steal(map);
	return NULL;
}

struct err *perf_map_open(const char *path, const struct file_trust *trust,
			  struct perf_map **map_ret)
{
	CLEAN(free) char *text = NULL;
	CLEAN(close) int fd = -1;
	uint64_t bytes;
	ssize_t len;
	struct err *err = file_open_trusted(path, trust, &fd, &bytes);

	assert(trust->bytes_max > 0);
	if (err)
		return err;
	text = malloc(bytes + 1);
	if (!text)
		return err_nomem();
	len = file_read_at(fd, text, bytes, 0);
	return len < 0 ? err_errno("read %s", path) : perf_map_parse(text, (size_t)len, map_ret);
}

void perf_map_close(struct perf_map *map)
{
	if (!map)
		return;
	free(map->text);
	jit_codes_deinit(&map->codes);
	free(map);
}

const char *perf_map_find(const struct perf_map *map, uint64_t address)
{
	size_t low = 0, high = map->codes.count;

	while (low < high) { /* the first that begins after address */
		size_t middle = low + (high - low) / 2;

		if (map->codes.items[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	if (address - map->codes.items[low - 1].begin >= map->codes.items[low - 1].bytes)
		return NULL;
	return map->codes.items[low - 1].name;
}
