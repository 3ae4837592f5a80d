"""System call filters for a program to be run: as the kernel of a sandbox or an old one answers."""

import ctypes
import struct

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2
LOAD, EQUAL, ABOVE, HAS, RETURN = 0x20, 0x15, 0x25, 0x45, 0x06  # of struct sock_filter; HAS: any of these bits
NUMBER, FIRST_ARGUMENT, THIRD_ARGUMENT = 0, 16, 32  # offsets in struct seccomp_data
ALLOW, ERRNO, KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000

SYS = {"madvise": 28, "mincore": 27}  # x86-64


def refuse(name, argument, error):
    """Instructions: calls of `name` with this third argument fail with this errno."""
    return [(LOAD, 0, 0, NUMBER), (EQUAL, 0, 3, SYS[name]), (LOAD, 0, 0, THIRD_ARGUMENT),
            (EQUAL, 0, 1, argument), (RETURN, 0, 0, ERRNO | error)]


def kill(name):
    return [(LOAD, 0, 0, NUMBER), (EQUAL, 0, 1, SYS[name]), (RETURN, 0, 0, KILL_PROCESS)]


def install(*parts):
    """For preexec_fn."""
    program = [row for part in parts for row in part] + [(RETURN, 0, 0, ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in program))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)

    def now():
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or \
                libc.prctl(PR_SET_SECCOMP, MODE_FILTER, head, 0, 0):
            raise OSError(ctypes.get_errno(), "seccomp")

    now.keep = code
    return now
