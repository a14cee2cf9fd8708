#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs a command as in a container without ptrace: no CAP_SYS_PTRACE, and the calls by which one
process looks into another are refused (EPERM), for it and all that it starts.

    without_ptrace.py COMMAND ARGUMENT...
"""
import ctypes
import os
import struct
import sys

PR_CAPBSET_DROP, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 24, 22, 38
CAP_SYS_PTRACE = 19
SECCOMP_MODE_FILTER, ALLOW, REFUSE = 2, 0x7fff0000, 0x00050001
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ARCH, NUMBER = 4, 0  # offsets in struct seccomp_data
X86_64 = 0xc000003e
CALLS = (101, 310, 311, 312, 438)  # ptrace, process_vm_readv, _writev, kcmp, pidfd_getfd


def program():
    steps = [(LOAD, 0, 0, ARCH), (JUMP_IF_EQUAL, 0, len(CALLS) + 1, X86_64), (LOAD, 0, 0, NUMBER)]
    for index, call in enumerate(CALLS):
        steps.append((JUMP_IF_EQUAL, len(CALLS) - index, 0, call))
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    return steps


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    libc = ctypes.CDLL(None, use_errno=True)
    steps = program()
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    filter_of = ctypes.create_string_buffer(
        struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    libc.prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0)
    # Only root may have a filter and run setuid programs.
    if os.geteuid() != 0:
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_of, 0, 0) != 0:
        sys.exit("without_ptrace.py: no seccomp filters: %s" % os.strerror(ctypes.get_errno()))
    os.execvp(sys.argv[1], sys.argv[1:])


main()
