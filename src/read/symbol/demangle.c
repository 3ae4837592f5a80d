/*
 * The adapter of libiberty. The order matters: legacy Rust names are valid C++ names with a hash in
 * them, so Rust is tried first. Ada is tried only for names marked as such ("_ada_"): its encoding
 * is ordinary words with double underscores, and would turn sqlite3__x into sqlite3.x.
 */
#include "symbol/demangle.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "core/core.h"

/*
 * Longer names exist (Boost, Eigen) but are of no use to readers, and the demangler's time can grow
 * faster than its input.
 */
enum { DEMANGLE_INPUT_MAX = 16384, DEMANGLE_OUTPUT_MAX = 65536 };

struct dialect {
	const char *prefix;
	char *(*demangle)(const char *name);
};

static char *demangle_rust(const char *name)
{
	return rust_demangle(name, 0);
}

static char *demangle_cplus(const char *name)
{
	return cplus_demangle_v3(name, DMGL_PARAMS | DMGL_ANSI);
}

static char *demangle_d(const char *name)
{
	return dlang_demangle(name, 0);
}

static char *demangle_ada(const char *name)
{
	return ada_demangle(name, 0);
}

static const struct dialect dialects[] = {
	{ "_R", demangle_rust },    { "_ZN", demangle_rust }, { "_Z", demangle_cplus },
	{ "___Z", demangle_cplus }, { "_D", demangle_d },     { "_ada_", demangle_ada },
};

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool demangle_is_mangled(const char *name)
{
	for (size_t i = 0; i < array_size(dialects); i++) {
		if (starts_with(name, dialects[i].prefix))
			return true;
	}
	return false;
}

char *demangle(const char *name)
{
	if (name[0] != '_' || strnlen(name, DEMANGLE_INPUT_MAX) == DEMANGLE_INPUT_MAX)
		return NULL;
	for (size_t i = 0; i < array_size(dialects); i++) {
		char *text;

		if (!starts_with(name, dialects[i].prefix))
			continue;
		text = dialects[i].demangle(name);
		if (text && strnlen(text, DEMANGLE_OUTPUT_MAX) < DEMANGLE_OUTPUT_MAX)
			return text;
		free(text);
	}
	return NULL;
}
