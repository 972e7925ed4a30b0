"""`kstreams warm-up`: do the one-time work of an app's first run in advance."""

from __future__ import annotations

from kstreams_cli.consoles import shown_size, stderr, stdout

__all__ = ("warm_up",)


def warm_up() -> None:
    """Shorten the start of apps on this machine with an archive of Spark's Java classes.

    Use it when you build a container image, so that the first app starts quickly. The command takes
    about a minute. It stores the archive for this version of Java and Spark in the cache
    ($KSTREAMS_CACHE), and prints its path. Without this command, the first app on a machine creates
    the archive when it ends.

    Example:
        kstreams warm-up
    """
    from kstreams.application.warm_up import warm_up as made  # noqa: PLC0415  # brings pyspark

    with stderr().status("Running an app with one record, then archiving the classes of Spark"):
        path = made()
    stdout().print(f"{path}  {shown_size(path.stat().st_size)}", soft_wrap=True)
