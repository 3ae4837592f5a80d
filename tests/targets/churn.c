/*
 * churn: two libraries loaded and unloaded in turns, mostly at the same address. Stacks and names
 * must be those of the library that was there at the time. A new namespace (dlmopen) has a libc and
 * a heap of its own in which nothing is preloaded: that must just work.
 *
 * Run: dlopen
 *	size 1801: 100 malloc in churn_helper_one, freed in unload
 *	size 1802: 100 malloc in churn_inner_two, freed in unload
 * Run: dlmopen
 *	size 1804: 3 malloc in main, freed in main
 * Run: threads
 *	size 1801: 100 malloc in churn_helper_one, freed in unload
 *	size 1802: 100 malloc in churn_inner_two, freed in unload
 */
#include <dlfcn.h>
#include <libgen.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "target.h"

typedef void *entry_fn(void);

static char folder[4096];
static atomic_int stopping;

static void *load(const char *name, Lmid_t space)
{
	char path[4200];
	void *handle;

	snprintf(path, sizeof(path), "%s/%s.so", folder, name);
	handle = space == LM_ID_NEWLM ? dlmopen(space, path, RTLD_NOW) : dlopen(path, RTLD_NOW);
	if (!handle)
		fprintf(stderr, "%s\n", dlerror());
	NEED(handle);
	return handle;
}

FRAME static void unload(void *handle, void *block, void (*release)(void *))
{
	release(block);
	NEED(dlclose(handle) == 0);
	no_tail_call();
}

static void use(const char *name, Lmid_t space)
{
	void *handle = load(name, space);
	entry_fn *entry = (entry_fn *)dlsym(handle, "churn_entry");
	void (*release)(void *) = free;

	NEED(entry);
	/* Another namespace has a libc, and a heap, of its own. */
	if (space == LM_ID_NEWLM)
		release = (void (*)(void *))dlsym(handle, "free");
	unload(handle, entry(), release);
}

/* Keeps other stacks of other threads moving meanwhile. */
static void *allocate_until_told(void *arg)
{
	while (!atomic_load(&stopping)) {
		free(need_block(malloc(1803)));
		for (volatile int i = 0; i < 3000; i++)
			;
	}
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "dlopen";
	Lmid_t space = strcmp(how, "dlmopen") ? LM_ID_BASE : LM_ID_NEWLM;
	int rounds = space == LM_ID_NEWLM ? 3 : 100;
	pthread_t thread;
	ssize_t len = readlink("/proc/self/exe", folder, sizeof(folder) - 1);

	NEED(len > 0);
	dirname(folder);
	if (!strcmp(how, "threads"))
		NEED(!pthread_create(&thread, NULL, allocate_until_told, NULL));
	for (int i = 0; i < rounds; i++) {
		use("churn_one", space);
		use("churn_two", space);
		if (space == LM_ID_NEWLM)
			free(need_block(malloc(1804)));
	}
	atomic_store(&stopping, 1);
	if (!strcmp(how, "threads"))
		NEED(!pthread_join(thread, NULL));
	return 0;
}
