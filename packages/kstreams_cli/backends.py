"""State backends by name."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Annotated, cast

import typer

from kstreams.plugins import load_plugin, missing_extra, plugin_names
from kstreams.state.backend.working import StateBackend
from kstreams_cli.usage import WrongUsageError

__all__ = ("StateOption", "state_backend")

StateOption = Annotated[
    str,
    typer.Option(
        metavar="BACKEND",
        help="State backend for the working copies of the stores: memory or rocksdb.",
    ),
]


def state_backend(name: str) -> StateBackend:
    """Return a state backend with its own defaults.

    Raises:
        WrongUsageError: No state backend has this name, or it names a durable log.
        ImportError: The backend needs an extra that is not installed.
    """
    names = plugin_names("kstreams.stores")
    if name not in names:
        extra = missing_extra(name)
        if extra:
            raise WrongUsageError(
                f"state backend {name!r} is not installed: pip install 'kstreams-spark[{extra}]'",
                "--state",
            )
        near = get_close_matches(name, names, n=1)
        raise WrongUsageError(
            f"there is no state backend {name!r}"
            + (f"; did you mean {near[0]!r}?" if near else f": expected {', '.join(names)}"),
            "--state",
        )
    made = load_plugin("kstreams.stores", name)
    if isinstance(made, type) and not hasattr(made, "branch"):
        raise WrongUsageError(
            f"{name!r} is a durable log, not a state backend; set the log in the program: "
            f"App(..., state=RocksDB(log={made.__name__}(...)))",
            "--state",
        )
    return cast("Callable[[], StateBackend]", made)()
