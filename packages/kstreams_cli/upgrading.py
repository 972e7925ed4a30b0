"""Options that rename, migrate or reset stores after a change of the topology."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Annotated, Protocol

import typer

from kstreams.checkpoint.start.migration import Migration
from kstreams.checkpoint.start.upgrade import RUN_COMMAND
from kstreams.errors import CheckpointMismatchError
from kstreams.graph.topology import Topology
from kstreams_cli.loading import load_object
from kstreams_cli.pairs import pairs_of
from kstreams_cli.usage import WrongUsageError, for_option

__all__ = (
    "MigrateOption",
    "MorePartitions",
    "MorePartitionsOption",
    "RenameOption",
    "ResetOption",
    "StoreDecisions",
    "naming_this_command",
    "this_command",
)

_PANEL = "Stores after a change of the topology"
_SECRET = frozenset({"option", "spark_config"})


class MorePartitions(str, Enum):
    """The effect of a start after source topics have got partitions."""

    REFUSE = "refuse"
    RESCALE = "rescale"


MorePartitionsOption = Annotated[
    MorePartitions,
    typer.Option(
        "--on-more-partitions",
        help="Effect of a start after source topics have got partitions: refuse it, or divide the "
        "state by its keys, as `kstreams rescale` does.",
        rich_help_panel=_PANEL,
    ),
]
ResetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--reset",
        metavar="STORE",
        help="Drop the old contents of STORE if the new topology would empty or misread them, as "
        "with App(reset={STORE}). Can be repeated.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
RenameOption = Annotated[
    list[str] | None,
    typer.Option(
        "--rename",
        metavar="OLD=NEW",
        help="Move the contents of the store OLD to the store NEW without changes, as with "
        "App(migrate={NEW: Migration(<the store with its old name>)}). Can be repeated.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
MigrateOption = Annotated[
    list[str] | None,
    typer.Option(
        "--migrate",
        metavar="STORE=MODULE:NAME",
        help="Convert the contents of STORE with the Migration NAME in MODULE, as with "
        "App(migrate={STORE: NAME}). Can be repeated.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]


class _Parameter(Protocol):
    opts: list[str]
    param_type_name: str


@dataclass(frozen=True)
class StoreDecisions:
    """The stores to migrate and to reset, as for `App(migrate=..., reset=...)`."""

    migrate: Mapping[str, Migration] = field(default_factory=dict)
    reset: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        topology: Topology,
        reset: Iterable[str] | None,
        rename: Iterable[str] | None,
        migrate: Iterable[str] | None,
    ) -> StoreDecisions:
        """Parse the options.

        Args:
            topology: The topology.
            reset: The names of stores to reset.
            rename: Renamed stores, each as `OLD=NEW`.
            migrate: Migrations, each as `STORE=MODULE:NAME`.

        Raises:
            WrongUsageError: A text has another form, or does not name a store of the topology or a
                migration; or two options name the same store.
        """
        stores = {store.name: store for store in topology.stores}
        found: dict[str, Migration] = {}
        for old, new in pairs_of(rename or (), "--rename").items():
            if new not in stores:
                raise WrongUsageError(_unknown(new, stores), "--rename")
            if new in found:
                raise WrongUsageError(
                    f"two stores would be renamed to {new!r}; give --rename for one of the stores",
                    "--rename",
                )
            found[new] = Migration(replace(stores[new], name=old, changelog=None))
        for name, target in pairs_of(migrate or (), "--migrate").items():
            if name not in stores:
                raise WrongUsageError(_unknown(name, stores), "--migrate")
            if name in found:
                raise WrongUsageError(
                    f"store {name!r} is given by both --rename and --migrate; give one of the two "
                    "options",
                    "--migrate",
                )
            found[name] = _loaded(target)
        return cls(found, frozenset(reset or ()))


def _unknown(name: str, stores: Iterable[str]) -> str:
    known = ", ".join(map(repr, sorted(stores))) or "none"
    return f"the topology has no store {name!r}; it has {known}"


def _loaded(target: str) -> Migration:
    with for_option("--migrate"):
        found = load_object(target)
    if not isinstance(found, Migration):
        raise WrongUsageError(
            f"{target} is {type(found).__name__}, expected a Migration", "--migrate"
        )
    return found


@contextmanager
def naming_this_command(context: typer.Context) -> Iterator[None]:
    """Put the current command into the hint of an error that rejects a start."""
    try:
        yield
    except CheckpointMismatchError as exc:
        exc.hint = exc.hint.replace(RUN_COMMAND, this_command(context))
        raise


def this_command(context: typer.Context) -> str:
    """Return the text of the current command, without options that may contain secrets."""
    words = context.command_path.split()
    for param in context.command.params:
        name = param.name or ""
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and name not in _SECRET:
            words += _words(param, context.params[name])
    return shlex.join(words)


def _words(param: _Parameter, value: object) -> list[str]:
    if value is True:
        return [param.opts[0]]
    values = value if isinstance(value, (list, tuple)) else (value,)
    texts = [str(each.value if isinstance(each, Enum) else each) for each in values]
    if param.param_type_name == "argument":
        return texts
    return [word for text in texts for word in (param.opts[0], text)]
