"""The record that Spark's state has for each task."""

from __future__ import annotations

import json
from dataclasses import dataclass

from kstreams.errors import StateCorruptError
from kstreams.state.log.fields import Fields
from kstreams.state.log.stored_names import STORED_NAMES

__all__ = ("TaskRecord",)

_FORMAT = 1


@dataclass(frozen=True)
class TaskRecord:
    """The record of one task in Spark's state, after its last batch: above all the state pointer.

    Tasks number their batches in the record, because on Spark Connect a task cannot find out the
    batch of its query: jobs of `foreachBatch` run outside of the query.

    Attributes:
        layout: The layout at the creation of the checkpoint; see `Layout`.
        group: The name of the task's partition group.
        state_name: The name of the task's state in the durable log; unique to the checkpoint.
        batch: The number of batches of the task, which is the number of the last one.
        wall_ms: The wall time of that batch, ms since the epoch.
        pointer: The current version of the state, as JSON text; None before the first run.
        cleaned: The last batch that listed removable objects; see `Cleaning`.
        due_ms: The time of the next wall-clock work, ms since the epoch; None for never.
    """

    layout: str
    group: str
    state_name: str
    batch: int = 0
    wall_ms: int = 0
    pointer: str | None = None
    cleaned: int = 0
    due_ms: int | None = None

    def to_json(self) -> str:
        """Return the record as text."""
        content = {
            "f": _FORMAT,
            "layout": self.layout,
            "group": self.group,
            STORED_NAMES["state_name"]: self.state_name,
            "batch": self.batch,
            "wall": self.wall_ms,
            "pointer": self.pointer,
            "cleaned": self.cleaned,
            "due": self.due_ms,
        }
        return json.dumps(content, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> TaskRecord:
        """Parse the text of `to_json`.

        Raises:
            StateCorruptError: The text is invalid, or of a later version of the library.
        """
        try:
            fields = Fields(json.loads(text))
            if fields.integer("f") != _FORMAT:
                raise StateCorruptError(
                    f"the state of a task in Spark's checkpoint has format {fields.integer('f')}, "
                    f"expected {_FORMAT}",
                    hint="A later version of the library wrote the checkpoint: install that "
                    "version.",
                )
            return cls(
                fields.text("layout"),
                fields.text("group"),
                fields.text(STORED_NAMES["state_name"]),
                fields.integer("batch"),
                fields.integer("wall"),
                None if fields.anything("pointer") is None else fields.text("pointer"),
                fields.integer("cleaned"),
                None if fields.anything("due") is None else fields.integer("due"),
            )
        except (ValueError, TypeError, KeyError, RecursionError) as exc:
            raise StateCorruptError(
                f"the state of a task in Spark's checkpoint is invalid: {exc}",
                hint="Another program, or a later version of the library, wrote the checkpoint.",
            ) from exc
