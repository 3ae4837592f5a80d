/*
 * bigmaps: maps pages of a file of 6 GiB, with holes, that are beyond what 31 and 32 bits can say, in
 * each way that there is, and prints what is in them. Its word is the file's name. The mappings of
 * 2, 3, 5 and 7 pages remain.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target.h"

#define GIB (1LL << 30)

static int file;

static void write_at(long long offset, const char *text)
{
	NEED(pwrite64(file, text, strlen(text), offset) == (ssize_t)strlen(text));
}

static void show(const char *what, const char *page)
{
	if (page == MAP_FAILED)
		printf("%s: error %d\n", what, errno);
	else
		printf("%s: %s\n", what, page);
}

FRAME static void map_each_way(void)
{
	const int prot = PROT_READ | PROT_WRITE;
	char *page;

	show("short", mmap(NULL, 2 * 4096, prot, MAP_SHARED, file, (off_t)(3 * GIB)));
	show("wide", mmap64(NULL, 3 * 4096, prot, MAP_SHARED, file, 5 * GIB));
	page = mmap64(NULL, 4096, prot, MAP_SHARED, file, 5 * GIB + 4096);
	page = mremap(page, 4096, 5 * 4096, MREMAP_MAYMOVE);
	show("moved", page);
	show("moved, its second page", page == MAP_FAILED ? page : page + 4096);
#ifdef SYS_mmap2
	page = (char *)syscall(SYS_mmap2, NULL, 4096, prot, MAP_SHARED, file,
			       (5 * GIB + 8192) / 4096);
	show("by number", page);
	NEED(munmap(page, 4096) == 0);
#else
	printf("by number: two on\n");
#endif
	show("odd", mmap64(NULL, 4096, prot, MAP_SHARED, file, 5 * GIB + 1));
	page = mmap64(NULL, 4096, prot, MAP_SHARED, file, 1LL << 62); /* how far may a file be? */
	printf("far: %d\n", page == MAP_FAILED ? errno : 0);
	NEED(page == MAP_FAILED || munmap(page, 4096) == 0);
	show("high bits only", mmap64(NULL, 7 * 4096, prot, MAP_SHARED, file, 4 * GIB));
	no_tail_call();
}

int main(int argc, char **argv)
{
	NEED(argc == 2);
	file = open64(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	NEED(file >= 0 && ftruncate64(file, 6 * GIB) == 0);
	write_at(0, "the beginning");
	write_at(3 * GIB, "three");
	write_at(4 * GIB, "four");
	write_at(GIB, "one");
	write_at(5 * GIB, "five");
	write_at(5 * GIB + 4096, "one on");
	write_at(5 * GIB + 8192, "two on");
	map_each_way();
	NEED(unlink(argv[1]) == 0);
	return 0;
}
