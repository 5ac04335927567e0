"""What keeps a trace and everything it starts inside one process tree that can be ended at once.

The kernel features used here are Linux's; elsewhere each function does what the system allows, and its result says so.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from typing import Callable, Container, Iterator, List, Optional, Tuple

try:
    import ctypes
except ImportError:  # an interpreter built without libffi
    ctypes = None

try:
    import resource
except ImportError:  # Windows
    resource = None

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def _load_prctl() -> Optional[Callable[[int, int], int]]:
    if ctypes is None or not sys.platform.startswith("linux"):
        return None
    function = ctypes.CDLL(None).prctl
    function.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong]
    function.restype = ctypes.c_int
    return lambda option, value: function(option, value, 0, 0, 0)


_prctl = _load_prctl()


def adopt_orphans() -> bool:
    """Make orphaned descendants children of this process, so that leaving the process group is no way out."""
    return _prctl is not None and _prctl(_PR_SET_CHILD_SUBREAPER, 1) == 0


def die_with_parent(parent: int) -> bool:
    """Have the kernel kill this process when `parent`, which must be its parent, ends."""
    if _prctl is None or _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        return False
    if os.getppid() != parent:  # it ended before the call
        os._exit(1)
    return True


def hung_up(fd: int) -> bool:
    """Whether the other end of a socket or pipe is gone."""
    poll = select.poll()
    poll.register(fd, 0)
    return bool(poll.poll(0))


def outlive_parent() -> None:
    """Take `die_with_parent` back."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, 0)


def limit_resources(memory_bytes: int) -> None:
    """Allow `memory_bytes` of address space beyond what is mapped now, and no core files. Soft limits only."""
    if resource is None:
        return
    no_core_files()
    mapped = _mapped_bytes()
    if mapped is not None:
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        allowed = mapped + memory_bytes
        if hard != resource.RLIM_INFINITY:
            allowed = min(allowed, hard)
        resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))


def no_core_files() -> None:
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def lift_memory_limit() -> None:
    """Make room to report that the memory limit was reached."""
    if resource is not None:
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _mapped_bytes() -> Optional[int]:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except FileNotFoundError:  # no Linux: address space cannot be measured, and macOS does not enforce the limit
        return None


def thread_count() -> Optional[int]:
    """Threads of this process as the kernel counts them, those of native libraries included; None where unknown."""
    try:
        return len(os.listdir("/proc/self/task"))
    except FileNotFoundError:
        return None


def children() -> List[int]:
    """Direct children of this process, zombies included; empty where the system does not tell."""
    found: List[int] = []
    try:
        for task in os.listdir("/proc/self/task"):
            with open("/proc/self/task/" + task + "/children", "rb") as file:
                found += [int(pid) for pid in file.read().split()]
        return found
    except FileNotFoundError:
        pass  # a kernel without CONFIG_PROC_CHILDREN, or no Linux
    if not os.path.isdir("/proc/self"):
        return []
    me = os.getpid()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/" + name + "/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
                continue
            if parent == me:
                found.append(int(name))
    return found


def kill_group(pid: int) -> None:
    """SIGKILL to the process group that `pid` leads and to `pid` itself. `pid` must not have been reaped."""
    for kill in (os.killpg, os.kill):
        # No such group (yet), or all of it are zombies (macOS: EPERM).
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def reap(leaders: Container[int]) -> Iterator[Tuple[int, int]]:
    """Children that have ended, with their exit codes (negative: the signal). The group of one that is in `leaders` is
    killed first, while its process id is still its own."""
    while True:
        try:
            ended = _next_ended()
        except ChildProcessError:
            return
        if ended is None:
            return
        if ended in leaders:
            kill_group(ended)
        _, status = os.waitpid(ended, 0)
        yield ended, os.waitstatus_to_exitcode(status)


def _next_ended() -> Optional[int]:
    ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return None if ended is None else ended.si_pid


def kill_children(spare: Container[int] = ()) -> int:
    """SIGKILL to every direct child and its group, except those in `spare`. Returns how many were found."""
    doomed = [pid for pid in children() if pid not in spare]
    for pid in doomed:
        kill_group(pid)
    return len(doomed)


def end_all_children(seconds: float = 5.0) -> None:
    """Kill and reap until no descendant is left: each death hands its own children over to this process."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        kill_children()
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            time.sleep(0.002)
