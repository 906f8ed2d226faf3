"""How much memory is free, and an error before too much is asked for."""

from __future__ import annotations

import os


def free_bytes() -> int:
    """Memory that can be used without swapping, within the limit of the process; 0 where the system does not tell."""
    free = _system_bytes()
    left = _process_bytes()
    return free if left is None else min(free or left, left)


def require(size: float, purpose: str) -> None:
    """Raise a MemoryError if so many bytes are not free; nothing where the system does not tell."""
    free = free_bytes()
    if free and size > free:
        raise MemoryError(f"{purpose} needs about {size / 2**30:.1f} GB of memory, {free / 2**30:.1f} GB are free")


def _system_bytes() -> int:
    try:
        with open("/proc/meminfo") as stream:
            fields = dict(line.split(":", 1) for line in stream)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0


def _process_bytes() -> int | None:
    """What is left of the address space limit (``ulimit -v``), None without one."""
    try:
        import resource  # not on Windows

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        with open("/proc/self/statm") as stream:
            used = int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        return max(0, limit - used)
    except (ImportError, OSError, ValueError):
        return None
