"""Training groups: a question, texts of candidate paths, and which of them are right.

Groups lie in JSON Lines files, one object a line, compressed when the name ends in ``.gz``.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pathrag_gds.errors import LoadError
from pathrag_gds.models.encoder import well_formed

__all__ = ["MAX_TEXTS", "MIN_TEXTS", "Group", "is_held_out", "read_groups", "write_groups"]

MIN_TEXTS = 2
MAX_TEXTS = 32

_KEYS = ("question", "texts", "answer", "prefix", "source")


@dataclass(frozen=True, slots=True)
class Group:
    """A question and 2 to 32 texts of candidate paths that compete for it.

    A group may have no right text at all: a question whose answer is not among the texts.

    Attributes:
        question: As a user would ask it.
        texts: As the serialiser writes paths.
        answer: By text, from 0 to 1: 1 says that its path ends at the answer.
        prefix: By text, from 0 to 1: 1 says that its path, or an extension of it, does.
        source: Which generator or graph it comes from, for statistics.

    Raises:
        ValueError: One of these rules is broken.
    """

    question: str
    texts: tuple[str, ...]
    answer: tuple[float, ...]
    prefix: tuple[float, ...]
    source: str = ""

    def __post_init__(self) -> None:
        count = len(self.texts)
        if not MIN_TEXTS <= count <= MAX_TEXTS:
            raise ValueError(f"a group has {MIN_TEXTS} to {MAX_TEXTS} texts, not {count}")
        for name, labels in (("answer", self.answer), ("prefix", self.prefix)):
            if len(labels) != count:
                raise ValueError(f"{count} texts, but {len(labels)} values of {name!r}")
            for label in labels:
                if not 0 <= label <= 1:
                    raise ValueError(f"{name!r} holds {label!r}, which is not from 0 to 1")
        if any(a > p for a, p in zip(self.answer, self.prefix, strict=True)):
            raise ValueError("'answer' is above 'prefix': a path that answers counts as its prefix")


def read_groups(path: Path | str) -> Iterator[Group]:
    """Read the groups of a file one after the other; an empty file has none.

    Raises:
        LoadError: The file cannot be read, or a line is no group; names the line.
    """
    path = Path(path)
    number = 0
    try:
        with _open_to_read(path) as lines:
            for line in lines:
                number += 1
                if not line.isspace():
                    yield _parse(line)
    except UnicodeDecodeError as error:
        raise LoadError(f"This is not UTF-8: {error.reason}.", path=path, line=number + 1) from None
    except ValueError as error:
        raise LoadError(f"This is no training group: {error}.", path=path, line=number) from error
    except (OSError, EOFError, zlib.error) as error:
        raise LoadError(f"The file cannot be read: {error}", path=path) from error


def write_groups(path: Path | str, groups: Iterable[Group]) -> int:
    """Write groups into a file, one a line; give their number.

    The file appears whole or not at all. The same groups give the same bytes.

    Raises:
        LoadError: The file cannot be written.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    count = 0
    try:
        try:
            with _open_to_write(temporary, compressed=_is_compressed(path)) as out:
                for group in groups:
                    out.write(_line(group))
                    count += 1
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise LoadError(f"The file cannot be written: {error.strerror}.", path=path) from error
    return count


def is_held_out(group: Group, *, one_in: int = 50) -> bool:
    """Choose one in so many questions by the question's hash: always the same ones.

    All groups of a question go to the same side.
    """
    digest = hashlib.sha256(well_formed(group.question).encode()).digest()
    return int.from_bytes(digest[:8], "big") % one_in == 0


def _line(group: Group) -> str:
    record = {name: getattr(group, name) for name in _KEYS}
    return well_formed(json.dumps(record, ensure_ascii=False, separators=(",", ":"))) + "\n"


def _parse(line: str) -> Group:
    found = json.loads(line)
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    if unknown := sorted(found.keys() - set(_KEYS)):
        raise ValueError(f"unknown key {unknown[0]!r}")
    return Group(
        question=_text(found, "question"),
        texts=tuple(_strings(found, "texts")),
        answer=tuple(_numbers(found, "answer")),
        prefix=tuple(_numbers(found, "prefix")),
        source=_text(found, "source") if "source" in found else "",
    )


def _text(found: dict[str, Any], key: str) -> str:
    if not isinstance(value := found.get(key), str):
        raise ValueError(f"{key!r} is no text")
    return value


def _strings(found: dict[str, Any], key: str) -> list[str]:
    values = found.get(key)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{key!r} is no list of texts")
    return values


def _numbers(found: dict[str, Any], key: str) -> list[float]:
    values = found.get(key)
    if not isinstance(values, list) or not all(
        isinstance(value, int | float) and math.isfinite(value) for value in values
    ):
        raise ValueError(f"{key!r} is no list of numbers")
    return [float(value) for value in values]


def _is_compressed(path: Path) -> bool:
    return path.name.endswith(".gz")


def _open_to_read(path: Path) -> IO[str]:
    if _is_compressed(path):
        return gzip.open(path, "rt", encoding="utf-8", newline="\n")
    return path.open(encoding="utf-8", newline="\n")


@contextmanager
def _open_to_write(path: Path, *, compressed: bool) -> Iterator[IO[str]]:
    with ExitStack() as stack:
        raw: Any = stack.enter_context(path.open("wb"))
        if compressed:
            # Neither name nor time go in, so that the same groups give the same bytes.
            raw = stack.enter_context(gzip.GzipFile("", "wb", 6, raw, mtime=0))
        yield stack.enter_context(io.TextIOWrapper(raw, encoding="utf-8", newline="\n"))
