"""Dead letters are replayed to the topics of their records, each once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kstreams import Embedded
from kstreams.embedded.log import EmbeddedLog
from kstreams.errors import AppLockedError, StateCorruptError, UnknownTopicError
from kstreams_dead_letters import embedded_redelivery as redelivery
from kstreams_dead_letters.offset_ranges import OffsetRanges
from kstreams_dead_letters.replaying import Choice, replay_letters
from tests.support.topologies.dead_letter_topics import ORDERS, add, headers_of, records

DLQ = "dead"


@pytest.fixture
def topics(tmp_path: Path) -> Embedded:
    made = Embedded(tmp_path, default_partitions=3, durable=False)
    made.ensure(ORDERS)
    made.ensure(DLQ)
    return made


def test_replayed_record_has_key_value_time_partition_and_own_headers(topics: Embedded) -> None:
    own = (("trace", b"1"), ("empty", None))
    add(topics, DLQ, (b"k", b"v", (*own, *headers_of(partition=2))), partition=1)
    report = replay_letters(topics, DLQ)
    assert report.to_json() == {
        "sent": [{"class": "SerdeError", "topic": ORDERS, "records": 1}],
        "left": {},
    }
    (found,) = records(topics)
    assert (found.partition, found.key, found.value, found.timestamp) == (2, b"k", b"v", 7)
    assert found.headers == (*own, ("kstreams-replay", b"1"))


def test_replay_sends_each_dead_letter_once_including_those_added_later(topics: Embedded) -> None:
    add(topics, DLQ, *((b"k", b"%d" % n, headers_of()) for n in range(3)))
    assert replay_letters(topics, DLQ).sent.total() == 3
    again = replay_letters(topics, DLQ)
    assert (again.sent.total(), again.left) == (0, {"already replayed": 3})
    add(topics, DLQ, (b"k", b"3", headers_of()))
    assert replay_letters(topics, DLQ).sent.total() == 1
    assert [record.value for record in records(topics)] == [b"0", b"1", b"2", b"3"]


def test_replay_of_selection_leaves_other_dead_letters_for_later_replay(topics: Embedded) -> None:
    kinds = ("SerdeError", "ProcessingError", "SerdeError", "LimitError")
    add(topics, DLQ, *((b"k", b"%d" % n, headers_of(kind=k)) for n, k in enumerate(kinds)))
    assert replay_letters(topics, DLQ, Choice({"class": "Serde*"})).sent.total() == 2
    assert replay_letters(topics, DLQ, Choice({"class": "S*", "topic": "x"})).sent.total() == 0
    rest = replay_letters(topics, DLQ)
    assert sorted(kind for kind, _ in rest.sent) == ["LimitError", "ProcessingError"]
    assert sorted(record.value or b"" for record in records(topics)) == [b"0", b"1", b"2", b"3"]


def test_replay_dry_run_changes_no_topic(topics: Embedded, tmp_path: Path) -> None:
    add(topics, DLQ, (b"k", b"v", headers_of()))
    before = sorted(tmp_path.rglob("*"))
    assert replay_letters(topics, DLQ, dry_run=True).sent.total() == 1
    assert sorted(tmp_path.rglob("*")) == before
    assert replay_letters(topics, DLQ).sent.total() == 1


def test_dead_letter_with_too_many_attempts_is_not_replayed(topics: Embedded) -> None:
    for attempt in range(4):
        replayed = (("kstreams-replay", b"%d" % attempt),) if attempt else ()
        add(topics, DLQ, (b"k", b"v", (*replayed, *headers_of())))
        replay_letters(topics, DLQ)
        if attempt < 3:
            assert records(topics)[-1].headers == (("kstreams-replay", b"%d" % (attempt + 1)),)
    assert replay_letters(topics, DLQ).left["already replayed 3 times"] == 1
    assert replay_letters(topics, DLQ, Choice(max_attempts=4)).sent.total() == 1


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ((), "the record is not a dead letter: its headers name no topic"),
        (headers_of("by-word"), "topic 'by-word' does not exist"),
        (headers_of("../x"), "topic '../x' does not exist"),
        (headers_of(partition=9), "topic 'orders' no longer has partition 9"),
        (
            headers_of(offset=5, left_out="value"),
            "the dead letter is truncated, and the original record no longer exists",
        ),
    ],
    ids=["no letter", "edge", "hostile", "partition", "cut"],
)
def test_dead_letter_that_cannot_be_replayed_is_reported_with_reason(
    topics: Embedded, headers: Any, reason: str
) -> None:
    add(topics, DLQ, (b"k", b"v", headers))
    report = replay_letters(topics, DLQ)
    assert (report.sent, report.left) == ({}, {reason: 1})
    assert records(topics) == []


def test_truncated_dead_letter_replays_source_record_and_rejected_result_is_sent_by_key(
    topics: Embedded,
) -> None:
    add(topics, ORDERS, (b"whole", b"all of it", (("own", b"1"),)), partition=1)
    add(topics, DLQ, (b"orders/1/0", None, headers_of(left_out="value, headers, key")))
    result = tuple(h for h in headers_of() if h[0].endswith(("class", "topic")))
    add(topics, DLQ, (b"k", b"refused", result))
    assert replay_letters(topics, DLQ).sent.total() == 2
    back = [
        record for record in records(topics) if record.headers[-1:] == (("kstreams-replay", b"1"),)
    ]
    assert {(r.key, r.value) for r in back} == {(b"whole", b"all of it"), (b"k", b"refused")}


class Killed(BaseException):
    """The process was killed."""


def _effects() -> list[tuple[Any, str]]:
    return [
        (EmbeddedLog, "stage"),
        (EmbeddedLog, "publish"),
        (redelivery, "write_new"),
        (redelivery, "sync_directory"),
    ]


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("nth", [0, 1, 2])
@pytest.mark.parametrize(("owner", "name"), _effects(), ids=lambda given: str(given))
def test_each_record_is_replayed_once_whenever_the_process_is_killed(
    topics: Embedded, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, nth: int, late: bool
) -> None:
    for partition in (0, 1):
        rows = ((b"k", b"%d%d" % (partition, n), headers_of(partition=n)) for n in range(2))
        add(topics, DLQ, *rows, partition=partition)
    original: Callable[..., Any] = getattr(owner, name)
    calls = [0]

    def dying(*given: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] == nth + 1 and not late:
            raise Killed
        found = original(*given, **named)
        if calls[0] == nth + 1:
            raise Killed
        return found

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, dying)
        with pytest.raises(Killed):
            replay_letters(topics, DLQ)
    replay_letters(topics, DLQ)
    values = sorted(record.value or b"" for record in records(topics))
    assert values == [b"00", b"01", b"10", b"11"]
    assert list(Path(topics.root).rglob(".staged/*/*.*")) == []


def test_concurrent_replay_and_damaged_replay_mark_are_refused(
    topics: Embedded, tmp_path: Path
) -> None:
    add(topics, DLQ, (b"k", b"v", headers_of()))
    other = redelivery.EmbeddedRedelivery(topics.log(), DLQ)
    other.open()
    with pytest.raises(AppLockedError, match="redelivers the dead letters of"):
        replay_letters(topics, DLQ)
    other.close()
    (tmp_path / DLQ / "redelivered.json").write_text('{"format": 1, "next": 0}')
    with pytest.raises(StateCorruptError, match="the list of redelivered records"):
        replay_letters(topics, DLQ)
    with pytest.raises(UnknownTopicError):
        replay_letters(topics, "nowhere")


def test_offset_ranges_contain_same_offsets_as_set_and_survive_text_form() -> None:
    found, plain = OffsetRanges(), set()
    for offset in (5, 0, 1, 3, 2, 9, 8, 3, 0):
        found.add(offset)
        plain.add(offset)
        assert {n for n in range(12) if n in found} == plain
        assert OffsetRanges.parse(str(found)) == found
    assert str(found) == "0-3,5,8-9"
    for text in ("3-1", "a", "1,1", "0-3,2", "-1"):
        with pytest.raises(StateCorruptError):
            OffsetRanges.parse(text)
