"""Takes from this process, for good, every system call but those that computing and answering need (Linux, x86_64 and aarch64)."""

import ctypes
import platform
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_RET_ALLOW = 0x7FFF0000
_RET_EPERM = 0x00050000 | 1
_RET_KILL_PROCESS = 0x80000000
# Classic BPF: load a word, jump on equality, jump on greater or equal, return.
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
# Offsets in struct seccomp_data.
_NUMBER, _ARCHITECTURE = 0, 4
# Numbers from here on are the x32 calls of x86_64, which would pass by another name.
_X32 = 0x40000000

# read write close fstat lseek mmap mprotect munmap mremap madvise brk rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack futex
# clock_gettime gettimeofday times getrusage getrandom getpid gettid sched_yield restart_syscall set_robust_list rseq exit exit_group
_ALLOWED = {
    "x86_64": (0xC000003E, (0, 1, 3, 5, 8, 9, 10, 11, 25, 28, 12, 13, 14, 15, 131, 202, 228, 96, 100, 98, 318, 39, 186, 24, 219, 273, 334, 60, 231)),
    "aarch64": (0xC00000B7, (63, 64, 57, 80, 62, 222, 226, 215, 216, 233, 214, 134, 135, 139, 132, 98, 113, 169, 153, 165, 278, 172, 178, 124, 128, 99, 293, 93, 94)),
}


class _Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint32)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.POINTER(_Instruction))]


def unsupported() -> str | None:
    """Why this machine cannot confine a process; None where it should be able to."""
    if sys.platform != "linux":
        return f"seccomp is a part of Linux, and this is {sys.platform}"
    if platform.machine() not in _ALLOWED:
        return f"no seccomp filter is written for {platform.machine()}"
    return None


def _instructions() -> list[_Instruction]:
    architecture, allowed = _ALLOWED[platform.machine()]
    program = [
        _Instruction(_LOAD, 0, 0, _ARCHITECTURE),
        _Instruction(_IF_EQUAL, 1, 0, architecture),
        _Instruction(_RETURN, 0, 0, _RET_KILL_PROCESS),
        _Instruction(_LOAD, 0, 0, _NUMBER),
        _Instruction(_IF_AT_LEAST, len(allowed), 0, _X32),
    ]
    # Each jumps over the rest and the refusal.
    program += [_Instruction(_IF_EQUAL, len(allowed) - index, 0, number) for index, number in enumerate(allowed)]
    return [*program, _Instruction(_RETURN, 0, 0, _RET_EPERM), _Instruction(_RETURN, 0, 0, _RET_ALLOW)]


_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
_code = (_Instruction * len(_instructions()))(*_instructions()) if unsupported() is None else None


def confine() -> None:
    """Raises OSError where the kernel refuses; the process must then do nothing more."""
    program = _Program(len(_code), _code)
    # Nor does it outlive the process that limits its time.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")
