"""Configure OpenTelemetry's SDK for `kstreams run`: OTLP over HTTP, in the driver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

__all__ = ("exporting",)


@contextmanager
def exporting(app: str) -> Iterator[None]:
    """Export metrics and traces until the block ends, then flush them.

    The environment variables of OpenTelemetry configure the export, for example
    `OTEL_EXPORTER_OTLP_ENDPOINT` (http://localhost:4318 by default) and
    `OTEL_METRIC_EXPORT_INTERVAL`. Use it once per process.

    Args:
        app: The service name, unless `OTEL_SERVICE_NAME` is set.
    """
    resource = Resource.create()
    if str(resource.attributes.get("service.name")).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": app}))
    tracers = TracerProvider(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    meters = MeterProvider(metric_readers=[reader], resource=resource)
    trace.set_tracer_provider(tracers)
    metrics.set_meter_provider(meters)
    try:
        yield
    finally:
        tracers.shutdown()
        meters.shutdown()
