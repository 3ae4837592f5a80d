/*
 * Asks what it runs on, as large programs do: by weak names and by dlsym(). Prints what is there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define WEAK __attribute__((weak))

void *mallocx(size_t size, int flags) WEAK;
int mallctl(const char *name, void *old, size_t *len, void *new, size_t new_len) WEAK;
void *je_malloc(size_t size) WEAK;
void *mi_malloc(size_t size) WEAK;
void *tc_malloc(size_t size) WEAK;
void *pool_malloc(size_t size) WEAK;

int main(void)
{
	static const char *const names[] = { "je_malloc",   "je_mallctl", "mallctl",
					     "mallocx",	    "mi_malloc",  "mi_version",
					     "tc_malloc",   "tc_version", "_rjem_malloc",
					     "pool_malloc", "malloc" };

	printf("%d %d %d %d %d %d\n", mallocx != NULL, mallctl != NULL, je_malloc != NULL,
	       mi_malloc != NULL, tc_malloc != NULL, pool_malloc != NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *ptr = dlsym(RTLD_DEFAULT, names[i]);

		printf("%s %d %d\n", names[i], ptr != NULL, dlsym(RTLD_NEXT, names[i]) != NULL);
	}
	free(malloc(10));
	return 0;
}
