"""Tests of files on SFTP servers."""

from __future__ import annotations
