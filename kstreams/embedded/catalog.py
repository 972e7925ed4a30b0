"""The topics below a root directory."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from uuid import uuid4

from kstreams.embedded.files import explained
from kstreams.errors import (
    InvalidTopicError,
    TopicExistsError,
    TopicFormatError,
    UnknownTopicError,
    Where,
)
from kstreams.files import sync_directory, write_new
from kstreams.names import TOPIC_RULE, is_topic, shown_name
from kstreams.partitioner import count_problem

__all__ = ("FORMAT", "STAGING", "TopicCatalog", "TopicInfo")

FORMAT = 1
"""Version of the directory's layout; a topic with another version is rejected."""

STAGING = ".staged"
"""Directory of a topic for files that are not published yet."""


@dataclass(frozen=True)
class TopicInfo:
    """Name, id, size and settings of a topic, as stored in its file `topic.json`.

    Args:
        name: Name of the topic.
        topic_id: Id of the topic; a topic that is deleted and created again has another id.
        partitions: Number of partitions, numbered from 0.
        config: Settings of the topic, which are stored but have no effect.
    """

    name: str
    topic_id: str
    partitions: int
    config: Mapping[str, str] = field(default_factory=dict)


class TopicCatalog:
    """The topics below one root directory. Thread-safe; its only state is a cache.

    A topic is created and deleted atomically, by renaming its directory.

    Args:
        root: Directory of the topics; created with the first topic.
        durable: Whether to wait until a new topic is on the disk.
    """

    def __init__(self, root: Path, *, durable: bool = True) -> None:
        self._root = root
        self._durable = durable
        self._parsed: dict[str, tuple[bytes, TopicInfo]] = {}

    def names(self) -> tuple[str, ...]:
        """Return the names of all topics, sorted; empty if the root does not exist yet."""
        files = self._root.glob("*/topic.json")
        return tuple(sorted(f.parent.name for f in files if is_topic(f.parent.name)))

    def get(self, topic: str) -> TopicInfo:
        """Return the `TopicInfo` of a topic.

        The file `topic.json` is read at each call, so a deleted and recreated topic is detected at
        once.

        Raises:
            UnknownTopicError: The topic does not exist; the hint suggests a similar name.
            TopicFormatError: The file `topic.json` has another format, or is damaged.
        """
        found = self._get(topic)
        if found is None:
            raise self.unknown(topic)
        return found

    def _get(self, topic: str) -> TopicInfo | None:
        """Return the `TopicInfo` of a topic; None if the topic does not exist."""
        try:
            raw = _content(self._file(topic))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as exc:
            raise _unreadable(topic, str(exc)) from exc
        known = self._parsed.get(topic)
        if known is None or known[0] != raw:
            known = self._parsed[topic] = (raw, _parse(topic, raw))
        return known[1]

    def unknown(self, topic: str) -> UnknownTopicError:
        """Return the error for a topic that does not exist."""
        names = self.names()
        near = get_close_matches(topic, names, n=1)
        if near:
            advice = f"Did you mean {near[0]!r}? If not, create it: "
        elif names:
            shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
            advice = f"There are: {shown}. Create it: "
        else:
            advice = "There are no topics yet. Create it: "
        return UnknownTopicError(
            f"no such topic in {self._root}",
            hint=f"{advice}`connection.admin().create({topic!r}, partitions=4)`, "
            "or write to it first with an `Emitter` or a sink.",
            where=Where(topic=topic),
        )

    def create(
        self, topic: str, partitions: int, config: Mapping[str, str] | None = None
    ) -> TopicInfo:
        """Create a topic and return its `TopicInfo`.

        Raises:
            InvalidTopicError: The name is not valid in Kafka or starts with a dot, or the number of
                partitions is below 1 or above `MAX_PARTITIONS`.
            TopicExistsError: The topic exists, or another process created it first.
        """
        _check(topic, partitions)
        if Path(self._file(topic)).exists():
            raise _exists(topic)
        info = TopicInfo(topic, uuid4().hex, partitions, dict(config or {}))
        with explained("create the topic", topic=topic):
            draft = self._root / f".creating-{info.topic_id}"
            for partition in range(partitions):
                (draft / str(partition)).mkdir(parents=True)
                (draft / STAGING / str(partition)).mkdir(parents=True)
            write_new(draft / "topic.json", _format(info), durable=self._durable)
            self._reveal(draft, topic)
        return info

    def _reveal(self, draft: Path, topic: str) -> None:
        if self._durable:
            sync_directory(draft)
        try:
            draft.rename(self._root / topic)
        except OSError as exc:
            shutil.rmtree(draft, ignore_errors=True)
            if Path(self._file(topic)).exists():
                raise _exists(topic) from exc
            raise
        if self._durable:
            sync_directory(self._root)

    def ensure(self, topic: str, partitions: int) -> TopicInfo:
        """Return the `TopicInfo` of a topic, which is created if missing; see `create`."""
        found = self._get(topic)
        if found is not None:
            return found
        try:
            return self.create(topic, partitions)
        except TopicExistsError:  # somebody was faster
            return self.get(topic)

    def delete(self, topic: str) -> None:
        """Delete a topic and all its records.

        Raises:
            UnknownTopicError: The topic does not exist.
        """
        self._parsed.pop(topic, None)
        doomed = self._root / f".deleted-{uuid4().hex}"
        if not Path(self._file(topic)).exists():
            raise self.unknown(topic)
        try:
            (self._root / topic).rename(doomed)
        except FileNotFoundError:
            raise self.unknown(topic) from None
        shutil.rmtree(doomed, ignore_errors=True)

    def sweep(self, older_than_ms: int) -> int:
        """Remove leftovers of interrupted creations and deletions; return their number.

        Leftovers last written at or after `older_than_ms` (ms since the epoch) stay.
        """
        removed = 0
        for pattern in (".creating-*", ".deleted-*"):
            for left in self._root.glob(pattern):
                with suppress(FileNotFoundError):  # somebody else sweeps as well
                    if left.stat().st_mtime_ns < older_than_ms * 1_000_000:
                        shutil.rmtree(left, ignore_errors=True)
                        removed += 1
        return removed

    def _file(self, topic: str) -> str:
        name = topic if is_topic(topic) else ".none"
        return os.path.join(self._root, name, "topic.json")  # noqa: PTH118 - as `_content`


def _content(file: str) -> bytes:
    """Return the content of a file; in a third of the time of `Path.read_bytes`."""
    with open(file, "rb", buffering=0) as opened:  # noqa: PTH123
        return opened.read()


def _check(topic: str, partitions: int) -> None:
    if not is_topic(topic):
        raise InvalidTopicError(
            f"{shown_name(topic)} cannot be a topic's name",
            hint=f"Use {TOPIC_RULE}.",
            where=Where(topic=topic),
        )
    problem = count_problem(partitions)
    if problem:
        raise InvalidTopicError(problem, where=Where(topic=topic))


def _format(info: TopicInfo) -> bytes:
    return json.dumps(
        {
            "format": FORMAT,
            "id": info.topic_id,
            "partitions": info.partitions,
            "config": dict(sorted(info.config.items())),
        },
        indent=2,
    ).encode()


def _parse(topic: str, raw: bytes) -> TopicInfo:
    try:
        found = json.loads(raw)
        if found["format"] != FORMAT:
            raise TopicFormatError(
                f"topic.json is of format {found['format']!r}, expected {FORMAT}",
                hint="Use the version of kstreams-spark that wrote it, or create the topic again.",
                where=Where(topic=topic),
            )
        info = TopicInfo(topic, str(found["id"]), found["partitions"], dict(found["config"]))
        problem = count_problem(info.partitions)
    except (ValueError, KeyError, TypeError) as exc:
        raise _unreadable(topic, repr(exc)) from exc
    if problem:
        raise _unreadable(topic, problem)
    return info


def _unreadable(topic: str, why: str) -> TopicFormatError:
    return TopicFormatError(
        f"topic.json cannot be read: {why}",
        hint="Restore it from a copy, or delete the topic's directory and create it again.",
        where=Where(topic=topic),
    )


def _exists(topic: str) -> TopicExistsError:
    return TopicExistsError("the topic already exists", where=Where(topic=topic))
