"""`kstreams shadow cut-over`: make the changed topology the app, or reverse it."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import timedelta
from typing import Annotated

import typer
from rich.markup import escape

from kstreams_cli.backends import StateOption
from kstreams_cli.consoles import stderr, stdout
from kstreams_cli.counts import JsonOption
from kstreams_cli.place import Place
from kstreams_cli.replaying import RepeatCallsOption
from kstreams_cli.shadow_options import NewArgument, OldArgument, ShadowOption, shadow_settings
from kstreams_cli.stores import AppIdOption, CheckpointOption, LogOption
from kstreams_shadow.cut_over import cut_over as replace_app
from kstreams_shadow.shadow_home import Side
from kstreams_shadow.shadow_run import ShadowRun

__all__ = ("cut_over",)


def cut_over(
    place: Place,
    app: OldArgument,
    target: NewArgument,
    reverse: Annotated[
        bool,
        typer.Option("--reverse", help="Return to the topology APP, with its state."),
    ] = False,
    wait: Annotated[
        float,
        typer.Option(
            min=0, metavar="SECONDS", help="Maximum time to wait until the app has stopped."
        ),
    ] = 60,
    app_id: AppIdOption = None,
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    shadow: ShadowOption = None,
    state: StateOption = "memory",
    repeat_calls: RepeatCallsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make the changed topology of a shadow the app, with the state that it has computed.

    Use it after `kstreams shadow run`. The command first follows the running app. Stop the app
    then: the command processes its last batches, copies the state, and makes it valid in one step.
    Until then nothing changes, and a killed command can be repeated. Start the app with the changed
    topology after the command. Its results continue after the app's last batch, exactly once. With
    a checkpoint in object storage, a running app is fenced.

    --reverse returns to the old topology and its state. Results that the changed topology has
    written stay.

    Example:
        kstreams shadow cut-over shop:topology shop_next:topology
        kstreams shadow cut-over shop:topology shop_next:topology --reverse
    """
    settings = shadow_settings(
        place,
        app,
        target,
        app_id=app_id,
        checkpoint=checkpoint,
        log=log,
        shadow=shadow,
        state=state,
        repeat_calls=repeat_calls,
    )
    side: Side = "old" if reverse else "new"
    with ShadowRun(settings) as found:
        done = replace_app(found, side, wait=timedelta(seconds=wait))
    name, topology = app_id or settings.old.topology.name, app if reverse else target
    if as_json:
        print(json.dumps({"app": name, "topology": topology, **asdict(done)}))
    elif done.changed:
        stdout().print(
            f"[bold]{escape(name)}[/] continues with {escape(topology)} after "
            f"{done.stopped_seconds:.2f} s.",
            soft_wrap=True,
        )
    else:
        stderr().print(f"{escape(name)} has {escape(topology)} already; nothing was changed.")
