#include "cli/anonymous.h"

#include <assert.h>

#include "core/random.h"
#include "model/names.h"
#include "model/roles.h"

const char ANONYMOUS_KEEP_MODULES[] =
	"libc,libm,libdl,libpthread,librt,libresolv,ld,ld-linux,ld-musl,libstdc++,libc++,libc++abi,"
	"libgcc_s,libjemalloc,libtcmalloc,libtcmalloc_minimal,libmimalloc,libmemtape";

void anonymous_deinit(struct anonymous *anonymous)
{
	interner_deinit(&anonymous->paths);
	interner_deinit(&anonymous->functions);
	interner_deinit(&anonymous->arguments);
	interner_deinit(&anonymous->threads);
	interner_deinit(&anonymous->marks);
	interner_deinit(&anonymous->variables);
	interner_deinit(&anonymous->sources);
	interner_deinit(&anonymous->build_ids);
	vec_u64_deinit(&anonymous->random_ids);
	arena_deinit(&anonymous->arena);
	str_deinit(&anonymous->out);
	str_deinit(&anonymous->path_out);
	str_deinit(&anonymous->object_path);
}

/* --- words ----------------------------------------------------------------------------------- */

static void add_escaped(struct str *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\t' || *text == '\n' || *text == '\\')
			str_printf(out, "\\%03o", (unsigned)*text);
		else
			str_add_char(out, *text);
	}
}

void anonymous_tell(void *context, const char *what, const char *before, const char *after)
{
	const struct anonymous *anonymous = context;
	CLEAN(str_deinit) struct str line = { 0 };

	if (!anonymous->map)
		return;
	add_escaped(&line, after);
	str_add_char(&line, '\t');
	str_add(&line, what);
	str_add_char(&line, '\t');
	add_escaped(&line, before);
	str_add_char(&line, '\n');
	fputs(str_text(&line), anonymous->map);
}

/* Number of the text, from 1; 0: no memory. */
static uint32_t number_of(struct interner *interner, const char *text, bool *is_new_ret)
{
	const uint32_t count = interner->count;
	const uint32_t id = interner_put(interner, text, strlen(text));

	*is_new_ret = interner->count > count;
	return id == UINT32_MAX ? 0 : id + 1;
}

/* BEFORE + number + AFTER in out; NULL: no memory. */
static const char *word(struct anonymous *anonymous, struct str *out, struct interner *interner,
			const char *what, const char *text, const char *before, const char *after)
{
	bool is_new = false;
	const uint32_t number = number_of(interner, text, &is_new);

	if (number == 0)
		return NULL;
	str_clear(out);
	str_printf(out, "%s%u%s", before, number, after);
	if (out->failed)
		return NULL;
	if (is_new)
		anonymous_tell(anonymous, what, text, str_text(out));
	return str_text(out);
}

/* --- paths ----------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* System library folders: below them, a folder name is at most an architecture. */
static bool is_system_folder(const char *path, size_t len)
{
	static const char *const folders[] = { "/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/",
					       "/usr/local/lib/" };
	static const char *const architectures[] = { "",
						     "x86_64-linux-gnu/",
						     "i386-linux-gnu/",
						     "aarch64-linux-gnu/",
						     "arm-linux-gnueabihf/",
						     "x86_64-linux-musl/" };

	for (size_t i = 0; i < array_size(folders); i++) {
		const size_t begin = strlen(folders[i]);

		if (len < begin || memcmp(path, folders[i], begin) != 0)
			continue;
		for (size_t j = 0; j < array_size(architectures); j++)
			if (strlen(architectures[j]) == len - begin &&
			    memcmp(path + begin, architectures[j], len - begin) == 0)
				return true;
	}
	return false;
}

/* "libc" matches libc.so.6 and libc-2.31.so. */
static bool is_listed(const char *list, const char *file)
{
	while (list && *list) {
		const size_t len = strcspn(list, ",");
		const char *rest = file + len;

		if (len > 0 && strncmp(file, list, len) == 0 &&
		    (*rest == '\0' || begins(rest, ".so") || begins(rest, "-x86-64.so") ||
		     begins(rest, "-aarch64.so") || begins(rest, "-x86_64.so") ||
		     (*rest == '-' && rest[1] >= '0' && rest[1] <= '9')))
			return true;
		list += len + (list[len] == ',');
	}
	return false;
}

static bool keeps_module(const struct anonymous *anonymous, const char *path)
{
	return path[0] == '[' || is_listed(anonymous->keep_modules, names_short_path(path));
}

/* Names the kernel gives to mappings without a file. */
static const char *kernel_name(const char *name)
{
	static const char *const names[] = { "[heap]",	      "[stack]",    "[vdso]",
					     "[vvar]",	      "[vsyscall]", "[uprobes]",
					     "[vvar_vclock]", "[jit]",	    "linux-vdso.so.1" };

	for (size_t i = 0; i < array_size(names); i++)
		if (strcmp(name, names[i]) == 0)
			return names[i];
	return NULL;
}

/* Keeps the start and end of the name, so that the kind of mapping stays visible. */
static const char *path_prefix(const char *path)
{
	static const char *const kinds[][2] = {
		{ "[anon:", "[anon:name-" },
		{ "[anon_shmem:", "[anon_shmem:name-" },
		{ "[stack", "[stack:" },
		{ "[", "[name-" },
		{ "/memfd:memtape-spool", "/memfd:memtape-spool-" },
		{ "/memfd:", "/memfd:name-" },
		{ "/dev/shm/", "/dev/shm/name-" },
		{ "/dev/zero", "/dev/zero-" },
		{ "/SYSV", "/SYSV" },
		{ "anon_inode:", "anon_inode:name-" },
	};

	for (size_t i = 0; i < array_size(kinds); i++)
		if (begins(path, kinds[i][0]))
			return kinds[i][1];
	return path[0] == '/' ? "/anonymous/file-" : "file-";
}

static bool is_of_library(const char *module, const char *file)
{
	return role_of(&(struct role_subject) { "f", module, file }, NULL) == NAME_LIBRARY;
}

static const char *path_word(struct anonymous *anonymous, const char *path)
{
	static const char deleted[] = " (deleted)";
	const size_t len = strlen(path), end = sizeof(deleted) - 1;
	const char *file = names_short_path(path);
	const char *prefix = path_prefix(path), *now;
	char own[64];

	if (kernel_name(path))
		return kernel_name(path);
	if (strcmp(path, "/dev/zero (deleted)") == 0 || strcmp(path, "/dev/zero") == 0)
		return path;
	if (path[0] == '/' && keeps_module(anonymous, path)) {
		if (is_system_folder(path, (size_t)(file - path)))
			return path;
		str_clear(&anonymous->path_out); /* the folder may reveal the owner */
		str_printf(&anonymous->path_out, "/anonymous/%s", file);
		return anonymous->path_out.failed ? NULL : str_text(&anonymous->path_out);
	}
	if (len > end && strcmp(path + len - end, deleted) == 0) {
		CLEAN(free) char *name = strndup(path, len - end);

		now = name ? path_word(anonymous, name) : NULL;
		if (!now)
			return NULL;
		if (now != str_text(&anonymous->path_out)) {
			str_clear(&anonymous->path_out);
			str_add(&anonymous->path_out, now);
		}
		str_add(&anonymous->path_out, deleted);
		return anonymous->path_out.failed ? NULL : str_text(&anonymous->path_out);
	}
	str_format(own, sizeof(own), "%s", prefix);
	if (path[0] == '/' && is_of_library(path, NULL)) /* and so it stays */
		return word(anonymous, &anonymous->path_out, &anonymous->paths, "path", path,
			    "/usr/lib/library-", ".so");
	return word(anonymous, &anonymous->path_out, &anonymous->paths, "path", path, own,
		    own[0] == '[' ? "]" : "");
}

const char *anonymous_text(void *context, enum anonymise_kind kind, const char *text)
{
	struct anonymous *anonymous = context;
	struct str *out = &anonymous->out;

	if (!text[0])
		return "";
	switch (kind) {
	case ANONYMISE_PATH:
		return path_word(anonymous, text);
	case ANONYMISE_ARGUMENT:
		return word(anonymous, out, &anonymous->arguments, "argument", text, "argument-",
			    "");
	case ANONYMISE_THREAD:
		return word(anonymous, out, &anonymous->threads, "thread", text, "thread-", "");
	case ANONYMISE_MARK:
		return word(anonymous, out, &anonymous->marks, "mark", text, "mark-", "");
	case ANONYMISE_VARIABLE:
		return word(anonymous, out, &anonymous->variables, "variable", text, "variable-",
			    "");
	case ANONYMISE_OTHER:
		break;
	}
	return "(a text that is left out)";
}

/* Random bytes, the same for equal build-ids; modules that are kept keep theirs. */
const uint8_t *anonymous_build_id(void *context, const char *path, const uint8_t *build_id,
				  size_t count)
{
	struct anonymous *anonymous = context;
	uint8_t *bytes;
	uint32_t id;

	assert(build_id || count == 0);
	if (keeps_module(anonymous, path) || count == 0)
		return build_id;
	id = interner_put(&anonymous->build_ids, (const char *)build_id, count);
	if (id == UINT32_MAX)
		return NULL;
	if (id < anonymous->random_ids.count)
		return (const uint8_t *)(uintptr_t)anonymous->random_ids.items[id];
	bytes = arena_array(&anonymous->arena, count, 1);
	if (!bytes || random_fill(bytes, count) < 0 ||
	    !vec_u64_push(&anonymous->random_ids, (uintptr_t)bytes))
		return NULL;
	return bytes;
}

/* --- names of code --------------------------------------------------------------------------- */

static bool object_begin(void *context, const struct embedded_object *object, const char **path_ret,
			 const uint8_t **build_id_ret)
{
	struct anonymous *anonymous = context;
	const char *word = NULL;

	*build_id_ret =
		anonymous_build_id(anonymous, *path_ret, object->build_id, object->build_id_bytes);
	anonymous->module = *path_ret;
	anonymous->is_kept_module = (*path_ret)[0] != '[' && keeps_module(anonymous, *path_ret);
	str_clear(&anonymous->object_path);
	if (*build_id_ret || object->build_id_bytes == 0)
		word = path_word(anonymous, *path_ret);
	if (word)
		str_add(&anonymous->object_path, word);
	*path_ret =
		word && !anonymous->object_path.failed ? str_text(&anonymous->object_path) : NULL;
	return true;
}

/*
 * For unknown functions: "0x12a0 [python3.11+0x12a0]", with the module's name replaced.
 */
static const char *unnamed_word(struct anonymous *anonymous, const char *name)
{
	const char *open = strstr(name, " ["), *plus = open ? strrchr(open, '+') : NULL;
	const char *module = plus ? path_word(anonymous, anonymous->module) : NULL;

	if (!module)
		return NULL;
	str_clear(&anonymous->out);
	str_add_bytes(&anonymous->out, name, (size_t)(open + 2 - name));
	str_add(&anonymous->out, names_short_path(module));
	str_add(&anonymous->out, plus);
	return anonymous->out.failed ? NULL : str_text(&anonymous->out);
}

/* A replacement with the same role, because reports fold by role. */
static const char *function_word(void *context, const char *name)
{
	struct anonymous *anonymous = context;
	const char *prefix = "function-", *end = "";

	if (anonymous->is_kept_module || strcmp(name, "main") == 0 || strcmp(name, "_start") == 0 ||
	    (anonymous->keep_names && regex_match(anonymous->keep_names, name) == REGEX_YES))
		return name;
	if (begins(name, "0x") && strstr(name, " ["))
		return unnamed_word(anonymous, name);
	switch (role_of(&(struct role_subject) { name, anonymous->module, NULL }, NULL)) {
	case NAME_ALLOCATOR:
		prefix = "std::allocator<function-";
		end = ">";
		break;
	case NAME_START:
		prefix = "__libc_start_main-function-";
		break;
	case NAME_LIBRARY:
		prefix = "std::function-";
		break;
	case NAME_MINE:
		break;
	}
	return word(anonymous, &anonymous->out, &anonymous->functions, "function", name, prefix,
		    end);
}

static const char *source_word(void *context, const char *path)
{
	struct anonymous *anonymous = context;

	return word(anonymous, &anonymous->path_out, &anonymous->sources, "source", path,
		    is_of_library("", path) ? "/usr/include/source-" : "/anonymous/source-", "");
}

struct err *anonymous_names(struct anonymous *anonymous, const struct embedded *embedded,
			    struct vec_u8 *out)
{
	const struct renamer renamer = {
		.context = anonymous,
		.object = object_begin,
		.function = function_word,
		.file = source_word,
	};

	return names_rename(embedded, &renamer, out);
}
