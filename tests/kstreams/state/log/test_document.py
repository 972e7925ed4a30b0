"""Sealed documents: changed, truncated, copied or forged ones are rejected."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kstreams.errors import StateCorruptError
from kstreams.state.log.document import read_document, seal
from kstreams.state.log.fields import Fields, WrongFieldError

CONTENT = {"count": 60, "name": "ä", "by": {"b": 1, "a": 2}}
NAME = "things/7.json"


def _read(data: bytes, name: str = NAME, *, sealed: bool = False) -> tuple[dict[str, Any], str]:
    return read_document(
        data,
        name,
        lambda fields, digest: (fields.all(), digest),
        what="thing 7",
        hint="bring it back",
        sealed=sealed,
    )


def test_sealed_document_is_read_unchanged() -> None:
    document = seal(CONTENT, NAME)
    assert _read(document.data, sealed=True) == (CONTENT, document.digest)
    assert list(_read(document.data)[0]["by"]) == ["b", "a"]


def test_whitespace_of_document_does_not_change_digest() -> None:
    document = seal(CONTENT, NAME, indent=1)
    assert document.data.count(b"\n") > 3
    assert _read(document.data) == (CONTENT, seal(CONTENT, NAME).digest)
    assert seal(CONTENT, NAME).digest == document.digest


def test_changed_character_of_sealed_document_is_detected() -> None:
    data = seal(CONTENT, NAME).data
    for at in range(len(data)):
        changed = data[:at] + (b"1" if data[at : at + 1] != b"1" else b"2") + data[at + 1 :]
        with pytest.raises(StateCorruptError, match="thing 7 cannot be read"):
            _read(changed)


def test_truncation_of_sealed_document_is_detected() -> None:
    data = seal(CONTENT, NAME).data
    for end in range(len(data)):
        with pytest.raises(StateCorruptError, match="document is empty" if not end else "was cut"):
            _read(data[:end])


def test_sealed_document_copied_to_another_name_is_detected() -> None:
    with pytest.raises(
        StateCorruptError,
        match=r"is that of document 'things/7\.json', which was copied to this name",
    ):
        _read(seal(CONTENT, NAME).data, "things/8.json")


def test_changed_order_of_fields_of_sealed_document_is_detected() -> None:
    fields = json.loads(seal(CONTENT, NAME).data)
    with pytest.raises(StateCorruptError, match="does not match its checksum"):
        _read(json.dumps(dict(reversed(fields.items()))).encode())


@pytest.mark.parametrize("gone", ["sum", "document"])
def test_document_with_incomplete_seal_is_rejected(gone: str) -> None:
    fields = json.loads(seal(CONTENT, NAME).data)
    del fields[gone]
    with pytest.raises(StateCorruptError, match="does not match its checksum"):
        _read(json.dumps(fields).encode())


def test_document_without_checksum_is_read_only_if_allowed() -> None:
    old = json.dumps(CONTENT).encode()
    assert _read(old) == (CONTENT, seal(CONTENT, NAME).digest)
    with pytest.raises(StateCorruptError, match="does not match its checksum"):
        _read(old, sealed=True)


@pytest.mark.parametrize(
    "data",
    [
        b"[]", b"7", b"null", b"\xff\xfe", b"{" * 9, b"[" * 100_000, b"1" * 5000, b" \n",
        b'{"a":' * 50_000, b'{"sum":1}', b'{"document":[]}',
    ],
    ids=lambda data: repr(data[:12]),
)  # fmt: skip
def test_malformed_document_raises_error_that_names_its_file(data: bytes) -> None:
    with pytest.raises(StateCorruptError, match="thing 7 cannot be read") as caught:
        _read(data)
    assert caught.value.hint == "bring it back"


@pytest.mark.parametrize("value", [-1, 2**63, 1.0, True, "1", None, [], {}], ids=repr)
def test_integer_field_must_be_non_negative_64_bit_number(value: object) -> None:
    with pytest.raises(WrongFieldError, match="field 'n' is"):
        Fields({"n": value}).integer("n")
    with pytest.raises(WrongFieldError, match="field 'p' of 'n' is"):
        Fields({"n": {"p": value}}).integers("n")


@pytest.mark.parametrize("value", [1, 1.5, None, True, [], {}], ids=repr)
def test_text_field_of_document_must_be_text(value: object) -> None:
    with pytest.raises(WrongFieldError, match=r"field 't' is .*, not a string"):
        Fields({"t": value}).text("t")
    with pytest.raises(WrongFieldError, match=r"field 'p' of 't' is .*, not a string"):
        Fields({"t": {"p": value}}).texts("t")


def test_missing_field_is_named_unless_it_has_default() -> None:
    with pytest.raises(WrongFieldError, match="field 'n' is missing"):
        Fields({}).integer("n")
    assert Fields({}).integer("n", default=None) is None
    assert Fields({}).text("t", "") == ""
    assert Fields({}).integers("i", {}) == {}
