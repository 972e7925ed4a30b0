"""`kstreams warm-up`: do the one-time work of an app's first run in advance."""

from __future__ import annotations

from kstreams_cli.consoles import shown_size, stderr, stdout

__all__ = ("warm_up",)


def warm_up() -> None:
    """Make the next starts of apps quicker on this machine.

    Archives the classes that Spark loads, for this Java and this Spark, in the cache
    ($KSTREAMS_CACHE); takes a minute. Without this command, the first app on a machine creates the
    archive when it ends. Use the command in container images, so that the first app starts quickly.

    Example:
        kstreams warm-up
    """
    from kstreams.application.warm_up import warm_up as made  # noqa: PLC0415  # brings pyspark

    with stderr().status("running an app of one record, then archiving Spark's classes"):
        path = made()
    stdout().print(f"{path}  {shown_size(path.stat().st_size)}", soft_wrap=True)
