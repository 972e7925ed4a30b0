"""Log lines as JSON, one object per line, so that logs can be searched by field."""

from __future__ import annotations

import json
import logging
from datetime import datetime, timezone

from kstreams.errors import KStreamsError
from kstreams.quoting import kind_of, safe_text
from kstreams.telemetry.log_context import present_log_context

__all__ = ("JsonFormatter",)

_PARTS = ("group", "node", "store", "topic", "partition", "offset")


class JsonFormatter(logging.Formatter):
    """Formats a record of a log as a JSON object.

    Fields: `time` (ISO, UTC), `level`, `logger`, `message`; `app`; `query`, `batch` and `trace_id`
    if the line is about a batch; for an error `error.type`, `traceback` and the known parts of
    its location, such as `group` and `partition`, but not the key.

    Args:
        app: The app id.
    """

    def __init__(self, app: str) -> None:
        super().__init__()
        self._app = app

    def format(self, record: logging.LogRecord) -> str:
        """Return the JSON line of a log record."""
        when = datetime.fromtimestamp(record.created, timezone.utc)
        content: dict[str, object] = {
            "time": when.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": safe_text(record.getMessage()),
            "app": self._app,
            **present_log_context(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            content["error.type"] = kind_of(error)
            if isinstance(error, KStreamsError):
                place = {name: getattr(error.where, name) for name in _PARTS}
                content |= {name: part for name, part in place.items() if part is not None}
            content["traceback"] = safe_text(self.formatException(record.exc_info))
        return json.dumps(content, default=str)
