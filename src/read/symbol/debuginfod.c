#include "symbol/debuginfod.h"

#include <assert.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <time.h>

#include "base/monotonic.h"
#include "base/str.h"

enum { BUILD_ID_BYTES_MAX = 64, NS_PER_S = 1000000000 };

/* As in elfutils/debuginfod.h, which is not part of the build. */
struct debuginfod {
	struct debuginfod_settings settings;
	uint64_t spent_ns; /* by earlier requests */
	uint64_t begin_ns; /* of the current request */
	bool is_late;
	void *library;
	void *client;
	void (*end)(void *client);
	int (*find)(void *client, const unsigned char *build_id, int build_id_len, char **path);
};

static bool time_is_up(const struct debuginfod *debuginfod, uint64_t asking_ns)
{
	const uint64_t limit_ns = (uint64_t)debuginfod->settings.seconds_max * NS_PER_S;

	return limit_ns > 0 && debuginfod->spent_ns + asking_ns >= limit_ns;
}

/* Called by the library while it waits; nonzero ends the download. */
static int on_progress(struct debuginfod *debuginfod, long done, long total)
{
	if (debuginfod->settings.progress)
		debuginfod->settings.progress(debuginfod->settings.context,
					      done > 0 ? (uint64_t)done : 0,
					      total > 0 ? (uint64_t)total : 0);
	debuginfod->is_late |= time_is_up(debuginfod, monotonic_ns() - debuginfod->begin_ns);
	return debuginfod->is_late;
}

/* The library passes its client; ours is the user data stored in it. */
static int on_client_progress(void *client, long done, long total)
{
	void *(*user_data_get)(void *) =
		(void *(*)(void *))dlsym(RTLD_DEFAULT, "debuginfod_get_user_data");

	return user_data_get ? on_progress(user_data_get(client), done, total) : 0;
}

static bool client_watch(struct debuginfod *made)
{
	void (*progress_set)(void *client, int (*fn)(void *, long, long));
	void (*user_data_set)(void *client, void *data);

	progress_set = (void (*)(void *, int (*)(void *, long, long)))dlsym(
		made->library, "debuginfod_set_progressfn");
	user_data_set = (void (*)(void *, void *))dlsym(made->library, "debuginfod_set_user_data");
	if (!progress_set || !user_data_set)
		return false;
	user_data_set(made->client, made);
	progress_set(made->client, on_client_progress);
	return true;
}

struct err *debuginfod_create(const struct debuginfod_settings *settings,
			      struct debuginfod **debuginfod_ret)
{
	CLEAN(debuginfod_destroy) struct debuginfod *made = calloc(1, sizeof(*made));
	const char *urls = getenv("DEBUGINFOD_URLS");
	void *(*begin)(void);

	if (!made)
		return err_nomem();
	if (!urls || !*urls)
		return err_new(ERR_USAGE, "DEBUGINFOD_URLS names no server");
	made->settings = *settings;
	/* Global: on_client_progress has no other way to call its functions. */
	made->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_GLOBAL);
	if (!made->library)
		return err_new(ERR_UNSUPPORTED, "no debuginfod client: %s", dlerror());
	begin = (void *(*)(void))dlsym(made->library, "debuginfod_begin");
	made->end = (void (*)(void *))dlsym(made->library, "debuginfod_end");
	made->find = (int (*)(void *, const unsigned char *, int, char **))dlsym(
		made->library, "debuginfod_find_debuginfo");
	if (!begin || !made->end || !made->find)
		return err_new(ERR_UNSUPPORTED, "libdebuginfod.so.1 is a different library");
	made->client = begin();
	if (!made->client)
		return err_nomem();
	if (!client_watch(made))
		return err_new(ERR_UNSUPPORTED, "libdebuginfod.so.1 is too old");
	*debuginfod_ret = steal(made);
	return NULL;
}

void debuginfod_destroy(struct debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	if (debuginfod->client)
		debuginfod->end(debuginfod->client);
	/* The library stays loaded: its dependencies (curl, TLS) do not unload cleanly. */
	free(debuginfod);
}

char *debuginfod_find(struct debuginfod *debuginfod, const uint8_t *build_id, size_t build_id_bytes)
{
	char *path = NULL;
	int fd;

	assert(build_id || build_id_bytes == 0);
	if (build_id_bytes == 0 || build_id_bytes > BUILD_ID_BYTES_MAX)
		return NULL;
	if (time_is_up(debuginfod, 0)) {
		debuginfod->is_late = true;
		return NULL;
	}
	debuginfod->begin_ns = monotonic_ns();
	fd = debuginfod->find(debuginfod->client, build_id, (int)build_id_bytes, &path);
	debuginfod->spent_ns += monotonic_ns() - debuginfod->begin_ns;
	if (fd < 0)
		return NULL;
	close(fd);
	return path;
}

/* Where the library keeps files: debuginfod_find_debuginfo(3), "CACHE". */
static void add_cache_folder(struct str *path)
{
	const char *given = getenv("DEBUGINFOD_CACHE_PATH");
	const char *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");

	if (given && *given)
		str_add(path, given);
	else if (cache && *cache)
		str_printf(path, "%s/debuginfod_client", cache);
	else if (home && *home)
		str_printf(path, "%s/.cache/debuginfod_client", home);
}

char *debuginfod_find_fetched(const uint8_t *build_id, size_t build_id_bytes)
{
	CLEAN(str_deinit) struct str path = { 0 };
	struct stat status;

	assert(build_id || build_id_bytes == 0);
	if (build_id_bytes == 0 || build_id_bytes > BUILD_ID_BYTES_MAX)
		return NULL;
	add_cache_folder(&path);
	str_add_char(&path, '/');
	for (size_t i = 0; i < build_id_bytes; i++)
		str_printf(&path, "%02x", build_id[i]);
	str_add(&path, "/debuginfo");
	/* An empty file means that no server had it. */
	if (path.failed || stat(path.ptr, &status) != 0 || !S_ISREG(status.st_mode) ||
	    status.st_size == 0)
		return NULL;
	return steal(path.ptr);
}

bool debuginfod_is_late(const struct debuginfod *debuginfod)
{
	return debuginfod->is_late;
}
