"""`python -m tests.conformance.memory_edge FILE...`: correct answers of Kafka Streams by one rule.

A side of a join of two streams remembers its records for `before + after + grace` ms from its
newest record. Kafka Streams forgets a record of exactly that age: `InMemoryWindowStore` and
`AbstractRocksDBSegmentedBytesStore` read from `observedStreamTime - retentionPeriod + 1` on. So a
record misses a partner whose age is exactly the limit, and with `within(0)` and no grace period,
records of the same time never match.

The rule: if the model gives the results of Kafka Streams only when it also forgets records of
exactly that age, the case gets the model's other results as its `rule_out`, and `rule` names this
module.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.conformance.case import Case, Output, parse
from tests.support.models.join_models import StreamStreamModel, model_of

__all__ = ("RULE", "answers", "corrected", "main")

RULE = "memory_edge"
"""The name of the rule in a case."""

Steps = list[list[Output]]
"""The results of each input."""


def answers(case: Case) -> tuple[Steps, Steps]:
    """Return the results of a stream-stream join by two models.

    The first model forgets records of exactly the maximum age, as Kafka Streams does; the second
    remembers them.
    """
    found: list[Steps] = []
    for early in (1, 0):
        model = model_of(case)
        assert isinstance(model, StreamStreamModel)
        model.early = early
        found.append([model.take(row) for row in case.inputs])
    return found[0], found[1]


def corrected(line: dict[str, Any]) -> dict[str, Any]:
    """Return a case with `rule_out` where the rule applies, else without changes.

    A case that has a `rule_out` for another reason keeps it.
    """
    plain = {name: part for name, part in line.items() if name not in ("rule", "rule_out")}
    if line["op"] != "ss_join" or ("rule_out" in line and line.get("rule") != RULE):
        return line
    case = parse(plain)
    kafka, ours = answers(case)
    as_kafka = _bags(case, kafka)
    if as_kafka != _bags(case, case.expected or ()) or as_kafka == _bags(case, ours):
        return plain
    return {**plain, "rule": RULE, "rule_out": [list(map(list, step)) for step in ours]}


def _bags(case: Case, steps: Sequence[Sequence[Output]]) -> list[Counter[Output]]:
    """Return the results as the case compares them: by input, or all together."""
    bags = [Counter(step) for step in steps]
    return [sum(bags, Counter[Output]())] if case.compare == "total" else bags


def main(files: Sequence[str]) -> int:
    """Correct case files in place; return 0."""
    for name in files:
        path = Path(name)
        lines = path.read_text().splitlines()
        texts = [json.dumps(corrected(json.loads(line))) for line in lines if line.strip()]
        path.write_text("".join(f"{text}\n" for text in texts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
