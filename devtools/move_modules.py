"""Move modules and rewrite every reference: `python -m devtools.move_modules OLD=NEW...`.

OLD and NEW are dotted names, such as `kstreams.task.joint=kstreams.task.two_input_join`. A package
moves with its modules and the folder of its tests. The tests of a module
(`tests/kstreams/task/test_joint.py`) move too.
References are imports, dotted names in strings and configuration, and paths in documentation.
Run `make format` afterward, because imports sort differently.

`--into packages kstreams.serve=kstreams_serve` makes a package of `kstreams` a package of its own
in the folder `packages`, and moves its tests to `tests/packages/kstreams_serve`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

__all__ = ("main", "rewritten")

ROOT = Path(__file__).parent.parent
_EXAMPLES = {"devtools/move_modules.py", "tests/devtools/test_move_modules.py"}
"""Files that name moved modules as examples."""

_NAMES = r"\w+(?: as \w+)?(?:, \w+(?: as \w+)?)*"
_IMPORT = re.compile(rf"^([ \t]*)from ([\w.]+) import (\([\w,\s]+\)|{_NAMES})$", re.MULTILINE)
_SUFFIXES = {".cfg", ".in", ".ini", ".json", ".md", ".py", ".sh", ".toml", ".txt", ".yaml", ".yml"}


def rewritten(text: str, moves: Mapping[str, str], folders: Mapping[str, str] | None = None) -> str:
    """Return the text with each reference to a moved module.

    Args:
        text: The content of a source file, a page or a configuration file.
        moves: The new dotted name of each moved module.
        folders: The new path of each moved folder whose path is not that of a dotted name.
    """
    text = _IMPORT.sub(lambda match: _split_import(match, moves), text)
    text = _replaced(text, r"(?<![\w.])", moves, r"(?!\w)")
    if folders:
        text = _replaced(text, r"(?<![\w/])", folders, r"(?![\w.])")
    paths: dict[str, str] = {}
    for old, new in moves.items():
        paths[_path(old)] = _path(new)
        for before, after in zip(_shortened(old), _shortened(new), strict=False):
            paths.setdefault(_path(before), _path(after))
    return _replaced(text, r"(?<![\w/])", paths, r"\b")


def _replaced(text: str, before: str, names: Mapping[str, str], after: str) -> str:
    """Replace names in one pass, so that no new name is replaced again."""
    longest_first = sorted(names, key=len, reverse=True)
    pattern = f"{before}(?:{'|'.join(map(re.escape, longest_first))}){after}"
    return re.sub(pattern, lambda match: names[match[0]], text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Move the modules, then rewrite all tracked text files.

    Raises:
        SystemExit: A module does not exist, or a new name is taken.
    """
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m devtools.move_modules")
    parser.add_argument("moves", nargs="+", metavar="OLD=NEW")
    parser.add_argument("--into", metavar="FOLDER", help="create separate packages in this folder")
    given = parser.parse_args(arguments)
    moves = dict(move.split("=", 1) for move in given.moves)
    folders: dict[str, str] = {}
    if given.into:
        for old, new in tuple(moves.items()):
            folders |= _move_out(old, new, given.into)
            moves[f"tests.{old}"] = f"tests.{given.into}.{new}"
    else:
        for old, new in tuple(moves.items()):
            if (ROOT / _folder(old)).is_dir():
                folders |= _move_package(old, new)
                moves[f"tests.{old}"] = f"tests.{new}"
            else:
                _move(old, new)
                moves[_test_of(old)] = _test_of(new)
    for path in _tracked():
        if path.suffix in _SUFFIXES or path.name == "Makefile":
            before = path.read_text("utf-8")
            after = rewritten(before, moves, folders)
            if after != before:
                path.write_text(after, "utf-8")


def _move_out(old: str, new: str, folder: str) -> dict[str, str]:
    """Move a package and its tests to a folder of packages; return the moved folders."""
    source = _folder(old)
    return _move_folders({source: f"{folder}/{new}", f"tests/{source}": f"tests/{folder}/{new}"})


def _move_package(old: str, new: str) -> dict[str, str]:
    """Move a package and its tests; return the moved folders, also as pages write them."""
    source, target = _folder(old), _folder(new)
    moved = _move_folders({source: target, f"tests/{source}": f"tests/{target}"})
    return {_folder(_below_root(old)): _folder(_below_root(new)), **moved}


def _move_folders(moved: Mapping[str, str]) -> dict[str, str]:
    for before, after in moved.items():
        if (ROOT / before).is_dir():
            if (ROOT / after).exists():
                raise SystemExit(f"move_modules: {after} already exists")
            _git_move(ROOT / before, ROOT / after)
    return dict(moved)


def _split_import(match: re.Match[str], moves: Mapping[str, str]) -> str:
    """Return an import of modules from a package, one line for each if one of them has moved."""
    indent, package, listed = match.groups()
    parts = [part.split(" as ") for part in listed.strip("()").split(",") if part.strip()]
    names = [(part[0].strip(), part[-1].strip()) for part in parts]
    if not any(f"{package}.{name}" in moves for name, _ in names):
        return match[0]
    lines = []
    for name, alias in names:
        parent, _, last = moves.get(f"{package}.{name}", f"{package}.{name}").rpartition(".")
        found = f"from {parent} import {last}" if parent else f"import {last}"
        lines.append(indent + found + (last != alias) * f" as {alias}")
    return "\n".join(lines)


def _move(old: str, new: str) -> None:
    source, target = ROOT / _path(old), ROOT / _path(new)
    if not source.exists():
        raise SystemExit(f"move_modules: there is no {source.relative_to(ROOT)}")
    if target.exists():
        raise SystemExit(f"move_modules: {target.relative_to(ROOT)} already exists")
    _git_move(source, target)
    test, new_test = (
        (ROOT / _test_of(name).replace(".", "/")).with_suffix(".py") for name in (old, new)
    )
    if test.is_file() and not new_test.exists():
        _git_move(test, new_test)


def _test_of(module: str) -> str:
    """Return the dotted name of a module's tests."""
    parent, _, name = module.rpartition(".")
    return f"tests.{parent}.test_{name}"


def _git_move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "mv", str(source), str(target)], cwd=ROOT, check=True)


def _tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    names = set(listed.stdout.split("\0")) - _EXAMPLES
    return [path for name in sorted(names) if (path := ROOT / name).is_file()]


def _path(module: str) -> str:
    return f"{_folder(module)}.py"


def _folder(package: str) -> str:
    return package.replace(".", "/")


def _shortened(module: str) -> Iterator[str]:
    """Yield the names that documentation pages use: below `kstreams`, `tests`, `tests.kstreams`."""
    yield _below_root(module)
    if module.startswith("tests.") and module.count(".") > 1:
        yield _below_root(_below_root(module))


def _below_root(module: str) -> str:
    return module.partition(".")[2]


if __name__ == "__main__":
    main()
