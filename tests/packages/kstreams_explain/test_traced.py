"""The trace of a record through a topology."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams.errors import ReplayError
from kstreams_cli.explain import _show_change as show_change
from kstreams_cli.trace import _show as show_trace
from kstreams_explain.traced import Trace, trace_record
from tests.packages.kstreams_explain.test_explained import events, lines
from tests.support.apps.replayed_app import Explained
from tests.support.topologies import explained_topologies as made


def steps(trace: Trace) -> list[tuple[str, str, object, str]]:
    (batch,) = trace.batches
    return [
        (step.node, step.what, None if step.record is None else step.record.key, step.reason)
        for step in batch.steps
    ]


def place_of(app: Explained, value: bytes) -> tuple[int, int]:
    reader = app.hand.connection.reader()
    for partition, end in app.hand.connection.admin().end_offsets("lines").items():
        for row in reader.read("lines", partition, 0, end):
            if row.value == value:
                return partition, row.offset
    raise AssertionError(value)


def test_record_is_traced_through_a_repartition_to_stores_and_sinks(tmp_path: Path) -> None:
    app = Explained(tmp_path, made.words())
    app.batch(lines("x y", "z"))
    app.batch(lines("y x", "x"))
    partition, offset = place_of(app, b"y x")
    trace = trace_record(app.replayed(), "lines", partition, offset)
    (batch,) = trace.batches
    assert (batch.batch, batch.not_run) == (1, "")
    found = steps(trace)
    assert found[0] == ("split", "entered", f"k{0}", "")
    assert [each[:3] for each in found[1:3]] == [("by-word", "left", "y"), ("by-word", "left", "x")]
    wrote = {
        each.record.key: (each.before, each.after)
        for each in batch.steps
        if each.store and each.record
    }
    assert wrote == {"x": (((1,),), ((2,),)), "y": (((1,),), ((2,),))}
    assert {each[2] for each in found if each[:2] == ("totals", "left")} == {"x", "y"}
    assert trace.to_json()["batches"][0]["steps"][0]["node"] == "split"  # type: ignore[index]


def test_steps_show_the_file_and_line_of_their_nodes(tmp_path: Path) -> None:
    app = Explained(tmp_path, made.words())
    app.batch(lines("x y"))
    trace = trace_record(app.replayed(), "lines", *place_of(app, b"x y"))
    (batch,) = trace.batches
    found = {(step.node, step.defined_at) for step in batch.steps}
    file = "[red]words[/].py"
    assert {("split", f"{file}:12"), ("count", f"{file}:14"), ("totals", "")} <= found
    shown = str(trace.to_json())
    assert f"'node': 'count', 'defined_at': '{file}:14'" in shown
    explained = app.explain(made.COUNTS, "x")
    assert [each.defined_at for each in explained.explained[0].steps] == [f"{file}:14"]
    assert f"'defined_at': '{file}:14'" in str(explained.to_json())


def test_trace_and_explain_output_escape_markup_in_file_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    app = Explained(tmp_path, made.words())
    app.batch(lines("x y"))
    for each in trace_record(app.replayed(), "lines", *place_of(app, b"x y")).batches:
        show_trace(each)
    explanation = app.explain(made.COUNTS, "x")
    show_change(explanation, explanation.explained[0], explanation.explained[0].steps)
    shown = capsys.readouterr().out
    assert "split [red]words[/].py:12" in shown
    assert shown.count("count [red]words[/].py:14") >= 2


def test_trace_of_a_dropped_record_has_the_reason(tmp_path: Path) -> None:
    app = Explained(tmp_path, made.words())
    app.batch(lines("odd", "boom"))
    odd = steps(trace_record(app.replayed(), "lines", *place_of(app, b"odd")))
    assert ("count", "dropped", "odd", "odd-word") in odd
    boom = steps(trace_record(app.replayed(), "lines", *place_of(app, b"boom")))
    node, what, key, reason = boom[-1]
    assert (node, what, key) == ("by-word", "dropped", None)
    assert reason.startswith("skipped-ProcessingError: ")
    assert "boom is not countable" in reason


def test_trace_of_an_unreadable_record_has_the_reason(tmp_path: Path) -> None:
    app = Explained(tmp_path, made.words())
    writer = app.hand.connection.writer()
    writer.write("lines", 0, b"k", b"\xff\xfe", 5)
    writer.flush()
    writer.close()
    app.batch()
    (step,) = steps(trace_record(app.replayed(), "lines", 0, 0))
    assert step[:2] == ("lines", "dropped")
    assert step[3].startswith("skipped-DeserializationError: ")


def test_trace_shows_late_records(tmp_path: Path) -> None:
    app = Explained(tmp_path, made.tumbling())
    app.batch(events(("a", 1), ("a", 1000), ("a", 2)))
    place = app.explain(made.WINDOWS, "a").explained[0].steps[-1].origin
    assert place is not None
    found = steps(trace_record(app.replayed(), place.topic, place.partition, place.offset))
    assert found == [("count", "entered", "a", ""), ("count", "dropped", "a", "late")]


def test_trace_of_an_unprocessed_or_no_longer_retained_record_gives_the_reason(
    tmp_path: Path,
) -> None:
    app = Explained(tmp_path, made.words())
    app.batch(lines("a"))
    partition, offset = place_of(app, b"a")
    app.batch(lines("b"))
    (later,) = trace_record(app.replayed(), "lines", partition, offset + 9).batches
    assert later.batch is None
    assert "it was not processed: up to offset" in later.not_run
    with pytest.raises(ReplayError, match="does not read topic 'liens'; its topics are 'lines'"):
        trace_record(app.replayed(), "liens", 0, 0)
    checkpoint = app.replayed().checkpoint
    checkpoint.commits("lines", checkpoint.log.open()).forget_before(1)
    (gone,) = trace_record(app.replayed(), "lines", partition, offset).batches
    assert "a batch before 2 has processed it, and is not retained" in gone.not_run
