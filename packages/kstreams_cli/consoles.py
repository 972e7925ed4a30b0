"""The consoles of the command line: results on stdout, everything else on stderr.

The module also reports a missing extra; import it before typer and rich.
"""

from __future__ import annotations

import os

try:
    import typer as _typer  # noqa: F401  # nothing of this package works without it
    from rich.console import Console
    from rich.table import Table
except ImportError as exc:
    raise ImportError(
        "the command line needs typer and rich: pip install 'kstreams-spark[cli]'",
        name=(exc.name or "").partition(".")[0],
    ) from exc

__all__ = ("counted", "new_table", "shown_size", "stderr", "stdout")

_UNLIMITED = 10_000


def stdout() -> Console:
    """Return a console for results, which cuts and wraps lines only on a terminal."""
    return _wide(Console(highlight=False, soft_wrap=False))


def stderr() -> Console:
    """Return a console for questions, progress and errors."""
    return _wide(Console(stderr=True, highlight=False, soft_wrap=False))


def new_table(*columns: str, numbers: tuple[str, ...] = (), title: str = "") -> Table:
    """Return a table without lines between its columns; `numbers` are right-aligned."""
    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", no_wrap=True)
    return table


def counted(number: int, what: str) -> str:
    """Return a number with its noun, such as `1 batch` and `2,000 batches`."""
    plural = "es" if what.endswith("ch") else "s"
    return f"{number:,} {what}{'' if number == 1 else plural}"


def shown_size(count: float) -> str:
    """Return a number of bytes with a unit, such as `2.0 MB`."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"


def _wide(console: Console) -> Console:
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _UNLIMITED
    return console
