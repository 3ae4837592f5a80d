/*
 * modules: blocks that are held by variables of libraries, linked (modules), loaded, and unloaded.
 *
 *	Run: linked_zeroed: reachable 701 in 1
 *	Run: linked_initialised: reachable 702 in 1
 *	Run: linked_static: reachable 703 in 1
 *	Run: linked_local: reachable 704 in 1
 *	Run: linked_destructor: nothing
 *	Run: linked_public: reachable 710 in 1
 *	Run: linked_lost: definite 706 in 1
 *	Run: loaded_zeroed: reachable 701 in 1
 *	Run: loaded_initialised: reachable 702 in 1
 *	Run: loaded_static: reachable 703 in 1
 *	Run: loaded_local: reachable 704 in 1
 *	Run: loaded_local_of_running, dtv 1: possible 704 in 1
 *	Run: loaded_destructor: nothing
 *	Run: loaded_public: reachable 710 in 1
 *	Run: loaded_lost: definite 706 in 1
 *	Run: closed_zeroed: definite 701 in 1
 *	Run: closed_initialised: definite 702 in 1
 *	Run: closed_local: reachable 704 in 1
 *	Run: closed_destructor: nothing
 *	Run: closed_and_loaded: definite 701 in 1
 *	Run: loaded_again: definite 701 in 1, reachable 701 in 1
 *	Run: name_space: reachable 1403 in 2
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "leak.h"

void plugin_hold_zeroed(void);
void plugin_hold_initialised(void);
void plugin_hold_static(void);
void plugin_hold_local(void);
void plugin_hold_for_destructor(void);
void plugin_lose(void);
extern void *plugin_public;

static atomic_int is_ready;

/* --- linked ----------------------------------------------------------------------------------- */

static void linked_public(void)
{
	plugin_public = block(710);
}

/* --- loaded ----------------------------------------------------------------------------------- */

/* A copy beside the program that it is not linked to. */
FRAME static const char *plugin_path(void)
{
	static char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 32);

	NEED(length > 0);
	path[length] = '\0';
	strcat(dirname(path), "/plugin_loaded.so");
	return path;
}

FRAME static void *load(void)
{
	void *library = dlopen(plugin_path(), RTLD_NOW | RTLD_LOCAL);

	NEED(library);
	return library;
}

FRAME static void *find(void *library, const char *name)
{
	void *found = dlsym(library, name);

	NEED(found);
	return found;
}

FRAME static void call(void *library, const char *name)
{
	((void (*)(void))find(library, name))();
}

static void loaded_zeroed(void)
{
	call(load(), "plugin_hold_zeroed");
}

static void loaded_initialised(void)
{
	call(load(), "plugin_hold_initialised");
}

static void loaded_static(void)
{
	call(load(), "plugin_hold_static");
}

static void loaded_local(void)
{
	call(load(), "plugin_hold_local");
}

static void *hold_local_and_stay(void *library)
{
	call(library, "plugin_hold_local");
	wipe();
	atomic_store(&is_ready, 1);
	for (;;)
		pause();
	return NULL;
}

/* What libc holds in the middle is the way to this memory. */
static void loaded_local_of_running(void)
{
	pthread_t thread;

	NEED(!pthread_create(&thread, NULL, hold_local_and_stay, load()));
	while (!atomic_load(&is_ready))
		usleep(1000);
	usleep(50000);
}

static void loaded_destructor(void)
{
	call(load(), "plugin_hold_for_destructor");
}

static void loaded_public(void)
{
	*(void **)find(load(), "plugin_public") = block(710);
}

static void loaded_lost(void)
{
	call(load(), "plugin_lose");
}

/* --- unloaded --------------------------------------------------------------------------------- */

FRAME static void load_call_close(const char *name)
{
	void *library = load();

	call(library, name);
	NEED(dlclose(library) == 0);
}

static void closed_zeroed(void)
{
	load_call_close("plugin_hold_zeroed");
}

static void closed_initialised(void)
{
	load_call_close("plugin_hold_initialised");
}

/* Its thread-local memory is there until the thread looks for some again. */
static void closed_local(void)
{
	load_call_close("plugin_hold_local");
}

static void closed_destructor(void)
{
	load_call_close("plugin_hold_for_destructor");
}

static void closed_and_loaded(void)
{
	closed_zeroed();
	load();
}

static void loaded_again(void)
{
	closed_zeroed();
	loaded_zeroed();
}

/* A second copy of the library, with a libc of its own. */
static void name_space(void)
{
	void *library = dlmopen(LM_ID_NEWLM, plugin_path(), RTLD_NOW);

	NEED(library);
	*(void **)find(library, "plugin_public") = block(701);
	*(void **)find(load(), "plugin_public") = block(702);
}

static const struct leak_case cases[] = {
	{ "linked_zeroed", plugin_hold_zeroed },
	{ "linked_initialised", plugin_hold_initialised },
	{ "linked_static", plugin_hold_static },
	{ "linked_local", plugin_hold_local },
	{ "linked_destructor", plugin_hold_for_destructor },
	{ "linked_lost", plugin_lose },
	CASE(linked_public),
	CASE(loaded_zeroed),
	CASE(loaded_initialised),
	CASE(loaded_static),
	CASE(loaded_local),
	CASE(loaded_local_of_running),
	CASE(loaded_destructor),
	CASE(loaded_public),
	CASE(loaded_lost),
	CASE(closed_zeroed),
	CASE(closed_initialised),
	CASE(closed_local),
	CASE(closed_destructor),
	CASE(closed_and_loaded),
	CASE(loaded_again),
	CASE(name_space),
};

LEAK_MAIN(cases)
