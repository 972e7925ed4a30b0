"""The Helm chart of `deploy/helm`: Helm from its Go module, and rendered objects."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from devtools.servers.helm import helm_program
from devtools.servers.process import NoServerError
from tests.support.deploy.manifests import Manifest

__all__ = ("CHART", "KUBERNETES", "REQUIRED", "helm", "rendered")

CHART = Path(__file__).parents[3] / "deploy" / "helm"
KUBERNETES = "1.34"
REQUIRED: dict[str, Any] = {
    "image": {"repository": "registry/word-count", "tag": "1"},
    "kafka": {"bootstrap": "kafka.example:9092"},
    "checkpoint": {"url": "s3://bucket/word-count"},
}
"""The values without a default."""


def helm(*arguments: str, values: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Run Helm with values for a chart; skip the test if Helm cannot be built here."""
    try:
        program = helm_program()
    except NoServerError as exc:
        pytest.skip(str(exc))
    return subprocess.run(
        [program, *arguments, "--values", "-"],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=False,
    )


def rendered(**values: Any) -> list[Manifest]:
    """Return the objects of a release `word-count` in the namespace `words`."""
    options = ("--namespace", "words", "--kube-version", KUBERNETES)
    done = helm("template", "word-count", str(CHART), *options, values={**REQUIRED, **values})
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]
