"""Metrics and traces of an app by OpenTelemetry. Needs the extra `otel`.

`watcher.py` reports to the OpenTelemetry API; the entry point `otel` of the group
`kstreams.watchers` offers it to apps. `export.py` configures the SDK for `kstreams run --otel`.
"""

from __future__ import annotations
