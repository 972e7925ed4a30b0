"""`live.json`: the current activity of an app.

    {"f": 1, "app": "shop", "run": "9f0c..", "version": "0.9.0",
     "state": "running",                       a value of `AppState`
     "paused": {"since_ms": .., "reason": ".."} or null,
     "started_ms": .., "heard_ms": .., "every_ms": 1000,
     "spark_ui": "http://..:4040" or null, "lost": 0,
     "queries": {"lines": {"batch": 1235, "phase": "job", "since_ms": .., "committed": 1234,
                           "partitions": {"lines/0": [2220, 2231, 1700000000000]}, "ends_ms": ..,
                           "kept": {"lines": [3000000, null]}}}}

The app writes the file every `every_ms` and when its state changes; all times are ms since the
epoch. An app that has not written for several times `every_ms` hangs or is dead, whatever
`state` contains. `partitions` has the offset of the first uncommitted record, the end offset, and
the timestamp of that record (null if there is no record, or it is not known). `kept` has,
for each log whose storage retains uncommitted data, the retained bytes and the bytes that still
fit before unread data is dropped (null: no limit).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kstreams.checkpoint.pause import Pause
from kstreams.ids import TopicPartition, parse_keys, text_keys
from kstreams.log import RetainedSize
from kstreams.state.log.fields import MOST, Fields, WrongFieldError, checked_integer
from kstreams.telemetry.unread import Unread

__all__ = ("Live", "LiveQuery")

_PATIENCE = 5


@dataclass(frozen=True)
class LiveQuery:
    """The current activity of a query.

    Attributes:
        batch: Number of the current or last batch; None before the first batch.
        phase: `wait`, `job`, `commit` or `publish`.
        since_ms: Start of the phase, ms since the epoch.
        committed: The last committed batch; None before the first commit.
        partitions: The uncommitted offsets by partition.
        ends_ms: Time when the end offsets were last read, ms since the epoch; None before that.
        kept: Data retained for the query's logs until the next commit, by log name.
    """

    batch: int | None
    phase: str
    since_ms: int
    committed: int | None = None
    partitions: Mapping[TopicPartition, Unread] = field(default_factory=dict)
    ends_ms: int | None = None
    kept: Mapping[str, RetainedSize] = field(default_factory=dict)

    @property
    def lag(self) -> int:
        """Number of uncommitted offsets."""
        return sum(unread.records for unread in self.partitions.values())

    def to_json(self) -> dict[str, Any]:
        """Return the object as JSON data."""
        return {
            "batch": self.batch,
            "phase": self.phase,
            "since_ms": self.since_ms,
            "committed": self.committed,
            "partitions": text_keys(self.partitions),
            "ends_ms": self.ends_ms,
            "kept": {name: [each.size_bytes, each.room_bytes] for name, each in self.kept.items()},
        }

    @classmethod
    def from_json(cls, data: object) -> LiveQuery:
        """Parse the result of `to_json`; a `ValueError` describes the first wrong field."""
        fields = Fields(data)
        places = parse_keys(TopicPartition, fields.mapping("partitions"))
        return cls(
            _number(fields, "batch"),
            fields.text("phase"),
            fields.integer("since_ms"),
            _number(fields, "committed"),
            {place: _unread(found) for place, found in places.items()},
            _number(fields, "ends_ms"),
            {name: _kept(found) for name, found in fields.mapping("kept", {}).items()},
        )


@dataclass(frozen=True)
class Live:
    """The current activity of an app.

    Attributes:
        app: The app id.
        run: Id of the driver.
        state: A value of `AppState`.
        started_ms: Start of this run, ms since the epoch.
        written_ms: Time of this document, ms since the epoch.
        every_ms: Interval between two documents, ms.
        paused: The pause of the app; None if it is not paused.
        spark_ui: Address of the Spark UI; None if there is none.
        version: Version of the library.
        lost: Number of reports of this run that could not be written in time.
        queries: The activity by query name.
    """

    app: str
    run: str
    state: str
    started_ms: int
    written_ms: int
    every_ms: int
    paused: Pause | None = None
    spark_ui: str | None = None
    version: str = ""
    lost: int = 0
    queries: Mapping[str, LiveQuery] = field(default_factory=dict)

    def is_current(self, now_ms: int) -> bool:
        """Return whether the document was written within the last five write intervals."""
        return now_ms - self.written_ms <= _PATIENCE * self.every_ms

    def to_json(self) -> dict[str, Any]:
        """Return the object as JSON data."""
        paused = self.paused
        return {
            "app": self.app,
            "run": self.run,
            "version": self.version,
            "state": self.state,
            "paused": None
            if paused is None
            else {"since_ms": paused.since_ms, "reason": paused.reason},
            "started_ms": self.started_ms,
            "heard_ms": self.written_ms,
            "every_ms": self.every_ms,
            "spark_ui": self.spark_ui,
            "lost": self.lost,
            "queries": {name: query.to_json() for name, query in self.queries.items()},
        }

    @classmethod
    def from_json(cls, fields: Fields) -> Live:
        """Parse the result of `to_json`; a `ValueError` describes the first wrong field."""
        paused, spark_ui = fields.anything("paused"), fields.anything("spark_ui")
        return cls(
            fields.text("app"),
            fields.text("run"),
            fields.text("state"),
            fields.integer("started_ms"),
            fields.integer("heard_ms"),
            fields.integer("every_ms", least=1),
            None if paused is None else _paused(Fields(paused)),
            None if spark_ui is None else fields.text("spark_ui"),
            fields.text("version"),
            fields.integer("lost"),
            {name: LiveQuery.from_json(q) for name, q in fields.mapping("queries").items()},
        )


def _paused(fields: Fields) -> Pause:
    return Pause(fields.integer("since_ms"), fields.text("reason"))


def _number(fields: Fields, name: str) -> int | None:
    return None if fields.anything(name) is None else fields.integer(name, least=-1)


def _kept(data: object) -> RetainedSize:
    if not isinstance(data, list) or len(data) != 2:
        raise WrongFieldError(
            f"expected a log's retained bytes and bytes until it drops data, got {data!r:.80}"
        )
    size, room = data
    return RetainedSize(
        checked_integer(size, "a size"),
        None if room is None else checked_integer(room, "a room", least=-MOST),
    )


def _unread(data: object) -> Unread:
    if not isinstance(data, list) or len(data) != len(Unread._fields):
        raise WrongFieldError(
            "expected the lag of a partition as next offset, end offset and oldest time, "
            f"got {data!r:.80}"
        )
    first, end = (checked_integer(number, "an offset") for number in data[:2])
    oldest = None if data[2] is None else checked_integer(data[2], "a time", least=-MOST)
    return Unread(first, end, oldest)
