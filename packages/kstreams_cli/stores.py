"""The common part of the `kstreams state` commands: the app, the store, the output."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.markup import escape

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.checkpoint.storage.named_home import app_home
from kstreams.errors import CheckpointMismatchError, StoreKindError
from kstreams.serde.base import Serde
from kstreams.serde.text import BYTES
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.known_kinds import find_kind
from kstreams.state.stores.spec import StoreSpec
from kstreams.views.view import View
from kstreams_admin.recorded import RecordedSerde, undecoded
from kstreams_admin.values import parser_of
from kstreams_cli.consoles import stderr
from kstreams_cli.formats import find_format, find_serde, recorded_serde
from kstreams_cli.loading import load_object, load_topology
from kstreams_cli.usage import WrongUsageError, for_option

__all__ = (
    "AppArgument",
    "AppIdOption",
    "AppState",
    "AsOfOption",
    "CheckpointOption",
    "KeyOption",
    "LogOption",
    "StoreArgument",
    "TopologyOption",
    "ValueOption",
    "find_home",
    "load_log",
    "note_undecoded",
    "typed_key",
)

AppArgument = Annotated[
    str,
    typer.Argument(
        metavar="APP",
        help="App id. By default, an app has the name of its topology as its id.",
        show_default=False,
    ),
]
AppIdOption = Annotated[
    str | None,
    typer.Option(
        metavar="ID",
        help="App id, which names the checkpoint.",
        show_default="the topology's name",
    ),
]
StoreArgument = Annotated[
    str, typer.Argument(metavar="STORE", help="Store name.", show_default=False)
]
CheckpointOption = Annotated[
    str | None,
    typer.Option(
        metavar="LOCATION",
        help="Checkpoint of the app: a directory, or a URL such as s3://bucket/app.",
        show_default=".kstreams/APP",
    ),
]
LogOption = Annotated[
    str | None,
    typer.Option(
        metavar="MODULE:NAME",
        help="Durable log of the app, or a state backend with this log, if the log is outside of "
        "the checkpoint.",
        show_default=False,
    ),
]
TopologyOption = Annotated[
    str | None,
    typer.Option(
        metavar="MODULE:NAME",
        help="Topology of the app. Needed only for stores with custom serdes.",
        show_default=False,
    ),
]
KeyOption = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="SERDE",
        help="Serde of the keys: a name that `kstreams serdes` lists, or MODULE:SERDE.",
        show_default="the recorded serde",
    ),
]
ValueOption = Annotated[
    str | None,
    typer.Option(
        "--value",
        metavar="SERDE",
        help="Serde of the values, in the same form as --key.",
        show_default="the recorded serde",
    ),
]
AsOfOption = Annotated[
    str | None,
    typer.Option(
        metavar="VERSION",
        help="Version to read: the number of a retained batch, or the name of a savepoint.",
        show_default="the newest version",
    ),
]


@dataclass(frozen=True)
class AppState:
    """The committed state of an app, as a command reads it.

    Attributes:
        checkpoint: The checkpoint of the app.
        log: The durable log.
    """

    checkpoint: Checkpoint
    log: ObjectStoreSettings

    @classmethod
    def find(cls, app: str, named: str | None, log: str | None) -> AppState:
        """Return the state of an app.

        Args:
            app: The app id.
            named: The option `--checkpoint`; None for the default checkpoint of the app.
            log: The option `--log`; None for the durable log that the checkpoint names.

        Raises:
            NoCheckpointError: The checkpoint does not exist.
            CheckpointMismatchError: The checkpoint belongs to another app.
        """
        home = find_home(app, named)
        checkpoint = Checkpoint.load(home)
        if checkpoint.app != app:
            raise CheckpointMismatchError(
                f"checkpoint {str(home)!r} belongs to app {checkpoint.app!r}, not to {app!r}",
                hint=f"give the app id {checkpoint.app!r}, or another checkpoint with "
                "--checkpoint.",
            )
        return cls(checkpoint, checkpoint.log if log is None else load_log(log))

    def objects(self) -> ObjectStore:
        """Open the durable log."""
        return self.log.open()

    def view(
        self,
        store: str,
        *,
        topology: str | None,
        key: str | None,
        value: str | None,
        as_of: str | None,
    ) -> View[Any]:
        """Return a view of a store at the version of `--as-of`; see `spec` for other arguments."""
        batch = as_of is not None and re.fullmatch("-?[0-9]{1,18}", as_of)
        version = int(as_of) if as_of is not None and batch else as_of
        spec = self.spec(store, topology=topology, key=key, value=value)
        return View(self.checkpoint.home.named, spec, log=self.log, as_of=version)

    def spec(
        self,
        store: str,
        *,
        topology: str | None,
        key: str | None = None,
        value: str | None = None,
    ) -> StoreSpec[Any]:
        """Return the definition of a store, from `--topology` or else from the checkpoint.

        Args:
            store: The name of the store.
            topology: The option `--topology`; None without it.
            key: The serde of `--key`, which replaces the recorded one; None without the option.
            value: The serde of `--value`, as for `key`.
        """
        brought: Mapping[str, StoreSpec[Any]] = {}
        if topology is not None:
            with for_option("--topology"):
                brought = {spec.name: spec for spec in load_topology(topology).stores}
            if store in brought:
                return brought[store]
        recorded = self.checkpoint.stores().get(store)
        if recorded is None:
            return key_value_store(store, key=BYTES, value=BYTES)  # the view says what there is
        schema = recorded[1]
        try:
            kind = find_kind(schema["kind"], brought.values())
        except StoreKindError as exc:
            exc.at(app=self.checkpoint.app, store=store)
            raise
        return StoreSpec(
            store,
            kind,
            _serde(schema["key"], key, "--key"),
            _serde(schema["value"], value, "--value"),
        )


def find_home(app: str, named: str | None) -> CheckpointHome:
    """Return the home of an app's checkpoint, given the option `--checkpoint`."""
    with for_option("--checkpoint"):
        return app_home(app, named)


def load_log(target: str) -> ObjectStoreSettings:
    """Return the settings of a durable log, given as `MODULE:NAME`.

    The named object is a durable log, or a state backend with one.
    """
    with for_option("--log"):
        found: Any = load_object(target)
    settings = found if callable(getattr(found, "open", None)) else None
    inner = getattr(found, "log", None)
    settings = inner if inner is not None else settings
    if settings is None:
        raise WrongUsageError(
            f"{target} is {type(found).__name__}, expected a durable log such as Directory(path), "
            "or a state backend with a durable log",
            "--log",
        )
    checked: ObjectStoreSettings = settings
    return checked


def _serde(recorded: str, given: str | None, option: str) -> Serde[Any]:
    if given is not None:
        with for_option(option):
            return RecordedSerde(recorded, find_serde(given))
    known = recorded_serde(recorded)
    if known is not None and known.name == recorded:
        return known
    return RecordedSerde(recorded, known)


def note_undecoded(spec: StoreSpec[Any]) -> None:
    """Print a note if keys or values are shown as bytes because their serde is not known."""
    note = undecoded(spec.key, spec.value)
    if note:
        stderr().print(
            f"[yellow]Note:[/] {escape(note)}. "
            "Add --topology MODULE:NAME, or set the serde with --key or --value."
        )


def typed_key(serde: Serde[Any], given: str | None, text: str) -> object:
    """Parse the text of a key with the serde of `--key`, or with the serde of the store."""
    parse = find_format(given).parse if given else parser_of(serde)
    try:
        return parse(text)
    except ValueError as exc:
        raise WrongUsageError(
            f"{text!r} is not a key of the format {given or serde.name}: {exc}", "KEY"
        ) from exc
