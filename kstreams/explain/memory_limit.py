"""How much memory a process may take that runs somebody's code again."""

from __future__ import annotations

__all__ = ("limit_memory",)


def limit_memory(most_bytes: int) -> None:
    """Let this process take no more memory than that from now on: beyond it allocations fail.

    What is mapped without being written does not count. Systems without such a limit have none.
    """
    try:
        import resource  # noqa: PLC0415  # POSIX alone
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = most_bytes if hard == resource.RLIM_INFINITY else min(most_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
