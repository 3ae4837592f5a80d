/*
 * follow: which descendants of the started program are recorded, if names are given
 * (MEMTAPE_FOLLOW: comma-separated patterns). The others run as without us, and keep the
 * environment: programs that they start are checked again. A program is matched by the name of its
 * file and by the name it was started with, which differ for links and scripts.
 */
#include "rec/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "core/glob.h"
#include "core/hash.h"
#include "rec/file.h"
#include "rec/path.h"
#include "rec/sandbox.h"
#include "tape/tape_spool.h"

#include "core/poison.h"

static bool is_named(const char *names)
{
	const char *started = (const char *)getauxval(AT_EXECFN);

	return glob_list_matches(names, rec_path_name(rec_path_file())) ||
	       (started && glob_list_matches(names, rec_path_name(started)));
}

/* Written at the start, on one thread. */
static char first_spool[REC_PATH_BYTES];

void rec_follow_init(void)
{
	const char *names = rec_env_get("MEMTAPE_FOLLOW");
	const char *spool = rec_env_get("MEMTAPE_SPOOL");

	if (rec.options.follow && spool && strlen(spool) < sizeof(first_spool))
		memcpy(first_spool, spool, strlen(spool) + 1);

	rec.is_unnamed = rec.options.follow && names && names[0] && !is_named(names);
	rec.session = spool && spool[0] ? hash_bytes(spool, strlen(spool), 0) : 0;
}

bool rec_follow_is_left_out(void)
{
	const char *spool = rec_env_get("MEMTAPE_SPOOL");

	return rec.is_unnamed && !(spool && spool[0] && rec_spool_is_ours(spool));
}

void rec_follow_tell(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	const char *tape = rec_path_name(rec.file.path);
	char *digit = name.sun_path + sizeof(TAPE_SESSION_SOCKET);
	uint64_t hash;
	int fd;

	if (!rec.options.follow || !rec.session || tape == rec.file.path || !rec_may_ask_itself())
		return;
	memcpy(name.sun_path + 1, TAPE_SESSION_SOCKET, sizeof(TAPE_SESSION_SOCKET) - 1);
	hash = hash_bytes(rec.file.path, (size_t)(tape - rec.file.path) - 1, 0);
	for (unsigned i = 0; i < 16; i++, hash <<= 4)
		*digit++ = "0123456789abcdef"[hash >> 60];
	fd = (int)SYS_CALL3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (SYS_CALL3(SYS_connect, fd, &name, digit - (char *)&name) == 0)
		sys_call6(SYS_sendto, fd, (long)(uintptr_t)tape, (long)strlen(tape), MSG_NOSIGNAL,
			  0, 0);
	sys_close(fd);
}

/* The collector holds a lock on a spool that has a name. */
static bool is_collected(int fd, const struct tape_live *live)
{
	if (atomic_load((_Atomic uint32_t *)&live->collector_state) != TAPE_COLLECTOR_RUNNING)
		return false;
	return strncmp(first_spool, "/proc/", 6) == 0 ||
	       SYS_CALL2(SYS_flock, fd, LOCK_SH | LOCK_NB) != 0;
}

bool rec_follow_join(struct rec_first *first)
{
	long map = -EBADF;
	int fd;

	*first = (struct rec_first) { .fd = -1 };
	fd = first_spool[0] ? sys_open(first_spool, O_RDWR | O_CLOEXEC, 0) : -ENOENT;
	if (fd < 0)
		return false;
	first->fd = rec_fd_high(fd); /* what the program has closed may be written to again */
	sys_close(fd);
	if (first->fd >= 0)
		map = sys_mmap(NULL, TAPE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			       first->fd, 0);
	if (!sys_failed(map)) {
		first->header = (struct tape_header *)map;
		first->live = (struct tape_live *)first->header->live;
		if (memcmp(first->header->magic, TAPE_MAGIC, sizeof(first->header->magic)) == 0 &&
		    first->header->session == rec.session && rec_follow_is_collected(first))
			return true;
	}
	rec_follow_leave(first);
	return false;
}

bool rec_follow_is_collected(const struct rec_first *first)
{
	return is_collected(first->fd, first->live);
}

void rec_follow_leave(struct rec_first *first)
{
	if (first->header)
		sys_munmap(first->header, TAPE_HEADER_BYTES);
	if (first->fd >= 0)
		sys_close(first->fd);
}
