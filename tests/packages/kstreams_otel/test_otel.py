"""OpenTelemetry over OTLP: names and units of metrics, and one tree of spans for each batch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.otel_collector import Collected, collecting


@pytest.fixture(scope="module")
def collected() -> Any:
    """The spans and metrics of an app in a separate process, because providers are global."""
    with collecting() as found:
        ran = subprocess.run(
            [sys.executable, "-m", "tests.packages.kstreams_otel.observed_app"],
            env={
                "PATH": "/usr/bin:/bin",
                "OTEL_EXPORTER_OTLP_ENDPOINT": found.url,
                "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
            },
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        lines = [json.loads(line) for line in ran.stdout.splitlines()]
        yield found, lines


def attributes(item: Any) -> dict[str, Any]:
    return {
        each.key: getattr(each.value, each.value.WhichOneof("value")) for each in item.attributes
    }


def done(found: Collected) -> Any:
    """Return the span of the committed batch."""
    batches = [span for span in found.spans if span.name == "kstreams.batch"]
    (root,) = [span for span in batches if not span.status.code]
    return root


def test_spans_of_batch_form_one_tree(collected: tuple[Collected, Any]) -> None:
    found, _ = collected
    assert found.service == "shop"
    assert found.schemas == {"https://opentelemetry.io/schemas/1.44.0"}
    (root,) = [
        span for span in found.spans if span.name == "kstreams.batch" and not span.status.code
    ]
    own = [span for span in found.spans if span.trace_id == root.trace_id]
    known = {span.span_id: span for span in own}
    assert root.parent_span_id == b""
    parents = {span.name: known[span.parent_span_id].name for span in own if span is not root}
    assert parents == {
        "plan": "kstreams.batch",
        "job": "kstreams.batch",
        "commit": "kstreams.batch",
        "publish": "kstreams.batch",
        "poll in": "job",
        "process in": "job",
    }
    for span in own:
        above = known.get(span.parent_span_id, root)
        assert above.start_time_unix_nano <= span.start_time_unix_nano, span.name
        assert span.start_time_unix_nano <= span.end_time_unix_nano <= above.end_time_unix_nano
    process = next(span for span in own if span.name == "process in")
    assert process.kind == process.SPAN_KIND_CONSUMER
    told = attributes(process)
    assert told["messaging.system"] == "kstreams_embedded"
    assert told["messaging.operation.name"] == "process"
    assert told["messaging.destination.partition.id"] == "3"
    assert told["messaging.consumer.group.name"] == "shop"
    assert told["messaging.batch.message_count"] == 7
    poll = next(span for span in own if span.name == "poll in")
    assert (poll.kind, attributes(poll)["messaging.destination.name"]) == (
        poll.SPAN_KIND_CLIENT,
        "in",
    )


def test_span_of_a_failed_batch_has_only_the_class_of_the_error(
    collected: tuple[Collected, Any],
) -> None:
    found, _ = collected
    (failed,) = [span for span in found.spans if span.status.code]
    assert failed.status.code == failed.status.STATUS_CODE_ERROR
    assert attributes(failed)["error.type"] == "ProcessingError"
    assert b"secret" not in b"".join(span.SerializeToString() for span in found.spans)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("messaging.client.consumed.messages", "{message}"),
        ("messaging.process.duration", "s"),
        ("messaging.client.operation.duration", "s"),
        ("kstreams.batch.duration", "s"),
        ("kstreams.node.records", "{record}"),
        ("kstreams.records.dropped", "{record}"),
        ("kstreams.node.busy", "s"),
        ("kstreams.task.busy", "s"),
        ("kstreams.source.lag", "{record}"),
        ("kstreams.record.latency", "s"),
        ("kstreams.log.requests", "{request}"),
        ("kstreams.log.io", "By"),
        ("kstreams.restores", "{restore}"),
        ("kstreams.task.moves", "{move}"),
        ("kstreams.topic.io", "By"),
        ("kstreams.app.state", "1"),
    ],
)
def test_metrics_have_the_documented_names_and_units(
    collected: tuple[Collected, Any], name: str, unit: str
) -> None:
    found, _ = collected
    assert found.metrics[name].unit == unit


def test_metric_counts_equal_record_counts_of_batch(collected: tuple[Collected, Any]) -> None:
    found, _ = collected
    (consumed,) = found.metrics["messaging.client.consumed.messages"].sum.data_points
    assert consumed.as_int == 5
    assert attributes(consumed)["messaging.destination.name"] == "in"
    (process,) = found.metrics["messaging.process.duration"].histogram.data_points
    assert (process.count, process.sum) == (1, 0.1)
    assert list(process.explicit_bounds)[:3] == [0.005, 0.01, 0.025]


def test_log_records_have_batch_and_trace_ids(collected: tuple[Collected, Any]) -> None:
    found, (inside, outside, failed) = collected
    (root,) = [
        span for span in found.spans if span.name == "kstreams.batch" and not span.status.code
    ]
    assert inside["trace_id"] == root.trace_id.hex()
    assert (inside["app"], inside["query"], inside["batch"]) == ("shop", "in", 7)
    assert (outside["app"], outside["level"]) == ("shop", "INFO")
    assert "batch" not in outside
    assert failed["error.type"] == "ProcessingError"
    assert (failed["group"], failed["partition"], failed["node"]) == ("in", 3, "keep")
    assert "key" not in failed
