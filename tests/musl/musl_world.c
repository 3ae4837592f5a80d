/*
 * Linked with musl, of which two builds are made: with -DPLUGIN the shared object that the other
 * one loads. Its arguments say what it does:
 *
 *	world PLUGIN	400 mallocs of 111 bytes from own_thread(), 100 in each of four threads,
 *			freed there; 50 of 77 bytes from plugin_keep() in PLUGIN, never freed, and
 *			50 of 78, freed with the object unloaded and loaded again in between; 20 of
 *			55 bytes from in_child() in a forked child, which ends by _exit(3)
 *	run PROGRAM...	the program as a child, by posix_spawnp; its exit code
 *	exec PROGRAM...	the program in its place
 */
#include <stdlib.h>

#ifdef PLUGIN

void *volatile plugin_kept[50];

__attribute__((noinline)) void plugin_keep(size_t bytes, int keeps)
{
	for (int i = 0; i < 50; i++) {
		void *volatile block = malloc(bytes);

		if (keeps)
			plugin_kept[i] = block;
		else
			free(block);
	}
}

#else

#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

__attribute__((noinline)) static void *own_thread(void *unused)
{
	for (int i = 0; i < 100; i++) {
		void *volatile block = malloc(111);

		free(block);
	}
	return unused;
}

__attribute__((noinline)) static void in_child(void)
{
	for (int i = 0; i < 20; i++) {
		void *volatile block = malloc(55);

		(void)block;
	}
}

static void call_plugin(const char *path, size_t bytes, int keeps)
{
	void *handle = dlopen(path, RTLD_NOW);
	void (*keep)(size_t, int) =
		handle ? (void (*)(size_t, int))dlsym(handle, "plugin_keep") : NULL;

	if (!keep) {
		puts(dlerror());
		exit(99);
	}
	keep(bytes, keeps);
	dlclose(handle);
}

static int wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 98;
	return WEXITSTATUS(status);
}

static int world(const char *plugin)
{
	pthread_t threads[4];
	pid_t pid;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, own_thread, NULL))
			return 97;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	call_plugin(plugin, 77, 1);
	call_plugin(plugin, 78, 0);
	pid = fork();
	if (pid == 0) {
		in_child();
		_exit(3);
	}
	return wait_for(pid);
}

int main(int argc, char **argv)
{
	pid_t pid;

	if (argc > 2 && strcmp(argv[1], "world") == 0)
		return world(argv[2]);
	if (argc > 2 && strcmp(argv[1], "run") == 0)
		return posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ) ? 96
										  : wait_for(pid);
	if (argc > 2 && strcmp(argv[1], "exec") == 0)
		execvp(argv[2], argv + 2);
	return 95;
}

#endif
