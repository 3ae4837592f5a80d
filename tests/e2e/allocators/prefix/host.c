/* Loads each library that is named and runs what is in it; "-" unloads the last one. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	void *handle = NULL;

	for (int i = 1; i < argc; i++) {
		void (*run)(void);

		if (strcmp(argv[i], "-") == 0) {
			dlclose(handle);
			continue;
		}
		handle = dlopen(argv[i], RTLD_LOCAL | LOADING);
		run = handle ? (void (*)(void))dlsym(handle, "work_run") : NULL;
		if (!run) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		run();
	}
	return 0;
}
