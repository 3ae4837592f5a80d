#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bpf/watch_parts.h"
#include "scan/status.h"

/*
 * A return probe puts an address of the kernel's on the stack. From Linux 6.11 on the code there makes
 * a system call, which a seccomp filter may answer by killing the process; since 6.14 the kernel does
 * not ask it. Before 6.11 a shadow stack (6.6) does not have that address: the process is killed, too.
 */
enum { SHADOW_FROM = 606, CALL_FROM = 611, SAFE_FROM = 614 };

/* major * 100 + minor; 0: unknown. */
static unsigned linux_version(void)
{
	struct utsname name;
	unsigned major, minor;

	return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2
		       ? major * 100 + minor
		       : 0;
}

static struct err *refuse(pid_t pid, const char *what)
{
	return err_new(
		ERR_UNSUPPORTED,
		"process %d has %s, and return probes of this kernel could kill it; it needs Linux "
		"6.14 or later",
		(int)pid, what);
}

struct err *watch_check_safe(pid_t pid)
{
	const unsigned version = linux_version();
	struct status status;

	if (version < SHADOW_FROM || version >= SAFE_FROM)
		return NULL;
	if (pid < 0)
		return err_new(
			ERR_UNSUPPORTED,
			"--all needs Linux 6.14 or later, or one before 6.6: return probes of this "
			"kernel could kill processes with a seccomp filter or a shadow stack");
	if (!status_read(&status, pid, pid))
		return NULL; /* it is gone, which others find out */
	if (version >= CALL_FROM)
		return status_number(&status, "Seccomp", 10, 0) ? refuse(pid, "a seccomp filter")
								: NULL;
	return status_has_word(&status, "x86_Thread_features", "shstk")
		       ? refuse(pid, "a shadow stack")
		       : NULL;
}
