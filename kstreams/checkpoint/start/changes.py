"""The plan of an upgrade: the effect of a changed topology on existing state."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.parameter_notes import (
    misread_by,
    parameter_notes,
    recorded_parameters,
)
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.join_upgrade_notes import join_notes, table_notes
from kstreams.checkpoint.start.old_definitions import difference, wrong_old
from kstreams.graph.checks.partitions import Uneven
from kstreams.graph.topology import Topology

__all__ = (
    "RESCALE_COMMAND",
    "StoreChange",
    "StoreChangeKind",
    "UpgradePlan",
    "Waiting",
    "plan_upgrade",
)


RESCALE_COMMAND = "kstreams rescale"
"""The command that divides state among another number of partitions."""

_BEGIN_EMPTY = "begin empty"

Waiting = Callable[[str], "int | None"]
"""Returns the number of input records that wait in a store; None if the store holds none."""


class StoreChangeKind(str, Enum):
    """The kind of change of a store."""

    SAME = "same"
    NEW = "new"
    REMOVED = "removed"
    CHANGED = "changed"
    REROUTED = "rerouted"
    RESCALED = "rescaled"


@dataclass(frozen=True)
class StoreChange:
    """The planned change of one store.

    Args:
        store: Name of the store.
        verdict: The kind of change.
        detail: The difference, before and after, in words.
        action: `keep`, `begin empty`, `drop`, `migrate`, `divide`; empty if the user must decide.
    """

    store: str
    verdict: StoreChangeKind
    detail: str = ""
    action: str = ""

    def __str__(self) -> str:
        """Return the change as one line of the upgrade plan."""
        text = f"store {self.store!r}: {self.verdict.value}"
        text += f" ({self.detail})" if self.detail else ""
        return f"{text}: {self.action or 'DECISION NEEDED'}"


@dataclass(frozen=True)
class UpgradePlan:
    """The effect of starting a topology on a checkpoint.

    Args:
        stores: The changes of stores, sorted by name.
        notes: Other changes, which do not affect state.
        problems: The reasons why the topology cannot start.
        options: Options of `kstreams run` that decide about undecided stores.
    """

    stores: tuple[StoreChange, ...]
    notes: tuple[str, ...]
    problems: tuple[str, ...]
    options: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the plan as lines of text."""
        yield from map(str, self.stores)
        yield from self.notes


def plan_upgrade(
    checkpoint: Checkpoint,
    topology: Topology,
    tasks: Mapping[str, int],
    settings: AppSettings,
    *,
    waiting: Waiting,
    records: Callable[[str], int] | None = None,
    uneven: Uneven = Uneven(),  # noqa: B008  # frozen
) -> UpgradePlan:
    """Compare a topology with the state in a checkpoint.

    Args:
        checkpoint: The existing checkpoint.
        topology: The new topology.
        tasks: The number of the new topology's tasks, by group.
        settings: The settings of the app. `migrate` and `reset` decide about stores; entries for
            stores that need no decision are ignored, so that they may stay in the program.
        waiting: Returns the number of input records held in an old store; None for stores that
            hold none.
        records: Returns the number of records of a topic; None if it is not known.
        uneven: Inputs and stores with fewer partitions than their group has tasks.
    """
    planner = _Planner(checkpoint, topology, tasks, settings, uneven=uneven, waiting=waiting)
    tables = table_notes(topology, checkpoint.shape, records)
    return planner.plan(tuple(tables))


class _Planner:
    def __init__(
        self,
        checkpoint: Checkpoint,
        topology: Topology,
        tasks: Mapping[str, int],
        settings: AppSettings,
        *,
        uneven: Uneven,
        waiting: Waiting,
    ) -> None:
        self._uneven = uneven
        self._checkpoint = checkpoint
        self._topology = topology
        self._tasks = tasks
        self._settings = settings
        self._held = cache(waiting)
        self._old = checkpoint.stores()
        self._shape = topology.shape()
        self._stores = {store.name: store for store in topology.stores}
        self._read = {m.old.name for m in settings.migrate.values()}

    def plan(self, tables: tuple[str, ...]) -> UpgradePlan:
        """Return the plan; `tables` are notes on new tables, to be added to the plan's notes."""
        new = {s.name: (g.name, s.schema()) for g in self._topology.groups for s in g.stores}
        stores = tuple(self._change(name, new) for name in sorted({*self._old, *new}))
        problems = [self._problem(change) for change in stores if not change.action]
        problems += self._unknown(new)
        problems += self._mergers(new)
        options = [self._option(change, stores) for change in stores if not change.action]
        return UpgradePlan(stores, (*self._notes(), *tables), tuple(problems), tuple(options))

    def _change(self, name: str, new: Mapping[str, tuple[str, Any]]) -> StoreChange:
        verdict, detail = self._verdict(name, new)
        is_reset = name in self._settings.reset
        match verdict:
            case StoreChangeKind.SAME:
                action = "keep"
            case StoreChangeKind.NEW:
                action = "migrate" if name in self._settings.migrate else _BEGIN_EMPTY
            case StoreChangeKind.REMOVED:
                is_empty = self._held(name) == 0
                action = "drop" if is_reset or is_empty or name in self._read else ""
            case StoreChangeKind.CHANGED if name in self._settings.migrate:
                action = "migrate"
            case StoreChangeKind.RESCALED if not is_reset:
                action = "divide"
            case _:
                action = _BEGIN_EMPTY if is_reset else ""
        return StoreChange(name, verdict, detail, action)

    def _verdict(
        self, name: str, new: Mapping[str, tuple[str, Any]]
    ) -> tuple[StoreChangeKind, str]:
        if name not in self._old:
            return StoreChangeKind.NEW, ""
        if name not in new:
            held = self._held(name)
            text = "" if held is None else f"it holds {held:,} records for later batches"
            return StoreChangeKind.REMOVED, text
        (old_group, old_schema), (group, schema) = self._old[name], new[name]
        old = self._checkpoint
        before = old.uneven.stores.get(name, old.tasks.get(old_group))
        now = self._uneven.of_store(name, self._tasks[group])
        counts = f"{before} partitions before, now {now}"
        if before != now and not self._rescales(before, now):
            return StoreChangeKind.REROUTED, counts
        old_routes = _routes(self._checkpoint.shape[old_group])
        if not old_routes <= (routes := _routes(self._shape[group])):
            return (
                StoreChangeKind.REROUTED,
                f"keys were routed by {_listed(old_routes)}, now by {_listed(routes)}",
            )
        if old_schema != schema:
            return StoreChangeKind.CHANGED, difference(old_schema, schema)
        if misread := self._misread(name):
            return StoreChangeKind.CHANGED, misread
        if before == now:
            return StoreChangeKind.SAME, ""
        same = old_group == group
        return StoreChangeKind.RESCALED if same else StoreChangeKind.REROUTED, counts

    def _rescales(self, before: int | None, now: int) -> bool:
        """Return whether the user permits a division of state among other tasks."""
        rescale = self._settings.rescale
        return rescale is not None and not (rescale.only_more and now < (before or 0))

    def _option(self, change: StoreChange, stores: Iterable[StoreChange]) -> str:
        """Return the option of `kstreams run` that decides about a store.

        It is `--rename` if exactly one new store can read the rows of a removed store, otherwise
        `--reset`.
        """
        name = change.store
        if change.verdict is StoreChangeKind.REMOVED:
            new = (each.store for each in stores if each.action == _BEGIN_EMPTY)
            fitting = [store for store in new if self._fits(name, store)]
            if len(fitting) == 1:
                return f"--rename {shlex.quote(f'{name}={fitting[0]}')}"
        return f"--reset {shlex.quote(name)}"

    def _fits(self, old: str, new: str) -> bool:
        """Return whether a new store can read the rows of an old store."""
        if new in self._old or self._old[old][1] != self._stores[new].schema():
            return False
        stored = recorded_parameters(self._checkpoint.shape, old)
        return not misread_by(stored, recorded_parameters(self._shape, new))

    def _problem(self, change: StoreChange) -> str:
        name = change.store
        match change.verdict:
            case StoreChangeKind.REMOVED if self._held(name):
                return (
                    f"store {name!r} is no longer in the topology, and {change.detail}: first "
                    f"run the previous topology until the store is empty (App.run(until='end', "
                    f"close_windows=True)); or discard the records with reset={{{name!r}}}"
                )
            case StoreChangeKind.REMOVED:
                return (
                    f"store {name!r} is no longer in the topology: its rows would be lost "
                    f"(discard them with reset={{{name!r}}}; if the store was renamed, "
                    f"migrate={{<new name>: Migration(<old definition>)}})"
                )
            case StoreChangeKind.REROUTED:
                return (
                    f"store {name!r}: {change.detail}: tasks would not find the rows of their "
                    f"keys (divide the store with `{RESCALE_COMMAND}`, run the previous "
                    f"topology, or begin the store empty with reset={{{name!r}}})"
                )
            case _:
                return f"store {name!r} would be misread: {change.detail} ({self._ways_on(name)})"

    def _ways_on(self, name: str) -> str:
        reset = f"begin the store empty with reset={{{name!r}}}"
        kind = self._stores[name].kind
        if not kind.is_migratable:
            return f"a {kind.name} store cannot be migrated: {reset}"
        return (
            f"convert its rows with "
            f"migrate={{{name!r}: Migration(<old definition>, <function>)}}, or "
            f"{reset}"
        )

    def _unknown(self, new: Mapping[str, Any]) -> Iterator[str]:
        for name, migration in sorted(self._settings.migrate.items()):
            old = migration.old
            if name not in new:
                yield f"migrate={{...}} names {name!r}, but the topology has no store of this name"
            elif old.name not in self._old and name not in self._old:
                yield (
                    f"migrate={{...}} fills store {name!r} from store {old.name!r}, but the "
                    f"checkpoint has no store {old.name!r}"
                )
            elif old.name in self._old and not self._done(name, new):
                yield from wrong_old(old, self._checkpoint.shape, self._shape, name)
        for name in sorted(self._settings.reset - {*new, *self._old}):
            yield (
                f"reset={{...}} names {name!r}, but neither the checkpoint nor the topology "
                f"has a store of this name"
            )

    def _done(self, name: str, new: Mapping[str, tuple[str, Any]]) -> bool:
        is_same = name in self._old and self._old[name][1] == new[name][1]
        return is_same and not self._misread(name)

    def _misread(self, name: str) -> str:
        recorded = recorded_parameters(self._checkpoint.shape, name)
        return misread_by(recorded, recorded_parameters(self._shape, name))

    def _mergers(self, new: Mapping[str, tuple[str, Any]]) -> Iterator[str]:
        """Yield a problem for each group whose stores come from several old groups."""
        origins: dict[str, dict[str, str]] = {}
        for name, (group, _) in sorted(new.items()):
            migration = self._settings.migrate.get(name)
            old = name if migration is None or self._done(name, new) else migration.old.name
            if old in self._old and old not in self._settings.reset:
                origins.setdefault(group, {})[self._old[old][0]] = old
        for group, found in origins.items():
            if len(found) > 1:
                listed = ", ".join(f"{store!r} of group {old!r}" for old, store in found.items())
                yield (
                    f"group {group!r} would have the stores {listed}, but the tasks of different "
                    f"groups have different offsets and stream times (reset the stores of all "
                    f"these groups except one)"
                )

    def _notes(self) -> Iterator[str]:
        old, new = self._checkpoint.shape, self._shape
        for name in sorted({*old, *new}):
            if name not in new:
                yield f"group {name!r} is no longer in the topology"
            elif name not in old:
                yield f"group {name!r} is new"
            else:
                yield from _part_notes(name, old[name], new[name])
                yield from parameter_notes(name, old[name], new[name])
                yield from join_notes(name, old[name], new[name])


def _part_notes(group: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    words = {"sources": "source topic", "entries": "repartition edge", "loops": "loop"}
    for part, word in words.items():
        before, now = old.get(part, {}), new.get(part, {})
        for name in sorted({*before, *now}):
            if name not in now:
                yield f"{word} {name!r} of group {group!r} is no longer in the topology"
            elif name not in before:
                yield f"{word} {name!r} of group {group!r} is new"
            elif before[name] != now[name]:
                changed = difference(before[name], now[name])
                yield f"{word} {name!r} of group {group!r}: {changed}"


def _routes(group: Mapping[str, Any]) -> set[tuple[str, str]]:
    loops = group.get("loops", {})
    heads = (*group["sources"].values(), *group["entries"].values(), *loops.values())
    return {(head["key"], head["partitioner"]) for head in heads}


def _listed(routes: set[tuple[str, str]]) -> str:
    return ", ".join(f"{partitioner} of {key}" for key, partitioner in sorted(routes)) or "nothing"
