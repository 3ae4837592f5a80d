/*
 * unload: plugins that bring operator new and are unloaded, with what comes after them: the
 * recorder must not remember what it found in the first one.
 *
 * Must be found:
 *	size 2301: 50 operator new in plugin_work, freed in plugin_work
 *	size 2302: 50 operator new in plugin_work, freed in plugin_work
 */
#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "target.h"

static char dir[PATH_MAX];

/* Loads, uses and unloads; what was there cannot be called any more. */
static void use(const char *name)
{
	char path[PATH_MAX + 64];
	void (*work)(void);
	uintptr_t page;
	void *handle;

	snprintf(path, sizeof(path), "%s/%s.so", dir, name);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle || dlerror())
		exit(2);
	work = (void (*)(void))(uintptr_t)dlsym(handle, "plugin_work");
	work();
	page = (uintptr_t)work & ~(uintptr_t)4095;
	dlclose(handle);
	printf("%s unloaded: %d\n", name,
	       mmap((void *)page, 4096, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == (void *)page);
}

int main(int argc, char **argv)
{
	char *slash;

	(void)argc;
	snprintf(dir, sizeof(dir), "%s", argv[0]);
	slash = strrchr(dir, '/');
	if (!slash)
		return 3;
	*slash = '\0';
	use("plugin_new_one");
	use("plugin_new_two");
	return 0;
}
