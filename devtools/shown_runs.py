"""Made-up output of batches that run again, because the showcase's batches never ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from starlette.requests import Request

from devtools.showcase import Showcase
from kstreams_serve.code_runs import CodeRuns

__all__ = ("shown_runs",)


@contextmanager
def shown_runs(app: Showcase) -> Iterator[None]:
    """Let servers of this process answer `explain` and `trace` of an app that never ran."""

    async def run(_: CodeRuns, __: Request, ___: str, command: str, *____: str) -> object:
        return _explanation(app) if command == "explain" else _trace(app)

    with patch.object(CodeRuns, "run", run):
        yield


def _explanation(app: Showcase) -> Mapping[str, Any]:
    names = app.names
    word = names.words[0]
    begun = app.now_ms - 3_000
    steps = [
        {
            "record": {
                "topic": "lines",
                "partition": number % 2,
                "offset": 1_902 + number,
                "timestamp_ms": begun + 7 * number,
                "via": [f"{names.edge}/3#{13 + number}"],
            },
            "node": names.count,
            "defined_at": f"{names.file}:14",
            "key": word,
            "value": 1,
            "before": [{"value": 3_978 + number}],
            "after": [{"value": 3_979 + number}],
            "dropped": names.reason if number == 4 else None,
        }
        for number in range(7)
    ]
    return {
        "query": app.query,
        "explained": [
            {
                "batch": app.batch,
                "wall_ms": begun,
                "before": [{"value": 3_978}],
                "after": [{"value": 3_985}],
                "equal": True,
                "end": [{"value": 3_985}],
                "not_run": "",
                "seconds": 0.3,
                "ranges": [
                    {"topic": "lines", "partition": 0, "from_offset": 1_901, "to_offset": 1_980}
                ],
                "steps_total": 607,
                "steps": steps,
            }
        ],
    }


def _trace(app: Showcase) -> Mapping[str, Any]:
    names = app.names
    word, time = names.words[0], app.now_ms - 3_000
    no: dict[str, Any] = {"reason": "", "store": None, "before": [], "after": []}
    place = f"{names.file}:12"
    one: dict[str, Any] = {
        **no,
        "key": word,
        "value": 1,
        "timestamp_ms": time,
        "defined_at": place,
    }
    first, second = f"{names.source}/3", f"{names.edge}/1"
    written = {"store": names.counts, "before": [{"value": 41}], "after": [{"value": 42}]}
    steps = [
        {**one, "task": first, "depth": 0, "node": names.split, "what": "entered"},
        {**one, "task": first, "depth": 1, "node": names.edge, "what": "left"},
        {**one, "task": second, "depth": 0, "node": names.count, "what": "entered"},
        {**one, "task": second, "depth": 0, "node": names.count, "what": "wrote", **written},
        {**one, "task": second, "depth": 1, "node": names.sink, "what": "left", "value": 42},
        {**one, "task": second, "depth": 0, "node": names.trend, "what": "dropped",
         "reason": names.reason},
    ]  # fmt: skip
    return {
        "batches": [
            {
                "query": app.query,
                "task": first,
                "batch": app.batch,
                "wall_ms": time,
                "not_run": "",
                "steps": steps,
            }
        ]
    }
