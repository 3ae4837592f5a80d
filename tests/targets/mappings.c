/*
 * mappings: mmap, mremap, mprotect, madvise, munmap, brk, sbrk, mallopt, malloc_trim and their
 * failures. Results and errno are printed: they must be the same with and without a recorder.
 *
 * Must be found:
 *	size 1701: 200 malloc in blocks_between, freed in blocks_between
 *	size 300123: 20 malloc in blocks_between, freed in blocks_between
 */
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target.h"

FRAME static void blocks_between(void)
{
	for (int i = 0; i < 20; i++) {
		for (int j = 0; j < 10; j++)
			free(need_block(malloc(1701)));
		free(need_block(malloc(300123))); /* glibc maps this one */
	}
	no_tail_call();
}

FRAME static void map_and_unmap(void)
{
	const int prot = PROT_READ | PROT_WRITE;
	char *area = mmap(NULL, 1 << 20, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(area != MAP_FAILED);
	memset(area, 1, 1 << 20);
	NEED(mprotect(area, 4096, PROT_READ) == 0);
	NEED(madvise(area + 65536, 65536, MADV_DONTNEED) == 0);
	NEED(area[65536] == 0 && area[0] == 1);
	NEED(mprotect(area, 4096, prot) == 0); /* one mapping again: mremap wants one */
	area = mremap(area, 1 << 20, 4 << 20, MREMAP_MAYMOVE);
	printf("mremap %d\n", area == MAP_FAILED ? errno : 0);
	NEED(munmap(area, 4 << 20) == 0);
}

static void say(const char *what, int result)
{
	printf("%s: %d %s\n", what, result, strerror(errno));
}

static void failures(void)
{
	errno = 0;
	NEED(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
	printf("mmap of 0: %s\n", strerror(errno));
	NEED(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED);
	printf("mmap of fd -1: %s\n", strerror(errno));
	say("munmap odd", munmap((void *)1, 4096));
	say("mprotect odd", mprotect((void *)1, 4096, PROT_READ));
	say("madvise odd", madvise((void *)1, 4096, MADV_NORMAL));
	NEED(mremap((void *)1, 4096, 8192, 0) == MAP_FAILED);
	printf("mremap odd: %s\n", strerror(errno));
	errno = 0;
	printf("sbrk too far: %d", sbrk((intptr_t)1 << 46) == (void *)-1);
	printf(" %s\n", strerror(errno));
	printf("brk to 1: %d\n", brk((void *)1));
}

static void breaks(void)
{
	char *begin = sbrk(0);

	NEED(sbrk(8192) == begin);
	begin[8191] = 1;
	NEED(sbrk(-8192) == begin + 8192);
	NEED(sbrk(0) == begin);
	NEED(brk(begin + 4096) == 0);
	NEED(sbrk(0) == begin + 4096);
}

int main(void)
{
	map_and_unmap();
	blocks_between();
	failures();
	breaks();
	printf("mallopt %d\n", mallopt(M_MMAP_THRESHOLD, 1 << 20));
	printf("mallopt unknown %d\n", mallopt(-12345, 1));
	need_block(malloc(5000000));
	printf("malloc_trim %d\n", malloc_trim(0) >= 0);
	errno = 77;
	map_and_unmap();
	printf("errno kept %d\n", errno);
	return 0;
}
