"""Builds the image of deploy/Dockerfile, with Docker or without it, and tries the result."""

from __future__ import annotations
