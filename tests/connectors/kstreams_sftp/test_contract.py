"""Files of a server satisfy the contract of logs, and the sink to a server that of sinks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from kstreams import TEXT
from kstreams.sinks import Sink
from kstreams.sources import Lines, Log
from kstreams.state import Directory
from kstreams.testing import LogContract, SinkContract
from kstreams_objects import Columns, JsonLines, Objects
from kstreams_sftp import sftp_folder
from tests.connectors.kstreams_sftp.conftest import Folder

pytestmark = pytest.mark.slow


def _row(word: str, total: int) -> Columns:
    return {"word": word, "total": total}


class TestFolder(LogContract[None, str]):
    @pytest.fixture(autouse=True)
    def _place(self, folder: Folder, tmp_path: Path) -> None:
        self.folder = folder
        self.index = Directory(str(tmp_path))
        self.numbers = count(1)

    def make(self) -> Log[None, str]:
        return sftp_folder(
            "lines",
            self.folder.place(),
            Lines(TEXT),
            index=self.index,
            partitions=2,
            recursive=True,
            steady_for=timedelta(0),
        )

    def add(self, values: Sequence[str]) -> None:
        number = next(self.numbers)
        self.folder.put(f"{number:03}/a.txt", "\n".join(values), time=number)


class TestObjects(SinkContract):
    keeps_last = False

    @pytest.fixture(autouse=True)
    def _place(self, folder: Folder) -> None:
        self.folder = folder

    def make(self) -> Sink[str, int]:
        return Objects(self.folder.place(), format=JsonLines(), row=_row)

    def seen(self) -> Iterable[tuple[str, int]]:
        for text in self.folder.files().values():
            for line in text.splitlines():
                found = json.loads(line)
                yield found["word"], found["total"]
