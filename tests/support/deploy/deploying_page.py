"""The examples of docs/deploying.md, as readers copy them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

__all__ = ("ROOT", "blocks", "commands", "exported", "job_run", "steps", "submitted")

ROOT = Path(__file__).parents[3]
_PAGE = ROOT / "docs" / "deploying.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NEXT_COMMAND = re.compile(r"\n(?=\S)")


def blocks(language: str) -> list[str]:
    """Return the examples in a language, in the page's order."""
    return [text for found, text in _BLOCK.findall(_PAGE.read_text()) if found == language]


def commands() -> list[list[str]]:
    """Return the words of each command in the shell examples; a command begins at the start of a
    line.
    """
    texts = [text.replace("\\\n", "") for text in blocks("sh")]
    return [shlex.split(line) for text in texts for line in _NEXT_COMMAND.split(text) if line]


def exported() -> dict[str, str]:
    """Return the exported variables."""
    given = [word for words in commands() if words[0] == "export" for word in words[1:]]
    return dict(word.split("=", 1) for word in given)


def steps() -> list[dict[str, Any]]:
    """Return the steps for EMR."""
    (words,) = _arguments("aws", "emr", "add-steps")
    found: list[dict[str, Any]] = json.loads(_option(words, "--steps"))
    return found


def job_run() -> dict[str, Any]:
    """Return the request for EMR Serverless."""
    (words,) = _arguments("aws", "emr-serverless", "start-job-run")
    given: dict[str, Any] = json.loads(_option(words, "--cli-input-json"))
    return {**given, "mode": _option(words, "--mode")}


def submitted() -> list[list[str]]:
    """Return the arguments of each `spark-submit`, including calls by a cloud service."""
    serverless = job_run()["jobDriver"]["sparkSubmit"]
    return [
        *_arguments("spark-submit"),
        *(step["Args"] for step in steps()),
        [*shlex.split(serverless["sparkSubmitParameters"]), serverless["entryPoint"]],
    ]


def _arguments(program: str, *first: str) -> list[list[str]]:
    """Return the arguments after a program and its first words, for each call of the program."""
    found = [words[1:] for words in commands() if Path(words[0]).name == program]
    return [each[len(first) :] for each in found if tuple(each[: len(first)]) == first]


def _option(words: list[str], name: str) -> str:
    return words[words.index(name) + 1]
