"""The checks of `kstreams state verify`: of each query and each savepoint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby, pairwise

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.planning.plans import Plan
from kstreams.checkpoint.resume import resume
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.errors import KStreamsError, ObjectMissingError, SavepointError, StoreError
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import Commit, CommitLog
from kstreams.state.log.durable import checked_link
from kstreams.state.log.loop_objects import LoopPart, object_names, read_loops
from kstreams.state.log.pointer import ObjectRef
from kstreams.state.log.version_ids import Link, line_problem

__all__ = ("Part", "Verification")

_PARALLEL_READS = 8


@dataclass(frozen=True)
class Part:
    """The result of checking a query or a savepoint.

    Attributes:
        label: The name of the query or the savepoint.
        versions: The number of checked versions.
        objects: The number of objects of the versions.
        size_bytes: The total size of the objects.
    """

    label: str
    versions: int
    objects: int
    size_bytes: int


class Verification:
    """Reads all objects that an app needs to continue; the app may run meanwhile.

    Attributes:
        problems: The problems, by the faulty object.
        strays: The names of files and objects that do not belong to the app.
        checked: The version id of each object that was read; the text of an `ObjectRef` is its key.
    """

    def __init__(self, checkpoint: Checkpoint, objects: ObjectStore) -> None:
        self._checkpoint = checkpoint
        self._objects = objects
        self.problems: dict[str, str] = {}
        self.strays: list[str] = []
        self.checked: dict[str, Link | None] = {}

    def parts(self) -> Iterator[Part]:
        """Check all queries and savepoints; yield each result when it is complete."""
        for query in self._checkpoint.queries:
            yield self._query(query)
        savepoints = Savepoints(self._checkpoint, self._objects)
        self.strays += savepoints.strays()
        for name in savepoints.names():
            try:
                commits = list(savepoints.load(name).commits.values())
            except SavepointError:  # deleted since it was listed
                continue
            except StoreError as exc:
                self._problem(f"savepoint {name}", exc)
            else:
                yield self._part(f"savepoint {name}", commits)

    def _query(self, query: str) -> Part:
        log = self._checkpoint.commits(query, self._objects)
        plans = self._checkpoint.plans(query)
        self.strays += (f"plans of query {query!r}: {name}" for name in plans.strays())
        try:
            resume(self._checkpoint, query, self._objects)
            self.strays += log.strays()
        except KStreamsError as exc:
            self._problem(query, exc)
        written = self._plans(plans)  # before the commits: each of these has its plan
        commits = self._commits(query, log)
        self._check_order(query, commits)
        self._check_gap(query, log, plans, commits)
        self._check_plans(plans, written, commits)
        return self._part(query, commits, log)

    def _plans(self, plans: PlanLog) -> dict[int, Plan]:
        found: dict[int, Plan] = {}
        for number in plans.numbers():
            try:
                found[number] = plans.at(number)
            except ObjectMissingError:  # passed since it was listed
                continue
            except StoreError as exc:
                self._problem(f"plan {number}", exc)
        return found

    def _commits(self, query: str, log: CommitLog) -> list[Commit]:
        found: list[Commit] = []
        try:
            batches = log.batches()
        except StoreError as exc:
            self._problem(query, exc)
            return found
        for batch in batches:
            try:
                found.append(log.at(batch))
            except ObjectMissingError:  # collected since it was listed
                found.clear()
            except StoreError as exc:
                self._problem(f"{query}, batch {batch}", exc)
        return found

    def _check_order(self, query: str, commits: Sequence[Commit]) -> None:
        """Add a problem for each commit that does not name the previous commit."""
        for before, commit in pairwise(commits):
            if commit.after not in (None, before.id):
                self.problems[f"{query}, batch {commit.batch}"] = (
                    f"its commit follows commit {commit.after} instead of {before.id}"
                )

    def _check_gap(
        self, query: str, log: CommitLog, plans: PlanLog, commits: Sequence[Commit]
    ) -> None:
        """Add a problem if a commit is missing before the first retained commit."""
        if not commits:
            return
        first = commits[0]
        older = [number for number in log.numbers() if number < first.batch]
        before = plans.find(first.batch - 1) if older else None
        if before is not None and first.batch - 1 not in self._left_by_clean_up(plans):
            self.problems[f"{query}, batch {first.batch}"] = (
                f"its commit follows commit {first.after} instead of that of batch {older[-1]}"
            )

    def _left_by_clean_up(self, plans: PlanLog) -> set[int]:
        newest = plans.newest()
        return plans.inherited() | set(() if newest is None else newest.kept)

    def _check_plans(
        self, plans: PlanLog, written: Mapping[int, Plan], commits: Sequence[Commit]
    ) -> None:
        """Add a problem for each commit that differs from the plan of its batch."""
        for commit in commits:
            plan = written.get(commit.batch)
            if plan is not None and commit.plan not in ("", plan.digest):
                plan = plans.find(commit.batch)  # cut smaller since it was read
            if plan is None:
                continue
            if commit.plan not in ("", plan.digest) or commit.positions != plan.positions:
                self.problems[f"plan {commit.batch}"] = "the commit of its batch has another plan"

    def _part(self, label: str, commits: Sequence[Commit], log: CommitLog | None = None) -> Part:
        """Check the objects of commits; objects that cleanup removes meanwhile are not problems.

        Args:
            label: The name of the query or the savepoint, for the result and for problems.
            commits: The commits.
            log: The commit log that cleanup may shorten meanwhile; None for a savepoint.
        """
        refs = {r for c in commits for p in c.pointers().values() for r in p.objects()}
        parts = {part for commit in commits for part in commit.sent}
        loops = sorted(parts, key=lambda part: (part.name, part.start))
        found = {**self._check_objects(refs), **self._check_loops(loops)}
        for commit in commits:
            for task, pointer in commit.pointers().items():
                links = {ref: self.checked.get(str(ref)) for ref in pointer.deltas}
                known = {ref: link for ref, link in links.items() if link is not None}
                if len(known) == len(links) and (problem := line_problem(pointer, known)):
                    found[f"{label}, batch {commit.batch}, task {task}"] = problem
        if found and log is not None:
            retained = set(log.batches())
            kept = [commit for commit in commits if commit.batch in retained]
            named = {name for c in kept for name in _names(c)}
            found = {n: text for n, text in found.items() if n in named or n not in self.checked}
        self.problems |= found
        size = sum(ref.size_bytes for ref in refs) + sum(part.length for part in loops)
        return Part(label, len(commits), len(refs) + len(object_names(loops)), size)

    def _check_objects(self, refs: Iterable[ObjectRef]) -> dict[str, str]:
        def look(ref: ObjectRef) -> tuple[str, Link | None, str]:
            try:
                return str(ref), checked_link(self._objects, ref), ""
            except StoreError as exc:
                return str(ref), None, exc.message

        fresh = sorted((ref for ref in refs if str(ref) not in self.checked), key=str)
        problems: dict[str, str] = {}
        with ThreadPoolExecutor(_PARALLEL_READS, "kstreams-verify") as pool:
            for name, link, problem in pool.map(look, fresh):
                self.checked[name] = link
                if problem:
                    problems[name] = problem
        return problems

    def _check_loops(self, parts: Sequence[LoopPart]) -> dict[str, str]:
        problems: dict[str, str] = {}
        for name, own in groupby(parts, key=lambda part: part.name):
            if name not in self.checked:
                self.checked[name] = None
                try:
                    read_loops(self._objects, list(own))
                except StoreError as exc:
                    problems[name] = exc.message
        return problems

    def _problem(self, name: str, error: KStreamsError) -> None:
        self.problems[name] = error.message


def _names(commit: Commit) -> Iterator[str]:
    """Yield the objects that a commit needs, as in `Verification.checked`."""
    for pointer in commit.pointers().values():
        yield from map(str, pointer.objects())
    yield from object_names(commit.sent)
