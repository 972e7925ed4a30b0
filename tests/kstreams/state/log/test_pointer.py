"""A pointer refers to all objects of a version, and stays small."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from kstreams.errors import StateCorruptError
from kstreams.state.log.pointer import ObjectRef, PackPart, Pointer


def _ref(number: int) -> ObjectRef:
    name = f"app/ab/group/3/{number:020d}-{number:032x}.delta"
    return ObjectRef(name, f"{number:016x}", 1000 + number)


def test_empty_pointer_has_no_objects() -> None:
    pointer = Pointer.empty({"offsets": {}})
    assert (pointer.version, pointer.objects(), pointer.stores) == (0, (), ())
    assert Pointer.from_json(pointer.to_json()) == pointer


def test_version_id_is_chained_hash_of_digests_of_all_deltas() -> None:
    one, two = sha256(b"1").digest(), sha256(b"2").digest()
    pointer = Pointer.empty().with_delta(_ref(1), one, ("b",)).with_delta(_ref(2), two, ("a", "b"))
    first = sha256(bytes(32) + one).digest()
    assert pointer.version_id == sha256(first + two).hexdigest()
    assert (pointer.version, pointer.stores) == (2, ("a", "b"))


def test_different_attempts_have_different_version_ids() -> None:
    base = Pointer.empty()
    one, two = (base.with_delta(_ref(1), sha256(name).digest(), ()) for name in (b"a", b"b"))
    assert one.version_id != two.version_id


def test_pointer_survives_conversion_to_text() -> None:
    pointer = Pointer(
        version=9,
        version_id="ab" * 32,
        snapshot=(_ref(1), ObjectRef("other/place/x.chunk", "f" * 16, 7)),
        deltas=(_ref(8), _ref(9)),
        stores=("ä", "b"),
        meta={"offsets": {"topic": {"0": 17}}, "time": None, "due": [1, 2.5, "x"]},
    )
    assert Pointer.from_json(pointer.to_json()) == pointer


def test_parts_of_packs_survive_conversion_to_text() -> None:
    pack = f"app/packs/e/{7:020d}-{3:032x}-0.pack"
    part = ObjectRef(pack, "ab" * 8, 120, 1, PackPart(4096, 12))
    pointer = Pointer(13, "ab" * 32, deltas=(part, _ref(13)), stores=("a",))
    found = Pointer.from_json(pointer.to_json())
    assert found == pointer
    assert [ref.version for ref in found.deltas] == [12, 13]
    assert str(found.deltas[0]) == f"{pack} from byte 4096"
    assert found.deltas_after(12) == (_ref(13),)


def test_pointer_of_earlier_format_is_readable() -> None:
    pointer = Pointer(9, "ab" * 32, deltas=(_ref(8), _ref(9)))
    earlier = json.dumps({**json.loads(pointer.to_json()), "f": 2})
    assert Pointer.from_json(earlier) == pointer


@pytest.mark.parametrize("number", [1, 4])
def test_pointer_of_unknown_format_is_rejected_with_hint(number: int) -> None:
    text = json.dumps({**json.loads(Pointer.empty().to_json()), "f": number})
    with pytest.raises(StateCorruptError, match="reads formats 2 and 3") as caught:
        Pointer.from_json(text)
    assert "run that version" in caught.value.hint


def test_pointer_of_many_deltas_has_small_json() -> None:
    pointer = Pointer(64, "ab" * 32, deltas=tuple(_ref(n) for n in range(64)))
    assert len(pointer.to_json()) < 5000


def test_merged_delta_or_snapshot_replaces_only_the_objects_that_it_covers_in_pointer() -> None:
    pointer = Pointer(5, "ab" * 32, deltas=tuple(_ref(n) for n in range(5)), meta={"n": 1})
    merged = pointer.with_merged((_ref(2), _ref(3), _ref(4)), _ref(9))
    assert merged.deltas == (_ref(0), _ref(1), _ref(9))
    middle = pointer.with_merged((_ref(1), _ref(2)), _ref(9))
    assert middle.deltas == (_ref(0), _ref(9), _ref(3), _ref(4))
    assert pointer.with_merged((_ref(4), _ref(5)), _ref(9)) == pointer
    assert pointer.with_merged((_ref(0), _ref(2)), _ref(9)) == pointer
    assert merged.with_snapshot((_ref(7),), base=1).deltas == (_ref(9),)
    cut = pointer.with_snapshot((_ref(7),))
    assert (cut.snapshot, cut.deltas, cut.base) == ((_ref(7),), (), 5)
    assert (cut.version, cut.version_id, cut.meta) == (5, "ab" * 32, {"n": 1})
