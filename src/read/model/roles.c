/*
 * A role is determined by names, collected from experience: the tables below list what is between a
 * program and malloc in glibc, libstdc++, libc++, Rust's alloc, and in widely used programs and
 * libraries.
 */
#include "model/roles.h"

#include "core/glob.h"
#include "model/library.h"
#include "symbol/spell.h"

enum { PATTERN_NAME_BYTES = 4096 };

enum match { MATCH_ALL, MATCH_BEGIN };

struct rule {
	enum match match;
	const char *text;
};

static const struct rule allocator_rules[] = {
	{ MATCH_ALL, "malloc" },
	{ MATCH_ALL, "calloc" },
	{ MATCH_ALL, "realloc" },
	{ MATCH_ALL, "reallocarray" },
	{ MATCH_ALL, "free" },
	{ MATCH_ALL, "memalign" },
	{ MATCH_ALL, "posix_memalign" },
	{ MATCH_ALL, "aligned_alloc" },
	{ MATCH_BEGIN, "__libc_malloc" },
	{ MATCH_BEGIN, "__libc_calloc" },
	{ MATCH_BEGIN, "__libc_realloc" },
	{ MATCH_BEGIN, "__libc_memalign" },
	{ MATCH_BEGIN, "__GI___libc_" },
	{ MATCH_BEGIN, "_int_malloc" },
	{ MATCH_BEGIN, "_int_realloc" },
	{ MATCH_BEGIN, "_int_memalign" },
	{ MATCH_BEGIN, "_int_free" },
	{ MATCH_ALL, "sysmalloc" },
	{ MATCH_ALL, "tcache_init" },
	{ MATCH_BEGIN, "operator new(" },
	{ MATCH_BEGIN, "operator new[](" },
	{ MATCH_BEGIN, "operator delete(" },
	{ MATCH_BEGIN, "operator delete[](" },
	{ MATCH_BEGIN, "std::allocator<" },
	{ MATCH_BEGIN, "std::allocator_traits<" },
	{ MATCH_BEGIN, "std::__1::allocator" },
	{ MATCH_BEGIN, "__gnu_cxx::new_allocator<" },
	{ MATCH_BEGIN, "__gnu_cxx::__alloc_traits<" },
	{ MATCH_BEGIN, "memtape_pool_" }, /* of our header, inlined into the program's allocator */
};

/*
 * Rust's, by their path: the functions themselves are renamed in every other compiler version. In
 * "<alloc::alloc::Global>::alloc_impl" and "<alloc::raw_vec::RawVec<T> as Drop>::drop" the type
 * decides.
 */
static const struct rule rust_rules[] = {
	{ MATCH_BEGIN, "__rust_alloc" },
	{ MATCH_BEGIN, "__rust_realloc" },
	{ MATCH_BEGIN, "__rust_dealloc" },
	{ MATCH_BEGIN, "__rdl_" },
	{ MATCH_BEGIN, "__rg_" },
	{ MATCH_BEGIN, "__rustc::__r" },
	{ MATCH_BEGIN, "alloc::alloc::" },
	{ MATCH_BEGIN, "alloc::raw_vec::" },
	{ MATCH_BEGIN, "core::alloc::" },
	{ MATCH_BEGIN, "std::alloc::" },
	{ MATCH_BEGIN, "std::sys::alloc::" },
	{ MATCH_BEGIN, "hashbrown::raw::alloc::" },
};

/* Wrappers of malloc: readers want to know their callers. */
static const struct rule wrapper_rules[] = {
	{ MATCH_ALL, "xmalloc" },
	{ MATCH_ALL, "xcalloc" },
	{ MATCH_ALL, "xrealloc" },
	{ MATCH_ALL, "xreallocarray" },
	{ MATCH_ALL, "xzalloc" },
	{ MATCH_ALL, "xmalloc0" },
	{ MATCH_BEGIN, "g_malloc" },
	{ MATCH_BEGIN, "g_try_malloc" },
	{ MATCH_BEGIN, "g_realloc" },
	{ MATCH_BEGIN, "g_try_realloc" },
	{ MATCH_BEGIN, "g_slice_alloc" },
	{ MATCH_BEGIN, "g_aligned_alloc" },
	{ MATCH_BEGIN, "_PyMem_" },
	{ MATCH_BEGIN, "PyMem_" },
	{ MATCH_BEGIN, "_PyObject_Malloc" },
	{ MATCH_BEGIN, "_PyObject_Calloc" },
	{ MATCH_BEGIN, "_PyObject_Realloc" },
	{ MATCH_ALL, "PyObject_Malloc" },
	{ MATCH_ALL, "PyObject_Calloc" },
	{ MATCH_ALL, "PyObject_Realloc" },
	{ MATCH_BEGIN, "Perl_safesys" },
	{ MATCH_BEGIN, "sqlite3MemMalloc" },
	{ MATCH_BEGIN, "sqlite3MemRealloc" },
	{ MATCH_ALL, "sqlite3Malloc" },
	{ MATCH_ALL, "sqlite3Realloc" },
	{ MATCH_ALL, "sqlite3_malloc" },
	{ MATCH_ALL, "sqlite3_malloc64" },
	{ MATCH_ALL, "sqlite3_realloc" },
	{ MATCH_ALL, "sqlite3_realloc64" },
	{ MATCH_ALL, "mallocWithAlarm" },
	{ MATCH_ALL, "CRYPTO_malloc" },
	{ MATCH_ALL, "CRYPTO_zalloc" },
	{ MATCH_ALL, "CRYPTO_realloc" },
	{ MATCH_ALL, "zmalloc" },
	{ MATCH_ALL, "zcalloc" },
	{ MATCH_ALL, "zrealloc" },
	{ MATCH_BEGIN, "ztrymalloc" },
	{ MATCH_BEGIN, "ztrycalloc" },
	{ MATCH_BEGIN, "ztryrealloc" },
	{ MATCH_BEGIN, "zmalloc_usable" },
	{ MATCH_BEGIN, "zcalloc_usable" },
	{ MATCH_ALL, "zcalloc_num" },
	{ MATCH_BEGIN, "zrealloc_usable" },
	{ MATCH_BEGIN, "av_malloc" },
	{ MATCH_BEGIN, "av_realloc" },
	{ MATCH_BEGIN, "llvm::safe_malloc" },
	{ MATCH_BEGIN, "llvm::allocate_buffer(" },
	{ MATCH_BEGIN, "v8::base::Malloc" },
	{ MATCH_BEGIN, "AcquireMagickMemory" },
	{ MATCH_BEGIN, "AcquireQuantumMemory" },
	{ MATCH_BEGIN, "AcquireAlignedMemory" },
	{ MATCH_BEGIN, "AllocateHeap(" },
	{ MATCH_BEGIN, "ReallocateHeap(" },
	{ MATCH_BEGIN, "Arena::grow(" },
	{ MATCH_BEGIN, "ChunkPool::allocate(" },
	{ MATCH_BEGIN, "AllocSetAlloc" },
	{ MATCH_BEGIN, "AllocSetRealloc" },
	{ MATCH_BEGIN, "MemoryContextAlloc" },
	{ MATCH_ALL, "palloc" },
	{ MATCH_ALL, "palloc0" },
	{ MATCH_ALL, "repalloc" },
	{ MATCH_BEGIN, "pg_malloc" },
	{ MATCH_ALL, "pg_realloc" },
	{ MATCH_BEGIN, "ggc_internal_alloc" },
	{ MATCH_BEGIN, "ggc_internal_cleared_alloc" },
	{ MATCH_BEGIN, "ggc_realloc" },
	{ MATCH_BEGIN, "_obstack_newchunk" },
	{ MATCH_BEGIN, "_obstack_begin" },
	{ MATCH_BEGIN, "rpl_obstack_newchunk" },
	{ MATCH_ALL, "do_xmalloc" },
	{ MATCH_BEGIN, "luaM_malloc" },
	{ MATCH_BEGIN, "luaM_realloc" },
	{ MATCH_ALL, "luaM_growaux_" },
	{ MATCH_ALL, "l_alloc" },
	{ MATCH_BEGIN, "llvm::SmallVectorBase<" },
	{ MATCH_BEGIN, "moz_xmalloc" },
	{ MATCH_BEGIN, "moz_xcalloc" },
	{ MATCH_BEGIN, "moz_xrealloc" },
	{ MATCH_ALL, "ngx_alloc" },
	{ MATCH_ALL, "ngx_calloc" },
	{ MATCH_BEGIN, "node::Malloc" },
	{ MATCH_BEGIN, "node::UncheckedMalloc" },
	{ MATCH_BEGIN, "node::Realloc" },
	{ MATCH_BEGIN, "os::malloc(" },
	{ MATCH_BEGIN, "os::realloc(" },
	{ MATCH_BEGIN, "QArrayData::allocate" },
	{ MATCH_BEGIN, "ruby_xmalloc" },
	{ MATCH_BEGIN, "ruby_xrealloc" },
	{ MATCH_BEGIN, "ruby_xcalloc" },
	{ MATCH_BEGIN, "objspace_xmalloc" },
	{ MATCH_BEGIN, "objspace_xcalloc" },
	{ MATCH_BEGIN, "objspace_xrealloc" },
};

static const struct rule start_rules[] = {
	{ MATCH_ALL, "_start" },
	{ MATCH_BEGIN, "__libc_start_main" },
	{ MATCH_ALL, "__libc_start_call_main" },
	{ MATCH_ALL, "libc_start_main_stage2" },
	{ MATCH_ALL, "start_thread" },
	{ MATCH_ALL, "clone" },
	{ MATCH_ALL, "__clone" },
	{ MATCH_ALL, "clone3" },
	{ MATCH_ALL, "__clone3" },
	{ MATCH_ALL, "__clone_internal" },
	{ MATCH_ALL, "thread_start" },
	{ MATCH_BEGIN, "std::rt::lang_start" },
	{ MATCH_BEGIN, "std::sys_common::backtrace::__rust_begin_short_backtrace" },
	{ MATCH_BEGIN, "std::sys::backtrace::__rust_begin_short_backtrace" },
};

static bool rule_matches(const struct rule *rule, const char *function)
{
	if (rule->text[0] != function[0]) /* most of them, for every name */
		return false;
	switch (rule->match) {
	case MATCH_ALL:
		return strcmp(function, rule->text) == 0;
	case MATCH_BEGIN:
		return strncmp(function, rule->text, strlen(rule->text)) == 0;
	}
	return false;
}

static bool any_matches(const struct rule *rules, size_t count, const char *function)
{
	for (size_t i = 0; i < count; i++) {
		if (rule_matches(&rules[i], function))
			return true;
	}
	return false;
}

static bool is_of_rust(const char *function)
{
	while (*function == '<')
		function++;
	return any_matches(rust_rules, array_size(rust_rules), function);
}

/* Checked at every character: most results are in the first. */
static inline bool begins(const char *text, const char *word)
{
	return text[0] == word[0] && strncmp(text, word, strlen(word)) == 0;
}

/* The end of the template arguments that begin at text. */
static const char *arguments_end(const char *text)
{
	unsigned depth = 0;

	for (; *text; text++) {
		if (*text == '<')
			depth++;
		else if (*text == '>' && text[-1] != '-' && --depth == 0)
			return text + 1;
	}
	return text;
}

/* "std::" and the names of its inline namespaces; 0: something else. */
static size_t std_prefix_bytes(const char *text)
{
	static const char *const prefixes[] = { "std::__cxx11::", "std::__1::", "std::",
						"__gnu_cxx::" };

	for (size_t i = 0; i < array_size(prefixes); i++) {
		if (begins(text, prefixes[i]))
			return strlen(prefixes[i]);
	}
	return 0;
}

/*
 * Internals of the C++ library: std::_Rb_tree<...>::_M_create_node(...), std::__invoke_impl<...>.
 * Their names begin with an underscore, which is reserved for them; the rest are names that
 * programs use, such as std::map<...>::operator[](...). A return type may precede the name.
 */
static bool is_library_inside(const char *function)
{
	bool is_std = false, is_inside = false;

	for (const char *at = function; *at && *at != '(';) {
		const size_t prefix = std_prefix_bytes(at);

		if (prefix > 0) {
			is_std = true;
			at += prefix;
			is_inside = *at == '_';
		} else if (*at == '<') {
			at = arguments_end(at);
		} else if (*at == ' ' || *at == '*' || *at == '&') {
			is_std = is_inside = false; /* that was the return type */
			at++;
		} else {
			is_inside |= is_std && begins(at, "::_");
			at++;
		}
	}
	return is_inside;
}

static enum name_role role_by_tables(const struct role_subject *subject)
{
	const char *function = subject->function;

	if (strncmp(names_short_path(subject->module), "libmemtape.so", strlen("libmemtape.so")) ==
	    0)
		return NAME_START; /* our own trampoline under a thread's function */
	if (any_matches(start_rules, array_size(start_rules), function))
		return NAME_START;
	if (any_matches(allocator_rules, array_size(allocator_rules), function) ||
	    is_of_rust(function) ||
	    any_matches(wrapper_rules, array_size(wrapper_rules), function) ||
	    is_library_inside(function))
		return NAME_ALLOCATOR;
	return library_has(subject) ? NAME_LIBRARY : NAME_MINE;
}

/* --- what users say ------------------------------------------------------------------------- */

/* From the root or from any folder on. */
static bool path_matches(const char *pattern, size_t len, const char *path)
{
	for (; path; path = strchr(path, '/')) {
		path += *path == '/' && pattern[0] != '/';
		if (glob_matches(pattern, len, path))
			return true;
		path += *path == '/';
	}
	return false;
}

static bool function_matches(const char *pattern, size_t len, const char *function)
{
	const struct spell_parts parts = spell_parts_of(function);
	char name[PATTERN_NAME_BYTES];

	if (glob_matches(pattern, len, function))
		return true;
	if (parts.name_bytes >= sizeof(name))
		return false;
	memcpy(name, parts.name, parts.name_bytes);
	name[parts.name_bytes] = '\0';
	return glob_matches(pattern, len, name);
}

static bool pattern_matches(const char *pattern, size_t len, const struct role_subject *subject)
{
	char folder[PATTERN_NAME_BYTES];

	if (len == 0)
		return false;
	if (!memchr(pattern, '/', len))
		return function_matches(pattern, len, subject->function) ||
		       glob_matches(pattern, len, names_short_path(subject->module)) ||
		       (subject->linked &&
			glob_matches(pattern, len, names_short_path(subject->linked))) ||
		       (subject->file &&
			glob_matches(pattern, len, names_short_path(subject->file)));
	if (pattern[len - 1] == '/') {
		if (len + 1 >= sizeof(folder))
			return false;
		memcpy(folder, pattern, len);
		folder[len++] = '*';
		pattern = folder;
	}
	return path_matches(pattern, len, subject->module) ||
	       (subject->linked && path_matches(pattern, len, subject->linked)) ||
	       (subject->file && path_matches(pattern, len, subject->file));
}

const char *role_pattern_next(const char **list, size_t *len_ret)
{
	const char *pattern = *list;
	size_t len;

	if (!pattern)
		return NULL;
	len = strcspn(pattern, ",");
	*list = pattern[len] ? pattern + len + 1 : NULL;
	for (; len > 0 && *pattern == ' '; len--)
		pattern++;
	while (len > 0 && pattern[len - 1] == ' ')
		len--;
	*len_ret = len;
	return pattern;
}

static bool list_matches(const char *list, const struct role_subject *subject)
{
	const char *pattern;
	size_t len;

	while ((pattern = role_pattern_next(&list, &len))) {
		if (pattern_matches(pattern, len, subject))
			return true;
	}
	return false;
}

struct err *role_patterns_check(const char *patterns)
{
	const char *list = patterns, *pattern;
	size_t len;

	for (const char *at = patterns; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return err_at(err_new(ERR_USAGE, "control character in a pattern"),
				      (size_t)(at - patterns), NULL);
	}
	while ((pattern = role_pattern_next(&list, &len))) {
		const size_t at = (size_t)(pattern - patterns);

		if (len == 0)
			return err_at(err_new(ERR_USAGE, "empty pattern"), at, NULL);
		if (len + 2 > PATTERN_NAME_BYTES)
			return err_at(err_new(ERR_USAGE, "pattern of more than %d bytes",
					      PATTERN_NAME_BYTES - 2),
				      at, NULL);
	}
	return NULL;
}

enum name_role role_of(const struct role_subject *subject, const struct role_rules *rules)
{
	for (size_t i = rules ? rules->count : 0; i-- > 0;) {
		if (list_matches(rules->rules[i].patterns, subject))
			return rules->rules[i].role;
	}
	return role_by_tables(subject);
}

const char *role_word(enum name_role role)
{
	switch (role) {
	case NAME_ALLOCATOR:
		return "allocator";
	case NAME_START:
		return "start";
	case NAME_LIBRARY:
		return "library";
	case NAME_MINE:
		break;
	}
	return "mine";
}

bool role_builtin(size_t index, struct role_builtin *builtin_ret)
{
	static const struct {
		const struct rule *rules;
		size_t count;
		enum name_role role;
	} tables[] = {
		{ wrapper_rules, array_size(wrapper_rules), NAME_ALLOCATOR },
		{ allocator_rules, array_size(allocator_rules), NAME_ALLOCATOR },
		{ rust_rules, array_size(rust_rules), NAME_ALLOCATOR },
		{ start_rules, array_size(start_rules), NAME_START },
	};

	for (size_t i = 0; i < array_size(tables); i++) {
		if (index < tables[i].count) {
			const struct rule *rule = &tables[i].rules[index];

			*builtin_ret = (struct role_builtin) {
				.role = tables[i].role,
				.of = "function",
				.text = rule->text,
				.match = rule->match == MATCH_BEGIN ? ROLE_BUILTIN_BEGIN
								    : ROLE_BUILTIN_ALL,
			};
			return true;
		}
		index -= tables[i].count;
	}
	return library_builtin(index, builtin_ret);
}
