#include "compare/diff_name.h"

#include <assert.h>

#include "core/hash.h"
#include "sums/name_hash.h"

/*
 * Length of the name without compiler suffixes: f.constprop.0, f.part.3.cold, f [clone .isra.0]
 */
static size_t function_length(const char *function)
{
	static const char *const marks[] = {
		".constprop.", ".isra.", ".part.", ".cold", ".llvm.", ".lto_priv.", " [clone ",
	};
	size_t len = strlen(function);

	if (function[0] == '0' && function[1] == 'x') /* an address: "0x1234 [libfoo.so+0x1234]" */
		return len;
	for (size_t i = 0; i < array_size(marks); i++) {
		const char *mark = strstr(function, marks[i]);

		if (mark && mark > function)
			len = u64_min(len, (uint64_t)(mark - function));
	}
	return len;
}

uint64_t diff_name_hash(const struct model *model, const struct name *name)
{
	assert(name->function && name->module && name->module_short);
	return hash_bytes(name->function, function_length(name->function),
			  name_hash_module(model, name->module, name->module_short));
}
