"""What Spark's state holds of a task."""

from __future__ import annotations

import json
from dataclasses import dataclass

from kstreams.errors import StateCorruptError
from kstreams.state.log.fields import Fields

__all__ = ("TaskRecord",)

_FORMAT = 1


@dataclass(frozen=True)
class TaskRecord:
    """One task, as of its last batch.

    Attributes:
        layout: What the checkpoint was begun with; see `Layout`.
        pointer: The version of its state that counts, as JSON text; None before its first run.
        cleaned: The last batch that looked for what can be removed; see `Cleaning`.
        due_ms: When it has wall-clock work next, ms since the epoch; None for never.
    """

    layout: str
    pointer: str | None = None
    cleaned: int = 0
    due_ms: int | None = None

    def to_json(self) -> str:
        """Return it as text."""
        content = {
            "f": _FORMAT,
            "layout": self.layout,
            "pointer": self.pointer,
            "cleaned": self.cleaned,
            "due": self.due_ms,
        }
        return json.dumps(content, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> TaskRecord:
        """Read what `to_json` returned.

        Raises:
            StateCorruptError: It is something else, or of a later version of the library.
        """
        try:
            fields = Fields(json.loads(text))
            if fields.integer("f") != _FORMAT:
                raise StateCorruptError(
                    f"a task's record is of format {fields.integer('f')}, expected {_FORMAT}",
                    hint="A later version of the library wrote the checkpoint: run that one.",
                )
            pointer = fields.anything("pointer")
            return cls(
                fields.text("layout"),
                None if pointer is None else fields.text("pointer"),
                fields.integer("cleaned"),
                None if fields.anything("due") is None else fields.integer("due"),
            )
        except (ValueError, TypeError, KeyError, RecursionError) as exc:
            raise StateCorruptError(
                f"Spark's checkpoint has no state of a task where one should be: {exc}",
                hint="The checkpoint was written by something else, or by a later version.",
            ) from exc
