"""The terminal: consoles for stdout and stderr, tables, wrapped text and progress bars.

Everything from the graph is shown as data: control characters are made visible, so that a name
cannot move the cursor, and markup in it is not read.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["MIN_WIDTH", "console", "plain", "progress", "show_table", "show_wrapped"]

PIPED_WIDTH = 80
UNLIMITED = 100_000
MIN_WIDTH = 20
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def console(*, error: bool = False, width: int | None = None) -> Console:
    """Give a console for stdout, or for stderr.

    Colour and the window's width are used on a terminal only; a pipe gets ``COLUMNS`` or 80.
    """
    from rich.console import Console

    stream = sys.stderr if error else sys.stdout
    made = Console(file=stream, markup=False, highlight=False, emoji=False, width=width)
    if width is None and not made.is_terminal and "COLUMNS" not in made._environ:
        made.width = PIPED_WIDTH
    return made


def plain(text: object) -> str:
    """Make control and direction characters of a text visible."""
    return _CONTROL.sub(lambda m: m[0].encode("unicode_escape").decode("ascii"), str(text))


def show_table(
    out: Console,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    empty: str = "none",
) -> None:
    """Print rows under their headings; nothing is cut off.

    Cells wrap on a terminal. In a pipe a row stays on one line, for grep and for copying.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    if not table.row_count:
        out.print(f"({empty})")
    elif out.is_terminal:
        out.print(table)
    else:
        wide = Console(file=io.StringIO(), width=UNLIMITED, color_system=None)
        with wide.capture() as captured:
            wide.print(table)
        for line in captured.get().splitlines():
            out.print(line.rstrip(), soft_wrap=True)
    out.print()


def show_wrapped(out: Console, text: str, indent: str, style: str = "") -> None:
    """Print a text on as many lines as it needs, each indented."""
    from rich.text import Text

    for line in Text(text, style=style).wrap(out, max(out.width - len(indent), MIN_WIDTH)):
        line.rstrip()
        out.print(Text(indent).append_text(line), soft_wrap=True)


@contextmanager
def progress(what: str, *, unit: str = "") -> Iterator[Callable[..., None]]:
    """Give a callback ``(done, total, detail="")`` that moves a bar on stderr.

    Without a terminal there is no bar. ``unit`` ``bytes`` shows sizes instead of counts, ``share``
    a percentage.
    """
    err = console(error=True)
    if not err.is_terminal:
        yield lambda done, total=0, detail="": None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[told]}", markup=False),
        console=err,
        transient=True,
    )
    with bar:
        task = bar.add_task(what, total=None, told="")

        def move(done: int, total: int | None = None, detail: str = "") -> None:
            told = _amount(done, total, unit) if total else ""
            bar.update(task, completed=done, total=total or None, told=f"{told} {plain(detail)}")

        yield move


def _amount(done: int, total: int, unit: str) -> str:
    if unit == "bytes":
        return f"{done / 1e6:,.1f} of {total / 1e6:,.1f} MB"
    if unit == "share":
        return f"{done / total:.1%}"
    return f"{done:,} of {total:,}"
