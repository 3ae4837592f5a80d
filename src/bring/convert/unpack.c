#include "convert/unpack.h"

#include <assert.h>

struct unpack {
	const struct unpack_kind *kind;
	void *state;
	bool is_between;
};

static const struct unpack_kind *const kinds[] = { &unpack_gzip, &unpack_zstd, &unpack_lz4 };

struct err *unpack_create(const uint8_t *bytes, size_t count, struct unpack **unpack_ret)
{
	struct unpack *unpack = NULL;

	assert(bytes || count == 0);
	for (size_t i = 0; i < array_size(kinds) && !unpack; i++) {
		const struct unpack_kind *kind = kinds[i];

		if (count < kind->magic_bytes || memcmp(bytes, kind->magic, kind->magic_bytes) != 0)
			continue;
		unpack = calloc(1, sizeof(*unpack));
		if (!unpack)
			return err_nomem();
		unpack->kind = kind;
		unpack->state = kind->create();
		if (!unpack->state) {
			free(unpack);
			return err_nomem();
		}
	}
	*unpack_ret = unpack;
	return NULL;
}

void unpack_destroy(struct unpack *unpack)
{
	if (!unpack)
		return;
	unpack->kind->destroy(unpack->state);
	free(unpack);
}

struct err *unpack_run(struct unpack *unpack, const uint8_t *in, size_t in_count, size_t *used_ret,
		       char *out, size_t room, size_t *got_ret)
{
	assert(in_count > 0);
	assert(room > 0);
	*used_ret = *got_ret = 0;
	return unpack->kind->run(unpack->state, in, in_count, used_ret, out, room, got_ret,
				 &unpack->is_between);
}

bool unpack_is_between(const struct unpack *unpack)
{
	return unpack->is_between;
}
