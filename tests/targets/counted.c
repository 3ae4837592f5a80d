/*
 * counted: threads that note in shared memory which call they are about to make and which are
 * done, to be killed at any moment: at most the call in progress may be missing on the tape.
 *
 * counted FILE THREADS: FILE gets one `struct note` per thread, 64 bytes apart. Thread i
 * allocates blocks of 3400 + i bytes and frees each of them before it allocates the next.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target.h"

struct note {
	volatile uint64_t begun;
	volatile uint64_t done;
	uint64_t reserved[6];
};

static struct note *notes;

FRAME static void call_once(struct note *note, size_t size, void **block)
{
	note->begun = note->begun + 1;
	__asm__ volatile("" : : : "memory");
	if (*block) {
		free(*block);
		*block = NULL;
	} else {
		*block = need_block(malloc(size));
	}
	__asm__ volatile("" : : : "memory");
	note->done = note->done + 1;
}

static void *run(void *arg)
{
	size_t self = (size_t)arg;
	void *block = NULL;

	for (;;) {
		call_once(&notes[self], 3400 + self, &block);
		for (volatile int i = 0; i < 2000; i++)
			;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	pthread_t thread;

	NEED(fd >= 0 && threads > 0);
	NEED(!ftruncate(fd, (off_t)(sizeof(*notes) * (size_t)threads)));
	notes = mmap(NULL, sizeof(*notes) * (size_t)threads, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		     0);
	NEED(notes != MAP_FAILED);
	close(fd);
	for (size_t i = 1; i < (size_t)threads; i++)
		NEED(!pthread_create(&thread, NULL, run, (void *)i));
	run(NULL);
	return 0;
}
