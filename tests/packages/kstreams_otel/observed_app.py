"""An app with a committed batch and a failed one, observed by OpenTelemetry."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import replace

from kstreams import Embedded
from kstreams.batch.report import AppState
from kstreams.clock import SystemClock
from kstreams.errors import ProcessingError
from kstreams.ids import TaskId
from kstreams.telemetry.log_context import log_context
from kstreams.telemetry.outline import Outline
from kstreams.telemetry.watching import OpenApp
from kstreams_cli.json_log import JsonFormatter
from kstreams_otel.export import exporting
from kstreams_otel.watcher import OtelWatcher
from tests.support.apps.committing_app import topology
from tests.support.apps.counts_store import COUNTS
from tests.support.apps.sample_reports import report


def main() -> None:
    """Run the app."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonFormatter("shop"))
    log = logging.getLogger("kstreams.test")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    batch = report(7, query="in")
    task = replace(batch.tasks[0], task=TaskId("in", 3))
    batch = replace(batch, tasks=(task,), nodes={"in": batch.nodes["lines"], **batch.nodes})
    with exporting("shop"):
        watcher = OtelWatcher("shop", SystemClock())
        watcher.begin()
        outline = Outline.of(topology(COUNTS), {"in": 4})
        watcher.opened(OpenApp(outline, {}, Embedded(os.devnull)))
        watcher.entered(AppState.RUNNING)
        with log_context(query="in", batch=7):
            watcher.began("in", 7, 1.0)
            log.info("inside")
            watcher.committed(batch)
        log.info("outside")
        with log_context(query="in", batch=8):
            watcher.began("in", 8, 0.0)
        error = ProcessingError("it is secret").at(group="in", partition=3, node="keep", key="k")
        watcher.failed(error)
        log.error("failed", exc_info=error)
        watcher.close()


main()
