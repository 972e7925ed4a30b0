"""OpenTelemetry's SDK for an app that the command line runs: OTLP over HTTP, in the driver."""

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
    """Send what is told to OpenTelemetry meanwhile, and what is left at the end.

    Where it goes, how often, and as what, is said by OpenTelemetry's own environment variables,
    such as `OTEL_EXPORTER_OTLP_ENDPOINT` (http://localhost:4318 by default) and
    `OTEL_METRIC_EXPORT_INTERVAL`. Once a process.

    Args:
        app: The service's name, unless `OTEL_SERVICE_NAME` says another.
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
