#include "sums/name_hash.h"

#include <assert.h>

#include "core/hash.h"

/* libfoo.so.1.2 without its version. */
static size_t module_length(const char *module_short)
{
	const char *so = strstr(module_short, ".so.");

	return so ? (size_t)(so - module_short) + strlen(".so") : strlen(module_short);
}

uint64_t name_hash_module(const struct model *model, const char *path, const char *module_short)
{
	assert(path && module_short);
	if (path[0] && strcmp(path, model_process(model)->exe) == 0)
		return hash_bytes("", 0, 1);
	return hash_bytes(module_short, module_length(module_short), 2);
}

uint64_t name_hash(const struct model *model, const struct name *name)
{
	assert(name->function);
	return hash_bytes(name->function, strlen(name->function),
			  name_hash_module(model, name->module, name->module_short));
}
