"""A collector with the protocol of OpenTelemetry over HTTP, which keeps all data."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = ("Collected", "collecting")


class Collected:
    """Decoded spans and metrics.

    Attributes:
        url: Address of the collector.
        spans: All spans.
        metrics: The newest metric of each name.
        service: Service name of the spans.
        schemas: Schema URLs of the spans.
    """

    def __init__(self) -> None:
        self.url = ""
        self.spans: list[Any] = []
        self.metrics: dict[str, Any] = {}
        self.service = ""
        self.schemas: set[str] = set()

    def take(self, path: str, body: bytes) -> None:
        if path == "/v1/traces":
            traces = ExportTraceServiceRequest.FromString(body)
            for resource in traces.resource_spans:
                about = {a.key: a.value.string_value for a in resource.resource.attributes}
                self.service = about["service.name"]
                for scope in resource.scope_spans:
                    self.schemas.add(scope.schema_url)
                    self.spans += scope.spans
        elif path == "/v1/metrics":
            found = ExportMetricsServiceRequest.FromString(body)
            scopes = (scope for each in found.resource_metrics for scope in each.scope_metrics)
            self.metrics |= {metric.name: metric for scope in scopes for metric in scope.metrics}
        else:
            raise AssertionError(f"nothing is sent to {path}")


@contextmanager
def collecting() -> Iterator[Collected]:
    """Run a collector."""
    collected = Collected()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            collected.take(self.path, body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    collected.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield collected
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
