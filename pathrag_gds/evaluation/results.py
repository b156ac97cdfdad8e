"""Results of a run, a line of JSON per question, to which an interrupted run adds what is missing.

The first line says what was run. A file whose first line says otherwise is refused: rows of two
settings in one file would be compared as if they were one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from pathrag_gds.errors import ConfigError, LoadError

__all__ = ["ResultsFile", "read_rows"]


class ResultsFile:
    """A file of rows; a context manager.

    Args:
        path: Created with its folder when it is not there.
        head: What makes two runs the same, as plain JSON values.
        resume: Keep the rows of an earlier run; False begins anew.

    Attributes:
        rows: By question, those of earlier runs included.

    Raises:
        ConfigError: The file holds results of another setting.
        LoadError: The file holds something else.
    """

    def __init__(self, path: Path, head: Mapping[str, Any], *, resume: bool = True) -> None:
        self.path = path
        self.rows: dict[str, dict[str, Any]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        known = _read(path) if resume and path.exists() else None
        if known is not None:
            found, rows, whole = known
            _require_same(path, found, head)
            self.rows = rows
            # A line that the interrupt cut off is written again.
            os.truncate(path, whole)
        self._file = os.open(
            path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | (0 if known else os.O_TRUNC), 0o644
        )
        if known is None:
            self._write(dict(head))

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file)

    def add(self, row: Mapping[str, Any]) -> None:
        """Append the row of a question, whole or not at all."""
        self._write(row)
        self.rows[row["id"]] = dict(row)

    def _write(self, value: Mapping[str, Any]) -> None:
        os.write(self._file, (json.dumps(value, ensure_ascii=False) + "\n").encode())


def read_rows(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Give the head of a results file, and its rows by question.

    Raises:
        LoadError: It is no such file.
    """
    known = _read(path)
    if known is None:
        raise LoadError("the file holds no results.", path=path)
    return known[:2]


def _read(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]], int] | None:
    """Give head, rows and the bytes that whole lines take; None for a file without a whole line."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise LoadError(f"cannot be read: {error.strerror}.", path=path) from None
    whole = raw.rfind(b"\n") + 1
    lines = raw[:whole].splitlines()
    if not lines:
        return None
    try:
        head, *rows = (json.loads(line) for line in lines)
        by_id = {row["id"]: row for row in rows}
        if "fingerprint" not in head:
            raise KeyError("fingerprint")
    except (ValueError, KeyError, TypeError) as error:
        raise LoadError(
            f"the file holds no results of pathrag eval: {error!r}.", path=path
        ) from None
    return head, by_id, whole


def _require_same(path: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    if found["fingerprint"] == wanted["fingerprint"]:
        return
    other = sorted(
        key
        for key in {*found, *wanted} - {"fingerprint"}
        if json.dumps(found.get(key), sort_keys=True) != json.dumps(wanted.get(key), sort_keys=True)
    )
    raise ConfigError(
        f"{path} holds results of another run: not the same {', '.join(other)}.",
        hint="Keep both: --output DIR. Or begin anew: --no-resume.",
    )
