"""The setting `spark.kstreams.startup`, which can disable the faster start of Spark."""

from __future__ import annotations

from collections.abc import Mapping

from kstreams.errors import CompileError

__all__ = ("SETTING", "is_plain_start")

SETTING = "spark.kstreams.startup"
"""The Spark setting: `fast`, the default, or `plain`."""

_VALUES = ("fast", "plain")


def is_plain_start(settings: Mapping[str, str]) -> bool:
    """Return whether Spark's own scripts start Java and the workers.

    Args:
        settings: The user's settings of Spark.

    Raises:
        CompileError: The setting has another value.
    """
    value = settings.get(SETTING, _VALUES[0])
    if value not in _VALUES:
        raise CompileError(
            f"setting {SETTING} has the unknown value {value!r}",
            hint=f"set it to one of {', '.join(_VALUES)}.",
        )
    return value == "plain"
