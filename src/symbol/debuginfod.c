#include "symbol/debuginfod.h"

#include <dlfcn.h>

enum { BUILD_ID_BYTES_MAX = 64 };

/* As elfutils/debuginfod.h has them; the header is no part of the build. */
struct debuginfod {
	void *library;
	void *client;
	void (*end)(void *client);
	int (*find)(void *client, const unsigned char *build_id, int build_id_len, char **path);
};

struct err *debuginfod_create(struct debuginfod **debuginfod_ret)
{
	CLEAN(debuginfod_destroy) struct debuginfod *made = calloc(1, sizeof(*made));
	const char *urls = getenv("DEBUGINFOD_URLS");
	void *(*begin)(void);

	if (!made)
		return err_nomem();
	if (!urls || !*urls)
		return err_new(ERR_USAGE, "the variable DEBUGINFOD_URLS names no server");
	made->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!made->library)
		return err_new(ERR_UNSUPPORTED, "no debuginfod client: %s", dlerror());
	begin = (void *(*)(void))dlsym(made->library, "debuginfod_begin");
	made->end = (void (*)(void *))dlsym(made->library, "debuginfod_end");
	made->find = (int (*)(void *, const unsigned char *, int, char **))dlsym(
		made->library, "debuginfod_find_debuginfo");
	if (!begin || !made->end || !made->find)
		return err_new(ERR_UNSUPPORTED, "libdebuginfod.so.1 is another library");
	made->client = begin();
	if (!made->client)
		return err_nomem();
	*debuginfod_ret = steal(made);
	return NULL;
}

void debuginfod_destroy(struct debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	if (debuginfod->client)
		debuginfod->end(debuginfod->client);
	/* The library stays: what it loaded (curl, TLS) does not like to be unloaded. */
	free(debuginfod);
}

char *debuginfod_find(struct debuginfod *debuginfod, const uint8_t *build_id, size_t build_id_bytes)
{
	char *path = NULL;
	int fd;

	if (build_id_bytes == 0 || build_id_bytes > BUILD_ID_BYTES_MAX)
		return NULL;
	fd = debuginfod->find(debuginfod->client, build_id, (int)build_id_bytes, &path);
	if (fd < 0)
		return NULL;
	close(fd);
	return path;
}
