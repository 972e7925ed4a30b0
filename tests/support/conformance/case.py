"""A conformance case: an operation, its input and the expected results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Output = tuple["str | None", "str | None", int]
"""Key, value and timestamp (ms) of a result."""

WINDOWS = ("tumbling", "hopping", "sliding", "session")

JOINS = ("ss_join", "tt_join", "st_join", "fk_join")

How = Literal["inner", "left", "outer"]
"""The kind of a join: which records without a partner it emits."""

_TWO_SIDED = ("ss_join", "tt_join")


@dataclass(frozen=True)
class Input:
    topic: str
    key: str | None
    value: str | None
    timestamp: int


@dataclass(frozen=True)
class Case:
    """A line of a case file.

    `expected` is the list of results for each input, or None if the file has no answers. `dropped`
    is None where it is not compared.
    """

    name: str
    op: str
    emit: str
    options: dict[str, Any]
    inputs: tuple[Input, ...]
    compare: str
    expected: tuple[tuple[Output, ...], ...] | None
    dropped: int | None

    @property
    def is_join(self) -> bool:
        return self.op in JOINS

    @property
    def how(self) -> How:
        """The kind of join; `check` lists the valid ones."""
        found: How = self.options.get("how", "inner")
        return found

    def check(self) -> None:
        """Check that the operation exists.

        Raises:
            ValueError: The operation does not exist. The message lists the valid ones.
        """
        known = (*WINDOWS, *JOINS)
        if self.op not in known:
            raise ValueError(
                f"case {self.name}: unknown operation {self.op!r}, expected {' or '.join(known)}"
            )
        hows = ("inner", "left", "outer") if self.op in _TWO_SIDED else ("inner", "left")
        if self.is_join and self.how not in hows:
            raise ValueError(
                f"case {self.name}: {self.op} has no {self.how!r}, expected {' or '.join(hows)}"
            )
        topics = {"left", "right"} if self.is_join else {"in"}
        for row in self.inputs:
            if row.topic not in topics:
                raise ValueError(
                    f"case {self.name}: {self.op} reads {' and '.join(sorted(topics))}, "
                    f"not {row.topic!r}"
                )
        if self.op == "st_join" and "grace" in self.options and "versioned" not in self.options:
            raise ValueError(f"case {self.name}: a grace needs a versioned table")

    def batches(self, cut: str) -> list[range]:
        """Cut the input into batches of 1 or 3 records, or one batch of all."""
        count = len(self.inputs)
        size = count if cut == "all" else int(cut)
        return [range(begin, min(begin + size, count)) for begin in range(0, count, size)]


def read_cases(paths: Iterable[Path]) -> Iterator[Case]:
    for path in paths:
        for line in path.read_text().splitlines():
            if line.strip():
                yield parse(json.loads(line))


def parse(data: dict[str, Any]) -> Case:
    out = data.get("rule_out", data.get("out"))
    has_rule = data["op"] in ("tumbling", "hopping", "session") and "rule_out" not in data
    return Case(
        name=data["name"],
        op=data["op"],
        emit=data.get("emit", ""),
        options=data,
        inputs=tuple(Input(*fields) for fields in data["in"]),
        compare=data.get("compare", "steps"),
        expected=None if out is None else tuple(tuple(map(_output, step)) for step in out),
        dropped=data.get("dropped") if has_rule else None,
    )


def _output(fields: list[Any]) -> Output:
    key, value, timestamp = fields
    return key, value, timestamp
