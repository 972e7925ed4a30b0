"""`kstreams warm-up`: do the one-time work of an app's first run in advance."""

from __future__ import annotations

from kstreams_cli.consoles import shown_size, stderr, stdout

__all__ = ("warm_up",)


def warm_up() -> None:
    """Make the next starts of apps quicker on this machine.

    Archives the classes that Spark loads, for this Java and this Spark, in the cache
    ($KSTREAMS_CACHE); takes a minute. The first app to run on a machine has it made when it has
    ended: this is for images of containers, whose first app should start quickly too.

    Example:
        kstreams warm-up
    """
    from kstreams.spark.warm_up import warm_up as made  # noqa: PLC0415  # brings pyspark

    with stderr().status("running an app of one record, then archiving Spark's classes"):
        path = made()
    stdout().print(f"{path}  {shown_size(path.stat().st_size)}", soft_wrap=True)
