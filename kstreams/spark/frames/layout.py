"""The layout: the tasks of a pipeline and their grouping keys in Spark, stored in its state."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kstreams.batch.messages.envelope import DRIVER
from kstreams.checkpoint.parameter_notes import misread_stores
from kstreams.errors import CheckpointMismatchError
from kstreams.parameters import Parameters
from kstreams.spark.frames.task_keys import key_of

__all__ = ("Layout", "check_parameters")


@dataclass(frozen=True)
class Layout:
    """The tasks of one pipeline, with the data that must stay the same for a checkpoint.

    Attributes:
        app: The app id.
        fingerprint: The fingerprint of the topology.
        groups: The names of the partition groups, in the order of their stages.
        counts: The number of tasks of each group.
        origin: The name of the savepoint with the initial state; empty without one.
        parameters: The parameters of each store; see `kstreams.parameters`.
    """

    app: str
    fingerprint: str
    groups: tuple[str, ...]
    counts: tuple[int, ...]
    origin: str = ""
    parameters: Mapping[str, Parameters] = field(default_factory=dict)

    def key(self, stage: int, task: int, *, through: int) -> int:
        """Return the Spark grouping key of a message in a stage's operator.

        Args:
            stage: The destination stage of the message.
            task: The destination task in that stage.
            through: The stage of the operator that receives the message: the destination, or an
                earlier stage that passes the message on.
        """
        if stage != through:
            task %= self.counts[through]
        return key_of(task)

    def following(self, stage: int, task: int, *, after: int) -> int:
        """Return the Spark grouping key of a message that leaves a stage.

        Args:
            stage: The stage that the message is for.
            task: The task that the message is for.
            after: The stage that sends or passes on the message; after the last stage, messages go
                to the driver, and the key is `DRIVER`.
        """
        through = after + 1
        if through == len(self.counts):
            return DRIVER
        return self.key(stage, task, through=through)

    def tasks(self) -> Iterator[tuple[int, int]]:
        """Yield stage and number of each task."""
        for stage, count in enumerate(self.counts):
            for task in range(count):
                yield stage, task

    def to_text(self) -> str:
        """Return the layout as text for a checkpoint."""
        tasks = dict(zip(self.groups, self.counts, strict=True))
        content = {"app": self.app, "shape": self.fingerprint, "tasks": tasks}
        return json.dumps({**content, "origin": self.origin, "parameters": self.parameters})

    def check(self, text: str) -> None:
        """Check that a checkpoint was created with this layout.

        Args:
            text: The layout in the checkpoint.

        Raises:
            CheckpointMismatchError: The checkpoint has another app, topology or number of tasks, or
                parameters by which a store would be misread. The message has the difference.
        """
        if text == self.to_text():
            return
        found, own = json.loads(text), json.loads(self.to_text())
        for part, message, hint in _DIFFERENCES:
            if found.get(part) != own[part]:
                raise CheckpointMismatchError(
                    message.format(found=found.get(part), own=own[part]), hint=hint
                )
        check_parameters(text, self.parameters)


def check_parameters(text: str, parameters: Mapping[str, Parameters]) -> None:
    """Check that the stores of a checkpoint would not be misread.

    Args:
        text: The layout in the checkpoint; without parameters in earlier versions of the library.
        parameters: The parameters of the stores that are to be read.

    Raises:
        CheckpointMismatchError: A store would be misread; the error has the reason.
    """
    misread = tuple(misread_stores(json.loads(text).get("parameters", {}), parameters))
    if misread:
        raise CheckpointMismatchError(
            f"the checkpoint has stores that would be misread: {'; '.join(misread)}",
            hint=_ANOTHER,
        )


_ANOTHER = "Use a new checkpoint location, or the settings of the first start."
_DIFFERENCES = (
    ("app", "the first start of the checkpoint had app_id={found!r}, not {own!r}", _ANOTHER),
    (
        "tasks",
        "the first start of the checkpoint had other task counts by group: {found}, now {own}",
        "Set tasks= to the old number: the state of a key belongs to one task. " + _ANOTHER,
    ),
    (
        "origin",
        "the first start of the checkpoint had fork={found!r}, not {own!r}",
        "A checkpoint keeps its fork= until it is reset. " + _ANOTHER,
    ),
    (
        "shape",
        (
            "the first start of the checkpoint had another topology: its sources, edges or stores "
            "differ"
        ),
        "A checkpoint keeps its stores, sources and edges until it is reset. " + _ANOTHER,
    ),
)
