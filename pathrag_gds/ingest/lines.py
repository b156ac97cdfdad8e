"""Open an input file and give its lines, exactly: only ``\\n`` ends a line.

Gzip is recognised by its first bytes. Bytes that are not UTF-8 come through as surrogates, so that
the row they stand in can be named, and written to a reject file unchanged.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, cast

from pathrag_gds.errors import LoadError

__all__ = ["Lines", "content_hash"]

_GZIP = b"\x1f\x8b"
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Lines:
    """Iterate over the lines of a file, line end included; a context manager.

    Attributes:
        number: Lines given so far.
        size: Bytes of the file as it lies on disk.

    Raises:
        LoadError: The file cannot be opened, is damaged, or is UTF-16.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        try:
            self.size = path.stat().st_size
            self._raw: IO[bytes] = path.open("rb")
        except OSError as error:
            raise LoadError(f"cannot be opened: {error.strerror}.", path=path) from None
        start = self._raw.read(3)
        self._raw.seek(0)
        packed = start.startswith(_GZIP)
        self._file = cast("IO[bytes]", gzip.GzipFile(fileobj=self._raw)) if packed else self._raw

    def __enter__(self) -> Lines:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        self._raw.close()

    @property
    def bytes_done(self) -> int:
        """Bytes of the file on disk that were read so far; at most ``size``."""
        return self._raw.tell()

    def __iter__(self) -> Iterator[str]:
        try:
            for line in self._file:
                self.number += 1
                if self.number == 1:
                    if line.startswith(_UTF16_MARKS):
                        raise LoadError(
                            "is UTF-16, not UTF-8.",
                            path=self.path,
                            hint="Convert it: iconv -f UTF-16 -t UTF-8 FILE",
                        )
                    line = line.removeprefix(_UTF8_MARK)
                yield line.decode("utf-8", "surrogateescape")
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise LoadError(
                f"the gzip data is damaged or cut off ({error}).",
                path=self.path,
                line=self.number + 1,
            ) from None
        except OSError as error:
            raise LoadError(f"cannot be read: {error.strerror}.", path=self.path) from None


def content_hash(path: Path) -> str:
    """Give the SHA-256 of a file's bytes in hex.

    Raises:
        LoadError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise LoadError(f"cannot be opened: {error.strerror}.", path=path) from None
