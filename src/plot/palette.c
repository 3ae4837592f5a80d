#include "plot/palette.h"

#include "core/hash.h"

/* The C and C++ run time is in every picture: grey, so that the program stands out. */
static const char *const system_modules[] = {
	"libc.so",     "libc-",	     "ld-linux", "ld-musl",  "libstdc++.so", "libc++.so",
	"libgcc_s.so", "libpthread", "libm.so",	 "libdl.so", "[vdso]",
};

static const char *const hues[] = {
	"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11",
};

static const char *const shades[] = { "s0", "s1", "s2" };

static bool is_system(const char *module)
{
	for (size_t i = 0; i < array_size(system_modules); i++) {
		if (strncmp(module, system_modules[i], strlen(system_modules[i])) == 0)
			return true;
	}
	return false;
}

const char *palette_hue(const struct name *name)
{
	const char *module = name->module_short;
	const char *version = strstr(module, ".so");
	const size_t len = version ? (size_t)(version - module) : strlen(module);

	if (len == 0)
		return "none";
	if (is_system(module))
		return "system";
	return hues[hash_bytes(module, len, 0) % array_size(hues)];
}

const char *palette_shade(const struct name *name)
{
	return shades[hash_bytes(name->function, strlen(name->function), 0) % array_size(shades)];
}
