/*
 * bad_pointers: system calls whose pointers the kernel refuses. Prints what they answer, which must
 * be the same with a recorder; nobody may look where the kernel would not.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target.h"

static void say(const char *what, int result)
{
	printf("%s %d %s\n", what, result, strerrorname_np(errno));
	errno = 0;
}

int main(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *no_end = page + 4095;
	char *nowhere = (char *)keep((void *)16), *null = keep(NULL);
	char *arguments[] = { nowhere, NULL };

	NEED(munmap(page + 4096, 4096) == 0);
	*no_end = 'x';
	setvbuf(stdout, NULL, _IONBF, 0);
	say("execve", execve(nowhere, arguments, NULL));
	say("execve null", execve(null, arguments, NULL));
	say("execve no end", execve(no_end, arguments, NULL));
	say("execv", execv(nowhere, arguments));
	say("execl", execl(nowhere, "x", NULL));
	say("execle", execle(nowhere, "x", NULL, NULL));
	say("arguments", execve("/proc/self/exe", arguments, NULL));
	say("arguments all", execve("/proc/self/exe", (char **)nowhere, NULL));
	say("environment", execve("/proc/self/exe", arguments + 1, (char **)nowhere));
	say("fexecve", fexecve(-1, (char **)nowhere, (char **)nowhere));
	say("clone3", (int)syscall(SYS_clone3, nowhere, 88));
	say("clone3 null", (int)syscall(SYS_clone3, null, 88));
	say("clone3 no end", (int)syscall(SYS_clone3, page + 4096 - 16, 88));
	say("clone3 small", (int)syscall(SYS_clone3, nowhere, 8));
	say("seccomp", (int)syscall(SYS_seccomp, 1, 0, nowhere));
	say("munmap", munmap(nowhere, 4096));
	say("mremap", mremap(nowhere, 4096, 8192, 0) == MAP_FAILED);
	say("madvise", madvise(nowhere, 4096, MADV_DONTNEED));
	say("mprotect", mprotect(nowhere, 4096, PROT_READ));
	return 0;
}
