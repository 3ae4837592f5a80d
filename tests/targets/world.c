/*
 * world: programs that take the world away from under the recorder - descriptors, the root
 * directory, privileges, address space, file size - and go on allocating.
 *
 * Run: plain
 *	size 3201: 100 malloc in before, freed in before
 *	size 3202: 60000 malloc in after, freed in after
 * Run: closefrom
 *	size 3201: 100 malloc in before, freed in before
 *	size 3202: 60000 malloc in after, freed in after
 * Run: close_all
 *	size 3201: 100 malloc in before, freed in before
 *	size 3202: 60000 malloc in after, freed in after
 * Run: reuse_fds
 *	size 3201: 100 malloc in before, freed in before
 *	size 3202: 60000 malloc in after, freed in after
 * Run: close_std
 *	size 3201: 100 malloc in before, freed in before
 *	size 3202: 60000 malloc in after, freed in after
 * Run: chroot
 *	size 3201: 100 malloc in before, freed in before
 *	size 3202: 60000 malloc in after, freed in after
 * Run: nobody
 *	size 3201: 100 malloc in before, freed in before
 *	size 3202: 60000 malloc in after, freed in after
 * Run: clearenv
 *	size 3201: 100 malloc in before, freed in before
 *	size 3202: 60000 malloc in after, freed in after
 * Run: chdir
 *	size 3201: 100 malloc in before, freed in before
 *	size 3202: 60000 malloc in after, freed in after
 * Run: nofile
 *	size 3201: 100 malloc in before, freed in before
 *	size 3202: 60000 malloc in after, freed in after
 * Run: undumpable
 *	size 3201: 100 malloc in before, freed in before
 *	size 3202: 60000 malloc in after, freed in after
 * Run: fsize_0, loss allowed
 *	size 3201: 100 malloc in before, freed in before
 *	size 3202: 60000 malloc in after, freed in after
 * Run: fsize_4096, loss allowed
 *	size 3201: 100 malloc in before, freed in before
 *	size 3202: 60000 malloc in after, freed in after
 * Run: address_space, loss allowed
 *	size 3201: 100 malloc in before, freed in before
 *	size 3202: 60000 malloc in after, freed in after
 * Run: no_memory, loss allowed
 *	size 3201: 100 malloc in before, freed in before
 *	size 3202: 60000 malloc in after, freed in after
 * Run: seccomp, loss allowed
 *	size 3201: 100 malloc in before, freed in before
 *	size 3202: 60000 malloc in after, freed in after
 * Run: locked
 *	size 3201: 100 malloc in before, freed in before
 *	size 3202: 60000 malloc in after, freed in after
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target.h"

FRAME static void before(void)
{
	for (int i = 0; i < 100; i++)
		free(need_block(malloc(3201)));
	no_tail_call();
}

FRAME static void after(int rounds)
{
	for (int i = 0; i < rounds; i++)
		free(need_block(malloc(3202)));
	no_tail_call();
}

static void *after_in_thread(void *arg)
{
	after(30000);
	return arg;
}

static void limit(int which, rlim_t value)
{
	struct rlimit both = { value, value };

	NEED(!setrlimit(which, &both));
}

static void take_close_all(void)
{
	for (int fd = 0; fd < 4096; fd++)
		close(fd);
}

static void take_closefrom(void)
{
	closefrom(3);
}

/* What a descriptor number meant before means another file now. */
static void take_reuse_fds(void)
{
	closefrom(3);
	for (int i = 0; i < 60; i++)
		NEED(open("/dev/null", O_RDWR) >= 0);
	for (int fd = 100; fd < 1024; fd++)
		dup2(3, fd);
}

static void take_close_std(void)
{
	close(0);
	close(1);
	close(2);
}

static void take_chroot(void)
{
	char path[] = "/tmp/memtape-root-XXXXXX";

	NEED(mkdtemp(path));
	if (chroot(path) && errno != EPERM)
		need(0, "chroot");
	NEED(!chdir("/"));
	rmdir(path);
}

static void take_nobody(void)
{
	if (getuid() == 0) {
		NEED(!setgid(65534));
		NEED(!setuid(65534));
	}
}

static void take_clearenv(void)
{
	clearenv();
}

static void take_chdir(void)
{
	NEED(!chdir("/proc/self"));
}

static void take_nofile(void)
{
	limit(RLIMIT_NOFILE, 0);
}

static void take_undumpable(void)
{
	NEED(!prctl(PR_SET_DUMPABLE, 0));
}

static void take_fsize_0(void)
{
	limit(RLIMIT_FSIZE, 0);
}

static void take_fsize_4096(void)
{
	limit(RLIMIT_FSIZE, 4096);
}

/* Everything there is, until NULL; then give it back. */
static void exhaust(void)
{
	static void *blocks[4096];
	size_t count = 0, bytes = 1 << 20;

	while (count < 4096 && bytes >= 4096) {
		blocks[count] = malloc(bytes);
		if (blocks[count])
			count++;
		else
			bytes /= 2;
	}
	need(errno == ENOMEM, "ENOMEM");
	while (count)
		free(blocks[--count]);
}

static void take_address_space(void)
{
	limit(RLIMIT_AS, 512 << 20);
	for (int i = 0; i < 20; i++)
		exhaust();
}

/* Not a page more than now: also none for the recorder. */
static void take_no_memory(void)
{
	void *block = malloc(100000);

	limit(RLIMIT_AS, 1 << 20);
	free(need_block(block));
}

static void take_locked(void)
{
	mlockall(MCL_CURRENT | MCL_FUTURE);
}

/* No file may be opened or made longer: EPERM, as sandboxes do. */
static void take_seccomp(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ftruncate, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	NEED(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	NEED(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static const struct {
	const char *name;
	void (*take)(void);
} worlds[] = {
	{ "closefrom", take_closefrom },
	{ "close_all", take_close_all },
	{ "reuse_fds", take_reuse_fds },
	{ "close_std", take_close_std },
	{ "chroot", take_chroot },
	{ "nobody", take_nobody },
	{ "clearenv", take_clearenv },
	{ "chdir", take_chdir },
	{ "nofile", take_nofile },
	{ "undumpable", take_undumpable },
	{ "fsize_0", take_fsize_0 },
	{ "fsize_4096", take_fsize_4096 },
	{ "address_space", take_address_space },
	{ "no_memory", take_no_memory },
	{ "seccomp", take_seccomp },
	{ "locked", take_locked },
};

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "plain";
	pthread_t thread;

	before();
	for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++)
		if (!strcmp(how, worlds[i].name))
			worlds[i].take();
	after(30000);
	/* A new thread needs a lane of its own, from what is left of the world. */
	if (strcmp(how, "no_memory") && !pthread_create(&thread, NULL, after_in_thread, NULL))
		NEED(!pthread_join(thread, NULL));
	else
		after(30000);
	printf("%s\n", how);
	return 0;
}
