"""A logger for clients whose errors about an unavailable broker are expected."""

from __future__ import annotations

import logging

SILENT = logging.getLogger("devtools.servers.silent_logger")
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False
