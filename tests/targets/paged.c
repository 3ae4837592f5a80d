/*
 * paged: mappings whose lengths are of no whole pages, kept to the end, and a forked child; says that blocks of
 * valloc() and pvalloc() begin at pages. One mapping is of 5001 bytes, rounded up to the kernel's pages, and one
 * of 200001.
 */
#include <malloc.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

static void map(size_t bytes)
{
	char *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(area != MAP_FAILED);
	area[bytes - 1] = 1;
}

int main(void)
{
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	int status = -1;
	pid_t child;

	map(5001);
	map(200001);
	NEED((size_t)valloc(10) % page_bytes == 0);
	NEED((size_t)pvalloc(10) % page_bytes == 0);
	child = fork();
	if (child == 0) {
		free(need_block(malloc(1000)));
		_exit(0);
	}
	NEED(waitpid(child, &status, 0) == child && status == 0);
	printf("pages of %zu bytes\n", page_bytes);
	return 0;
}
