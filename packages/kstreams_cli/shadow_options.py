"""Shared arguments and options of `kstreams shadow`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kstreams_cli.backends import state_backend
from kstreams_cli.loading import load_topology
from kstreams_cli.place import Place
from kstreams_cli.stores import find_home, load_log
from kstreams_cli.upgrading import StoreDecisions
from kstreams_cli.usage import WrongUsageError, for_option
from kstreams_shadow.replica import ReplicaSettings
from kstreams_shadow.shadow_home import ShadowHome
from kstreams_shadow.shadow_run import ShadowSettings

__all__ = ("NewArgument", "OldArgument", "ShadowOption", "shadow_home", "shadow_settings")

OldArgument = Annotated[
    str,
    typer.Argument(
        metavar="APP",
        help="Topology that the app runs, as MODULE:NAME. The app id is the name of the topology, "
        "unless --app-id sets it.",
        show_default=False,
    ),
]
NewArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODULE:NAME",
        help="Changed topology. It must be another module, or another function of the module.",
        show_default=False,
    ),
]
ShadowOption = Annotated[
    Path | None,
    typer.Option(
        "--shadow",
        metavar="DIR",
        help="Directory of the shadow.",
        show_default=".kstreams/APP-shadow",
    ),
]


def shadow_home(app: str, given: Path | None) -> ShadowHome:
    """Return the directory of an app's shadow, given the option `--shadow`."""
    if given is not None:
        return ShadowHome(given)
    home = find_home(f"{app}-shadow", None)
    if home.directory is None:
        raise WrongUsageError("a shadow needs a directory on this machine", "--shadow")
    return ShadowHome(home.directory)


def shadow_settings(
    place: Place,
    old: str,
    new: str,
    *,
    app_id: str | None,
    checkpoint: str | None,
    log: str | None,
    shadow: Path | None,
    state: str,
    repeat_calls: bool,
    decisions: tuple[list[str] | None, list[str] | None, list[str] | None] = (None, None, None),
) -> ShadowSettings:
    """Return the settings of a shadow.

    Args:
        place: The connection of the topics.
        old: The topology of the app, as MODULE:NAME.
        new: The changed topology, as MODULE:NAME.
        app_id: The option `--app-id`.
        checkpoint: The option `--checkpoint`.
        log: The option `--log`.
        shadow: The option `--shadow`.
        state: The option `--state`.
        repeat_calls: Whether processors may call external systems.
        decisions: The options `--reset`, `--rename` and `--migrate`.
    """
    with for_option("APP"):
        olds = load_topology(old)
    with for_option("MODULE:NAME"):
        news = load_topology(new)
    app, backend = app_id or olds.name, state_backend(state)
    chosen = StoreDecisions.of(news, *decisions)
    return ShadowSettings(
        find_home(app, checkpoint),
        shadow_home(app, shadow),
        place.connection,
        ReplicaSettings(olds, state=backend, repeat_calls=repeat_calls),
        ReplicaSettings(news, chosen.migrate, chosen.reset, backend, repeat_calls),
        None if log is None else load_log(log),
    )
