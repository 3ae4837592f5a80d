#!/usr/bin/env python3
"""Runs a program as on Linux 3.10, as far as a filter of system calls can: calls that came later are not
there, and of older ones what came later is refused. `old_linux.py PROGRAM WORD...`; x86-64.

The kernel's files of /proc remain, and so does what it tells of the filter itself.
"""

import errno
import os
import sys

import seccomp

LAST = 313  # finit_module
OPEN, MMAP, IOCTL, MREMAP, MADVISE, FCNTL, PTRACE, PRCTL = 2, 9, 16, 25, 28, 72, 101, 157
WAITID, OPENAT, FALLOCATE, PERF_EVENT_OPEN, INOTIFY_ADD_WATCH = 247, 257, 285, 298, 254
PAGEMAP_SCAN, ADD_SEALS, SET_PTRACER = 0xC0606610, 1033, 0x59616D61
TMPFILE, FIXED_NOREPLACE, SHARED_VALIDATE = 0x400000, 0x100000, 3

# (call, which argument, how it is compared, with what, the error)
NEWER = [
    (OPEN, 1, "has", TMPFILE, errno.EISDIR), (OPENAT, 2, "has", TMPFILE, errno.EISDIR),
    (MMAP, 3, "has", FIXED_NOREPLACE, errno.EINVAL),  # in truth the address is then a wish
    (MREMAP, 3, "has", 4, errno.EINVAL),  # MREMAP_DONTUNMAP
    *[(MADVISE, 2, "is", advice, errno.EINVAL) for advice in (8, *range(18, 27))],  # MADV_FREE, MADV_WIPEONFORK and on
    *[(FCNTL, 1, "is", command, errno.EINVAL) for command in (36, 37, 38, *range(1033, 1045))],  # OFD locks, seals, hints
    *[(PTRACE, 0, "is", request, errno.EIO) for request in range(0x420A, 0x4212)],  # PTRACE_GETSIGMASK and on
    *[(PRCTL, 0, "is", option, errno.EINVAL) for option in (*range(41, 80), 0x53564D41)],  # PR_SET_VMA
    (IOCTL, 1, "is", PAGEMAP_SCAN, errno.ENOTTY),
    (WAITID, 0, "is", 3, errno.EINVAL),  # P_PIDFD
    (FALLOCATE, 1, "has", ~3 & 0xFFFFFFFF, errno.EOPNOTSUPP),
    (PERF_EVENT_OPEN, 4, "has", 8, errno.EINVAL),  # PERF_FLAG_FD_CLOEXEC
]


def rules():
    lines = [(seccomp.LOAD, 0, 0, seccomp.NUMBER), (seccomp.ABOVE, 0, 1, LAST),
             (seccomp.RETURN, 0, 0, seccomp.ERRNO | errno.ENOSYS)]
    for call, argument, how, value, error in NEWER:
        compare = {"is": seccomp.EQUAL, "has": seccomp.HAS}[how]
        lines += [(seccomp.LOAD, 0, 0, seccomp.NUMBER), (seccomp.EQUAL, 0, 3, call),
                  (seccomp.LOAD, 0, 0, seccomp.FIRST_ARGUMENT + 8 * argument), (compare, 0, 1, value),
                  (seccomp.RETURN, 0, 0, seccomp.ERRNO | error)]
    return lines


def install():
    """For preexec_fn."""
    return seccomp.install(rules())


if __name__ == "__main__":
    install()()
    os.execvp(sys.argv[1], sys.argv[1:])
