/*
 * A function is a library's if its source is in a folder of installed code, if its name is of a
 * language's own library, if its module is one of the system, or if it was generated at run time and
 * has no name. Programs are the user's wherever they are installed, unless they are interpreters:
 * their C functions are not what a user wrote.
 */
#include "model/library.h"

#include <ctype.h>

#include "symbol/spell.h"

static bool begins(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

static bool any_begins(const char *text, const char *const *words)
{
	for (; *words; words++) {
		if (begins(text, *words))
			return true;
	}
	return false;
}

static bool any_within(const char *text, const char *const *words)
{
	for (; *words; words++) {
		if (strstr(text, *words))
			return true;
	}
	return false;
}

/* --- sources ------------------------------------------------------------------------------- */

/* Not /usr/src: people build there. <implicit>: made by the compiler (symbol/debug_info.h). */
static const char *const source_roots[] = { "/usr/include/",
					    "/usr/lib/",
					    "/usr/lib64/",
					    "/usr/share/",
					    "/usr/local/include/",
					    "/usr/local/go/src/",
					    "/rustc/",
					    "<frozen ",
					    "node:",
					    "<implicit>",
					    NULL };
static const char *const source_folders[] = {
	"/.cargo/registry/", "/.cargo/git/",	 "/.rustup/toolchains/",
	"/site-packages/",   "/dist-packages/",	 "/node_modules/",
	"/go/pkg/mod/",	     "/.m2/repository/", NULL
};

static bool is_library_path(const char *path)
{
	return any_begins(path, source_roots) || any_within(path, source_folders);
}

/* --- names --------------------------------------------------------------------------------- */

static const char *const cxx_names[] = {
	"std::",	   "__gnu_cxx::", "__cxxabiv1::", "__gnu_debug::", "operator new",
	"operator delete", NULL
};
static const char *const rust_crates[] = { "core::",	   "alloc::",	"std::", "hashbrown::",
					   "proc_macro::", "__rustc::", NULL };
/* Code that runtimes generate: not a function that somebody wrote. */
static const char *const generated_names[] = { "Builtin:", "BytecodeHandler:", "Bytecode:", "Stub:",
					       "RegExp:",  "Interpreter",      NULL };
static const char *const java_packages[] = { "java.",  "javax.",  "jdk.",  "sun.",  "com.sun.",
					     "Ljava/", "Ljavax/", "Ljdk/", "Lsun/", NULL };
static const char *const c_names[] = { "_IO_", "__libc_", "__GI_", "_dl_", NULL };

/* "<A as B>::f", "<A>::f": how long A is; what follows it. */
static size_t rust_type_bytes(const char *type)
{
	int depth = 0;
	size_t i = 0;

	for (; type[i]; i++) {
		if (strchr("<([", type[i]))
			depth++;
		else if (strchr(")]", type[i]) || (type[i] == '>' && i > 0 && type[i - 1] != '-'))
			depth--;
		if (depth < 0 || (depth == 0 && begins(type + i, " as ")))
			break;
	}
	return i;
}

/* Of a crate of the language, or of no crate: str, u8, [T], and a generic T. */
static bool is_rust_type(const char *type, size_t len)
{
	size_t path = 0;

	for (;;) {
		const size_t before = path;

		path += strspn(type + path, "&*[(<");
		path += begins(type + path, "mut ") ? strlen("mut ") : 0;
		path += begins(type + path, "const ") ? strlen("const ") : 0;
		path += begins(type + path, "dyn ") ? strlen("dyn ") : 0;
		if (path == before)
			break;
	}
	if (path >= len || any_begins(type + path, rust_crates))
		return true;
	for (size_t i = path; i + 1 < len && !strchr("<> ,;", type[i]); i++) {
		if (type[i] == ':' && type[i + 1] == ':')
			return false;
	}
	return true;
}

/* "<A as B>::f" is a library's if both are. */
static bool is_rust_impl(const char *name)
{
	const char *type = name + 1;
	const size_t len = rust_type_bytes(type);
	const char *trait = type + len + strlen(" as ");

	if (!begins(type + len, " as "))
		return any_begins(type, rust_crates);
	return is_rust_type(type, len) && any_begins(trait, rust_crates);
}

static bool is_library_name(const char *function)
{
	const struct spell_parts parts = spell_parts_of(function);

	if (any_begins(parts.name, cxx_names))
		return true;
	if (any_begins(function, generated_names) || any_begins(function, java_packages))
		return true;
	if (parts.has_parameters) /* of C++, which may have a namespace of such a name */
		return false;
	if (function[0] == '<')
		return is_rust_impl(function);
	return any_begins(function, rust_crates) || any_begins(function, c_names);
}

/* "py::name:/path/of/it.py", "LazyCompile:*name /path/of/it.js:3": names that have their source. */
static bool is_library_script(const char *function)
{
	const char *path;

	if (begins(function, "py::")) {
		path = strchr(function + strlen("py::"), ':');
		return path && is_library_path(path + 1);
	}
	if (!begins(function, "LazyCompile:") && !begins(function, "Function:") &&
	    !begins(function, "JS:") && !begins(function, "Script:") && !begins(function, "Eval:"))
		return false;
	path = strrchr(function, ' ');
	return path && is_library_path(path + 1);
}

/* --- modules ------------------------------------------------------------------------------- */

static const char *const module_roots[] = { "/lib/",	   "/lib32/",	  "/lib64/",
					    "/usr/lib/",   "/usr/lib32/", "/usr/lib64/",
					    "/nix/store/", "/gnu/store/", NULL };
static const char *const system_modules[] = {
	"libc.so",	"libc-",       "libm.so",   "libpthread.", "libstdc++.so", "libc++.so",
	"libc++abi.so", "libgcc_s.so", "libdl.so",  "ld-linux",	   "ld-musl",	   "libpython",
	"libnode.so",	"libjvm.so",   "libjli.so", "libperl.so",  "libruby",	   "linux-vdso",
	"[vdso]",	"[processes]", NULL
};

static bool is_library_module(const char *path)
{
	const char *name = names_short_path(path);

	if (any_begins(name, system_modules) || any_within(path, source_folders))
		return true;
	return strstr(name, ".so") && any_begins(path, module_roots);
}

/* "python3.11", "perl5.36.0", "node", "java": the rest of the name is a version. */
static bool is_interpreter_name(const char *name)
{
	static const char *const words[] = { "python", "pypy",	  "perl", "nodejs", "node",
					     "java",   "ruby",	  "php",  "lua",    "luajit",
					     "guile",  "Rscript", NULL };

	for (size_t i = 0; words[i]; i++) {
		const char *rest = name + strlen(words[i]);

		if (begins(name, words[i]) && rest[strspn(rest, "0123456789.-")] == '\0')
			return true;
	}
	return false;
}

/* In a folder "bin", as installed. One whose source is known was built by who asks. */
static bool is_interpreter(const struct role_subject *subject)
{
	const char *path = subject->linked ? subject->linked : subject->module;
	const char *name = names_short_path(path);
	const size_t folder = (size_t)(name - path);

	return !subject->file && folder >= strlen("/bin/") &&
	       begins(name - strlen("/bin/"), "/bin/") && is_interpreter_name(name);
}

/* Generated at run time, and nobody said what: no line that a user could look at. */
static bool is_unnamed_code(const struct role_subject *subject)
{
	return subject->module[0] == '\0' && begins(subject->function, "0x");
}

bool library_has(const struct role_subject *subject)
{
	return is_unnamed_code(subject) || (subject->file && is_library_path(subject->file)) ||
	       is_library_name(subject->function) || is_library_script(subject->function) ||
	       is_library_module(subject->linked ? subject->linked : subject->module) ||
	       is_interpreter(subject);
}

bool library_builtin(size_t index, struct role_builtin *builtin_ret)
{
	static const struct {
		const char *const *words;
		const char *of;
		enum role_builtin_match match;
	} tables[] = {
		{ source_roots, "source", ROLE_BUILTIN_BEGIN },
		{ source_folders, "source", ROLE_BUILTIN_WITHIN },
		{ cxx_names, "function", ROLE_BUILTIN_BEGIN },
		{ rust_crates, "function", ROLE_BUILTIN_BEGIN },
		{ generated_names, "function", ROLE_BUILTIN_BEGIN },
		{ java_packages, "function", ROLE_BUILTIN_BEGIN },
		{ c_names, "function", ROLE_BUILTIN_BEGIN },
		{ system_modules, "module", ROLE_BUILTIN_BEGIN },
		{ module_roots, "module", ROLE_BUILTIN_BEGIN },
	};

	for (size_t i = 0; i < array_size(tables); i++) {
		for (const char *const *word = tables[i].words; *word; word++) {
			if (index-- > 0)
				continue;
			*builtin_ret = (struct role_builtin) { NAME_LIBRARY, tables[i].of, *word,
							       tables[i].match };
			return true;
		}
	}
	return false;
}
