"""The playground of compose.yaml: in containers, or as processes on machines without Docker."""

from __future__ import annotations
