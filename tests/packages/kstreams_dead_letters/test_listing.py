"""Dead letters are listed once each, the newest first, with replayed ones marked."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams.embedded.connection import Embedded
from kstreams.errors import UnknownTopicError
from kstreams_dead_letters.letter import Letter
from kstreams_dead_letters.listing import letters_before
from kstreams_dead_letters.replaying import Choice, replay_letters
from tests.support.topologies.dead_letter_topics import ORDERS, headers_of

Place = tuple[int, int]


def place_of(letter: Letter, is_done: bool) -> tuple[Place, bool]:
    return (letter.row.partition, letter.row.offset), is_done


@pytest.fixture
def topics(tmp_path: Path) -> Embedded:
    """Topics with dead letters:

    partition 0 has 5 at the times 0 to 4, partition 2 has 3 at 10, 1 and 12.
    """
    found = Embedded(tmp_path, default_partitions=3, durable=False)
    found.log().ensure(ORDERS, 3)
    found.log().ensure("dead", 3)
    writer = found.writer()
    for partition, times in ((0, range(5)), (2, (10, 1, 12))):
        for number, time in enumerate(times):
            kind = "Late" if time == 1 else "SerdeError"
            headers = headers_of(partition=1, offset=number, kind=kind)
            writer.write("dead", partition, b"k", b"v", time, headers)
        writer.flush()
    writer.close()
    return found


@pytest.mark.parametrize("count", [1, 2, 3, 4, 100])
def test_pages_of_dead_letters_list_each_dead_letter_once(topics: Embedded, count: int) -> None:
    found: list[Place] = []
    before = None
    while before != {}:
        page = letters_before(topics, "dead", count, place_of, before=before)
        assert (page.total, 0 < len(page.letters) <= count) == (8, True)
        found += [place for place, _ in page.letters]
        before = page.before
    assert sorted(found) == [*((0, n) for n in range(5)), *((2, n) for n in range(3))]
    for partition in (0, 2):
        own = [offset for number, offset in found if number == partition]
        assert own == sorted(own, reverse=True)
    if count == 100:
        assert found[:2] == [(2, 2), (0, 4)]


def test_replayed_dead_letters_are_marked(topics: Embedded) -> None:
    replay_letters(topics, "dead", Choice({"class": "Late"}))
    page = letters_before(topics, "dead", 100, place_of)
    assert sorted(place for place, is_done in page.letters if is_done) == [(0, 1), (2, 1)]


def test_dead_letters_written_later_do_not_shift_pages(topics: Embedded) -> None:
    first = letters_before(topics, "dead", 2, place_of)
    writer = topics.writer()
    writer.write("dead", 1, b"k", b"v", 99, headers_of())
    writer.write("dead", 2, b"k", b"v", 99, headers_of())
    writer.close()
    second = letters_before(topics, "dead", 100, place_of, before=first.before)
    assert len(second.letters) == 6


def test_listing_of_missing_dead_letter_topic_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnknownTopicError):
        letters_before(Embedded(tmp_path), "dead", 1, place_of)
