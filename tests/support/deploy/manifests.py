"""The objects of `deploy/kubernetes`, and Spark's settings in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

__all__ = ("FOLDER", "Manifest", "manifests", "only", "settings")

FOLDER = Path(__file__).parents[3] / "deploy" / "kubernetes"

Manifest = dict[str, Any]


def manifests() -> list[Manifest]:
    """Return all objects of all files."""
    files = sorted(FOLDER.glob("*.yaml"))
    return [each for file in files for each in yaml.safe_load_all(file.read_text())]


def only(kind: str, name: str | None = None) -> Manifest:
    """Return the only object of a kind, with a name if one is given."""
    (found,) = (
        each
        for each in manifests()
        if each["kind"] == kind and name in (None, each["metadata"]["name"])
    )
    return found


def settings() -> dict[str, str]:
    """Return Spark's settings as its properties file has them."""
    lines = only("ConfigMap")["data"]["spark.conf"].splitlines()
    parts = [line.partition(" ") for line in lines if not line.startswith("#")]
    return {name: value.strip() for name, _, value in parts}
