"""Counts habits of unclear English, by package: `python -m devtools.prose [PATH...]`.

The rules are in `docs/writing.md`. Docstrings, comments, documentation pages and test names may
have one finding in a thousand words, texts of errors none. `--show` prints each finding.
`--since REV` counts only texts with lines that are new since a commit. `make check` counts all.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ("Finding", "Habit", "Kind", "Text", "files", "findings", "main", "texts")

ROOT = Path(__file__).parent.parent
PATHS = (
    *("kstreams", "kstreams_daemon", "packages", "connectors", "stores", "serdes", "native"),
    *("docs", "tests", "benchmarks", "deploy", "devtools", "examples", "scripts"),
    *("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"),
)
Kind = str
"""The kind of a text: `docstring`, `comment`, `error`, `page` or `test name`."""

_LIMITS = {"docstring": 1.0, "comment": 1.0, "error": 0.0, "page": 1.0, "test name": 1.0}
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
_CODE = re.compile(r"```.*?```|``.*?``|`[^`\n]*`|https?://\S+|<!--.*?-->", re.DOTALL)
_EXAMPLE = re.compile(r"^\s*(?:>>>|\.\.\. ).*$", re.MULTILINE)


@dataclass(frozen=True)
class Habit:
    """One habit of unclear English.

    Attributes:
        name: The name in the report.
        pattern: Matches the words in running text.
    """

    name: str
    pattern: re.Pattern[str]


@dataclass(frozen=True)
class Text:
    """A piece of text of one file, without its code.

    Attributes:
        path: The file.
        line: The number of the text's first line.
        kind: The kind of the text.
        words: The text.
    """

    path: Path
    line: int
    kind: Kind
    words: str


@dataclass(frozen=True)
class Finding:
    """An occurrence of a habit in a text."""

    text: Text
    habit: str
    found: str

    def __str__(self) -> str:
        """Format the location so that an editor recognizes it."""
        return f"{self.text.path}:{self.text.line}: {self.text.kind}: {self.habit}: {self.found!r}"


def _habit(name: str, pattern: str, flags: re.RegexFlag = re.IGNORECASE) -> Habit:
    return Habit(name, re.compile(pattern, flags))


HABITS = (
    # `Return what waits`: a clause in place of a noun. Questions, "what's new" and "no matter
    # what" are not meant.
    _habit(
        "clause for a noun",
        r"\b(?:return|returns|yield|yields|show|shows|of|from|by|with|and|or|to|for|in|is|are|"
        r"than|as|take|takes|make|makes|read|reads|write|writes)\s+what\b(?!\s+(?:if|happens))"
        r"|(?<![\w-])what\s+(?:is|are|was|has|have|had|does|a|an|the|it|they|comes?|waits?|was)\b"
        r"|\A\s*(?:what|which|how|where|who|whose)\s+(?![^.]*\?)|\bwho(?:so)?ever\b|\bnobody\b",
    ),
    # Arguments as in "name: Its name." and "group: Of which the store is."
    _habit(
        "pronoun for a noun",
        r"^\s*\w+: (?:of|its|those|likewise|the same|as there|which|what|how|where|who|whose)\b"
        r"|\breturn (?:it|them|itself|the same)\b|\bof (?:ours|theirs)\b|\bthose that\b",
        re.IGNORECASE | re.MULTILINE,
    ),
    _habit(
        "archaic or inverted",
        r"\b(?:amid|anew|beside|of before|as of old|let go of|goes on|go on|unlike parts|"
        r"hereof|thereof|whereof|for ever|at hand)\b",
    ),
    _habit("double genitive", r"\bof (?:an? |the )?\w+'s(?=[\s.,;:)]|$)(?! \w+(?:s|er|or|e)?\b)"),
    _habit(
        "house metaphor",
        r"\b(?:stands?|stood|hears?|heard|tells?|told|lets? in|faces? of|rooms? of|"
        r"in its turn|in their turn|says? so|said so)\b",
    ),
)


def texts(path: Path) -> Iterator[Text]:
    """Yield the texts of a Python module or a Markdown page."""
    content = path.read_text("utf-8")
    if path.suffix == ".md":
        for number, paragraph in _paragraphs(content):
            yield Text(path, number, "page", paragraph)
        return
    tree = ast.parse(content)
    yield from _docstrings(path, tree)
    yield from _errors(path, tree)
    yield from _comments(path, content)
    if path.name.startswith("test_"):
        functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))
        for function in functions:
            if function.name.startswith("test_"):
                words = function.name.removeprefix("test_").replace("_", " ")
                yield Text(path, function.lineno, "test name", words)


def findings(text: Text) -> Iterator[Finding]:
    """Yield the findings in a text."""
    for habit in HABITS:
        for match in habit.pattern.finditer(text.words):
            yield Finding(text, habit.name, match[0].strip())


def _paragraphs(content: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each paragraph of a page, without code blocks and comments."""
    blank = _CODE.sub(lambda match: re.sub(r"[^\n]", "", match[0]), content)
    number = 1
    for paragraph in re.split(r"(\n\s*\n)", blank):
        if paragraph.strip():
            yield number, paragraph
        number += paragraph.count("\n")


def _docstrings(path: Path, tree: ast.AST) -> Iterator[Text]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            if (
                isinstance(statement, ast.Expr)
                and isinstance(statement.value, ast.Constant)
                and isinstance(statement.value.value, str)
            ):
                words = _without_code(statement.value.value)
                yield Text(path, statement.lineno, "docstring", words)


def _errors(path: Path, tree: ast.AST) -> Iterator[Text]:
    """Yield the messages passed to raised exceptions, and the values of `hint=` and `message=`."""
    for node in ast.walk(tree):
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call):
            continue
        hints = [each.value for each in call.keywords if each.arg in ("hint", "message")]
        for given in [*(call.args if isinstance(node, ast.Raise) else ()), *hints]:
            words = " ".join(_literals(given))
            if words:
                yield Text(path, given.lineno, "error", _without_code(words))


def _literals(node: ast.expr) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def _comments(path: Path, content: str) -> Iterator[Text]:
    """Yield comments; comments on consecutive lines are one text."""
    begin, lines = 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type != tokenize.COMMENT:
            continue
        if lines and token.start[0] != begin + len(lines):
            yield Text(path, begin, "comment", _without_code(" ".join(lines)))
            lines = []
        begin = begin if lines else token.start[0]
        words = re.sub(r"(?:noqa|type: ignore|pyright: ignore)[^#]*#?", "", token.string)
        lines.append(words.strip("# "))
    if lines:
        yield Text(path, begin, "comment", _without_code(" ".join(lines)))


def _without_code(words: str) -> str:
    return _EXAMPLE.sub("", _CODE.sub("", words))


def files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the Python modules and Markdown pages among files and in folders."""
    for path in paths:
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        yield from (
            each
            for each in found
            if each.suffix in (".py", ".md") and not each.name.endswith("_pb2.py")
        )


def _new_lines(path: Path, revision: str) -> set[int]:
    """Return the numbers of the lines added to a file since a commit."""
    command = ["git", "diff", "--unified=0", revision, "--", str(path.resolve())]
    diff = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    lines: set[int] = set()
    for begin, count in re.findall(r"^@@ .* \+(\d+)(?:,(\d+))? @@", diff, re.MULTILINE):
        lines.update(range(int(begin), int(begin) + int(count or 1)))
    return lines


def _is_new(text: Text, lines: set[int]) -> bool:
    return not lines.isdisjoint(range(text.line, text.line + text.words.count("\n") + 1))


def _package(path: Path, roots: Sequence[Path]) -> str:
    """Return the folder under which a file is counted: the given path and at most one subfolder."""
    root = next((each for each in roots if path.is_relative_to(each)), path)
    inside = path.relative_to(root).parts[:-1][:1]
    return "/".join([root.name, *inside])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the findings by package and kind; return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "paths", nargs="*", type=Path, help="files and folders to check; default: all"
    )
    parser.add_argument("--show", action="store_true", help="print each finding")
    parser.add_argument(
        "--since", metavar="REV", help="check only texts that are new since this commit"
    )
    parser.add_argument("--kind", choices=_LIMITS, help="check only texts of this kind")
    given = parser.parse_args(arguments)
    roots = given.paths or [ROOT / name for name in PATHS]
    words: Counter[tuple[str, Kind]] = Counter()
    found: defaultdict[tuple[str, Kind], list[Finding]] = defaultdict(list)
    for path in files(roots):
        new = None if given.since is None else _new_lines(path, given.since)
        for text in texts(path) if new is None or new else ():
            if (new is not None and not _is_new(text, new)) or given.kind not in (None, text.kind):
                continue
            place = _package(path, roots), text.kind
            words[place] += len(_WORD.findall(text.words))
            found[place] += findings(text)
    failed = False
    print(f"{'package':32} {'kind':10} {'words':>8} {'found':>6} {'per 1,000':>10}")
    for (package, kind), count in sorted(words.items()):
        number = len(found[package, kind])
        rate = 1000 * number / max(count, 1)
        wrong = rate > _LIMITS[kind]
        failed |= wrong
        mark = "!" if wrong else ""
        print(f"{package:32} {kind:10} {count:8,} {number:6,} {rate:10.2f} {mark}")
        if given.show:
            print(*(f"  {each}" for each in found[package, kind]), sep="\n")
    total = sum(map(len, found.values()))
    print(f"{total:,} findings in {sum(words.values()):,} words")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
