"""Times and durations as users write and read them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kstreams_cli.moments import Start, parse_moment, parse_span, parse_start
from kstreams_cli.usage import WrongUsageError


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("100ms", timedelta(milliseconds=100)),
        ("2s", timedelta(seconds=2)),
        ("1.5 m", timedelta(seconds=90)),
        ("1h", timedelta(hours=1)),
        ("0", timedelta(0)),
    ],
)
def test_time_span_is_parsed_in_each_unit(text: str, span: timedelta) -> None:
    assert parse_span(text) == span


@pytest.mark.parametrize("text", ["", "5", "-1s", "1 day", "s"])
def test_time_span_of_invalid_text_is_refused(text: str) -> None:
    with pytest.raises(WrongUsageError, match="such as 100ms"):
        parse_span(text)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:01Z", 1_000),
        ("1970-01-01T00:00:01z", 1_000),
        ("1970-01-01T00:00:01.500", 1_500),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-02", 86_400_000),
        ("@12", 12),
    ],
)
def test_time_without_a_zone_is_parsed_as_utc(text: str, ms: int) -> None:
    assert parse_moment(text) == ms


def test_start_position_is_parsed_from_offset_or_time() -> None:
    found = [parse_start(t) for t in ("beginning", "end", "7", "-7", "@7")]
    assert found == [
        Start("beginning"),
        Start("end"),
        Start("offset", 7),
        Start("back", 7),
        Start("time", 7),
    ]
    with pytest.raises(WrongUsageError, match="'soon' is not a position in a topic"):
        parse_start("soon")
