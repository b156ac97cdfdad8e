"""Keep the rows that were left out, in the format of their file, with the reason."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from pathrag_gds.errors import LoadError
from pathrag_gds.ingest.delimited import delimiter_of
from pathrag_gds.ingest.inputs import Input
from pathrag_gds.ingest.jsonl import REJECTED
from pathrag_gds.ingest.lines import Lines
from pathrag_gds.ingest.rows import Record

__all__ = ["RejectFile", "reject_path"]


def reject_path(source: Path, folder: Path) -> Path:
    """Name the reject file of an input: ``people.csv.gz`` → ``people.rejected.csv``."""
    name = source.name.removesuffix(".gz")
    stem, dot, ending = name.rpartition(".")
    return folder / (f"{stem}.rejected.{ending}" if dot and stem else f"{name}.rejected")


class RejectFile:
    """Append rejected records to a file that is made with the first of them.

    CSV gets a last column ``reason:IGNORE`` and JSON Lines a field ``rejected``, so that the mended
    file can be loaded as it is; a triple gets a fourth cell. Line ends inside a reason become
    blanks.

    Args:
        source: Its kind must be settled.
        fresh: Replace a file that an earlier load left; else go on with it, and leave out what an
            interrupted run wrote there before its batch failed.
    """

    def __init__(self, source: Input, path: Path, *, fresh: bool) -> None:
        self.source = source
        self.path = path
        self.count = 0
        self._fresh = fresh
        self._before = ""
        self._known: set[str] | None = None
        self._csv = source.kind in ("nodes", "relationships")
        self._header = ""
        self._delimiter = "\t"
        if self._csv:
            with Lines(source.path) as lines:
                self._header = next(iter(lines), "").rstrip("\r\n")
            self._delimiter = delimiter_of(source, self._header)

    def add(self, records: Iterable[Record]) -> None:
        """Append records that have a fault, and count them.

        Raises:
            LoadError: The file cannot be written.
        """
        lines = [self._line(record) for record in records]
        if not lines:
            return
        try:
            if self._fresh or not self.path.exists():
                self._begin()
            elif self._known is None:
                self._go_on()
            with self.path.open("a", encoding="utf-8", errors="surrogateescape", newline="") as out:
                out.writelines(line for line in lines if not self._is_there(line))
        except OSError as error:
            raise LoadError(
                f"the reject file cannot be written: {error.strerror}.",
                path=self.path,
                hint="Choose another folder with --reject-folder.",
            ) from None
        self.count += len(lines)

    def _begin(self) -> None:
        head = f"{self._header}{self._delimiter}reason:IGNORE\n" if self._csv else ""
        self.path.write_text(head, encoding="utf-8", errors="surrogateescape", newline="")
        self._fresh = False
        self._known = set()

    def _go_on(self) -> None:
        with self.path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            text = file.read()
        # A kill can cut the last line short; its record comes again.
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self.path.write_text(whole, encoding="utf-8", errors="surrogateescape", newline="")
        self._before = "\n" + whole
        self._known = set(whole.split("\n"))

    def _is_there(self, line: str) -> bool:
        return line.partition("\n")[0] in (self._known or ()) and "\n" + line in self._before

    def _line(self, record: Record) -> str:
        reason = " ".join(record.reason.split())
        if self._csv:
            return record.raw + self._delimiter + '"' + reason.replace('"', '""') + '"\n'
        if self.source.kind == "triples":
            return f"{record.raw}\t{reason}\n"
        return _marked(record.raw, reason) + "\n"


def _marked(raw: str, reason: str) -> str:
    try:
        row = json.loads(raw)
    except ValueError:
        row = None
    marked = {**row, REJECTED: reason} if isinstance(row, dict) else {REJECTED: reason, "text": raw}
    text = json.dumps(marked, ensure_ascii=False)
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return json.dumps(marked)
    return text
