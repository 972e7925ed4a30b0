"""The positions of a query from its plans, commits and notes, which must be consistent.

The plan of a batch is stored before the batch runs, perhaps during the previous commit; the commit
is stored when the batch is done, and a note after that (`DoneNotes`). A plan names the previous
commit. So a killed process leaves at most two plans without a commit, or a commit without a note.
If the previous commit of a plan that was run is missing, or a batch has a plan and a note but no
commit, then the log was moved, emptied or replaced by an older log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.planning.plans import Plan
from kstreams.errors import LogMismatchError, Where
from kstreams.ids import TopicPartition
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import SEED, Commit, CommitName
from kstreams.task.progress.task_meta import TaskMeta

__all__ = ("Resumption", "positions_after", "resume")


@dataclass(frozen=True)
class Resumption:
    """The position at which a query resumes.

    Attributes:
        last: The last commit, or None.
        positions: The next offset to plan of each partition; empty before the first plan.
        topics: The known ids of the topics in `positions`.
        pending: The batch number of the uncommitted plan, or None.
        kept: The batch numbers of plans that cleanup retains; see `kstreams.checkpoint.takeover`.
    """

    last: Commit | None
    positions: Mapping[TopicPartition, int]
    topics: Mapping[str, str]
    pending: int | None
    kept: tuple[int, ...] = ()


def resume(checkpoint: Checkpoint, query: str, objects: ObjectStore) -> Resumption:
    """Return the position at which a query resumes, after checking its plans, commits and notes.

    The function writes nothing. For a running app, the order of reads ensures a consistent result:
    notes, then plans, then commits.

    Args:
        checkpoint: The checkpoint of the app.
        query: The name of the query.
        objects: The durable log.

    Raises:
        LogMismatchError: The log lacks committed batches, or is another log.
        StateCorruptError: A plan or a commit is unreadable.
    """
    noted = checkpoint.done_notes(query).last()
    plans = checkpoint.plans(query)
    numbers, newest = plans.numbers(), plans.newest()
    commits = checkpoint.commits(query, objects)
    seed = ""
    if query in checkpoint.begun:
        beginning, digest = commits.beginning()
        if digest != checkpoint.begun[query]:
            raise _mismatch(
                checkpoint,
                objects,
                f"the first object of the log, written by {beginning}, differs from the one that "
                f"the checkpoint recorded for query {query!r}",
            )
        seed = beginning.seed
    last = commits.last()
    numbers, newest = _counting(plans, numbers, newest, last)
    problem = _seed_problem(last, seed)
    if newest is not None and not problem:
        problem = _problem(last, numbers, newest, noted)
    if problem:
        raise _mismatch(checkpoint, objects, f"query {query!r}: {problem}")
    batch = SEED - 1 if last is None else last.batch
    kept = () if newest is None else newest.kept
    if newest and (newest.positions or newest.takeover) and numbers[-1] >= batch:
        pending = numbers[-1] if numbers[-1] > batch else None
        # Only the commit of its last plan has the positions the tasks have held back.
        done = last.positions if last is not None and pending is None else {}
        return Resumption(last, {**newest.positions, **done}, newest.topics, pending, kept)
    if last is not None:
        return Resumption(last, positions_after(last), last.topics, None, kept)
    return Resumption(None, {}, {}, None, kept)


def _counting(
    plans: PlanLog, numbers: list[int], newest: Plan | None, last: Commit | None
) -> tuple[list[int], Plan | None]:
    """Return plan numbers and newest plan, without plans of batches after a failed commit.

    Such plans are void: they were stored during a commit that is not in the log.
    """
    done = SEED if last is None else last.batch
    while newest is not None and newest.ahead and numbers[-1] - done in (1, 2):
        if numbers[-1] == done + 1 and newest.counts_after(None if last is None else last.id):
            break
        numbers = numbers[:-1]
        newest = plans.find(numbers[-1]) if numbers else None
    return numbers, newest


def _seed_problem(last: Commit | None, seed: str) -> str:
    if last is None:
        return "the initial state of the query is missing" if seed else ""
    if last.batch == SEED and seed and last.digest != seed:
        return "the initial state of the query is not the recorded one"
    return ""


def _problem(last: Commit | None, numbers: list[int], newest: Plan, noted: int) -> str:
    """Return how the last commit contradicts the plans and notes; empty if it does not.

    `numbers` are the batch numbers of the plans, `noted` is the newest batch with a note.
    """
    number = numbers[-1]
    batch = SEED - 1 if last is None else last.batch
    if last is not None and batch > number:
        return ""  # the plans are older than the log, whose commits say where to read on
    if last is not None and batch == number:
        if last.plan in ("", newest.digest):
            return ""
        return f"the commit of batch {batch} does not belong to the plan of the batch"
    if newest.after is not None:
        return _after_problem(last, number, newest.after) or _noted_problem(number, noted)
    if len(numbers) > 1 and batch < numbers[-2]:
        return (
            f"the commit of batch {numbers[-2]} is missing, although the batch was committed; "
            f"{_ends_at(last)}"
        )
    return _noted_problem(number, noted)


def _after_problem(last: Commit | None, number: int, after: CommitName) -> str:
    if last is None or last.batch < after.batch:
        return (
            f"the commit of batch {after.batch} is missing, although the batch was committed; "
            f"{_ends_at(last)}"
        )
    if last.id != after:
        return (
            f"plan {number} follows batch {after.batch} with digest {after.digest[:16]}; "
            f"{_ends_at(last)}, with digest {last.digest[:16]}"
        )
    return ""


def _noted_problem(number: int, noted: int) -> str:
    if noted < number:
        return ""
    return f"batch {number} is recorded as completed, but its commit is missing"


def _ends_at(last: Commit | None) -> str:
    if last is None:
        return "the log has no commit at all"
    return f"the log ends with batch {last.batch}"


def _mismatch(checkpoint: Checkpoint, objects: ObjectStore, problem: str) -> LogMismatchError:
    return LogMismatchError(
        f"the durable log {objects} is not the one that checkpoint {str(checkpoint.home)!r} "
        f"belongs to, or was changed: {problem}",
        hint=LogMismatchError.WAY_ON,
        where=Where(app=checkpoint.app),
    )


def positions_after(commit: Commit) -> dict[TopicPartition, int]:
    """Return the first unprocessed offset of each partition.

    An offset in a task's pointer takes precedence over the commit's, because it belongs to the
    task's state. If several tasks read one partition, the lowest offset counts: each task skips the
    records that it has processed.
    """
    own: dict[TopicPartition, int] = {}
    for pointer in commit.pointers().values():
        for place, offset in TaskMeta.from_json(pointer.meta).next_offsets.items():
            own[place] = min(offset, own.get(place, offset))
    return {**commit.positions, **own}
