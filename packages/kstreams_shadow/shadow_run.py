"""A run of a shadow: both replicas follow the batches of the app, and their results are compared.

A step takes one committed batch of the app: the replica `old` reads the input of the batch, then
the replica `new`, then their results are compared and added to the report. A replica keeps results
in files before it commits, and the files are deleted after the report is written. So a run that is
killed at any moment continues without losing or repeating a result.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
from typing_extensions import Self

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.fork import ForkSource
from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.connection import Connection
from kstreams.errors import CheckpointMismatchError
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings
from kstreams.state.log.commits import SEED
from kstreams_shadow.app_steps import AppBatch, check_comparable, next_batch, topics_of_queries
from kstreams_shadow.compared_results import Texts, compared_sinks
from kstreams_shadow.compared_stores import compared_stores, unlike_stores
from kstreams_shadow.replica import Replica, ReplicaSettings
from kstreams_shadow.report import Position, Report
from kstreams_shadow.result_files import ResultFiles, ResultSource
from kstreams_shadow.shadow_home import SIDES, CutOver, Description, ShadowHome, Side

__all__ = ("ShadowRun", "ShadowSettings", "Stepped")


@dataclass(frozen=True)
class ShadowSettings:
    """The settings of a shadow.

    Attributes:
        app: The storage of the app's checkpoint.
        home: The directory of the shadow.
        connection: The connection of the topics.
        old: The topology that the app runs, or ran before the last cut-over.
        new: The changed topology.
        log: The durable log of the app; None if it is in the checkpoint.
    """

    app: CheckpointHome
    home: ShadowHome
    connection: Connection
    old: ReplicaSettings
    new: ReplicaSettings
    log: ObjectStoreSettings | None = None

    def side(self, side: Side) -> ReplicaSettings:
        """Return the settings of a replica."""
        return self.old if side == "old" else self.new


@dataclass(frozen=True)
class Stepped:
    """The result of a step.

    Attributes:
        query: The query of the app.
        batch: The number of the app's batch.
        behind: The number of later committed batches of the query.
    """

    query: str
    batch: int
    behind: int


class ShadowRun:
    """Runs a shadow step by step; a context manager, which opens both replicas.

    Args:
        settings: The settings of the shadow.
        savepoint: The name of the savepoint to start from; None continues an existing shadow.

    Attributes:
        report: The results so far.
    """

    def __init__(self, settings: ShadowSettings, savepoint: str | None = None) -> None:
        check_comparable(settings.old.topology, settings.new.topology)
        self.settings = settings
        self._savepoint = savepoint
        self.report = Report()
        self._texts = {side: Texts(settings.side(side).topology) for side in SIDES}
        self._replicas: dict[Side, Replica] = {}
        self._closing = ExitStack()
        self._continued: set[str] = set()

    def __enter__(self) -> Self:
        """Open the shadow; create its replicas first, if they do not exist.

        Raises:
            AppLockedError: Another process runs the shadow.
            CheckpointMismatchError: The directory has a shadow of another app or savepoint; or a
                topology would empty or misread stores.
            NoCheckpointError: There is no app, or no shadow and no savepoint.
            SavepointError: The savepoint does not exist.
        """
        settings = self.settings
        app = Checkpoint.load(settings.app)
        described = self._described(app)
        savepoint = described.source.rpartition("@")[2]
        source = ForkSource(settings.app.named, savepoint, settings.log)
        with ExitStack() as opening:
            for side in SIDES:
                replica = Replica(
                    settings.home, side, app.app, source, settings.side(side), settings.connection
                )
                self._replicas[side] = opening.enter_context(replica)
            found = settings.home.read_report()
            self.report = Report() if found is None else Report.from_json(found)
            unlike = unlike_stores(settings.old.topology, settings.new.topology)
            self.report = replace(self.report, unlike=unlike)
            self._closing = opening.pop_all()
        self._continued = set(app.queries)
        for side in SIDES:
            for name in self._replicas[side].queries:
                self._files(side, name).forget(self._compared(side, name))
        return self

    def __exit__(self, *_: object) -> None:
        """Close both replicas."""
        self._closing.close()

    @cached_property
    def objects(self) -> ObjectStore:
        """The durable log of the app."""
        return (self.settings.log or Checkpoint.load(self.settings.app).log).open()

    @property
    def replicas(self) -> Mapping[Side, Replica]:
        """The open replicas."""
        return self._replicas

    def step(self) -> Stepped | None:
        """Run and compare the next batch of each query of the app; None if there is none.

        Returns:
            The last compared batch of the query with the most remaining batches.

        Raises:
            CheckpointMismatchError: The app was reset, or runs queries of another topology.
            KStreamsError: A task of a replica failed; the step can be repeated.
        """
        app = Checkpoint.load(self.settings.app)
        self.settings.home.checked(app)
        done: list[Stepped] = []
        for query, topics in topics_of_queries(app).items():
            after = self._after(app, query)
            if (found := next_batch(app, query, self.objects, after)) is not None:
                self._compare(app, query, topics, found)
                done.append(Stepped(query, found.commit.batch, found.behind))
        return max(done, key=lambda each: each.behind, default=None)

    def compare_stores(self) -> None:
        """Compare all stores at the last compared batch, and write the report."""
        old, new = (self._replicas[side] for side in SIDES)
        batch = max((each.batch for each in self.report.positions.values()), default=SEED)
        stores = compared_stores(
            batch, (old.checkpoint, old.topology), (new.checkpoint, new.topology)
        )
        self._write(replace(self.report, stores=stores))

    def query_of(self, side: Side, query: str, topics: frozenset[str]) -> str:
        """Return the query of a replica that reads the topics of a query of the app.

        Raises:
            CheckpointMismatchError: There is none.
        """
        for name, found in self._replicas[side].queries.items():
            if found == topics:
                return name
        raise CheckpointMismatchError(
            f"query {query!r} of the app reads topics {sorted(topics)}, but no query of topology "
            f"{self._replicas[side].topology.name!r} does",
            hint="the app runs another topology than the shadow's: start another shadow.",
        )

    def _described(self, app: Checkpoint) -> Description:
        home = self.settings.home
        if home.described() is None and self._savepoint is not None:
            home.describe(self._created(app, self._savepoint))
        found = home.checked(app)
        if tuple(found.topologies) != self._fingerprints():
            raise CheckpointMismatchError(
                f"the shadow in {str(home.path)!r} was started with other topologies",
                hint="remove the directory of the shadow, or choose another one, and start the "
                "shadow again from a savepoint.",
            )
        name = found.source.rpartition("@")[2]
        if self._savepoint not in (None, name):
            raise CheckpointMismatchError(
                f"the shadow in {str(home.path)!r} started from savepoint {name!r}, not from "
                f"{self._savepoint!r}",
                hint="continue it without --from, or start another shadow in another directory.",
            )
        return found

    def _created(self, app: Checkpoint, savepoint: str) -> Description:
        source = ForkSource(self.settings.app.named, savepoint, self.settings.log)
        found, _ = source.load()
        first = {found.checkpoint.log_name(q): commit.batch for q, commit in found.commits.items()}
        start = CutOver("old", app.begun)
        topologies = self._fingerprints()
        return Description(app.app, app.checkpoint_id, str(source), topologies, first, (start,))

    def _fingerprints(self) -> tuple[str, ...]:
        return tuple(self.settings.side(side).topology.fingerprint() for side in SIDES)

    def _after(self, app: Checkpoint, query: str) -> int | None:
        """Return the last compared batch in the present epoch of a query; None without one."""
        found, log_name = self.report.positions.get(query), app.log_name(query)
        if found is not None and found.log_name == log_name:
            return found.batch
        return self.settings.home.checked(app).first_batches.get(log_name)

    def _compare(
        self, app: Checkpoint, query: str, topics: frozenset[str], found: AppBatch
    ) -> None:
        names: dict[Side, str] = {s: self.query_of(s, query, topics) for s in SIDES}
        for side, name in names.items():
            continued = query in self._continued
            self._replicas[side].run(name, found.step, continued=continued)
        self._continued.discard(query)
        batch = found.commit.batch
        sinks = compared_sinks(
            batch,
            self._results("old", names["old"]),
            self._results("new", names["new"]),
            self._texts["old"],
            self._texts["new"],
        )
        old, new = ({name: self._replicas[side].last_batch(name)} for side, name in names.items())
        position = Position(app.log_name(query), batch, old, new)
        self._write(self.report.after(query, position, sinks, found.skipped))
        for side, name in names.items():
            self._files(side, name).forget(self._replicas[side].last_batch(name))

    def _results(self, side: Side, query: str) -> list[tuple[ResultSource, pa.Table]]:
        after, last = self._compared(side, query), self._replicas[side].last_batch(query)
        return list(self._files(side, query).read(after, last))

    def _compared(self, side: Side, query: str) -> int:
        """Return the last batch of a replica's query whose results are in the report."""
        found = (each.old if side == "old" else each.new for each in self.report.positions.values())
        return max((numbers.get(query, SEED) for numbers in found), default=SEED)

    def _files(self, side: Side, query: str) -> ResultFiles:
        return ResultFiles(self.settings.home.results(side, query))

    def _write(self, report: Report) -> None:
        self.settings.home.write("report.json", report.to_json())
        self.report = report
