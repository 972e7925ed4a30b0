"""Number of the last finished batch: own notes, or the notes of an older checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kstreams.checkpoint.storage.finished_batches import NO_NOTES, DoneNotes


def test_done_notes_return_newest_finished_batch_and_remove_older_notes(tmp_path: Path) -> None:
    notes = DoneNotes(tmp_path / "q" / "done")
    assert notes.last() == -1
    notes.begin(-1)
    assert notes.last() == -1
    for batch in range(8, 13):
        notes.note(batch)
        assert notes.last() == batch
    assert {path.name for path in (tmp_path / "q" / "done").iterdir()} == {"11", "12"}
    shutil.rmtree(tmp_path / "q" / "done")
    notes.note(13)
    assert DoneNotes(tmp_path / "q" / "done").last() == 13


def test_done_note_does_not_recreate_removed_checkpoint(tmp_path: Path) -> None:
    notes = DoneNotes(tmp_path / "q" / "done")
    notes.begin(-1)
    shutil.rmtree(tmp_path / "q")
    with pytest.raises(FileNotFoundError):
        notes.note(13)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("last", [-1, 3])
def test_begin_removes_done_notes_of_batches_after_last_commit(tmp_path: Path, last: int) -> None:
    notes = DoneNotes(tmp_path)
    notes.begin(-1)
    notes.note(4)
    notes.note(5)
    notes.begin(last)
    assert notes.last() == last


def test_done_notes_ignore_files_whose_name_is_not_a_number(tmp_path: Path) -> None:
    notes = DoneNotes(tmp_path)
    for name in ("7", ".9.crc", "x", "²", "-8"):
        (tmp_path / name).touch()
    assert notes.last() == 7


def test_done_notes_of_older_folder_are_read_until_begin(tmp_path: Path) -> None:
    older = tmp_path / "older"
    older.mkdir()
    (older / "5").touch()
    notes = DoneNotes(tmp_path / "done", older)
    assert notes.last() == 5
    notes.begin(4)  # the older notes include batches without a plan
    assert notes.last() == 4


def test_placeholder_without_done_notes_stores_no_batch() -> None:
    NO_NOTES.begin(3)
    NO_NOTES.note(4)
    assert NO_NOTES.last() == -1
