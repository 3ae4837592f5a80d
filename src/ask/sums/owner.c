#include "sums/owner.h"

#include <string.h>

#include "base/map.h"
#include "base/number.h"
#include "core/hash.h"
#include "sums/sites.h"

struct err *owner_is_one_module(const struct sums *sums, struct names *names, enum walk_mode mode,
				struct arena *arena, bool *is_one_ret)
{
	CLEAN(map_deinit) struct map modules = { 0 }; /* hash of its path -> bytes */
	uint64_t all = 0, most = 0;
	struct sites sites;
	struct err *err = sites_find(sums, names, mode, arena, &sites);

	if (err)
		return err;
	for (size_t i = 0; i < sites.count; i++) {
		const char *module = names_get(names, sites.items[i].name)->module;
		const uint64_t bytes = sites.items[i].sums.peak.bytes;
		uint64_t *sum = map_put(&modules, hash_bytes(module, strlen(module), 0), NULL);

		if (!sum)
			return err_nomem();
		*sum += bytes;
		all += bytes;
		most = u64_max(most, *sum);
	}
	*is_one_ret = all > 0 && u64_mul_compare(most, 100, all, OWNER_PERCENT) >= 0;
	return NULL;
}
