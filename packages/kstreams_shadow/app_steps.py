"""The committed batches of the app, as steps of its shadow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.resume import positions_after
from kstreams.errors import CompileError, ObjectMissingError
from kstreams.graph.topology import Topology
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import SEED, Commit
from kstreams_shadow.replica import Step

__all__ = ("AppBatch", "check_comparable", "next_batch", "topics_of_queries")


@dataclass(frozen=True)
class AppBatch:
    """A committed batch of the app.

    Attributes:
        commit: The commit.
        step: The input of the batch.
        skipped: The number of batches since the previous step that are no longer retained.
        behind: The number of later committed batches.
    """

    commit: Commit
    step: Step
    skipped: int
    behind: int


def next_batch(
    app: Checkpoint, query: str, objects: ObjectStore, after: int | None
) -> AppBatch | None:
    """Return the oldest retained batch of a query after another one; None without one.

    Args:
        app: The checkpoint of the app.
        query: The name of the query.
        objects: The durable log of the app.
        after: The number of the batch before; None: before all batches.
    """
    commits = app.commits(query, objects)
    first = SEED if after is None else after + 1
    numbers = [number for number in commits.batches() if number >= first]
    for position, number in enumerate(numbers):
        try:
            commit = commits.at(number)
        except ObjectMissingError:  # clean-up has deleted it since
            continue
        skipped = 0 if after is None else number - first
        step = _step(app, query, commit)
        return AppBatch(commit, step, skipped, len(numbers) - position - 1)
    return None


def _step(app: Checkpoint, query: str, commit: Commit) -> Step:
    if commit.batch == SEED:
        return Step(positions_after(commit), commit.wall_ms, is_seed=True)
    plan = app.plans(query).find(commit.batch)
    positions = positions_after(commit)
    if plan is None or plan.takeover:
        return Step(positions, commit.wall_ms)
    return Step(positions, plan.wall_ms, plan.since_ms, plan.close_windows)


def topics_of_queries(app: Checkpoint) -> dict[str, frozenset[str]]:
    """Return the topics that each query of an app reads, by the name of the query."""
    return {
        query: frozenset(topic for group in groups for topic in app.shape[group]["sources"])
        for query, groups in app.queries.items()
    }


def check_comparable(old: Topology, new: Topology) -> None:
    """Check that each query of a topology reads the topics of exactly one query of the other.

    Raises:
        CompileError: The queries read other topics, two queries read the same topics, or a
            topology has global tables.
    """
    for topology in (old, new):
        if any(group.global_stores for group in topology.groups):
            raise CompileError(
                f"topology {topology.name!r} has global tables, which a shadow does not support: "
                "its replicas would read other versions of the tables than the app",
                hint="fork a savepoint with `kstreams state fork`, and run the fork.",
            )
    topics = _topics(old), _topics(new)
    for found, topology in zip(topics, (old, new), strict=True):
        if len(set(found.values())) != len(found):
            raise CompileError(
                f"topology {topology.name!r} has several queries that read the same topics, which "
                "a shadow does not support: their batches cannot be assigned",
                hint="connect them, or fork a savepoint with `kstreams state fork`.",
            )
    if set(topics[0].values()) != set(topics[1].values()):
        raise CompileError(
            f"topology {new.name!r} reads {_shown(topics[1])}, but the app reads "
            f"{_shown(topics[0])}: a shadow reads the input of the app's batches",
            hint="a change of the sources needs an upgrade, or a fork of a savepoint.",
        )


def _topics(topology: Topology) -> dict[str, frozenset[str]]:
    return {
        groups[0].name: frozenset(node.topic.name for group in groups for node in group.sources)
        for groups in topology.pipelines()
    }


def _shown(queries: Mapping[str, frozenset[str]]) -> str:
    return " and ".join(sorted(f"{{{', '.join(sorted(each))}}}" for each in queries.values()))
